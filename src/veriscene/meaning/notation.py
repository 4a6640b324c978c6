"""Programs as text: a small subset of Python's expressions. Files of programs hold one JSON object per line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from veriscene.errors import InputError
from veriscene.files import opened, parse_json, read_lines
from veriscene.meaning.language.parsing import parse_expression
from veriscene.meaning.program import Program
from veriscene.meaning.scene_drawing import SCENE_KINDS, SceneKind

Record = TypeVar("Record")
_FIELDS = ("sentence", "kind", "program")


@dataclass(frozen=True)
class Statement:
    """A statement with its program; `kind` is the kind of scene that it is about."""

    text: str
    kind: SceneKind
    program: Program


def parse(text: str) -> Program:
    """The program that a text describes; raises InputError, with the place of the mistake, if it is not a program."""
    return Program(parse_expression(text))


def read_programs(path: str | Path) -> list[Statement]:
    """The programs of a JSON lines file, in order; raises InputError with the number of the first invalid line."""
    return read_records(path, _parse_record, needs=", ".join(_FIELDS))


def read_records(path: str | Path, parse_record: Callable[[dict[str, object]], Record], *, needs: str) -> list[Record]:
    """What `parse_record` makes of each JSON object of a JSON lines file; `needs`: the fields of an object."""
    found = []
    with opened(Path(path)) as stream:
        for number, line in read_lines(stream):
            try:
                if isinstance(line, InputError):
                    raise line
                if line.strip():
                    record = parse_json(line)
                    if not isinstance(record, dict):
                        raise InputError("not a JSON object", allowed=f"each line needs {needs}")
                    found.append(parse_record(record))
            except InputError as error:
                raise error.at(f"{path}:{number}") from None
    if not found:
        raise InputError("the file is empty", where=path, allowed="write one JSON object per line")
    return found


def parse_kind(kind: object) -> SceneKind:
    if kind not in SCENE_KINDS:
        allowed = f"choose from {', '.join(SCENE_KINDS)}"
        raise InputError(f"unknown kind {kind!r:.60}", where="kind", allowed=allowed)
    return kind  # type: ignore[return-value]


def parse_program(text: object) -> Program:
    """Like `parse`, of the field `program` of a record."""
    try:
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{text!r:.60} is not allowed", allowed="it must be text")
        return parse(text)
    except InputError as error:
        raise error.at("program") from None


def _parse_record(record: dict[str, object]) -> Statement:
    for field in _FIELDS:
        if field not in record:
            raise InputError(f"{field} is missing", allowed=f"each line needs {', '.join(_FIELDS)}")
        if not isinstance(record[field], str) or not str(record[field]).strip():
            raise InputError(f"{record[field]!r:.60} is not allowed", where=field, allowed="it must be text")
    return Statement(str(record["sentence"]), parse_kind(record["kind"]), parse_program(record["program"]))
