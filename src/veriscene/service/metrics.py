"""What Prometheus reads at /metrics, and the ASGI middleware that counts requests."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BATCHES = (1, 2, 4, 8, 16, 32, 64)
SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """One registry per app, so that several apps can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("veriscene_requests", "Requests.", ("route", "status"), registry=self.registry)
        self.seconds = Histogram(
            "veriscene_request_seconds",
            "Time to the end of the answer.",
            ("route",),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.batches = Histogram(
            "veriscene_batch_size", "Questions judged together.", ("model",), buckets=BATCHES, registry=self.registry
        )
        self.queue = Gauge("veriscene_queue_length", "Questions that wait.", ("model",), registry=self.registry)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Counted:
    """Middleware that counts requests by route, not by address, of which a client could invent any number."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def send_counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_counted)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - start)
