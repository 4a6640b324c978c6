"""NLVR files: reading, checking and writing examples, single scenes and predictions. The format: docs/data.md.

Examples are JSON lines. All splits are read, also the hidden one, whose lines have no `evals`, no `directory` and
perhaps no `label`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from veriscene.errors import InputError
from veriscene.files import opened, parse_json, read_lines, read_text, write_text
from veriscene.world.scene import Scene, attempt, not_allowed, parse_scene, read_scene, scene_to_json

if TYPE_CHECKING:
    from veriscene.worlds.nlvr.raster import Pixels

MAX_WORDS = 256  # the longest public statement has 25
MAX_LINES = 5_000_000  # more than the largest synthetic corpus has
MAX_PROBLEMS = 10_000  # a file with more is not an NLVR file
MAX_SCENE_FILE = 1 << 20

_LINES_PER_PROGRESS = 1000
_IDENTIFIER = re.compile(r"[^-\s,\"\ud800-\udfff]+-[^-\s,\"\ud800-\udfff]+")
WORD = re.compile(r"[^\W\d_]+|\d+|[^\s]")  # a word, a number or a punctuation mark
_LABELS = {"true": True, "false": False}

Progress = Callable[[int, int], None]  # bytes read, bytes in total


@dataclass(frozen=True)
class Example:
    identifier: str
    statement: str
    scene: Scene
    label: bool | None = None
    directory: str | None = None
    place: str | None = field(default=None, compare=False, repr=False)  # file:line it was read from
    # A PNG of the corpus or its pixels, (100, 400, RGB); None: what the scene looks like is rendered.
    picture: Path | Pixels | None = field(default=None, compare=False, repr=False)

    @property
    def presentation(self) -> str:
        """The scenes of one presentation share a statement; consistency is counted over presentations."""
        return self.identifier.split("-")[0]


# ---------------------------------------------------------------- reading


def read(path: str | Path, progress: Progress | None = None) -> list[Example]:
    """All examples of a file, in file order; raises InputError with the first problem."""
    examples = []
    for found in scan(path, progress):
        if isinstance(found, InputError):
            raise found
        examples.append(found)
    return examples


def scan(path: str | Path, progress: Progress | None = None) -> Iterator[Example | InputError]:
    """The valid examples and every problem of a file, each as soon as it is found; problems use no memory.

    Ends early where the rest cannot be NLVR lines: pretty-printed JSON, text that is not UTF-8, too many problems.
    """
    path = Path(path)
    try:
        yield from _scan(path, progress)
    except InputError as error:
        yield error


def _scan(path: Path, progress: Progress | None) -> Iterator[Example | InputError]:
    """Yields what concerns one line; raises InputError for what concerns the rest of the file."""
    first_line: dict[str, int] = {}  # of each identifier
    is_empty, problem_count = True, 0
    with opened(path) as stream:
        size = path.stat().st_size if path.is_file() else 0
        for number, line in read_lines(stream):
            place = f"{path}:{number}"
            if progress and size and number % _LINES_PER_PROGRESS == 0:
                progress(stream.tell(), size)
            if number > MAX_LINES:
                raise InputError("too many lines", where=path, allowed=f"at most {MAX_LINES:,} are read")
            if isinstance(line, str) and not line.strip():
                continue
            if isinstance(line, str):
                _check_is_json_lines(line, path if is_empty else place, is_first=is_empty)
            is_empty = False
            problems: list[InputError] = []
            example = _parse_line(line, problems)
            if example is not None and first_line.setdefault(example.identifier, number) != number:
                what = f"identifier {example.identifier!r} is a duplicate of line {first_line[example.identifier]}"
                problems.append(InputError(what, allowed="each must occur once"))
            elif example is not None:
                yield replace(example, place=place)
            yield from (problem.at(place) for problem in problems)
            problem_count += len(problems)
            if problem_count >= MAX_PROBLEMS:
                raise InputError("too many problems", where=path, allowed=f"stopped after line {number:,}")
    if is_empty:
        raise InputError("the file is empty", where=path, allowed="it must hold one JSON object per line")


def _check_is_json_lines(line: str, where: object, *, is_first: bool) -> None:
    if is_first and line.lstrip().startswith("["):
        raise InputError("the file is one JSON array", where=where, allowed="each line must be one JSON object")
    text = line.strip()
    # A file that is cut off does not end with a newline.
    if text.startswith("{") and text.endswith(("{", "[", ",", ":")) and not text.endswith("},") and line.endswith("\n"):
        allowed = "each line must be one whole JSON object"
        raise InputError("looks like pretty-printed JSON", where=where, allowed=allowed)


def _parse_line(line: str | InputError, problems: list[InputError]) -> Example | None:
    try:
        if isinstance(line, InputError):
            raise line
        record = parse_json(line)
        if not isinstance(record, Mapping):
            kind = {list: "array", str: "string", bool: "boolean", type(None): "null"}.get(type(record), "number")
            raise InputError(f"the line is a JSON {kind}", allowed="each line must be one JSON object")
    except InputError as error:
        problems.append(error)
        return None
    identifier = attempt(_parse_identifier, record.get("identifier"), "identifier", problems)
    statement = attempt(check_statement, record.get("sentence"), "sentence", problems)
    label = attempt(_parse_label, record.get("label"), "label", problems)
    directory = attempt(_parse_directory, record.get("directory"), "directory", problems)
    scene = read_scene(record.get("structured_rep"), problems)
    if problems or identifier is None or statement is None or scene is None:
        return None
    return Example(identifier, statement, scene, label, directory)


def check_statement(statement: object) -> str:
    """The statement itself; raises InputError unless it is text that a model can judge."""
    allowed = f"it must be text of at most {MAX_WORDS} words, with a letter or a digit"
    if not isinstance(statement, str) or not any(map(str.isalnum, statement)) or not _is_encodable(statement):
        raise not_allowed(statement, allowed)
    if len(list(islice(WORD.finditer(statement), MAX_WORDS + 1))) > MAX_WORDS:
        raise InputError("is too long", allowed=allowed)
    return statement


def _is_encodable(text: str) -> bool:
    """JSON can encode half of a character (a lone surrogate), which no UTF-8 file can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _parse_identifier(value: object) -> str:
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        allowed = 'it must be "n-m" (presentation n, picture m), without whitespace, commas or quotes'
        raise not_allowed(value, allowed)
    return value


