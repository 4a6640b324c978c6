"""Makes a teacher's examples, as arrays, and keeps them in the cache folder. Worker processes run it without torch."""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path

import numpy as np

import veriscene
from veriscene import files, worlds
from veriscene.config import TeacherConfig
from veriscene.data.teacher.statements import Taught
from veriscene.errors import InputError
from veriscene.language.bulk import random_scenes
from veriscene.language.bulk.arrays import NO_BOX, STATE, Array, SceneArrays, layout_of
from veriscene.language.bulk.evaluation import BulkProgram
from veriscene.language.bulk.random_scenes import EditScenes, find_pairs
from veriscene.world.examples import Example
from veriscene.world.schema import World

STATEMENTS_PER_BLOCK = 32  # made together, because editing few scenes at once is slow
MAX_SHOWN = 120  # characters of a program in an error
FRESH_SCENES = 1024  # of each kind, drawn anew each epoch
MIN_STARTS, STARTS_PER_PAIR = 24, 6  # of walks: most edits do not change the truth
MAX_BYTES = 10 << 30  # of epochs that are kept, of all teachers; those that were used longest ago are removed
ROUNDS, ROUNDS_WITHOUT_CONTRAST = 6, 12  # of edits; the latter where no scene with one of the truths is known


@dataclass(frozen=True)
class Made:
    """Labelled examples, as arrays."""

    statements: Array  # (n,), int32: numbers of the statements
    labels: Array  # (n,), bool
    scenes: SceneArrays
    one_sided: tuple[int, ...] = ()  # statements of which only one truth value was found
    near_misses: int = 0

    @classmethod
    def joined(cls, parts: Sequence[Made]) -> Made:
        return cls(
            statements=np.concatenate([part.statements for part in parts]),
            labels=np.concatenate([part.labels for part in parts]),
            scenes=SceneArrays.concatenated(part.scenes for part in parts),
            one_sided=tuple(number for part in parts for number in part.one_sided),
            near_misses=sum(part.near_misses for part in parts),
        )


# ---------------------------------------------------------------- scenes of any world

Draw = Callable[[np.random.Generator, str | None, int], SceneArrays]


def draw_scenes(world: World, rng: np.random.Generator, kind: str | None, count: int) -> SceneArrays:
    """Returns random scenes of a kind."""
    draw: Draw | None = worlds.ability(world, "draw_scenes")
    return random_scenes.draw_scenes(world, rng, kind, count) if draw is None else draw(rng, kind, count)


def edit_scenes(rng: np.random.Generator, scenes: SceneArrays) -> SceneArrays:
    """Returns each scene with one random small edit, or as it is if none is possible."""
    edit: EditScenes = worlds.ability(scenes.world, "edit_scenes") or random_scenes.edit_scenes
    return edit(rng, scenes)


