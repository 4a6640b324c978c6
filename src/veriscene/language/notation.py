"""Programs as text: a small subset of Python's expressions. Files of programs hold one JSON object per line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from veriscene.errors import InputError
from veriscene.files import opened, parse_json, read_lines
from veriscene.language.parsing import parse_expression
from veriscene.language.program import Program
from veriscene.worlds.nlvr.corpus import check_statement
from veriscene.worlds.nlvr.kinds import SCENE_KINDS, SceneKind

_NEEDS = "sentence (or statement) and program; kind (tower or scatter) may be left out"


@dataclass(frozen=True)
class Stated:
    """A statement with its program, as in a file; `kind` is the kind of scene that it is about, None for both."""

    text: str
    kind: SceneKind | None
    program: Program


@dataclass(frozen=True)
class Statement(Stated):
    """One whose kind of scene is known."""

    kind: SceneKind


def parse(text: str) -> Program:
    """The program that a text describes; raises InputError, with the place of the mistake, if it is not a program."""
    return Program(parse_expression(text))


def read_programs(path: str | Path) -> list[Stated]:
    """The statements of a JSON lines file, in order; raises InputError with the number of the first invalid line."""
    found = []
    with opened(Path(path)) as stream:
        for number, line in read_lines(stream):
            try:
                if isinstance(line, InputError):
                    raise line
                if line.strip():
                    found.append(_parse_record(parse_json(line)))
            except InputError as error:
                raise error.at(f"{path}:{number}") from None
    if not found:
        raise InputError("the file is empty", where=path, allowed="write one JSON object per line")
    return found


def _parse_kind(kind: object) -> SceneKind:
    if kind not in SCENE_KINDS:
        allowed = f"choose from {', '.join(SCENE_KINDS)}"
        raise InputError(f"unknown kind {kind!r:.60}", where="kind", allowed=allowed)
    return kind  # type: ignore[return-value]


def _parse_program(text: object) -> Program:
    """Like `parse`, of the field `program` of a record."""
    try:
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{text!r:.60} is not allowed", allowed="it must be text")
        return parse(text)
    except InputError as error:
        raise error.at("program") from None


def _parse_record(record: object) -> Stated:
    if not isinstance(record, dict):
        raise InputError("not a JSON object", allowed=f"each line needs {_NEEDS}")
    named = [name for name in ("sentence", "statement") if name in record]
    if len(named) != 1 or "program" not in record:
        missing = "program" if named else "sentence"
        what = "has both sentence and statement" if len(named) == 2 else f"{missing} is missing"
        raise InputError(what, allowed=f"each line needs {_NEEDS}")
    try:
        text = check_statement(record[named[0]])
    except InputError as error:
        raise error.at(named[0]) from None
    kind = _parse_kind(record["kind"]) if record.get("kind") is not None else None
    return Stated(text, kind, _parse_program(record["program"]))