def _parse_label(value: object) -> bool | None:
    if value is not None and (not isinstance(value, str) or value not in _LABELS):
        raise not_allowed(value, 'allowed: "true", "false", or no label')
    return None if value is None else _LABELS[value]


def _parse_directory(value: object) -> str | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not is_number and not (isinstance(value, str) and _is_encodable(value)):
        raise not_allowed(value, "it must be text or a whole number")
    return None if value is None else str(value)


def read_scene_file(path: str | Path) -> Scene:
    """The scene of a JSON file: three boxes, or an object that holds them as `structured_rep`."""
    text = read_text(Path(path), limit=MAX_SCENE_FILE)
    try:
        value = parse_json(text)
        return parse_scene(value.get("structured_rep") if isinstance(value, Mapping) else value)
    except InputError as error:
        raise error.at(path) from None


def split_file(folder: str | Path, split: str) -> Path:
    """The file of a split in a corpus folder: dev/dev.json as in NLVR, or dev.json."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError("no such folder", where=folder, allowed=f"give the folder that holds {split}/{split}.json")
    candidates = [folder / split / f"{split}.json", folder / f"{split}.json"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    allowed = f"looked for {' and '.join(map(str, candidates))}"
    raise InputError(f"has no {split} split", where=folder, allowed=allowed)


# ---------------------------------------------------------------- writing, predictions


def to_record(example: Example) -> dict[str, object]:
    record: dict[str, object] = {"sentence": example.statement, "identifier": example.identifier}
    if example.label is not None:
        record["label"] = str(example.label).lower()
    if example.directory is not None:
        record["directory"] = example.directory
    record["structured_rep"] = scene_to_json(example.scene)
    return record


def write(path: str | Path, examples: Iterable[Example]) -> None:
    """Writes JSON lines from which `read` returns equal examples."""
    lines = (json.dumps(to_record(example), ensure_ascii=False) + "\n" for example in examples)
    write_text(Path(path), "".join(lines))


def write_predictions(path: str | Path, verdicts: Mapping[str, bool]) -> None:
    """Writes NLVR's official prediction format: lines `identifier,true|false`."""
    write_text(Path(path), "".join(f"{name},{'true' if verdict else 'false'}\n" for name, verdict in verdicts.items()))


def read_predictions(path: str | Path) -> dict[str, bool]:
    """The inverse of `write_predictions`; raises InputError if an identifier occurs twice."""
    path = Path(path)
    verdicts: dict[str, bool] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        identifier, _, word = (part.strip() for part in line.partition(","))
        if word.lower() not in _LABELS:
            raise InputError(f"{line[:60]!r}", where=f"{path}:{number}", allowed="a line is `identifier,true|false`")
        if identifier in verdicts:
            what = f"identifier {identifier!r} is a duplicate"
            raise InputError(what, where=f"{path}:{number}", allowed="each must have one prediction")
        verdicts[identifier] = _LABELS[word.lower()]
    return verdicts
