"""Examples of any world as JSON lines: reading, checking and writing them, single scenes and predictions.

A line has `statement` (or `sentence`), `scene` (or the world's own name for it), and perhaps `label` and `identifier`.
docs/data.md describes the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from veriscene.errors import InputError, located
from veriscene.files import json_objects, opened, parse_json, read_lines, read_text, write_text
from veriscene.output import Progress, silent
from veriscene.world.scene import Scene
from veriscene.world.schema import World, not_allowed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_WORDS = 256  # the longest public statement has 25
MAX_LINES = 5_000_000  # more than the largest synthetic corpus has
MAX_PROBLEMS = 10_000  # a file with more is not a file of examples
MAX_SCENE_FILE = 1 << 20

_LINES_PER_PROGRESS = 1000
_PART = r"[^-\s,\"\x00-\x1f\x7f-\x9f\ud800-\udfff]+"
_IDENTIFIER = re.compile(f"(?![=+@]){_PART}-{_PART}")  # spreadsheets execute what begins with = + or @
WORD = re.compile(r"[^\W\d_]+|\d+|[^\s]")  # a word, a number or a punctuation mark
LABELS = {"true": True, "false": False}

Parsed = TypeVar("Parsed")
Found = Mapping[str, Any] | InputError  # a record, or what is wrong with it
Records = Callable[[Found], Iterable[tuple[object, Found]]]  # those of a line, each with its identifier or None


@dataclass(frozen=True)
class Example:
    identifier: str
    statement: str
    scene: Scene
    label: bool | None = None
    directory: str | None = None
    place: str | None = field(default=None, compare=False, repr=False)  # file:line it was read from
    world: World | None = field(default=None, compare=False, repr=False)  # None: the default world
    # A picture file or its pixels, (height, width, RGB); None: what the scene looks like is rendered.
    picture: Path | NDArray[np.uint8] | None = field(default=None, compare=False, repr=False)

    @property
    def presentation(self) -> str:
        """Names the presentation, whose scenes share a statement; consistency is counted over presentations."""
        return self.identifier.split("-")[0]


# ---------------------------------------------------------------- reading


def as_it_is(record: Found) -> Iterable[tuple[object, Found]]:
    """Returns the only record of a line."""
    return ((None if isinstance(record, InputError) else record.get("identifier"), record),)


def read(path: str | Path, world: World, progress: Progress = silent, records: Records = as_it_is) -> list[Example]:
    """Returns all examples of a file, in file order; raises InputError with the first problem. `records`: those of a
    line, in worlds whose files have several examples in one."""
    examples = []
    for found in scan(path, world, progress, records):
        if isinstance(found, InputError):
            raise found
        examples.append(found)
    return examples


def scan(
    path: str | Path, world: World, progress: Progress = silent, records: Records = as_it_is
) -> Iterator[Example | InputError]:
    """Yields the valid examples and every problem of a file, each as soon as it is found; problems use no memory.

    Ends early where the rest cannot be examples: pretty-printed JSON, text that is not UTF-8, too many problems.
    """
    try:
        yield from _scan(Path(path), world, progress, records)
    except InputError as error:
        yield error


def _scan(path: Path, world: World, progress: Progress, records: Records) -> Iterator[Example | InputError]:
    """Yields what concerns one line; raises InputError for what concerns the rest of the file."""
    first_line: dict[str, int] = {}  # of each identifier
    is_empty, problem_count = True, 0
    with opened(path) as stream:
        size = path.stat().st_size if path.is_file() else 0
        for number, line in read_lines(stream):
            place = f"{path}:{number}"
            if size and number % _LINES_PER_PROGRESS == 0:
                progress(stream.tell(), size)
            if number > MAX_LINES:
                raise InputError("too many lines", where=path, allowed=f"at most {MAX_LINES:,} are read")
            if isinstance(line, str):
                if not line.strip():
                    continue
                _check_is_json_lines(line, path if is_empty else place, is_first=is_empty)
            is_empty = False
            problems: list[InputError] = []
            for example in _parse_line(line, number, world, records, problems):
                if example.identifier in first_line:
                    what = f"identifier {example.identifier!r} is a duplicate of line {first_line[example.identifier]}"
                    problems.append(InputError(what, allowed="each must occur once"))
                else:
                    first_line[example.identifier] = number
                    yield replace(example, place=place, world=world)
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


def _parse_line(
    line: str | InputError, number: int, world: World, records: Records, problems: list[InputError]
) -> Iterator[Example]:
    for _, found in json_objects([(number, line)]):
        for at, (_, each) in enumerate(records(found)):
            if isinstance(each, InputError):
                problems.append(each)
            elif (example := _parse_record(each, f"{number}-{at}", world, problems)) is not None:
                yield example


def _parse_record(
    record: Mapping[str, Any], identifier: str, world: World, problems: list[InputError]
) -> Example | None:
    before = len(problems)
    sentence = "statement" if "statement" in record else "sentence"
    name = _attempt(_parse_identifier, record.get("identifier", identifier), "identifier", problems)
    statement = _attempt(check_statement, record.get(sentence), sentence, problems)
    label = _attempt(_parse_label, record.get("label"), "label", problems)
    directory = _attempt(_parse_directory, record.get("directory"), "directory", problems)
    scene = world.read_scene(record.get(world.scene_field, record.get("scene")), problems)
    if len(problems) > before or name is None or statement is None or scene is None:
        return None
    return Example(name, statement, scene, label, directory)


def of_record(record: Mapping[str, Any], world: World) -> Example:
    """Returns the example that a line's object describes; raises InputError with the first problem."""
    problems: list[InputError] = []
    found = _parse_record(record, "", world, problems)
    if found is None:
        raise problems[0]
    return replace(found, world=world)


