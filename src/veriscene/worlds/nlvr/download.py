"""`veriscene data get`: downloads the public corpus and its programs.

pinned.tsv fixes each file's repository, commit and git blob id, so nothing but these exact bytes is accepted.
"""

from __future__ import annotations

import hashlib
import json
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from http.client import HTTPException, IncompleteRead
from importlib import resources
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from veriscene.errors import InputError
from veriscene.files import locked, write_bytes, write_text
from veriscene.output import Progress, silent

CLONE = (
    "or clone https://github.com/lil-lab/nlvr and pass its folder nlvr/ as --data;"
    " the programs are in https://github.com/lil-lab/lilgym, folder lilgym/data"
)
CHUNK = 1 << 16
MAX_BYTES = 64 << 20  # the largest file has about 10 MB
TARGETS = {"nlvr/": "", "lilgym/data/": "programs/lilgym/"}  # folder in the repository -> folder in the corpus
PROGRAMS = "programs/lilgym"
# Unlike other kinds of OSError, which come from the disk, these are worth a retry.
NETWORK_ERRORS = (URLError, TimeoutError, ConnectionError, ssl.SSLError, HTTPException)

Bars = Callable[[str], AbstractContextManager[Progress]]  # the progress of a file in bytes, by its name


@dataclass(frozen=True, kw_only=True)
class Host:
    """Names the server of the files; a failed request is repeated after each of the `pauses`, in seconds."""

    url: str = "https://raw.githubusercontent.com"
    timeout: float = 30.0
    pauses: tuple[float, ...] = (1.0, 4.0)


@dataclass(frozen=True)
class PinnedFile:
    repository: str
    commit: str
    path: str
    blob: str

    @property
    def name(self) -> str:
        """Returns the path in the corpus folder."""
        source, target = next(item for item in TARGETS.items() if self.path.startswith(item[0]))
        return target + self.path.removeprefix(source)


def pinned_files() -> list[PinnedFile]:
    table = resources.files("veriscene.worlds.nlvr").joinpath("pinned.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines() if not line.startswith("#"))
    return [PinnedFile(repository, commit, path, blob) for repository, commit, path, blob, _ in rows]


def fetch(
    folder: Path,
    *,
    files: Sequence[PinnedFile] | None = None,
    progress: Bars = lambda name: nullcontext(silent),
    host: Host | None = None,
) -> dict[Path, bool]:
    """Makes `folder` hold the corpus (SPLIT/SPLIT.json) and programs/train.jsonl, programs/dev.jsonl.

    Returns each path and whether it is new. Keeps files that are correct; raises InputError, before the corpus is
    downloaded, if an existing file differs. After any failure (an InputError) the next call continues file by file.
    """
    files, host = pinned_files() if files is None else files, host or Host()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            is_new = {file: not (folder / file.name).exists() for file in files}
            for file in files:
                if not is_new[file] and _blob_id((folder / file.name).read_bytes()) != file.blob:
                    raise _differs(folder / file.name)
            missing = [file for file in files if is_new[file]]
            # The programs first: converting them may show that other programs are there already.
            for file in missing:
                if file.name.startswith(PROGRAMS):
                    _download(file, folder / file.name, host, progress)
            converted = {folder / f"programs/{split}.jsonl": _convert(folder, split) for split in ("train", "dev")}
            for file in missing:
                if not file.name.startswith(PROGRAMS):
                    _download(file, folder / file.name, host, progress)
    except OSError as error:
        raise InputError(error.strerror or str(error), where=error.filename or folder) from error
    return {folder / file.name: is_new[file] for file in files} | converted


def _convert(folder: Path, split: str) -> bool:
    """Writes programs/SPLIT.jsonl from lilGym's files; returns False if it was there already."""
    lines = []
    for kind in ("tower", "scatter"):
        source = folder / PROGRAMS / f"{kind}_scratch_{split}.json"
        for record in json.loads(source.read_bytes()).values():
            lines.append(json.dumps({"sentence": record["sentence"], "kind": kind, "program": record["lf"]}) + "\n")
    text, target = "".join(lines), folder / "programs" / f"{split}.jsonl"
    if not target.exists():
        write_text(target, text)
        return True
    if target.read_bytes() != text.encode():
        raise _differs(target)
    return False


def _differs(path: Path) -> InputError:
    return InputError("differs from the public file", where=path, allowed="it was not changed; move it away and retry")


# ---------------------------------------------------------------- one file


def _download(file: PinnedFile, target: Path, host: Host, progress: Bars) -> None:
    url = f"{host.url}/{file.repository}/{file.commit}/{file.path}"
    for pause in (*host.pauses, None):
        try:
            with progress(file.name) as bar:
                content = _receive(url, host, bar)
            break
        except NETWORK_ERRORS as error:
            if pause is None or (isinstance(error, HTTPError) and error.code < 500):
                reason = error.reason if isinstance(error, URLError) else error
                answered = f"the server answered {error.code} {reason}" if isinstance(error, HTTPError) else None
                what = answered or f"no complete answer ({reason})"
                raise InputError(what, where=url, allowed=f"retry, {CLONE}") from error
            time.sleep(pause)
    if _blob_id(content) != file.blob:
        allowed = f"expected git blob id {file.blob}; nothing was kept"
        raise InputError("the checksum is wrong", where=url, allowed=allowed)
    write_bytes(target, content)


def _receive(url: str, host: Host, bar: Progress) -> bytes:
    """The answer, at most a little over MAX_BYTES of it; raises one of NETWORK_ERRORS if it ends early."""
    content = bytearray()
    with urlopen(Request(url, headers={"User-Agent": "veriscene"}), timeout=host.timeout) as response:
        total = int(response.headers.get("Content-Length", 0))
        while len(content) <= MAX_BYTES and (chunk := response.read(CHUNK)):
            content += chunk
            bar(len(content), max(len(content), total))
    if len(content) < min(total, MAX_BYTES):
        raise IncompleteRead(b"", total - len(content))
    return bytes(content)


def _blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
