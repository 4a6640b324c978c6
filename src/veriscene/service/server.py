"""Runs the app: torch's settings, a socket that listens, and uvicorn."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

import torch
import uvicorn
from fastapi import FastAPI

from veriscene.errors import InputError

BACKLOG = 512
MOST_CONNECTIONS = 512  # more are answered with 503


def configure_torch() -> None:
    """Settings of a process that serves; to be called before any model is loaded."""
    # oneDNN keeps code for each of the last 1,024 shapes, more than 100 MB; batches have many shapes.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
    torch.set_num_threads(1)  # of each worker; two workers judge faster than one with two threads


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens already, so that clients can connect before the server runs; InputError if it cannot."""
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


def make_server(app: FastAPI) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", access_log=False, backlog=BACKLOG, limit_concurrency=MOST_CONNECTIONS, ws="none"
        )
    )


def run(app: FastAPI, listener: socket.socket) -> None:
    """Serves until Ctrl-C or SIGTERM; then answers what was accepted, and returns."""
    with suppress(KeyboardInterrupt):  # uvicorn raises it again when it has shut down
        make_server(app).run(sockets=[listener])