def _attempt(parse: Callable[[object], Parsed], value: object, where: str, problems: list[InputError]) -> Parsed | None:
    """Returns what `parse` returns; if it raises InputError, adds the error to `problems` and returns None."""
    try:
        return parse(value)
    except InputError as error:
        problems.append(error.at(where))
        return None


def check_statement(statement: object) -> str:
    """Returns the statement; raises InputError unless it is text that a model can judge."""
    allowed = f"it must be text of at most {MAX_WORDS} words, with a letter or a digit"
    if not isinstance(statement, str) or not any(map(str.isalnum, statement)) or not _is_encodable(statement):
        raise not_allowed(statement, allowed)
    if len(statement) > MAX_WORDS and len(list(islice(WORD.finditer(statement), MAX_WORDS + 1))) > MAX_WORDS:
        raise InputError("is too long", allowed=allowed)
    return statement


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS)}


def normalized(statement: str) -> str:
    """Removes differences in case, punctuation, whitespace, digits and British spelling, so that two statements that
    are equal then are the same one."""
    words = re.findall(r"\w+", statement.lower().replace("colour", "color"))
    return " ".join(_DIGITS.get(word, word) for word in words)


def _is_encodable(text: str) -> bool:
    """JSON can encode half of a character (a lone surrogate), which no UTF-8 file can hold."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _parse_identifier(value: object) -> str:
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        form = 'it must be "n-m" (presentation n, picture m)'
        raise not_allowed(value, f"{form}, without whitespace, commas or quotes, and not begin with = + @")
    return value


def _parse_label(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and value in LABELS:
        return LABELS[value]
    raise not_allowed(value, 'allowed: "true", "false", or no label')


def _parse_directory(value: object) -> str | None:
    if value is None or type(value) is int or (isinstance(value, str) and _is_encodable(value)):
        return None if value is None else str(value)
    raise not_allowed(value, "it must be text or a whole number")


def read_scene_file(path: str | Path, world: World) -> Scene:
    """Returns the scene of a JSON file: its boxes, or an object that holds them under the world's name for scenes."""
    text = read_text(Path(path), limit=MAX_SCENE_FILE)
    with located(path):
        value = parse_json(text)
        if isinstance(value, Mapping):
            value = value.get(world.scene_field, value.get("scene", value.get("boxes")))
        return world.parse(value)


# ---------------------------------------------------------------- writing, predictions


def to_record(example: Example, world: World) -> dict[str, object]:
    """Returns the object of a line, from which `read` makes an equal example."""
    record: dict[str, object] = {"sentence": example.statement, "identifier": example.identifier}
    if example.label is not None:
        record["label"] = str(example.label).lower()
    if example.directory is not None:
        record["directory"] = example.directory
    record[world.scene_field] = world.to_json_scene(example.scene)
    return record


def write(path: str | Path, examples: Iterable[Example], world: World) -> None:
    """Writes JSON lines from which `read` returns equal examples."""
    lines = (json.dumps(to_record(example, world), ensure_ascii=False) + "\n" for example in examples)
    write_text(Path(path), "".join(lines))


def write_predictions(path: str | Path, verdicts: Mapping[str, bool]) -> None:
    """Writes predictions as lines `identifier,true|false`."""
    write_text(Path(path), "".join(f"{name},{'true' if verdict else 'false'}\n" for name, verdict in verdicts.items()))


def read_predictions(path: str | Path) -> dict[str, bool]:
    """Reads what `write_predictions` wrote; raises InputError if an identifier occurs twice."""
    path = Path(path)
    verdicts: dict[str, bool] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        identifier, _, word = (part.strip() for part in line.partition(","))
        if word.lower() not in LABELS:
            raise InputError(f"{line[:60]!r}", where=f"{path}:{number}", allowed="a line is `identifier,true|false`")
        if identifier in verdicts:
            what = f"identifier {identifier!r} is a duplicate"
            raise InputError(what, where=f"{path}:{number}", allowed="each must have one prediction")
        verdicts[identifier] = LABELS[word.lower()]
    return verdicts
