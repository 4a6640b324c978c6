"""The HTTP service: routes, errors, and the server that runs them. The page is one of its clients."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from veriscene import __version__
from veriscene.errors import InputError, located
from veriscene.files import parse_json
from veriscene.judge.judge import Judge
from veriscene.service.batching import Busy, Limits
from veriscene.service.documentation import documented, html, routes
from veriscene.service.middleware import Middleware
from veriscene.service.service import Record, Service, draw_example, problem
from veriscene.world.examples import Example
from veriscene.world.schema import not_allowed

STATIC = Path(__file__).parent / "page"
Answer = Callable[[Record], Coroutine[Any, Any, Any]]
SMALL_BODY = 64 << 10  # bytes that are parsed at once; a larger text would keep other clients waiting
BACKLOG = 512
MAX_CONNECTIONS = 800  # below the 1,024 open files that systems usually allow a process
UNREAD = {"Connection": "close"}  # what the client still sends is not read
HEADER_SECONDS = 10.0  # in which a request's headers must arrive
READ_SECONDS = 10.0  # in which a client must read on


class Json(Response):
    """JSON in ASCII: a message may quote half a character (a lone surrogate), which UTF-8 cannot encode."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


def make_app(
    judges: Mapping[str, Judge],
    *,
    settings: Limits | None = None,
    examples: Sequence[Example] = (),
    hosts: Collection[str] | None = None,
) -> FastAPI:
    """Returns the service with these judges, the first of which is the default.

    `examples` are those that /api/scenes/example shows; a few are generated for a world that has none. `hosts` are the
    names by which it may be addressed; None: any.
    """
    service = Service(judges, limits=settings or Limits(), examples=examples)

    @asynccontextmanager
    async def closing(app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)  # the server has answered its clients by then

    app = FastAPI(title="veriscene", version=__version__, docs_url=None, redoc_url=None, lifespan=closing)
    app.router.redirect_slashes = False  # a redirect would name whatever host the client says
    app.state.service = service
    _add_errors(app)
    _add_routes(app, service)
    app.add_middleware(Middleware, metrics=service.metrics, hosts=hosts)
    return app


# ---------------------------------------------------------------- routes


def _add_routes(app: FastAPI, service: Service) -> None:
    documentation = routes(draw_example(next(iter(service.batchers.values())).judge, random.Random(1)))
    answers: dict[str, Answer] = {
        "/api/judge": service.judge,
        "/api/judge/many": service.judge_many,
        "/api/explain": service.explain,
        "/api/render": service.render,
        "/api/decode": service.decode,
        "/api/world": service.world,
        "/api/scenes/random": service.random_scene,
        "/api/scenes/example": service.example,
        "/api/models": service.models,
    }

    def add(path: str, answer: Answer) -> None:
        has_body = documentation[path].request is not None

        async def handle(request: Request) -> Json:
            record = await _read(request, service) if has_body else {}
            async with asyncio.timeout(service.limits.seconds):
                if not has_body:
                    return Json(await answer(dict(request.query_params)))
                return Json(await _unless_gone(request, answer(record)))

        app.api_route(path, methods=["POST" if has_body else "GET"], **documented(documentation[path]))(handle)

    for path, answer in answers.items():
        add(path, answer)

    @app.get("/health", **documented(documentation["/health"]))
    async def health() -> Json:
        return Json({"status": "ok"})

    @app.get("/ready", **documented(documentation["/ready"]))
    async def ready() -> Json:
        return Json({"ready": service.is_ready}, status_code=200 if service.is_ready else 503)

    @app.get("/metrics", **documented(documentation["/metrics"]))
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    static = StaticFiles(directory=STATIC)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def index(request: Request) -> Response:
        return await static.get_response("index.html", request.scope)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(html(documentation))

    app.mount("/static", static)


# ---------------------------------------------------------------- requests and errors


