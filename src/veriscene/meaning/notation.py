"""Programs as people write them: a small part of Python's expressions, read with `ast` and never evaluated by Python.

Every construct and every name is on a closed list; all else is an InputError that says what stands where, and what
would be right.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from veriscene.errors import InputError
from veriscene.files import read_text
from veriscene.meaning.language import reading, spelling
from veriscene.meaning.language.expression import Expression
from veriscene.meaning.program import Program

_FIELDS = ("sentence", "kind", "program")
_KINDS = ("tower", "scatter")


@dataclass(frozen=True)
class StatedProgram:
    """A statement in words, and what it means."""

    sentence: str
    kind: str
    program: Program


def parse(text: str) -> Program:
    """The program that a text writes down; raises InputError for any text that is not one."""
    return Program(parse_expression(text))


def parse_expression(text: str) -> Expression:
    """As `parse`, for an expression of any type, as `count(all_items)`."""
    return reading.expression(text)


def unparse(program: Program) -> str:
    """Text that `parse` turns into an equal program."""
    return spelling.unparse(program.expression)


def read_programs(path: str | Path) -> list[StatedProgram]:
    """The programs of a file of JSON lines, in its order; InputError names the first line that is at fault."""
    path = Path(path)
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path}: the file is empty; it must hold one JSON object a line")
    return [_stated(line, f"{path}:{number}") for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _stated(line: str, where: str) -> StatedProgram:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        what = getattr(error, "msg", "nested too deeply") if line.rstrip().endswith("}") else "the line is cut off"
        raise InputError(f"{where}: not JSON: {what}; each line must be one whole JSON object") from None
    if not isinstance(record, dict):
        raise InputError(f"{where}: the line holds no JSON object; it must have {', '.join(_FIELDS)}")
    for field in _FIELDS:
        if field not in record:
            raise InputError(f"{where}: field {field} is missing; each line must have {', '.join(_FIELDS)}")
        if not isinstance(record[field], str) or not record[field].strip():
            raise InputError(f"{where}: field {field}: {record[field]!r:.60} is not allowed; it must be text")
    if record["kind"] not in _KINDS:
        raise InputError(f"{where}: field kind: {record['kind']!r:.60} is not allowed; allowed: {', '.join(_KINDS)}")
    try:
        return StatedProgram(record["sentence"], record["kind"], parse(record["program"]))
    except InputError as error:
        raise InputError(f"{where}: field program: {error}") from None
