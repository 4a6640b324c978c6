"""The meaning of a statement is a program, true or false of a scene. Files of programs have a JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veriscene.errors import InputError, located
from veriscene.files import json_objects, opened, read_lines
from veriscene.language.execution import compile_expression
from veriscene.language.expression import Expression, Kind, described
from veriscene.language.functions import Undefined
from veriscene.language.text import unparse
from veriscene.world.examples import check_statement
from veriscene.world.scene import Scene
from veriscene.world.schema import not_allowed

if TYPE_CHECKING:
    from veriscene.language.language import Language

_NEEDS = "sentence (or statement) and program; kind may be left out"


@dataclass(frozen=True, repr=False)
class Program:
    """Holds an expression without free variables; raises InputError unless its value is a truth value."""

    expression: Expression
    language: Language

    def __post_init__(self) -> None:
        if self.expression.type is not Kind.TRUTH:
            what = f"the program returns {described(self.expression.type)}"
            raise InputError(what, allowed="it must return a truth value, as exist(…) or count(…) == 1")

    @cached_property
    def _run(self) -> Callable[[Scene], bool]:
        """Compiled when it is first needed: a teacher evaluates its programs in bulk only."""
        return compile_expression(self.expression, self.language.place)

    def __repr__(self) -> str:
        return f"Program({self.text})"

    def __reduce__(self) -> tuple[type[Program], tuple[Expression, Language]]:
        return Program, (self.expression, self.language)  # Closures cannot be pickled.

    def holds(self, scene: Scene | list[Any]) -> bool:
        """Returns whether the statement is true of the scene, or of its boxes as in the world's files.

        If a presupposition fails, the statement is false, and so is its negation: `unique` of no or several members,
        an index past the end, the minimum of an empty set, a remainder by zero. Raises InputError if evaluation takes
        too many steps.
        """
        try:
            return self._run(scene if isinstance(scene, Scene) else self.language.world.parse(scene))
        except Undefined:
            return False

    @property
    def text(self) -> str:
        """Writes the program as text; `Language.parse` turns it into an equal program."""
        return unparse(self.expression)


@dataclass(frozen=True)
class Statement:
    """Holds a statement with its program. `kind` is the kind of scene that it is about, if the world knows several."""

    text: str
    kind: str | None
    program: Program

    def to_line(self) -> str:
        """Returns the line from which `read_programs` makes an equal statement."""
        return json.dumps({"sentence": self.text, "kind": self.kind, "program": self.program.text}) + "\n"


def read_programs(path: str | Path, language: Language, kinds: Collection[str] | None = None) -> list[Statement]:
    """Returns the statements of a JSON lines file in order; raises InputError with the line of the first problem.

    `kinds` are the kinds of scenes that the world knows; None: they are not checked.
    """
    found = []
    with opened(Path(path)) as stream:
        for number, record in json_objects(read_lines(stream)):
            with located(f"{path}:{number}"):
                found.append(_parse_record(record, language, kinds))
    if not found:
        raise InputError("the file is empty", where=path, allowed="write one JSON object per line")
    return found


def _parse_record(
    record: Mapping[str, Any] | InputError, language: Language, kinds: Collection[str] | None
) -> Statement:
    if isinstance(record, InputError):
        raise record
    named = [name for name in ("sentence", "statement") if name in record]
    if len(named) != 1 or "program" not in record:
        missing = "program" if named else "sentence"
        what = "has both sentence and statement" if len(named) == 2 else f"{missing} is missing"
        raise InputError(what, allowed=f"each line needs {_NEEDS}")
    with located(named[0]):
        text = check_statement(record[named[0]])
    with located("kind"):
        kind = record.get("kind")
        if kind is not None and not isinstance(kind, str):
            raise not_allowed(kind, "it must be text")
        if kind is not None and kinds is not None and kind not in kinds:
            none = f"the world {language.world.name} has no kinds of scenes"
            raise not_allowed(kind, f"choose from {', '.join(kinds)}" if kinds else none)
    with located("program"):
        program = record["program"]
        if not isinstance(program, str) or not program.strip():
            raise not_allowed(program, "it must be text")
        return Statement(text, kind, language.parse(program))
