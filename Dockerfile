# docker build -t veriscene .  &&  docker run --rm -p 127.0.0.1:8000:8000 veriscene
# The digest is that of 3.12.14 (docs/reliability.md says how to check it).
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

# train,maxent,plot: an image that trains (examples/kubernetes/table.yaml)
ARG EXTRAS=serve
COPY constraints.txt pyproject.toml README.md LICENSE /build/
COPY src /build/src
RUN pip install --no-cache-dir --constraint /build/constraints.txt "/build[$EXTRAS]" && rm -rf /build

RUN useradd --create-home --uid 10001 veriscene
USER veriscene
WORKDIR /home/veriscene

EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/ready', timeout=2)"]
# An exec form: the server itself gets SIGTERM, answers what it accepted, and ends.
ENTRYPOINT ["veriscene", "serve", "--host", "0.0.0.0"]
CMD ["best", "best-pixels"]
