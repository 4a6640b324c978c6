"""Hostile requests: none may be answered with 500, or not at all.

Run against a service: python benchmarks/hostile.py --port 8000 --requests 20000
"""

from __future__ import annotations

import argparse
import base64
import copy
import http.client
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from veriscene.service.documentation import routes
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import to_png
from veriscene.worlds.nlvr.raster import pixels

SCENE = [
    [{"x_loc": 10, "y_loc": 20, "size": 20, "type": "circle", "color": "Yellow"}],
    [{"x_loc": 40, "y_loc": 79, "size": 20, "type": "square", "color": "#0099ff"}],
    [{"x_loc": 0, "y_loc": 0, "size": 30, "type": "triangle", "color": "Black"}],
]
QUESTION = {"statement": "There is a box with a yellow circle.", "scene": SCENE}
ROUTES = routes(QUESTION)
SECONDS = 30.0  # until a request counts as never answered
IMAGE = base64.b64encode(to_png(pixels(WORLD.parse(SCENE)))).decode()
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1e308, 10**25, 0.5, "", " ", "a", "\ud800", "\x00", "é" * 300, "-" * 5000, "1e999"),
    *([], {}, [[]], [[], [], []], [[[]]] * 3, {"a": {}}, "0 " * 1000, "zzz " * 255, IMAGE, IMAGE[:-8], "QUJD"),
)
PATHS = (
    "/",
    "/static/",
    "/static/../app.py",
    "/static/%2e%2e/app.py",
    "/static/%00",
    "/docs",
    "/nope",
    "/%ff%fe",
    "//",
    "/api",
)
QUERIES = (
    "",
    "?kind=tower",
    "?kind=",
    "?kind=%00",
    "?kind=a&kind=b",
    "?%ff=%ff",
    "?kind=scatter#x",
    "?model=0",
    "?model=%ff",
)
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW")
TEXTS = (
    *(b"", b"null", b"[]", b'"a"', b"{", b"\xff\xfe", b"{}{}", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 20_000),
    *(
        b'{"a":' * 5_000,
        b'{"statement": 1' + b"0" * 6000 + b"}",
        b'{"statement": "\\ud800", "scene": []}',
        b"\x00" * 100,
    ),
)


class HostileRequest(NamedTuple):
    method: str
    path: str
    body: bytes
    headers: dict[str, str]


def hostile_requests(count: int, seed: int) -> Iterator[HostileRequest]:
    """Valid requests with a few random changes, texts that are not JSON, odd paths, methods and headers."""
    rng = random.Random(seed)
    valid = {path: route.request for path, route in ROUTES.items() if route.request is not None}
    valid["/api/decode"] = {"image": IMAGE, "eyes": True}
    for _ in range(count):
        kind = rng.random()
        headers = {"Content-Type": rng.choice((*["application/json"] * 7, "text/plain", "multipart/form-data", "\xff"))}
        if kind < 0.7:
            path = rng.choice(list(valid))
            body = copy.deepcopy(valid[path])
            for _ in range(rng.randint(1, 3)):
                body = _changed(body, rng)
            yield HostileRequest("POST", path, json.dumps(body).encode(), headers)
        elif kind < 0.85:
            text = rng.choice(TEXTS) if rng.random() < 0.6 else rng.randbytes(rng.randint(0, 300))
            yield HostileRequest("POST", rng.choice(list(valid)), text, headers)
        else:
            path = rng.choice((*PATHS, *ROUTES)) + rng.choice(QUERIES)
            yield HostileRequest(rng.choice(METHODS), path, json.dumps(QUESTION).encode(), headers)


def _changed(value: Any, rng: random.Random) -> Any:
    """The value with one of its parts replaced, removed, repeated or damaged."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {name: part for name, part in value.items() if name != key}
        extra = {rng.choice(("model", "attention", "image", "eyes", "format")): rng.choice(VALUES)}
        return {**value, key: _changed(value[key], rng), **(extra if rng.random() < 0.1 else {})}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        if rng.random() < 0.1:
            return value * rng.choice((0, 2, 9, 100))
        return [*value[:at], _changed(value[at], rng), *value[at + 1 :]]
    if isinstance(value, str) and value and rng.random() < 0.5:
        at = rng.randrange(len(value))
        return value[:at] + rng.choice(("", chr(rng.randrange(0x11000)), value)) + value[at + 1 :]
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 100, 0.5))
    return rng.choice(VALUES)


def statuses(port: int, requests: Iterator[HostileRequest]) -> Counter[int]:
    """How often each status was the answer; raises AssertionError for a 500, and TimeoutError for no answer."""
    counts: Counter[int] = Counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    for request in requests:
        try:
            connection.request(request.method, request.path, request.body, request.headers)
            answer = connection.getresponse()
            answer.read()
        except ConnectionError:  # counted as 0: a server may close a connection after an error
            connection.close()
            counts[0] += 1
            continue
        counts[answer.status] += 1
        assert answer.status != 500, request
    connection.close()
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts = statuses(given.port, hostile_requests(given.requests, given.seed))
    print(json.dumps({str(status): count for status, count in sorted(counts.items())}), file=sys.stdout)


if __name__ == "__main__":
    main()
