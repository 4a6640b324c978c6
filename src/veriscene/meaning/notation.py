"""Programs as text: a small subset of Python's expressions. Files of programs hold one JSON object per line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from veriscene.errors import InputError
from veriscene.files import opened, parse_json, read_lines
from veriscene.meaning.language.parsing import parse_expression
from veriscene.meaning.program import Program
from veriscene.meaning.scene_drawing import SCENE_KINDS, SceneKind

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
    found = []
    with opened(Path(path)) as stream:
        for number, line in read_lines(stream):
            try:
                if isinstance(line, InputError):
                    raise line
                if line.strip():
                    found.append(_parse_line(line))
            except InputError as error:
                raise error.at(f"{path}:{number}") from None
    if not found:
        raise InputError("the file is empty", where=path, allowed="write one JSON object per line")
    return found


def _parse_line(line: str) -> Statement:
    record = parse_json(line)
    if not isinstance(record, dict):
        raise InputError("not a JSON object", allowed=f"each line needs {', '.join(_FIELDS)}")
    for field in _FIELDS:
        if field not in record:
            raise InputError(f"{field} is missing", allowed=f"each line needs {', '.join(_FIELDS)}")
        if not isinstance(record[field], str) or not record[field].strip():
            raise InputError(f"{record[field]!r:.60} is not allowed", where=field, allowed="it must be text")
    if record["kind"] not in SCENE_KINDS:
        allowed = f"choose from {', '.join(SCENE_KINDS)}"
        raise InputError(f"unknown kind {record['kind']!r:.60}", where="kind", allowed=allowed)
    try:
        return Statement(record["sentence"], record["kind"], parse(record["program"]))
    except InputError as error:
        raise error.at("program") from None
