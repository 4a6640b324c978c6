"""Many clients at once: a service that batches their questions against one that judges them one at a time.

Both serve the same model in processes of their own and are measured in turns; the clients run in this process.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from veriscene.service.batching import Limits
from veriscene.worlds.nlvr import synthetic
from veriscene.worlds.nlvr.looks import WORLD

HOST = "127.0.0.1"
WARM_UP = 32  # requests before each measurement
SIDES = {"batched": Limits(), "one at a time": Limits(batch=1, workers=1)}


@dataclass(frozen=True)
class Served:
    """One side. Latencies are in milliseconds."""

    judgements_per_second: float
    p50: float
    p99: float
    requests: int


def bench_serve(
    model: str,
    *,
    clients: int,
    seconds: float,
    rounds: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, object]:
    """Measures both sides in `rounds` turns of `seconds` each. The ratio is that of the judgements per second."""
    requests = _requests()
    latencies: dict[str, list[float]] = {name: [] for name in SIDES}
    spent = dict.fromkeys(SIDES, 0.0)
    with _serving(model, SIDES["batched"]) as batched, _serving(model, SIDES["one at a time"]) as single:
        ports = dict(zip(SIDES, (batched, single), strict=True))
        for number in range(rounds):
            for name, port in ports.items():
                asyncio.run(_load(port, requests, clients=clients, most=WARM_UP))
                start = time.perf_counter()
                latencies[name] += asyncio.run(_load(port, requests, clients=clients, seconds=seconds))
                spent[name] += time.perf_counter() - start
            progress(number + 1, rounds)
    sides = {
        name: Served(
            judgements_per_second=len(times) / spent[name],
            p50=1000 * float(np.quantile(times, 0.5)),
            p99=1000 * float(np.quantile(times, 0.99)),
            requests=len(times),
        )
        for name, times in latencies.items()
    }
    ratio = sides["batched"].judgements_per_second / sides["one at a time"].judgements_per_second
    return {"model": model, "clients": clients, "sides": {n: vars(s) for n, s in sides.items()}, "ratio": ratio}


def describe(result: dict[str, object]) -> str:
    lines = [f"{result['model']}, {result['clients']} clients"]
    sides = result["sides"]
    assert isinstance(sides, dict)
    for name, side in sides.items():
        figures = (
            f"{side['judgements_per_second']:6.1f} judgements/s, p50 {side['p50']:.0f} ms, p99 {side['p99']:.0f} ms"
        )
        lines.append(f"  {name:14} {figures} ({side['requests']:,} requests)")
    return "\n".join([*lines, f"  ratio          {result['ratio']:.2f}"])


# ---------------------------------------------------------------- servers


@contextmanager
def _serving(model: str, limits: Limits) -> Iterator[int]:
    """The port of a server in a process of its own, which is ready."""
    from veriscene.service.app import listen

    listener = listen(HOST, 0)
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(model, limits, listener), daemon=True)
    process.start()
    port = listener.getsockname()[1]
    listener.close()
    try:
        yield port
    finally:
        process.terminate()
        process.join()


def _serve(model: str, limits: Limits, listener: socket.socket) -> None:
    from veriscene.judge import load
    from veriscene.service.app import configure_process, make_app, run

    configure_process()  # one thread is faster one at a time, too
    run(make_app({model: load(model)}, settings=limits), listener)


# ---------------------------------------------------------------- clients


def _requests() -> list[bytes]:
    examples = synthetic.build(200, seed=1)["train"]
    bodies = [json.dumps({"statement": e.statement, "scene": WORLD.to_json_scene(e.scene)}).encode() for e in examples]
    head = "POST /api/judge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    return [head.format(len(body)).encode() + body for body in bodies]


async def _load(
    port: int, requests: Sequence[bytes], *, clients: int, seconds: float = 3600, most: int = 1 << 30
) -> list[float]:
    """The latencies of requests that each client sends one after the other, until the time or their number is over."""
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection(HOST, port)
        position = number * 7
        while time.perf_counter() < end and len(latencies) < most:
            start = time.perf_counter()
            writer.write(requests[position % len(requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"the server answered {head[:40]!r} {body[:200]!r}")
            latencies.append(time.perf_counter() - start)
            position += clients
        writer.close()

    await asyncio.gather(*map(client, range(clients)))
    return latencies
