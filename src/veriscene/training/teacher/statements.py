"""What a teacher teaches: statements with programs, from files and from the grammar."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from veriscene.errors import InputError
from veriscene.meaning import grammar
from veriscene.meaning.notation import parse_kind, parse_program, read_records
from veriscene.meaning.program import Program
from veriscene.meaning.scene_drawing import SceneKind
from veriscene.scenes.nlvr import check_statement

_NEEDS = "sentence (or statement) and program; kind (tower or scatter) may be left out"
TRIES_PER_STATEMENT = 200

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Taught:
    text: str
    program: Program
    kind: SceneKind | None  # of the scenes that it is about; None: both
    scenes: int  # an epoch


def read_statements(path: Path, *, scenes: int) -> list[Taught]:
    """The statements of a JSON lines file, in order; raises InputError with the number of the first invalid line."""

    def parse(record: dict[str, object]) -> Taught:
        named = [name for name in ("sentence", "statement") if name in record]
        if len(named) != 1 or "program" not in record:
            what = "has both sentence and statement" if len(named) == 2 else f"{_missing(named)} is missing"
            raise InputError(what, allowed=f"each line needs {_NEEDS}")
        try:
            text = check_statement(record[named[0]])
        except InputError as error:
            raise error.at(named[0]) from None
        kind = parse_kind(record["kind"]) if record.get("kind") is not None else None
        return Taught(text, parse_program(record["program"]), kind, scenes)

    return read_records(path, parse, needs=_NEEDS)


def _missing(named: Sequence[str]) -> str:
    return "program" if named else "sentence"


def draw_statements(count: int, *, level: str, seed: int, scenes: int, progress: Progress) -> list[Taught]:
    """That many statements of the grammar with different texts; deterministic given the arguments."""
    rng, found = random.Random(seed), dict[str, Taught]()
    for _ in range(count * TRIES_PER_STATEMENT):
        if len(found) == count:
            break
        drawn = grammar.draw(rng, level)
        if drawn.text not in found:
            found[drawn.text] = Taught(drawn.text, drawn.program, drawn.kind, scenes)
            progress(len(found), count)
    if len(found) < count:
        what = f"the grammar's level {level!r} has fewer than {count:,} statements"
        raise InputError(what, where="teacher.statements", allowed=f"ask for {len(found):,} or fewer")
    return list(found.values())
