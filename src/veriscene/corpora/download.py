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
from veriscene.files import locked, write_text

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

Bar = Callable[[int, int], None]  # bytes received, bytes in total
Progress = Callable[[str], AbstractContextManager[Bar]]  # the bar of a file, by its name


@dataclass(frozen=True, kw_only=True)
class Host:
    """The server of the files; a failed request is repeated after each of the `pauses`, in seconds."""

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
        """The path in the corpus folder."""
        source, target = next(item for item in TARGETS.items() if self.path.startswith(item[0]))
        return target + self.path.removeprefix(source)

    def matches(self, path: Path) -> bool:
        """Whether the file has this git blob id."""
        header = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        with path.open("rb") as source:
            return hashlib.file_digest(source, lambda: header).hexdigest() == self.blob


def pinned_files() -> list[PinnedFile]:
    table = resources.files("veriscene.corpora").joinpath("pinned.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines() if not line.startswith("#"))
    return [PinnedFile(repository, commit, path, blob) for repository, commit, path, blob, _ in rows]


def fetch(
    folder: Path,
    *,
    files: Sequence[PinnedFile] | None = None,
    progress: Progress = lambda name: nullcontext(lambda done, total: None),
    host: Host | None = None,
) -> dict[Path, bool]:
    """Makes `folder` hold the corpus (SPLIT/SPLIT.json) and programs/train.jsonl, programs/dev.jsonl.

    Returns each path and whether it is new. Keeps files that are correct; raises InputError, before the corpus is
    downloaded, if an existing file differs. After any failure (an InputError) the next call resumes.
    """
    files, host = pinned_files() if files is None else files, host or Host()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            is_new = {file: not (folder / file.name).exists() for file in files}
            for file in files:
                if not is_new[file] and not file.matches(folder / file.name):
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


def _download(file: PinnedFile, target: Path, host: Host, progress: Progress) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    url = f"{host.url}/{file.repository}/{file.commit}/{file.path}"
    for _ in range(2):  # The part left by an earlier call may be damaged; the second attempt starts from nothing.
        for pause in (*host.pauses, None):
            try:
                with progress(file.name) as bar:
                    _receive(url, part, host, bar)
                break
            except NETWORK_ERRORS as error:
                is_refusal = isinstance(error, HTTPError) and error.code < 500 and error.code != 416
                if pause is None or is_refusal:
                    reason = error.reason if isinstance(error, URLError) else error
                    what = f"no complete answer ({reason})"
                    if isinstance(error, HTTPError):
                        what = f"the server answered {error.code} {reason}"
                    raise InputError(what, where=url, allowed=f"retry to resume, {CLONE}") from error
                time.sleep(pause)
        if file.matches(part):
            part.replace(target)
            return
        part.unlink()
    raise InputError("the checksum is wrong", where=url, allowed=f"expected git blob id {file.blob}; nothing was kept")


def _receive(url: str, part: Path, host: Host, bar: Bar) -> None:
    """Appends to `part` what is missing; raises one of NETWORK_ERRORS if the answer ends early."""
    done = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "veriscene"} | ({"Range": f"bytes={done}-"} if done else {})
    try:
        with urlopen(Request(url, headers=headers), timeout=host.timeout) as response:
            if not (response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {done}-")):
                done = 0  # the server sends the whole file
            total = done + int(response.headers.get("Content-Length", 0))
            with part.open("ab" if done else "wb") as sink:
                while done <= MAX_BYTES and (chunk := response.read(CHUNK)):
                    sink.write(chunk)
                    done += len(chunk)
                    bar(done, max(done, total))
    except HTTPError as error:
        if error.code == 416:  # The part is longer than the file.
            part.unlink()
        raise
    if done < min(total, MAX_BYTES):
        raise IncompleteRead(b"", total - done)