@dataclass
class Maker:
    """`make(epoch, block)` is deterministic, so any process may make any block."""

    world: World
    statements: Sequence[Taught]
    pools: Mapping[str | None, SceneArrays]  # by kind
    seed: int
    near_misses: float
    generated: float
    _truths: dict[int, Array] = field(default_factory=dict, init=False)  # bits: of each statement on its pool
    _programs: dict[int, BulkProgram] = field(default_factory=dict, init=False)
    _fresh: dict[tuple[int, str | None], SceneArrays] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        alike: dict[tuple[str | None, int], list[int]] = {}
        for number, statement in enumerate(self.statements):
            alike.setdefault((statement.kind, statement.scenes), []).append(number)
        size = STATEMENTS_PER_BLOCK
        self._blocks = [some[at : at + size] for some in alike.values() for at in range(0, len(some), size)]

    def __reduce__(self) -> tuple[type[Maker], tuple[object, ...]]:
        """Pickles the maker without what it remembers."""
        return Maker, tuple(getattr(self, each.name) for each in fields(self) if each.init)

    @property
    def blocks(self) -> int:
        return len(self._blocks)

    @property
    def examples(self) -> int:
        """Returns the number of examples of an epoch."""
        return sum(statement.scenes for statement in self.statements)

    def make(self, epoch: int, block: int) -> Made:
        """Makes labelled scenes for statements that are about the same kind of scene, as many for each."""
        rng, numbers = np.random.default_rng([self.seed, epoch, block]), self._blocks[block]
        kind, scenes = self.statements[numbers[0]].kind, self.statements[numbers[0]].scenes
        pool, fresh = self._pool(kind), self._fresh_scenes(epoch, kind)
        known = SceneArrays.concatenated([pool, fresh])
        choices = []
        for number in numbers:
            try:
                truths = np.concatenate([self._pool_truths(number), self._program(number).holds(fresh)])
            except InputError as error:
                raise error.at(f"program {self.statements[number].program.text!r:.{MAX_SHOWN}}") from None
            choices.append(Choice(truths, len(pool), self.generated))
        wanted = round(scenes * self.near_misses / 2)
        starts = [choice.balanced(rng, max(MIN_STARTS, STARTS_PER_PAIR * wanted)) for choice in choices]
        pairs = find_pairs(
            rng,
            edit_scenes,
            [self._program(number).holds for number in numbers],
            known[np.concatenate(starts)],
            np.repeat(np.arange(len(choices)), [len(start) for start in starts]),
            np.concatenate([choice.truths[start] for choice, start in zip(choices, starts, strict=True)]),
            wanted=wanted,
            rounds=ROUNDS if all(choice.has_both for choice in choices) else ROUNDS_WITHOUT_CONTRAST,
        )
        filled = []
        for at, choice in enumerate(choices):
            mine = np.flatnonzero(pairs.statements == at)
            in_pairs = len(known) + np.concatenate([mine, mine + len(pairs.truths)])
            truths = np.concatenate([pairs.truths[mine], ~pairs.truths[mine]])
            filled.append(choice.fill(rng, scenes, in_pairs, truths))
        which, labels = zip(*filled, strict=True)
        return Made(
            statements=np.repeat(numbers, [len(some) for some in which]).astype(np.int32),
            labels=np.concatenate(labels),
            scenes=SceneArrays.concatenated([known, pairs.before, pairs.after])[np.concatenate(which)],
            one_sided=tuple(number for number, some in zip(numbers, labels, strict=True) if len(set(some)) == 1),
            near_misses=2 * len(pairs.truths),
        )

    def _program(self, number: int) -> BulkProgram:
        if number not in self._programs:
            self._programs[number] = BulkProgram(self.statements[number].program)
        return self._programs[number]

    def _pool(self, kind: str | None) -> SceneArrays:
        """Returns the scenes of a kind; those of all kinds for a statement without one."""
        if kind in self.pools:
            return self.pools[kind]
        return self._all_kinds

    @cached_property
    def _all_kinds(self) -> SceneArrays:
        return SceneArrays.concatenated(self.pools.values())

    def _pool_truths(self, number: int) -> Array:
        """Returns (scene of the pool,): whether the statement holds. It is evaluated once, as pools do not change."""
        pool = self._pool(self.statements[number].kind)
        if number not in self._truths:
            self._truths[number] = np.packbits(self._program(number).holds(pool))
        return np.unpackbits(self._truths[number], count=len(pool)).astype(bool)

    def _fresh_scenes(self, epoch: int, kind: str | None) -> SceneArrays:
        """Draws scenes of this epoch; none if only those of the corpus are wanted and there are some."""
        if not self.generated and len(self._pool(kind)):
            return self._pool(kind)[:0]
        key = epoch, kind
        if key not in self._fresh:
            kinds = list(self.pools) if kind is None else [kind]
            rng = np.random.default_rng([self.seed, epoch, 2**32, [*self.pools, None].index(kind)])
            self._fresh = {known: scenes for known, scenes in self._fresh.items() if known[0] == epoch}
            self._fresh[key] = SceneArrays.concatenated(
                draw_scenes(self.world, rng, each, FRESH_SCENES) for each in kinds
            )
        return self._fresh[key]


