"""What happens to every answer: headers that say what the page may load, and metrics for Prometheus."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import MutableHeaders
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
BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64)
SECONDS_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """What Prometheus reads at /metrics. Each app has its own registry, so several can live in one process."""

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
    """Adds headers to every answer, and counts requests by route: a client could invent any number of addresses."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(ALWAYS)
                is_file = scope["path"] == "/" or scope["path"].startswith("/static/")
                headers["Cache-Control"] = FILES if is_file else ANSWERS
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - start)
