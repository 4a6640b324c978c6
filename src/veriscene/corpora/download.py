"""Brings the public corpus and its programs into a folder: what `veriscene data get` does.

Each file is checked against the git object id that its repository gives it at one fixed commit. A call that was broken
off goes on where it stopped, and a file gets its final name only when it is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

from veriscene.corpora.transfer import (
    BY_HAND,
    GITHUB,
    Host,
    Progress,
    RemoteFile,
    ask,
    download,
    is_intact,
    place,
    silent,
)
from veriscene.errors import InputError

OBJECT_ID = re.compile(r"[0-9a-f]{40}")
CONNECTIONS = 16
BATCH = 1000  # The pool sees this many pictures at a time: 92,000 waiting futures would take over 100 MB.


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


def fetch(folder: Path, *, images: bool = False, progress: Progress = silent, host: Host = GITHUB) -> Fetched:
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
                download(file, folder, host, progress)
        converted = {f"programs/{split}.jsonl": _convert(folder, split) for split in ("train", "dev")}
        for file in corpus:
            if not there[file]:
                download(file, folder, host, progress)
        _download_pictures([file for file in pictures if not there[file]], folder, host, progress)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}") from error
    written = {file.name: not was_there for file, was_there in there.items()} | converted
    return Fetched(
        written=tuple(folder / name for name, is_new in written.items() if is_new),
        present=tuple(folder / name for name, is_new in written.items() if not is_new),
    )


# ---------------------------------------------------------------- what there is


def _list_files(part: _Part, folder: Path, host: Host) -> list[RemoteFile]:
    files = list(_walk(part, part.commit, folder / ".listings", host))
    lacking = set(part.required) - {file.name for file in files}
    if lacking:
        raise InputError(f"{part.repository} at {part.commit} has no {', '.join(sorted(lacking))}; {BY_HAND}")
    return files


def _walk(part: _Part, tree: str, listings: Path, host: Host, above: str = "") -> Iterator[RemoteFile]:
    # Folder by folder: GitHub cuts the listing of a whole repository of this length short.
    url = f"{host.api}/repos/{part.repository}/git/trees/{tree}"
    kept = listings / f"{tree}.json"  # A tree never changes, and GitHub rations the listings.
    is_known = kept.exists()
    answer = kept.read_bytes() if is_known else ask(url, host)
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
        place(kept, answer)
    for path, kind, sha, size in items:
        if kind == "tree" and re.fullmatch(part.folders, path):
            yield from _walk(part, sha, listings, host, path + "/")
        elif kind == "blob" and re.fullmatch(part.files, path):
            source = f"{host.raw}/{part.repository}/{part.commit}/{quote(path)}"
            yield RemoteFile(name=part.target + path.removeprefix(part.root), url=source, sha=sha, size=size)


# ---------------------------------------------------------------- onto the disk


def _is_there(path: Path, file: RemoteFile) -> bool:
    if not path.exists():
        return False
    if not is_intact(path, file):
        raise InputError(f"{path} differs from the public file and was left as it is: move it away and call again")
    return True


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
    place(target, content)
    return True


def _download_pictures(files: list[RemoteFile], folder: Path, host: Host, progress: Progress) -> None:
    done, total = 0, sum(file.size for file in files)
    one = partial(download, folder=folder, host=host, progress=silent)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        try:
            for first in range(0, len(files), BATCH):
                for size in pool.map(one, files[first : first + BATCH]):
                    done += size
                    progress("images", done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
