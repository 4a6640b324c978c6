"""Makes a teacher's examples, as arrays. Runs in worker processes, which need no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from veriscene.data.teacher.choice import Choice
from veriscene.errors import InputError
from veriscene.language.bulk.arrays import Array, SceneArrays
from veriscene.language.bulk.evaluation import BulkProgram
from veriscene.language.notation import parse
from veriscene.worlds.nlvr.bulk.drawing import are_towers, draw_scenes, from_floor_up
from veriscene.worlds.nlvr.bulk.near_miss import Holds, Pairs, find_pairs
from veriscene.worlds.nlvr.scene_drawing import SCENE_KINDS, SceneKind

STATEMENTS_PER_BLOCK = 32  # made together, because editing few scenes at once is slow
LABELLED_PER_BLOCK = 4096
SHOWN = 120  # characters of a program in an error
KINDS: tuple[SceneKind | None, ...] = (*SCENE_KINDS, None)
FRESH_SCENES = 1024  # of each kind, drawn anew each epoch
FEWEST_STARTS, STARTS_PER_PAIR = 24, 6  # of walks: most edits do not change the truth
ROUNDS, ROUNDS_WITHOUT_CONTRAST = 6, 12  # of edits; the latter where no scene with one of the truths is known


@dataclass(frozen=True)
class Lesson:
    """A statement as the maker needs it."""

    number: int
    program: str
    kind: SceneKind | None
    scenes: int


@dataclass(frozen=True)
class Made:
    """Labelled examples."""

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


def pools_of(scenes: SceneArrays) -> dict[SceneKind, SceneArrays]:
    """The scenes by kind; towers with their blocks from the floor up."""
    upright = from_floor_up(scenes)
    towers = are_towers(upright)
    return {"tower": upright[np.flatnonzero(towers)], "scatter": scenes[np.flatnonzero(~towers)]}


@dataclass(frozen=True)
class Labelled:
    """The corpus's own examples, of which an epoch has `count`."""

    statements: Array
    labels: Array
    scenes: SceneArrays
    count: int


