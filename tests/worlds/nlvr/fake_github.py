"""A local server that stands in for raw.githubusercontent.com, with faults on request."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from veriscene.worlds.nlvr.download import Host


@dataclass
class Fake:
    files: dict[str, bytes]
    requests: list[str] = field(default_factory=list)
    cut_after: dict[str, int] = field(default_factory=dict)
    fails: dict[str, list[int]] = field(default_factory=dict)  # path -> the statuses of its next answers

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.split("/", 4)[-1]  # without owner, repository and commit
        self.requests.append(path)
        statuses = self.fails.get(path)
        status = statuses.pop(0) if statuses else 200
        body = self.files[path] if status == 200 else b""
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        with contextlib.suppress(ConnectionError):  # an answer that is too long is not read to its end
            request.wfile.write(body[: self.cut_after.get(path)])


@contextlib.contextmanager
def serving(fake: Fake) -> Iterator[Host]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fake.answer(self)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    try:
        yield Host(url=f"http://127.0.0.1:{server.server_port}", timeout=5, pauses=(0.0, 0.0))
    finally:
        server.shutdown()
        server.server_close()
