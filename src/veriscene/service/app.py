"""The HTTP service: routes, errors and limits. The page is one of its clients."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import ClientDisconnect

from veriscene import __version__
from veriscene.errors import InputError
from veriscene.files import parse_json
from veriscene.judge.judge import Judge
from veriscene.service.documentation import documented, html
from veriscene.service.headers import Headers
from veriscene.service.limits import Busy, Limits, TooLarge
from veriscene.service.metrics import Counted
from veriscene.service.service import Record, Service
from veriscene.world.scene import not_allowed
from veriscene.worlds.nlvr.corpus import Example

STATIC = Path(__file__).parent / "page"
Answer = Callable[[Record], Coroutine[Any, Any, Any]]
SMALL_BODY = 64 << 10  # bytes that are parsed at once; a larger text would keep other clients waiting


class Json(Response):
    """ASCII only: a message may quote half a character (a lone surrogate), which UTF-8 cannot encode."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


def make_app(
    judges: Mapping[str, Judge], *, settings: Limits | None = None, examples: Sequence[Example] = ()
) -> FastAPI:
    """The service with these judges, the first of which is the default.

    `examples` are those that /api/scenes/example shows; without any, a few are generated.
    """
    service = Service(judges, limits=settings or Limits(), examples=examples)

    @asynccontextmanager
    async def closing(app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)  # the server has answered its clients by then

    app = FastAPI(title="veriscene", version=__version__, docs_url=None, redoc_url=None, lifespan=closing)
    app.state.service = service
    _add_errors(app)
    _add_questions(app, service)
    _add_facts(app, service)
    _add_pages(app)
    app.add_middleware(Headers)
    app.add_middleware(Counted, metrics=service.metrics)
    return app


# ---------------------------------------------------------------- routes


def _add_questions(app: FastAPI, service: Service) -> None:
    """The routes that take a JSON object."""
    routes: dict[str, Answer] = {
        "/api/judge": service.judge,
        "/api/judge/many": service.judge_many,
        "/api/explain": service.explain,
        "/api/render": service.render,
        "/api/decode": service.decode,
    }

    def add(path: str, answer: Answer) -> None:
        async def handle(request: Request) -> Json:
            async with asyncio.timeout(service.limits.seconds):
                return Json(await _unless_gone(request, answer(await _read(request, service))))

        app.post(path, **documented(path))(handle)

    for path, answer in routes.items():
        add(path, answer)


def _add_facts(app: FastAPI, service: Service) -> None:
    @app.get("/api/scenes/random", **documented("/api/scenes/random"))
    async def random_scene(request: Request) -> Json:
        async with asyncio.timeout(service.limits.seconds):
            return Json(await service.random_scene(request.query_params.get("kind")))

    @app.get("/api/scenes/example", **documented("/api/scenes/example"))
    async def example() -> Json:
        return Json(service.example())

    @app.get("/api/models", **documented("/api/models"))
    async def models() -> Json:
        return Json(service.models())

    @app.get("/health", **documented("/health"))
    async def health() -> Json:
        return Json({"status": "ok"})

    @app.get("/ready", **documented("/ready"))
    async def ready() -> Json:
        return Json({"ready": service.is_ready}, status_code=200 if service.is_ready else 503)

    @app.get("/metrics", **documented("/metrics"))
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _add_pages(app: FastAPI) -> None:
    static = StaticFiles(directory=STATIC)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def index(request: Request) -> Response:
        return await static.get_response("index.html", request.scope)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(html(app.openapi()))

    app.mount("/static", static)


# ---------------------------------------------------------------- requests and errors


async def _read(request: Request, service: Service) -> Record:
    """The JSON object that the client sends, however it is cut into parts."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > service.limits.body:
            raise TooLarge(f"a request has at most {service.limits.body:,} bytes")
        parts.append(part)
    body = b"".join(parts)
    record = _parse(body) if size <= SMALL_BODY else await service.jobs.run(lambda: _parse(body))
    if not isinstance(record, dict):
        raise not_allowed(record, "it must be a JSON object").at("body")
    return record


async def _unless_gone(request: Request, answer: Coroutine[Any, Any, Any]) -> Any:
    """The answer; if the client goes away first, nothing more is done for it."""
    task = asyncio.create_task(answer)
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        task.cancel()
        gone.cancel()
        # A client that hears that it took too long must not be judged after that.
        await asyncio.gather(task, gone, return_exceptions=True)


def _parse(body: bytes) -> object:
    try:
        return parse_json(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}", where="body", allowed="send JSON in UTF-8") from None
    except InputError as error:
        raise error.at("body") from None


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(InputError)
    async def invalid(request: Request, error: InputError) -> Json:
        message = f"{error.what}; {error.allowed}" if error.allowed else error.what
        return Json({"detail": [{"field": field_of(error), "message": message}]}, status_code=422)

    @app.exception_handler(TooLarge)
    async def too_large(request: Request, error: TooLarge) -> Json:
        # What the client still sends is not read.
        return Json({"detail": str(error)}, status_code=413, headers={"Connection": "close"})

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> Json:
        return Json({"detail": str(error)}, status_code=503, headers={"Retry-After": "1"})

    @app.exception_handler(TimeoutError)
    async def late(request: Request, error: TimeoutError) -> Json:
        detail = "it took too long"
        return Json({"detail": detail}, status_code=503, headers={"Retry-After": "5", "Connection": "close"})

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Json:
        return Json({"detail": "the request is cut off"}, status_code=400)


def field_of(error: InputError) -> str:
    """Where the error is, by the names of the request: `scene.box 2.item 1.x_loc`."""
    parts = [] if error.where is None else re.split(", |: ", str(error.where))
    prefix = [parts.pop(0)] if parts and parts[0].startswith("question ") else []
    renamed = {"structured_rep": "scene", "picture": "image"}
    if parts:
        parts[0] = renamed.get(parts[0], parts[0])
        if parts[0].startswith("box "):
            parts.insert(0, "scene")
    return ".".join(prefix + parts)