@dataclass
class Maker:
    """`make(epoch, block)` is deterministic, so any process may make any block."""

    lessons: Sequence[Lesson]
    pools: Mapping[SceneKind, SceneArrays]
    labelled: Labelled | None
    seed: int
    near_misses: float
    generated: float
    _truths: dict[int, Array] = field(default_factory=dict, init=False)  # bits: of each statement on its pool
    _programs: dict[int, BulkProgram] = field(default_factory=dict, init=False)
    _fresh: dict[tuple[int, SceneKind | None], SceneArrays] = field(default_factory=dict, init=False)
    _labelled_orders: dict[int, Array] = field(default_factory=dict, init=False)  # by epoch
    _both: SceneArrays | None = field(default=None, init=False)  # the pools, for statements about any kind of scene

    def __post_init__(self) -> None:
        alike: dict[tuple[SceneKind | None, int], list[Lesson]] = {}
        for lesson in self.lessons:
            alike.setdefault((lesson.kind, lesson.scenes), []).append(lesson)
        size = STATEMENTS_PER_BLOCK
        self._blocks = [some[at : at + size] for some in alike.values() for at in range(0, len(some), size)]

    def __reduce__(self) -> tuple[type[Maker], tuple[object, ...]]:
        """Without what it remembers."""
        return Maker, tuple(getattr(self, each.name) for each in fields(self) if each.init)

    @property
    def blocks(self) -> int:
        labelled = self.labelled.count if self.labelled else 0
        return len(self._blocks) + -(-labelled // LABELLED_PER_BLOCK)

    @property
    def examples(self) -> int:
        """Of an epoch."""
        return sum(lesson.scenes for lesson in self.lessons) + (self.labelled.count if self.labelled else 0)

    def make(self, epoch: int, block: int) -> Made:
        rng = np.random.default_rng([self.seed, epoch, block])
        if block < len(self._blocks):
            return self._teach(rng, epoch, self._blocks[block])
        return self._draw_labelled(epoch, block - len(self._blocks))

    # ------------------------------------------------------------ statements with programs

    def _teach(self, rng: np.random.Generator, epoch: int, lessons: Sequence[Lesson]) -> Made:
        pool, fresh = self._pool(lessons[0].kind), self._fresh_scenes(epoch, lessons[0].kind)
        known = SceneArrays.concatenated([pool, fresh])
        programs = [self._program(lesson) for lesson in lessons]
        choices = []
        for lesson, program in zip(lessons, programs, strict=True):
            try:
                truths = np.concatenate([self._pool_truths(lesson), program.holds(fresh)])
            except InputError as error:
                raise error.at(f"program {lesson.program!r:.{SHOWN}}") from None
            choices.append(Choice(truths, len(pool), self.generated))
        wanted = round(lessons[0].scenes * self.near_misses / 2)
        pairs = _find_pairs(rng, known, [program.holds for program in programs], choices, wanted)
        which, labelled = [], []
        for number, (lesson, choice) in enumerate(zip(lessons, choices, strict=True)):
            mine = np.flatnonzero(pairs.statements == number)
            in_pairs = len(known) + np.concatenate([mine, mine + len(pairs.truths)])
            labels = np.concatenate([pairs.truths[mine], ~pairs.truths[mine]])
            drawn, drawn_labels = choice.fill(rng, lesson.scenes, in_pairs, labels)
            which.append(drawn)
            labelled.append(drawn_labels)
        return Made(
            statements=np.repeat([lesson.number for lesson in lessons], [len(some) for some in which]).astype(np.int32),
            labels=np.concatenate(labelled),
            scenes=SceneArrays.concatenated([known, pairs.before, pairs.after])[np.concatenate(which)],
            one_sided=tuple(
                lesson.number for lesson, some in zip(lessons, labelled, strict=True) if len(set(some)) == 1
            ),
            near_misses=2 * len(pairs.truths),
        )

    def _program(self, lesson: Lesson) -> BulkProgram:
        if lesson.number not in self._programs:
            self._programs[lesson.number] = BulkProgram(parse(lesson.program))
        return self._programs[lesson.number]

    def _pool(self, kind: SceneKind | None) -> SceneArrays:
        if kind is not None:
            return self.pools[kind]
        if self._both is None:
            self._both = SceneArrays.concatenated(self.pools.values())
        return self._both

    def _pool_truths(self, lesson: Lesson) -> Array:
        """(scene of the pool,): whether the statement holds. Evaluated once, as the pool stays the same."""
        pool = self._pool(lesson.kind)
        if lesson.number not in self._truths:
            self._truths[lesson.number] = np.packbits(self._program(lesson).holds(pool))
        return np.unpackbits(self._truths[lesson.number], count=len(pool)).astype(bool)

    def _fresh_scenes(self, epoch: int, kind: SceneKind | None) -> SceneArrays:
        """Scenes of this epoch; none if only those of the corpus are wanted and there are some."""
        if not self.generated and len(self._pool(kind)):
            return self._pool(kind)[:0]
        key = epoch, kind
        if key not in self._fresh:
            kinds: Iterable[SceneKind] = SCENE_KINDS if kind is None else (kind,)
            rng = np.random.default_rng([self.seed, epoch, 2**32, KINDS.index(kind)])
            self._fresh = {known: scenes for known, scenes in self._fresh.items() if known[0] == epoch}
            self._fresh[key] = SceneArrays.concatenated(draw_scenes(rng, each, FRESH_SCENES) for each in kinds)
        return self._fresh[key]

    # ------------------------------------------------------------ the corpus's own examples

    def _draw_labelled(self, epoch: int, block: int) -> Made:
        """Every example once before any of them twice."""
        own = self.labelled
        assert own is not None
        if epoch not in self._labelled_orders:
            rng = np.random.default_rng([self.seed, epoch, 2**33])
            times = -(-own.count // len(own.labels))
            every = np.concatenate([rng.permutation(len(own.labels)) for _ in range(times)])
            self._labelled_orders = {epoch: every[: own.count]}
        which = self._labelled_orders[epoch][block * LABELLED_PER_BLOCK : (block + 1) * LABELLED_PER_BLOCK]
        return Made(own.statements[which], own.labels[which], own.scenes[which])


def _find_pairs(
    rng: np.random.Generator, known: SceneArrays, holds: Sequence[Holds], choices: Sequence[Choice], wanted: int
) -> Pairs:
    """Up to `wanted` near misses for each statement, from as many true as false scenes."""
    starts = [choice.balanced(rng, max(FEWEST_STARTS, STARTS_PER_PAIR * wanted)) for choice in choices]
    return find_pairs(
        rng,
        holds,
        known[np.concatenate(starts)],
        np.repeat(np.arange(len(choices)), [len(start) for start in starts]),
        np.concatenate([choice.truths[start] for choice, start in zip(choices, starts, strict=True)]),
        wanted=wanted,
        rounds=ROUNDS if all(choice.has_both for choice in choices) else ROUNDS_WITHOUT_CONTRAST,
    )
