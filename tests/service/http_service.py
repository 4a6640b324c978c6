"""A service that runs in this process, and a client that speaks to it over a real connection."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from small_models import judge_of
from some_worlds import NLVR, SHELF
from veriscene.errors import InputError
from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.service.app import listen, make_app, make_server
from veriscene.service.batching import Limits
from veriscene.world.scene import Scene
from veriscene.world.world_file import to_tree

JUDGE = judge_of("torch", "biatt-pointer")


def tree_of(world: str) -> dict[str, Any]:
    """Returns the tables of a world as the service sends them."""
    return to_tree({"nlvr": NLVR, "shelf": SHELF}[world])


def parse(scene: object) -> Scene:
    """Returns a scene that the page or the service wrote; raises InputError if it is invalid."""
    return JUDGE.world.parse(scene)


class HeldJudge(Judge):
    """A judge that waits until it is released, and notes the sizes of its batches."""

    def __init__(self) -> None:
        self.judge = JUDGE
        self.encoder, self.order = self.judge.encoder, self.judge.order
        self.released, self.asked, self.batches = threading.Event(), threading.Event(), list[int]()

    def _judge(
        self, questions: list[Question], *, maps: bool = True, readings: bool = True
    ) -> list[Verdict | InputError]:
        self.asked.set()
        assert self.released.wait(20)
        self.batches.append(len(questions))
        return self.judge(questions)


class Client:
    def __init__(self, port: int) -> None:
        self.port = port

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
        """Status, JSON value or text, and headers of the answer. A body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        content = (
            body if body is None or isinstance(body, bytes) or hasattr(body, "read") else json.dumps(body).encode()
        )
        connection.request(method, path, content, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        text, kind = answer.read().decode(), answer.headers.get("content-type", "")
        connection.close()
        return (
            answer.status,
            json.loads(text) if "json" in kind and text else text,
            {k.lower(): v for k, v in answer.headers.items()},
        )

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        return self.send("POST", path, body)[:2]

    def get(self, path: str) -> tuple[int, Any]:
        return self.send("GET", path)[:2]


@contextmanager
def running(*judges: Judge, limits: Limits | None = None, **options: Any) -> Iterator[Client]:
    """Judges are named after their numbers. At the end the service is shut down, as after Ctrl-C."""
    listener = listen("127.0.0.1", 0)
    named = {str(number): judge for number, judge in enumerate(judges)}
    server = make_server(make_app(named, settings=limits, **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield Client(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
