"""Headers of every answer: what the page may load (nothing from elsewhere), and what may be cached."""

from __future__ import annotations

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


class Headers:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(ALWAYS)
                is_file = scope["path"] == "/" or scope["path"].startswith("/static/")
                headers["Cache-Control"] = FILES if is_file else ANSWERS
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)
