"""What a teacher teaches: statements with programs, from files and from the grammar."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

from veriscene import worlds
from veriscene.config import TeacherConfig
from veriscene.data.teacher.workers import Workers
from veriscene.english import grammar
from veriscene.errors import InputError
from veriscene.files import digest
from veriscene.language.program import Program, Statement, read_programs
from veriscene.output import Progress
from veriscene.world.examples import normalized
from veriscene.world.schema import World

MAX_ROUNDS = 200  # of drawing as many statements as are wanted
MIN_NEW_SHARE, MAX_BARREN_ROUNDS = 0.01, 3  # with fewer new statements, in so many rounds, it is not worth going on
STATEMENTS_PER_BLOCK = 250
BLOCKS_PER_ROUND = 16  # of lines that are written: what is held in memory


@dataclass(frozen=True)
class Taught:
    text: str
    program: Program
    kind: str | None  # of the scenes that it is about; None: any
    scenes: int  # an epoch


def check_files(paths: Sequence[Path], world: World) -> None:
    """Raises InputError unless a teacher could read these files, so that nothing else is done before."""
    for number, path in enumerate(paths):
        if path.exists() and not path.is_file() and not path.is_dir():
            # Programs are read several times, and again when a run is resumed.
            raise InputError("is not a regular file", where=path, allowed="save the programs to a file first")
        if path.resolve() in (other.resolve() for other in paths[:number]):
            raise InputError("is given twice", where=path, allowed="give each file of programs once")
        read_statements(path, world, scenes=0)


def read_statements(path: Path, world: World, *, scenes: int) -> list[Taught]:
    """Reads the statements of a JSON lines file, in order; raises InputError with the first invalid line's number."""
    found = _parsed(path, world, digest([path]))
    return [Taught(each.text, each.program, each.kind, scenes) for each in found]


# A file is read when a spec is made and again by each of its seeds; parsing takes seconds for thousands of programs.
@lru_cache(maxsize=16)
def _parsed(path: Path, world: World, _digest: str) -> list[Statement]:
    return read_programs(path, worlds.language(world), kinds=worlds.scene_kinds(world))


@dataclass(frozen=True)
class Drawing:
    """Draws statements of a world's dialect and of plain English in blocks, as a worker process does."""

    world: World
    level: str  # of the dialect
    plain: float  # share of plain English; all of it in worlds without a dialect
    seed: int
    blocks: int
    size: int  # of a block

    def make(self, epoch: int, block: int) -> list[Statement]:
        """Draws one block; `epoch` is the number of times that all blocks were drawn before."""
        rng = random.Random(f"{self.seed} {epoch} {block}")
        dialect, language = worlds.ability(self.world, "draw_statement"), worlds.language(self.world)

        def draw() -> Statement:
            if dialect is None or (self.plain and rng.random() < self.plain):
                return grammar.draw(rng, language)
            found: Statement = dialect(rng, self.level)
            return found

        return [draw() for _ in range(self.size)]


@dataclass(frozen=True)
class ProgramLines:
    """Draws statements as lines of a file of programs."""

    drawing: Drawing

    @property
    def blocks(self) -> int:
        return self.drawing.blocks

    def make(self, epoch: int, block: int) -> list[bytes]:
        """Draws one block of lines."""
        return [each.to_line().encode() for each in self.drawing.make(epoch, block)]


def program_lines(
    world: World, count: int, *, level: str, plain: float, seed: int, workers: int, progress: Progress
) -> Iterator[bytes]:
    """Yields `count` statements with their programs as lines of JSON, in constant memory; a text may recur.

    They depend on world, level, `plain` and seed, not on the number of workers; fewer are the first ones of more.
    """
    blocks, done = min(BLOCKS_PER_ROUND, -(-count // STATEMENTS_PER_BLOCK)), 0
    drawing = Drawing(world, level, plain, seed, blocks=blocks, size=STATEMENTS_PER_BLOCK)
    with closing(Workers(ProgramLines(drawing), workers)) as processes:
        for number in range(-(-count // (blocks * STATEMENTS_PER_BLOCK))):
            lines = list(chain(*processes.make(number)))[: count - done]
            yield from lines
            done += len(lines)
            progress(done, count)


def draw_statements(
    world: World,
    teacher: TeacherConfig,
    workers: int,
    progress: Progress,
    *,
    known: Sequence[Taught] = (),
    held_out: bool = False,
) -> list[Taught]:
    """Draws statements of the grammar with different texts; none is `known`, as that text may have another program.

    They depend on the settings and on what is known, not on the number of workers. With `held_out` no program is known
    either, and there are fewer if the grammar has no more.
    """
    count, found = teacher.statements, dict[str, Taught]()
    if not count:
        return []
    taken, programs = {normalized(each.text) for each in known}, {each.program for each in known if held_out}
    size = min(count, STATEMENTS_PER_BLOCK)
    drawing = Drawing(
        world, teacher.level, teacher.plain, teacher.seed, blocks=-(-count // STATEMENTS_PER_BLOCK), size=size
    )
    barren = 0  # rounds in a row
    with closing(Workers(drawing, workers)) as processes:
        for number in range(MAX_ROUNDS):
            before = len(found)
            # Starting processes takes longer than drawing a single block.
            blocks = processes.make(number) if drawing.blocks > 1 else [drawing.make(number, 0)]
            for each in chain(*blocks):
                if normalized(each.text) not in taken and each.program not in programs:
                    found.setdefault(each.text, Taught(each.text, each.program, each.kind, teacher.grammar_scenes))
            progress(min(count, len(found)), count)
            if len(found) >= count:
                return list(found.values())[:count]
            barren = barren + 1 if len(found) - before < int(MIN_NEW_SHARE * count) else 0
            if barren == MAX_BARREN_ROUNDS:
                break
    if held_out and found:
        return list(found.values())
    what = f"the grammar's level {teacher.level!r} yields too few different statements"
    raise InputError(what, where="teacher.statements", allowed=f"ask for {len(found):,} or fewer")
