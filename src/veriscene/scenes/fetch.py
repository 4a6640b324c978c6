"""Brings the public corpus and its programs into a folder: what `veriscene data get` does.

Each file is checked against the git object id that its repository gives it at one fixed commit. A call that was broken
off goes on where it stopped, and a file gets its final name only when it is whole.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from veriscene.errors import InputError

Progress = Callable[[str, int, int], None]  # name, bytes done, bytes in all
Result = TypeVar("Result")

BY_HAND = (
    "by hand: git clone https://github.com/lil-lab/nlvr and give its folder nlvr/ as --data;"
    " the programs are in https://github.com/lil-lab/lilgym, folder lilgym/data"
)
OBJECT_ID = re.compile(r"[0-9a-f]{40}")
CHUNK = 1 << 16
MOST_LISTING = 1 << 26  # GitHub stops at 7 MB; this is for an answer that is something else.
CONNECTIONS = 16
BATCH = 1000  # The pool sees this many pictures at a time: 92,000 waiting futures would take over 100 MB.
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


@dataclass(frozen=True)
class Fetched:
    written: tuple[Path, ...]
    present: tuple[Path, ...]


@dataclass(frozen=True)
class _Part:
    """A part of a repository: the folders to look into, the files to take, and where those under `root` go."""

    repository: str
    commit: str
    folders: str
    files: str
    root: str
    target: str
    required: tuple[str, ...]


_CORPUS = _Part(
    repository="lil-lab/nlvr",
    commit="18924841aa96d519cfb8584f0945350f07a6d860",
    folders=r"nlvr(/(train|dev|test|hidden))?",
    files=r"nlvr/\w+/\w+\.json",
    root="nlvr/",
    target="",
    required=("train/train.json", "dev/dev.json", "test/test.json"),
)
_PICTURES = replace(
    _CORPUS,
    folders=_CORPUS.folders + r"|nlvr/\w+/images(/\d+)?",
    files=r"nlvr/\w+/images/\d+/[\w-]+\.png",
    required=(),
)
_PROGRAMS = _Part(
    repository="lil-lab/lilgym",
    commit="3e4950b58065f602dbd8b9dcb597e37bc6eabfd3",
    folders=r"lilgym(/data)?",
    files=r"lilgym/data/(tower|scatter)_scratch_(train|dev)\.json",
    root="lilgym/data/",
    target="programs/lilgym/",
    required=tuple(
        f"programs/lilgym/{kind}_scratch_{split}.json" for kind in ("tower", "scatter") for split in ("train", "dev")
    ),
)


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    url: str
    sha: str
    size: int


def _silent(name: str, done: int, total: int) -> None: ...


def fetch(folder: Path, *, images: bool = False, progress: Progress = _silent, host: Host = GITHUB) -> Fetched:
    """Makes `folder` hold the corpus (SPLIT/SPLIT.json) and programs/train.jsonl, programs/dev.jsonl.

    With `images` also every SPLIT/images/N/*.png; their progress is reported under the one name "images".
    What is there and right is left alone; what is there and differs is an InputError, raised before the corpus is
    downloaded. Every other failure is an InputError too, and the next call goes on from there.
    """
    try:
        programs = _list_files(_PROGRAMS, folder, host)
        corpus = _list_files(_CORPUS, folder, host)
        pictures = _list_files(_PICTURES, folder, host) if images else []
        there = {file: _is_there(folder / file.name, file) for file in (*programs, *corpus, *pictures)}
        for file in programs:
            if not there[file]:
                _download(file, folder, host, progress)
        converted = {f"programs/{split}.jsonl": _convert(folder, split) for split in ("train", "dev")}
        for file in corpus:
            if not there[file]:
                _download(file, folder, host, progress)
        _download_pictures([file for file in pictures if not there[file]], folder, host, progress)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}") from error
    written = {file.name: not was_there for file, was_there in there.items()} | converted
    return Fetched(
        written=tuple(folder / name for name, is_new in written.items() if is_new),
        present=tuple(folder / name for name, is_new in written.items() if not is_new),
    )


# ---------------------------------------------------------------- what there is


def _list_files(part: _Part, folder: Path, host: Host) -> list[_File]:
    files = list(_walk(part, part.commit, folder / ".listings", host))
    lacking = set(part.required) - {file.name for file in files}
    if lacking:
        raise InputError(f"{part.repository} at {part.commit} has no {', '.join(sorted(lacking))}; {BY_HAND}")
    return files


def _walk(part: _Part, tree: str, listings: Path, host: Host, above: str = "") -> Iterator[_File]:
    # Folder by folder: GitHub cuts the listing of a whole repository of this length short.
    url = f"{host.api}/repos/{part.repository}/git/trees/{tree}"
    kept = listings / f"{tree}.json"  # A tree never changes, and GitHub rations the listings.
    is_known = kept.exists()
    answer = kept.read_bytes() if is_known else _persist(partial(_ask, url, host), host.pauses)
    try:
        content = json.loads(answer)
        if content["truncated"]:
            raise ValueError("it is cut short")
        items = [
            (f"{above}{item['path']}", item["type"], item["sha"], int(item.get("size", 0))) for item in content["tree"]
        ]
        if not all(OBJECT_ID.fullmatch(sha) for _, _, sha, _ in items):
            raise ValueError("it has no object ids")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{kept if is_known else url} is no listing of a git tree ({error}); {BY_HAND}") from error
    if not is_known:
        _place(kept, answer)
    for path, kind, sha, size in items:
        if kind == "tree" and re.fullmatch(part.folders, path):
            yield from _walk(part, sha, listings, host, path + "/")
        elif kind == "blob" and re.fullmatch(part.files, path):
            source = f"{host.raw}/{part.repository}/{part.commit}/{quote(path)}"
            yield _File(name=part.target + path.removeprefix(part.root), url=source, sha=sha, size=size)


# ---------------------------------------------------------------- onto the disk


def _is_there(path: Path, file: _File) -> bool:
    if not path.exists():
        return False
    if not _is_intact(path, file):
        raise InputError(f"{path} differs from the public file and was left as it is: move it away and call again")
    return True


def _is_intact(path: Path, file: _File) -> bool:
    digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
    with path.open("rb") as source:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == file.sha


def _place(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".part")
    half.write_bytes(content)
    half.replace(path)


def _convert(folder: Path, split: str) -> bool:
    """Writes programs/SPLIT.jsonl out of the downloaded sources; False if it was there already."""
    lines = []
    for kind in ("tower", "scatter"):
        source = folder / _PROGRAMS.target / f"{kind}_scratch_{split}.json"
        for record in json.loads(source.read_bytes()).values():
            line = {"sentence": record["sentence"], "kind": kind, "program": record["lf"]}
            lines.append(json.dumps(line) + "\n")
    content = "".join(lines).encode()
    target = folder / "programs" / f"{split}.jsonl"
    if target.exists():
        if target.read_bytes() != content:
            raise InputError(
                f"{target} differs from the public programs and was left as it is: move it away and call again"
            )
        return False
    _place(target, content)
    return True


def _download_pictures(files: list[_File], folder: Path, host: Host, progress: Progress) -> None:
    done, total = 0, sum(file.size for file in files)
    one = partial(_download, folder=folder, host=host, progress=_silent)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        try:
            for first in range(0, len(files), BATCH):
                for size in pool.map(one, files[first : first + BATCH]):
                    done += size
                    progress("images", done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _download(file: _File, folder: Path, host: Host, progress: Progress) -> int:
    target = folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(target.name + ".part")
    for _ in range(2):  # The first try may have continued bytes that were wrong; the second begins from nothing.
        _persist(partial(_receive, file, half, host, progress), host.pauses)
        if _is_intact(half, file):
            half.replace(target)
            return file.size
        half.unlink()
    raise InputError(f"{file.url}: the checksum is wrong (expected git object id {file.sha}); nothing of it was kept")


# ---------------------------------------------------------------- over the network


def _receive(file: _File, half: Path, host: Host, progress: Progress) -> None:
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


def _ask(url: str, host: Host) -> bytes:
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
