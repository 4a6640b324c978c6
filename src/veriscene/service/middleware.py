"""What happens to every request: whether it is let in, headers that say what the page may load, and metrics."""

from __future__ import annotations

import re
import time
from collections.abc import Collection

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
ALWAYS = {
    "Content-Security-Policy": "; ".join(f"{what} {sources}" for what, sources in POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
# Modules have no version in their names: a browser asks whether its copy is still the current one (ETag).
FILES, ANSWERS = "no-cache", "no-store"
MAX_REQUESTS = 512  # that have arrived and are being answered
ALWAYS_ANSWERED = ("/health", "/ready", "/metrics")
BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64)
_HOST = re.compile(r"(\[[^\]]*\]|[^:@]*)(:\d*)?")
SECONDS_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """Keeps what Prometheus reads at /metrics. Each app has its own registry, so several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("veriscene_requests", "Requests.", ("route", "status"), registry=self.registry)
        self.seconds = Histogram(
            "veriscene_request_seconds",
            "Time to the end of the answer.",
            ("route",),
            buckets=SECONDS_BUCKETS,
            registry=self.registry,
        )
        self.batches = Histogram(
            "veriscene_batch_size",
            "Questions judged together.",
            ("model",),
            buckets=BATCH_BUCKETS,
            registry=self.registry,
        )
        self.queue = Gauge("veriscene_queue_length", "Questions that wait.", ("model",), registry=self.registry)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Middleware:
    """Refuses requests for other hosts, of other types and beyond MAX_REQUESTS at once; adds headers to every answer;
    counts requests by route, as a client could invent any number of addresses.

    A page elsewhere can make a visitor's browser send text or forms to any address, but JSON only if that permits it.
    It can also give its own name the address of this machine, and then send anything; but Host is that name then.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, hosts: Collection[str] | None = None) -> None:
        """`hosts`: the names by which the service may be addressed; None: any."""
        self.app, self.metrics, self.hosts, self.active = app, metrics, hosts, 0

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        name = _HOST.fullmatch(host)
        if self.hosts is not None and (name is None or name[1].strip("[]").lower() not in self.hosts):
            return 421, "this host is not served here; `veriscene serve --allow-host NAME` permits it"
        if "\0" in scope["path"]:  # at which starlette 0.49 fails
            return 404, "there is no such page"
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and kind != "application/json":
            return 415, "send JSON, with the header Content-Type: application/json"
        if self.active >= MAX_REQUESTS and scope["path"] not in ALWAYS_ANSWERED:
            return 503, "too many requests at once"
        return None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope  # the server leaves out the body
        start, status, refused = time.perf_counter(), 500, self._refusal(scope)
        is_active = False

        def set_active(now: bool) -> None:
            # Not while a client sends its request or takes its answer, which may take as long as the client wants.
            nonlocal is_active
            self.active += now - is_active
            is_active = now

        async def receive_whole() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                set_active(True)
            return message

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                set_active(False)
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(ALWAYS)
                is_file = scope["path"] == "/" or scope["path"].startswith("/static/")
                headers["Cache-Control"] = FILES if is_file else ANSWERS
            await send(message)

        set_active(refused is None and scope["method"] != "POST")
        try:
            await (self.app if refused is None else _refuse(*refused))(scope, receive_whole, send_with_headers)
        finally:
            set_active(False)
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - start)


def _refuse(status: int, detail: str) -> ASGIApp:
    # What the client still sends is not read.
    headers = {"Connection": "close", **({"Retry-After": "1"} if status == 503 else {})}
    return JSONResponse({"detail": detail}, status, headers)
