"""`veriscene serve` as a user runs it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest
from shell import VERISCENE, veriscene

pytest.importorskip("uvicorn")


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_serves_until_interrupted(place: Path, host: str, warns: bool) -> None:
    command = [*VERISCENE, "serve", "model", "pairs", "--host", host, "--port", "0", "--data", "corpus/dev/dev.json"]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.readline()
    found = re.fullmatch(r"serving model, pairs at http://[0-9.]+:(\d+)\n", printed)
    assert found, process.communicate()
    address = f"http://127.0.0.1:{found[1]}"
    assert b"circle" in urllib.request.urlopen(f"{address}/api/scenes/example", timeout=20).read()
    assert b'"pairs"' in urllib.request.urlopen(f"{address}/api/models", timeout=20).read()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert ("can be reached from other machines" in errors) == warns and errors.count("\n") == warns


def test_what_cannot_be_served_is_one_line(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, expected in (
            (("model", "--port", port), f"127.0.0.1:{port}: cannot be used"),
            (("nosuchmodel", "--port", "0"), "nosuchmodel"),
            (("model", "--port", "0", "--host", "no such host"), "no such host:0: cannot be used"),
            (("model", "--port", "0", "--data", "broken.json"), "broken.json"),
        ):
            done = veriscene("serve", *arguments, cwd=place)
            assert done.returncode == 1 and done.stdout == ""
            assert expected in done.stderr and done.stderr.count("\n") == 1
