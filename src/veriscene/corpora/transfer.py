"""One file from the network: checked, continued after a break, and under its final name only when it is whole."""

from __future__ import annotations

import hashlib
import math
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from veriscene.errors import InputError

Progress = Callable[[str, int, int], None]  # name, bytes done, bytes in all
Result = TypeVar("Result")

BY_HAND = (
    "by hand: git clone https://github.com/lil-lab/nlvr and give its folder nlvr/ as --data;"
    " the programs are in https://github.com/lil-lab/lilgym, folder lilgym/data"
)
CHUNK = 1 << 16
MOST_LISTING = 1 << 26  # GitHub stops at 7 MB; this is for an answer that is something else.
# Told apart from the other kinds of OSError, which come from the disk.
NETWORK_ERRORS = (URLError, TimeoutError, ConnectionError, ssl.SSLError, HTTPException)


@dataclass(frozen=True, kw_only=True)
class Host:
    """Where to ask, and how patiently. A token lifts GitHub's limit of 60 listings an hour; pictures take about 110."""

    api: str = "https://api.github.com"
    raw: str = "https://raw.githubusercontent.com"
    token: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    pauses: tuple[float, ...] = (1.0, 4.0)


GITHUB = Host()


@dataclass(frozen=True, slots=True)
class RemoteFile:
    name: str
    url: str
    sha: str
    size: int


def silent(name: str, done: int, total: int) -> None: ...


def download(file: RemoteFile, folder: Path, host: Host, progress: Progress) -> int:
    target = folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(target.name + ".part")
    for _ in range(2):  # The first try may have continued bytes that were wrong; the second begins from nothing.
        _persist(partial(_receive, file, half, host, progress), host.pauses)
        if is_intact(half, file):
            half.replace(target)
            return file.size
        half.unlink()
    raise InputError(f"{file.url}: the checksum is wrong (expected git object id {file.sha}); nothing of it was kept")


def is_intact(path: Path, file: RemoteFile) -> bool:
    digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
    with path.open("rb") as source:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == file.sha


def place(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".part")
    half.write_bytes(content)
    half.replace(path)


def _receive(file: RemoteFile, half: Path, host: Host, progress: Progress) -> None:
    done = half.stat().st_size if half.exists() else 0
    if done >= file.size and half.exists():
        return  # The checksum decides.
    try:
        with _open(file.url, host, {"Range": f"bytes={done}-"} if done else {}) as response:
            if not (response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {done}-")):
                done = 0
            with half.open("ab" if done else "wb") as sink:
                while done <= file.size and (chunk := response.read(CHUNK)):
                    sink.write(chunk)
                    done += len(chunk)
                    progress(file.name, done, file.size)
    except HTTPError as error:
        if error.code != 416:
            raise
        half.unlink()
        done = 0
    if done < file.size:
        raise IncompleteRead(b"", file.size - done)


def ask(url: str, host: Host) -> bytes:
    """The answer to a question about a repository."""
    return _persist(partial(_ask_once, url, host), host.pauses)


def _ask_once(url: str, host: Host) -> bytes:
    with _open(url, host, {"Accept": "application/vnd.github+json"}, host.token) as response:
        return bytes(response.read(MOST_LISTING))


def _open(url: str, host: Host, headers: dict[str, str], token: str | None = None) -> Any:
    request = Request(url, headers={"User-Agent": "veriscene", **headers})
    if token:
        request.add_unredirected_header("Authorization", f"Bearer {token}")  # Not for whomever a redirect names.
    return urlopen(request, timeout=host.timeout)


def _persist(action: Callable[[], Result], pauses: tuple[float, ...]) -> Result:
    try:
        return action()
    except NETWORK_ERRORS as error:
        is_final = isinstance(error, HTTPError) and error.code < 500
        if is_final or not pauses:
            raise InputError(_explain(error)) from error
    time.sleep(pauses[0])
    return _persist(action, pauses[1:])


def _explain(error: Exception) -> str:
    if not isinstance(error, HTTPError):
        return f"no whole answer from the network ({getattr(error, 'reason', error)}); call again, or {BY_HAND}"
    if error.code == 429 or (error.code == 403 and error.headers.get("X-RateLimit-Remaining") == "0"):
        reset = error.headers.get("X-RateLimit-Reset", "")
        minutes = max(1, math.ceil((int(reset) - time.time()) / 60)) if reset.isdigit() else 60
        return f"GitHub wants a pause ({error.code}): call again in {minutes} minutes, it goes on where it stopped"
    return f"{error.url} answered {error.code} {error.reason}; {BY_HAND}"