async def _read(request: Request, service: Service) -> Record:
    """Returns the JSON object that the client sends, however it is cut into parts."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(service.limits.seconds):
            async for part in request.stream():
                size += len(part)
                service.arriving += len(part)
                if size > service.limits.body:
                    raise HTTPException(413, f"a request has at most {service.limits.body:,} bytes", UNREAD)
                if size > SMALL_BODY and service.arriving > service.limits.arriving:
                    raise Busy("too many large requests at once")
                parts.append(part)
        body = b"".join(parts)
        record = _parse(body) if size <= SMALL_BODY else await service.jobs.run(lambda: _parse(body))
    except TimeoutError:
        what = f"the request did not arrive within {service.limits.seconds:g} seconds"
        raise HTTPException(408, what, UNREAD) from None
    finally:
        service.arriving -= size
    if not isinstance(record, dict):
        raise not_allowed(record, "it must be a JSON object").at("body")
    return record


async def _unless_gone(request: Request, answer: Coroutine[Any, Any, Any]) -> Any:
    """Returns the answer; if the client goes away first, nothing more is done for it."""
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
    with located("body"):
        try:
            return parse_json(body.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise InputError(f"not UTF-8 at byte {error.start}", allowed="send JSON in UTF-8") from None


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(InputError)
    async def invalid(request: Request, error: InputError) -> Json:
        return Json({"detail": [problem(error)]}, status_code=422)

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> Json:
        return Json({"detail": str(error)}, status_code=503, headers={"Retry-After": "1"})

    @app.exception_handler(TimeoutError)
    async def late(request: Request, error: TimeoutError) -> Json:
        what = "search" if request.url.path == "/api/explain" else "request"
        headers = {"Retry-After": "5", **UNREAD}
        return Json({"detail": f"The {what} timed out. Try again."}, status_code=503, headers=headers)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Json:
        return Json({"detail": "the request is cut off"}, status_code=400)


# ---------------------------------------------------------------- running


def configure_process() -> None:
    """Limits the threads and memory of each worker; to be called before any model is loaded."""
    # oneDNN keeps code for each of the last 1,024 shapes, more than 100 MB; batches have many shapes.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
    os.environ["OMP_NUM_THREADS"] = "1"  # of each worker; two workers judge faster than one with two threads


def listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens already, so that clients can connect before the server runs.

    Raises InputError if the address cannot be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        what = f"cannot be used ({getattr(error, 'strerror', None) or error})"
        raise InputError(what, where=f"{host}:{port}", allowed="choose others with --host and --port") from None
    return listener


class Protocol(H11Protocol):
    """Closes connections that wait for their clients, so that they keep nobody else out.

    One that has not sent a whole header within HEADER_SECONDS is closed, and one that does not read its answers for
    READ_SECONDS. Beyond MAX_CONNECTIONS, the one that has waited longest for the rest of a request, or for somebody to
    read its answer, makes room for the new one.
    """

    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _since = 0.0

    @property
    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def _can_make_room(self) -> bool:
        return self._is_waiting or self.cycle.more_body or self._unread is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()
        if len(self.connections) > MAX_CONNECTIONS:
            waiting = [each for each in self.connections if isinstance(each, Protocol) and each._can_make_room]
            min(waiting, key=lambda each: each._since).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_waiting and self._deadline is None:
            self._await_request()
        elif not self._is_waiting and self._deadline is not None:
            self._since = self.loop.time()
            self._cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel_unread()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        self._cancel_unread()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._since = self.loop.time()
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if self._is_waiting and not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            self.transport.close()

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cancel_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def make_server(app: FastAPI) -> uvicorn.Server:
    """Returns a server that logs nothing that a client could cause at will."""
    config = uvicorn.Config(app, log_level="error", access_log=False, backlog=BACKLOG, http=Protocol, ws="none")
    return uvicorn.Server(config)


def run(app: FastAPI, listener: socket.socket) -> None:
    """Serves until Ctrl-C or SIGTERM; then answers what was accepted, and returns."""
    with suppress(KeyboardInterrupt):  # uvicorn raises it again when it has shut down
        make_server(app).run(sockets=[listener])
