"""The service under load, run as a user runs it, with a tiny model: nothing that it accepted is lost, it recovers
within a second, and its memory stays flat.

    python benchmarks/torture/service.py --requests 1000000 --minutes 10

1. Requests on connections that are kept, as many as half of the time allows, or a given number; a record counts them by
   seed. Each connection sends several at once and reads their answers in that order.
2. Overload: for a minute, or a tenth of the time, ten times as many clients as requests that it answers at once.
3. Clients that drip their headers, more than it keeps connections for; others are answered meanwhile.
4. Clients that close their half of the connection when they have asked.
5. SIGTERM among large requests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import tally
import tiny

from veriscene.service.app import MAX_CONNECTIONS
from veriscene.service.middleware import MAX_REQUESTS
from veriscene.training.spec import Spec
from veriscene.training.train import train
from veriscene.worlds.nlvr import synthetic
from veriscene.worlds.nlvr.looks import WORLD

RECORD = Path("runs") / "service.json"
HOST = "127.0.0.1"
CLIENTS = 16  # that keep their connections
AT_ONCE = 8  # requests that each of them sends before it reads the answers
SAMPLES = 40  # of memory under a steady load, and
WARMED_UP = 4  # the first that counts: earlier answers fill caches
OVERLOAD = 10  # times MAX_REQUESTS clients
FEW = 3  # questions of one request under a steady load
LARGE = 24  # questions of a large request; those of all clients fit into the queue
SECONDS = 60.0  # until an answer counts as lost
RECOVERY_SECONDS = 1.0
MEGABYTES = 20  # of growth
CLOSED, WAITED = 0, -1  # instead of a status: the connection was closed before any answer, or waited for SECONDS


def run(
    seed: int, minutes: float, record: Path = RECORD, requests: int | None = None
) -> tuple[dict[str, object], list[str]]:
    """`requests`: how many the first part sends; by default, as many as half of the time allows."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Spec.of("bienc", data=tiny.prepare(Path(folder)), changes=tiny.SETTINGS)
        child = tiny.fork(lambda: train(spec, Path(folder) / "run"), Path(folder) / "log")
        assert tiny.ended(child) == 0, Path(folder, "log").read_text()
        command = [sys.executable, "-m", "veriscene", "serve", str(Path(folder) / "run"), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                found = re.search(r":(\d+)$", process.stdout.readline().strip())
                assert found is not None
                load = Load(process, int(found[1]), seed, requests)
                asyncio.run(load.run(60 * minutes))
            finally:
                process.kill()
    tally.add(record, seed, {"requests": int(str(load.counts["requests"])), "failures": len(load.failures)})
    return {**load.counts, "requests so far": tally.total(record, "requests")}, load.failures


def _request(path: str, body: object) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return f"{head}\r\n\r\n".encode() + content


@dataclass
class Load:
    process: subprocess.Popen[str]
    port: int
    seed: int
    wanted: int | None
    counts: dict[str, object] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    async def run(self, seconds: float) -> None:
        examples = synthetic.build(100, seed=1)["train"]
        questions = [{"statement": e.statement, "scene": WORLD.to_json_scene(e.scene)} for e in examples]
        self.requests = [_request("/api/judge", each) for each in questions]
        self.few, self.large = (
            _request("/api/judge/many", {"questions": (questions * count)[:count]}) for count in (FEW, LARGE)
        )
        for part in (self.steadily, self.overloaded, self.dripping, self.half_closed, self.terminated):
            await part(seconds)

    def check(self, holds: bool, what: str) -> None:
        if not holds:
            self.failures.append(what)

    # ---------------------------------------------------------------- the parts

    async def steadily(self, seconds: float) -> None:
        statuses, latencies, megabytes = Counter[int](), list[float](), list[float]()
        started, health = time.monotonic(), f"GET /health HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
        kinds = [*self.requests, self.few, health]

        def share() -> float:
            """Of this part that is done."""
            if self.wanted is not None:
                return statuses.total() / self.wanted
            return (time.monotonic() - started) / (seconds / 2)

        async def client(number: int) -> None:
            rng, connection = random.Random(f"{self.seed}/{number}"), Connection(self.port)
            while share() < 1:
                asked = time.monotonic()
                await connection.send(b"".join(rng.choices(kinds, k=AT_ONCE)))
                for _ in range(AT_ONCE):
                    statuses[await connection.ask(b"")] += 1
                latencies.append(time.monotonic() - asked)
            connection.close()

        async def watch() -> None:
            while (done := share()) < 1:
                if done >= (len(megabytes) + 1) / (SAMPLES + 1):
                    megabytes.append(self.megabytes())
                await asyncio.sleep(0.05)

        await asyncio.gather(watch(), *map(client, range(CLIENTS)))
        megabytes.append(self.megabytes())
        spent, first = time.monotonic() - started, megabytes[min(WARMED_UP, len(megabytes) - 1)]
        self.counts |= {"requests": statuses.total(), "requests per second": round(statuses.total() / spent)}
        self.counts |= {f"p99 ms of {AT_ONCE}": round(1000 * sorted(latencies)[int(0.99 * len(latencies))])}
        self.counts["MB"] = [round(each) for each in megabytes]
        self.check(set(statuses) == {200}, f"statuses {dict(statuses)}")
        self.check(max(megabytes[WARMED_UP:]) < first + MEGABYTES, f"memory grows: {megabytes}")

    async def overloaded(self, seconds: float) -> None:
        statuses, end = Counter[int](), time.monotonic() + min(60.0, seconds / 10)
        before = await self.answered()

        async def client(number: int) -> None:
            while time.monotonic() < end:
                connection = Connection(self.port)
                statuses[await connection.ask(self.requests[number % len(self.requests)])] += 1
                connection.close()

        await asyncio.gather(*map(client, range(OVERLOAD * MAX_REQUESTS)))
        recovery = await self.recovery()
        lost = await self.answered() - before - statuses[200] - 1
        self.counts |= {"overload clients": OVERLOAD * MAX_REQUESTS, "overload answered": statuses[200]}
        refused = statuses[503] + statuses[408]  # 408: it had no time to read the header
        self.counts |= {"overload refused": refused, "overload closed": statuses[CLOSED], "lost": lost}
        self.counts["overload not let in"] = statuses[WAITED]  # what it accepts has an answer, if only 503, in time
        self.counts["overload recovery seconds"] = recovery
        self.check(lost == 0, f"{lost} verdicts did not arrive")
        self.check(set(statuses) <= {200, 408, 503, CLOSED, WAITED} and statuses[200] > 0, f"statuses {dict(statuses)}")

    async def dripping(self, seconds: float) -> None:
        slow = [Connection(self.port) for _ in range(MAX_CONNECTIONS + 100)]
        for each in slow:
            await each.send(b"POST /api/judge HTTP/1.1\r\nX-Slow: ")
        statuses, end, longest = Counter[int](), time.monotonic() + min(15.0, seconds / 20), 0.0
        while time.monotonic() < end:
            for each in slow[::20]:
                await each.send(b"x")
            started, connection = time.monotonic(), Connection(self.port)
            statuses[await connection.ask(self.requests[0])] += 1
            connection.close()
            longest = max(longest, time.monotonic() - started)
        for each in slow:
            each.close()
        self.counts |= {"slow clients": len(slow), "answered beside them": statuses[200]}
        self.counts["longest beside them ms"] = round(1000 * longest)
        self.check(set(statuses) == {200}, f"beside slow clients: statuses {dict(statuses)}")

    async def half_closed(self, seconds: float) -> None:
        files, statuses = self.open_files(), Counter[int]()

        async def client() -> None:
            connection = Connection(self.port)
            statuses[await connection.ask(self.requests[0], half_closes=True)] += 1
            connection.close()

        await asyncio.gather(*(client() for _ in range(CLIENTS * 10)))
        recovery = await self.recovery()
        self.counts |= {"half-closed": statuses.total(), "half-closed answered": statuses[200]}
        self.counts["half-closed recovery seconds"] = recovery
        self.check(set(statuses) <= {200, CLOSED}, f"half-closed: statuses {dict(statuses)}")
        await asyncio.sleep(1)
        self.check(self.open_files() <= files + CLIENTS, f"{self.open_files()} open files after {files}")

    async def terminated(self, seconds: float) -> None:
        """Whatever was sent a tenth of a second before SIGTERM is answered, and then the process ends well."""
        asked, told, statuses = dict[int, float](), dict[int, float](), dict[int, int]()

        async def client(number: int) -> None:
            connection = Connection(self.port)
            asked[number] = time.monotonic()
            statuses[number] = await connection.ask(self.large)
            told[number] = time.monotonic()
            connection.close()

        clients = [asyncio.create_task(client(number)) for number in range(CLIENTS)]
        await asyncio.sleep(0.1)
        self.process.send_signal(signal.SIGTERM)
        stopped = time.monotonic()
        await asyncio.gather(*clients)
        waiting = [number for number in asked if told[number] > stopped]
        lost = [number for number in waiting if statuses[number] != 200]
        status = await asyncio.to_thread(self.process.wait, SECONDS)
        self.counts |= {"waiting at SIGTERM": len(waiting), "lost at SIGTERM": len(lost)}
        self.counts["SIGTERM seconds"] = round(time.monotonic() - stopped, 2)
        self.check(not lost, f"SIGTERM: statuses {[statuses[number] for number in lost]}")
        self.check(status in (0, 128 + signal.SIGTERM), f"SIGTERM: exit status {status}")

    # ---------------------------------------------------------------- what is measured

    async def recovery(self) -> float:
        """Returns the seconds until a request is judged."""
        started = time.monotonic()
        while await self.once(lambda connection: connection.ask(self.requests[0])) != 200:
            if time.monotonic() > started + SECONDS:
                break
            await asyncio.sleep(0.02)
        seconds = round(time.monotonic() - started, 3)
        self.check(seconds <= RECOVERY_SECONDS, f"recovered after {seconds} s")
        return seconds

    async def once(self, act: Callable[[Connection], Awaitable[int]]) -> int:
        connection = Connection(self.port)
        status = await act(connection)
        connection.close()
        return status

    async def answered(self) -> int:
        """Returns how many questions the service says it has answered."""
        connection = Connection(self.port)
        assert await connection.ask(f"GET /metrics HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()) == 200
        connection.close()
        found = re.search(r'veriscene_requests_total\{route="/api/judge",status="200"\} ([0-9.e+]+)', connection.body)
        return int(float(found[1])) if found else 0

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))  # noqa: PTH208


class Connection:
    def __init__(self, port: int) -> None:
        self.port, self.body = port, ""
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, content: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.streams = self.streams or await asyncio.open_connection(HOST, self.port)
        if not self.streams[1].is_closing():
            self.streams[1].write(content)
        return self.streams

    async def ask(self, request: bytes, *, half_closes: bool = False) -> int:
        """Returns the status of the answer, CLOSED or WAITED."""
        try:
            async with asyncio.timeout(SECONDS):
                reader, writer = await self.send(request)
                if half_closes:
                    writer.write_eof()
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                self.body = (await reader.readexactly(int(length[1]) if length else 0)).decode()
                return int(head[9:12])
        except asyncio.IncompleteReadError as error:
            assert not error.partial, "half an answer"
        except TimeoutError:
            return WAITED
        except ConnectionError:
            pass
        return CLOSED

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--requests", type=int, help="Of the first part; by default, as many as half of the time allows."
    )
    parser.add_argument("--record", type=Path, default=RECORD)
    given = parser.parse_args()
    counts, failures = run(given.seed, given.minutes, given.record, given.requests)
    print(json.dumps({**counts, "failures": failures}))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
