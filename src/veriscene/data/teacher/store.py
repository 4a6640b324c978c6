"""Epochs that teachers have made, kept in the cache folder: runs that are taught the same make each epoch only once.

Several runs, one after another or at the same time, share what is kept. Nothing depends on it: what is missing, damaged
or cannot be written is made again.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

import veriscene
from veriscene import files
from veriscene.data.teacher.maker import Made
from veriscene.language.bulk.arrays import NO_BOX, STATE, SceneArrays, layout_of
from veriscene.world.schema import World

MAX_BYTES = 10 << 30  # of all teachers; those that were used longest ago are removed


@cache
def _code() -> bytes:
    """Returns a digest of the grammar, the evaluator and the maker, as a developer may change them between two runs."""
    package, parts = Path(veriscene.__file__).parent, ("world", "language", "worlds", "data")
    sources = sorted(file for part in parts for file in (package / part).rglob("*.py"))
    return hashlib.sha256(b"".join([np.__version__.encode(), *(file.read_bytes() for file in sources)])).digest()


class Store:
    """The folder of one teacher: of what follows from these inputs and from the code that makes it."""

    def __init__(self, world: World, inputs: Iterable[bytes], *, statements: int) -> None:
        """`statements`: how many there are."""
        self.world, self.statements = world, statements
        digest = hashlib.sha256(_code())
        for each in inputs:
            digest.update(each + b"\0")
        self.folder = files.cache_folder() / "teachers" / digest.hexdigest()[:20]
        self.waits = False  # for another process that makes an epoch

    def epoch(self, number: int, make: Callable[[], Made]) -> Made:
        file = self.folder / f"epoch-{number}.npz"

        def make_and_write(partial: Path) -> Made:
            self.waits = False  # if there was another process, it has ended without a result
            made = make()
            with suppress(OSError):
                np.savez(
                    partial,
                    statements=made.statements,
                    labels=made.labels,
                    scenes=made.scenes.fields,
                    one_sided=np.array(made.one_sided, np.int64),
                    near_misses=np.array(made.near_misses),
                )
                self._make_room(partial)
            return made

        def on_wait() -> None:
            self.waits = True

        return files.cached(file, self.read, make_and_write, on_wait)

    def read(self, file: Path) -> Made:
        """Reads what `epoch` wrote; raises one of files.DAMAGED if it is anything else."""
        files.check_uncompressed(file)
        with np.load(file) as kept:
            statements, labels, fields, one_sided = (kept[n] for n in ("statements", "labels", "scenes", "one_sided"))
            near_misses, layout = int(kept["near_misses"]), layout_of(self.world)
        shapes = ((len(labels),), (len(labels),), (1 + len(layout.columns), len(labels), layout.boxes, layout.items))
        if (statements.shape, labels.shape, fields.shape) != shapes or labels.dtype != bool:
            raise ValueError("arrays of other sizes")
        if (statements.dtype, fields.dtype, one_sided.dtype) != (np.int32, layout.dtype, np.int64):
            raise ValueError("arrays of other types")
        limits = [(statements, self.statements), (one_sided, self.statements), (fields[STATE], NO_BOX + 1)]
        choices = [(each.name, len(each.choices)) for each in self.world.attributes if each.choices]
        limits += [(fields[layout.columns[name]], count) for name, count in choices]
        if any(array.size and not 0 <= array.min() <= array.max() < limit for array, limit in limits):
            raise ValueError("a number of something that does not exist")
        with suppress(OSError):
            os.utime(self.folder)  # so that what is in use is removed last
        return Made(statements, labels, SceneArrays(self.world, fields), tuple(one_sided.tolist()), near_misses)

    def _make_room(self, newest: Path) -> None:
        """Removes other teachers, those that were used longest ago first, then older epochs of this one."""
        every = [folder for folder in self.folder.parent.iterdir() if folder.is_dir()]
        sizes = {file: file.stat().st_size for folder in every for file in folder.iterdir()}
        last = {folder: folder.stat().st_mtime for folder in every} | {self.folder: math.inf}
        total = sum(sizes.values())
        for file in sorted(sizes, key=lambda file: (last[file.parent], file.stat().st_mtime)):
            if total <= MAX_BYTES or file == newest:
                break
            total -= sizes[file]
            file.unlink(missing_ok=True)
        for folder in every:
            if not any(folder.iterdir()):
                folder.rmdir()
