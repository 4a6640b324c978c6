"""What teachers have made, kept in the cache folder: runs that are taught the same make each epoch only once.

Several runs, one after another or at the same time, share what is kept. Nothing depends on it: what is missing, damaged
or cannot be written is made again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np

import veriscene
from veriscene import files
from veriscene.data.teacher.maker import Made
from veriscene.data.teacher.statements import Taught
from veriscene.errors import InputError
from veriscene.language.bulk.arrays import SceneArrays

MOST_BYTES = 10 << 30  # of all teachers; those that were used longest ago are removed
DAMAGED = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)
STATEMENTS = "statements.json"
Content = TypeVar("Content")


def store_of(*inputs: object) -> Store:
    """For what follows from these inputs and from the code that makes it."""
    digest = hashlib.sha256(_code())
    for each in inputs:
        digest.update(each if isinstance(each, bytes) else repr(each).encode())
        digest.update(b"\0")
    return Store(files.cache_folder() / "teachers" / digest.hexdigest()[:20])


@cache
def _code() -> bytes:
    """Changes with the grammar, the evaluator and the maker, because a developer may change them between two runs."""
    package, parts = Path(veriscene.__file__).parent, ("world", "language", "worlds", "data")
    sources = sorted(file for part in parts for file in (package / part).rglob("*.py"))
    return hashlib.sha256(b"".join([np.__version__.encode(), *(file.read_bytes() for file in sources)])).digest()


class Store:
    """A folder of one teacher."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waits = False  # for another process that makes an epoch

    def statements(self, make: Callable[[], list[Taught]], on_wait: Callable[[], None] = lambda: None) -> list[Taught]:
        """`on_wait` is called if another process is making them."""

        def read(file: Path) -> list[Taught]:
            if not (found := [Taught(**each) for each in json.loads(file.read_bytes())]):
                raise ValueError
            return found

        def write(statements: list[Taught], file: Path) -> None:
            file.write_text(json.dumps([asdict(each) for each in statements]))

        return self._kept(STATEMENTS, read, make, write, on_wait)

    def epoch(self, number: int, make: Callable[[], Made]) -> Made:
        def on_wait() -> None:
            self.waits = True

        def make_after_all() -> Made:
            self.waits = False  # the other process has ended without a result
            return make()

        return self._kept(f"epoch-{number}.npz", _read_epoch, make_after_all, _write_epoch, on_wait)

    def _kept(
        self,
        name: str,
        read: Callable[[Path], Content],
        make: Callable[[], Content],
        write: Callable[[Content, Path], None],
        on_wait: Callable[[], None],
    ) -> Content:
        """Of several processes one makes and writes the file; the others wait and read it."""
        file = self.folder / name
        with suppress(*DAMAGED):
            return self._read(file, read)
        with ExitStack() as lock:
            with suppress(OSError, InputError):  # without a folder to lock, every process makes its own
                self.folder.mkdir(parents=True, exist_ok=True)
                lock.enter_context(files.locked(self.folder, on_wait=on_wait))
            with suppress(*DAMAGED):
                return self._read(file, read)
            made = make()
            partial = file.with_name(f"{file.stem}.{os.getpid()}.partial{file.suffix}")
            try:
                for leftover in self.folder.glob("*.partial.*"):  # of a process that ended while writing
                    leftover.unlink(missing_ok=True)
                write(made, partial)
                partial.replace(file)
                self._make_room(file)
            except OSError:
                with suppress(OSError):
                    partial.unlink()
            return made

    def _read(self, file: Path, read: Callable[[Path], Content]) -> Content:
        content = read(file)
        with suppress(OSError):
            os.utime(self.folder)  # so that what is in use is removed last
        return content

    def _make_room(self, newest: Path) -> None:
        """Removes other teachers, those that were used longest ago first, then older epochs of this one."""
        every = [folder for folder in self.folder.parent.iterdir() if folder.is_dir()]
        sizes = {file: file.stat().st_size for folder in every for file in folder.iterdir()}
        last = {folder: folder.stat().st_mtime for folder in every} | {self.folder: math.inf}
        total = sum(sizes.values())
        for file in sorted(sizes, key=lambda file: (last[file.parent], file.stat().st_mtime)):
            if total <= MOST_BYTES or file == newest:
                break
            total -= sizes[file]
            file.unlink(missing_ok=True)
        for folder in every:
            if not any(folder.iterdir()):
                folder.rmdir()


def _write_epoch(made: Made, file: Path) -> None:
    np.savez(
        file,
        statements=made.statements,
        labels=made.labels,
        scenes=made.scenes.fields,
        one_sided=np.array(made.one_sided, np.int64),
        near_misses=np.array(made.near_misses),
    )


def _read_epoch(file: Path) -> Made:
    with np.load(file) as kept:
        if not len(kept["statements"]) == len(kept["labels"]) == kept["scenes"].shape[1]:
            raise ValueError
        return Made(
            statements=kept["statements"],
            labels=kept["labels"],
            scenes=SceneArrays(kept["scenes"]),
            one_sided=tuple(kept["one_sided"].tolist()),
            near_misses=int(kept["near_misses"]),
        )