def label(world: World, statements: Sequence[Taught], *, seed: int) -> list[Example]:
    """Returns each statement with its number of random scenes, of about half of which it is true, as in a corpus."""
    settings, none = TeacherConfig(), SceneArrays.of(world, ())
    maker = Maker(world, statements, random_scenes.by_kind(none), seed, settings.near_misses, settings.generated)
    made = Made.joined([maker.make(0, block) for block in range(maker.blocks)])
    count: Counter[int] = Counter()
    examples = []
    for number, truth, scene in zip(made.statements.tolist(), made.labels.tolist(), made.scenes.scenes(), strict=True):
        examples.append(Example(f"{number}-{count[number]}", statements[number].text, scene, truth, world=world))
        count[number] += 1
    return examples


# ---------------------------------------------------------------- which scenes a statement is taught on


class Choice:
    """Scenes of which the truth of one statement is known: first `corpus` ones of the corpus, then fresh ones."""

    def __init__(self, truths: Array, corpus: int, generated: float) -> None:
        self.truths, self.generated = truths, generated
        numbers = [np.flatnonzero(truths == label) for label in (False, True)]
        self.numbers = [(some[some < corpus], some[some >= corpus]) for some in numbers]

    @property
    def has_both(self) -> bool:
        return bool(self.truths.any() and not self.truths.all())

    def draw(self, rng: np.random.Generator, label: bool, count: int) -> Array:
        """Draws that many scenes with this label, if there are any. It repeats a scene only if there are too few."""
        old, new = self.numbers[label]
        if not len(old) + len(new):
            return old
        fresh = count if not len(old) else rng.binomial(count, self.generated) if len(new) else 0
        return np.concatenate([sample(rng, old, count - fresh), sample(rng, new, fresh)])

    def balanced(self, rng: np.random.Generator, count: int) -> Array:
        """Draws scenes, half of them true and half false, as far as both exist."""
        return np.concatenate([self.draw(rng, label, count // 2) for label in (False, True)])

    def fill(self, rng: np.random.Generator, count: int, paired: Array, labels: Array) -> tuple[Array, Array]:
        """Returns the pairs' scenes and so many others that there are `count`, half of them true as far as possible."""
        trues = (count + int(rng.integers(2))) // 2
        parts, part_labels = [paired], [labels]
        for label, total in ((True, trues), (False, count - trues)):
            missing = max(0, total - int((labels == label).sum()))
            drawn = self.draw(rng, label, missing)
            if not len(drawn):  # none is known but what edits led to
                drawn = sample(rng, paired[labels == label], missing)
            parts.append(drawn)
            part_labels.append(np.full(len(drawn), label))
        which, truths = np.concatenate(parts), np.concatenate(part_labels)
        if len(which) < count:  # it is true of all known scenes, or of none
            label = bool(self.truths.any())
            which = np.concatenate([which, self.draw(rng, label, count - len(which))])
            truths = np.concatenate([truths, np.full(count - len(truths), label)])
        return which[:count], truths[:count]


def sample(rng: np.random.Generator, numbers: Array, count: int) -> Array:
    """Draws that many of the numbers, as different as possible; none if there are none."""
    if not len(numbers) or not count:
        return numbers[:0]
    if count <= len(numbers):
        return rng.choice(numbers, count, replace=False)
    return numbers[rng.permutation(np.arange(count) % len(numbers))]


# ---------------------------------------------------------------- what is kept


@cache
def _code() -> bytes:
    """Returns a digest of the grammar, the evaluator and the maker, as a developer may change them between two runs."""
    package, parts = Path(veriscene.__file__).parent, ("world", "language", "worlds", "data")
    sources = sorted(file for part in parts for file in (package / part).rglob("*.py"))
    return hashlib.sha256(b"".join([np.__version__.encode(), *(file.read_bytes() for file in sources)])).digest()


class Store:
    """Keeps one teacher's epochs in a folder: what follows from its inputs and from the code that makes it.

    Runs that are taught the same, one after another or at the same time, make each epoch only once. Nothing depends on
    it: what is missing, damaged or cannot be written is made again.
    """

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
