"""`veriscene serve` as a user runs it."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from shell import VERISCENE, veriscene

from scripts import script

pytest.importorskip("uvicorn")


@contextmanager
def serving(*arguments: str, cwd: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The process and its port, once the address is printed. At the end Ctrl-C must end it well."""
    command = [*VERISCENE, "serve", *arguments, "--port", "0"]
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.fullmatch(r"serving .* at http://[0-9.]+:(\d+)\n", process.stdout.readline())
    assert found, process.communicate()
    yield process, int(found[1])
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_serves_until_interrupted(place: Path, host: str, warns: bool) -> None:
    arguments = ("model", "pairs", "--host", host, "--data", "corpus/dev/dev.json")
    with serving(*arguments, cwd=place) as (process, port):
        address = f"http://127.0.0.1:{port}"
        assert b"circle" in urllib.request.urlopen(f"{address}/api/scenes/example", timeout=20).read()
        assert b'"pairs"' in urllib.request.urlopen(f"{address}/api/models", timeout=20).read()
    assert process.stderr is not None
    errors = process.stderr.read()
    assert (host in errors) == warns and errors.count("\n") == warns


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process from /proc")
def test_memory_does_not_grow_with_requests(place: Path) -> None:
    clients = script("serve")
    with serving("model", cwd=place) as (process, port):

        def megabytes_after(count: int) -> float:
            asyncio.run(clients._load(port, clients._requests(), clients=32, most=count))
            status = Path(f"/proc/{process.pid}/status").read_text()
            return int(status.split("VmRSS:")[1].split()[0]) / 1024

        first = megabytes_after(500)
        assert megabytes_after(1500) - first < 10


def test_what_cannot_be_served_is_one_line(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, expected in (
            (("model", "--port", port), f"127.0.0.1:{port}: cannot be used"),
            (("nosuchmodel", "--port", "0"), "nosuchmodel"),
            (("model", "pairs", "model", "--port", "0"), "model model: is named twice"),
            (("model", "--port", "0", "--host", "no such host"), "no such host:0: cannot be used"),
            (("model", "--port", "0", "--data", "broken.json"), "broken.json"),
        ):
            done = veriscene("serve", *arguments, cwd=place)
            assert done.returncode == 1 and done.stdout == ""
            assert expected in done.stderr and done.stderr.count("\n") == 1
