"""NLVR files: reading them with an answer to every kind of damage, writing them, and prediction files.

One example a line, as JSON; see docs/data.md. `read` takes the form of all splits, the hidden one (no `evals`, no
`directory`, perhaps no `label`) included.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from veriscene.errors import InputError
from veriscene.files import read_text, write_text
from veriscene.scenes.scene import Report, Scene, read_scene, scene_to_json

_IDENTIFIER = re.compile(r"[^-\s,\"\ud800-\udfff]+-[^-\s,\"\ud800-\udfff]+")
_LABELS = {"true": True, "false": False}
_MUST_BE_IDENTIFIER = 'it must be text of the form "n-m" (presentation n, picture m), without blanks, commas or quotes'


@dataclass(frozen=True)
class Example:
    identifier: str
    statement: str
    scene: Scene
    label: bool | None = None
    directory: str | None = None
    place: str | None = field(default=None, compare=False, repr=False)  # file:line, if it was read from one

    @property
    def presentation(self) -> str:
        """The pictures of one presentation share a statement; consistency is counted over presentations."""
        return self.identifier.split("-")[0]


@dataclass(frozen=True)
class Problem:
    path: Path
    line: int | None
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}" if self.line else f"{self.path}: {self.what}"


def read(path: str | Path) -> list[Example]:
    """All examples of a file, in its order; raises InputError with the first problem, and how many more there are."""
    examples, problems = check(path)
    if problems:
        more = f" (and {len(problems) - 1} more; `veriscene data check` lists them)" if len(problems) > 1 else ""
        raise InputError(f"{problems[0]}{more}")
    return examples


def check(path: str | Path) -> tuple[list[Example], list[Problem]]:
    """The sound examples of a file, and every problem in it."""
    path = Path(path)
    problems: list[Problem] = []
    examples: list[Example] = []
    first_line_of: dict[str, int] = {}
    for number, line in _lines(path, problems):

        def report(what: str, number: int = number) -> None:
            problems.append(Problem(path, number, what))

        example = read_line(line, report)
        if example is None:
            continue
        earlier = first_line_of.setdefault(example.identifier, number)
        if earlier != number:
            report(f"identifier {example.identifier!r} is a duplicate of line {earlier}; each must occur once")
        else:
            examples.append(replace(example, place=f"{path}:{number}"))
    return examples, problems


def read_line(line: str, report: Report) -> Example | None:
    """One example out of one line of JSON. Tells `report` about every problem, and gives None if there was one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError also for a number of thousands of digits
        cut = not line.rstrip().endswith("}")
        what = "the line is cut off" if cut else getattr(error, "msg", "nested too deeply, or a number too long")
        report(f"not JSON: {what}; each line must be one whole JSON object")
        return None
    return read_record(record, report)


def read_record(record: object, report: Report) -> Example | None:
    if not isinstance(record, Mapping):
        report(f"the line holds a JSON {_json_kind(record)}; each line must be one JSON object")
        return None
    sound = True

    def wrong(what: str) -> None:
        nonlocal sound
        sound = False
        report(what)

    identifier = record.get("identifier")
    if not isinstance(identifier, str) or not _IDENTIFIER.fullmatch(identifier):
        wrong(f"field identifier: {_shown(record, 'identifier')}; {_MUST_BE_IDENTIFIER}")
    statement = record.get("sentence")
    if not isinstance(statement, str) or not statement.strip() or not _is_text(statement):
        wrong(f"field sentence: {_shown(record, 'sentence')}; it must be text that is not blank")
    label = record.get("label")
    if label is not None and (not isinstance(label, str) or label not in _LABELS):
        wrong(f'field label: {_shown(record, "label")}; allowed: "true", "false", or no label at all')
    directory = record.get("directory")
    if directory is not None and (not isinstance(directory, str | int) or isinstance(directory, bool)):
        wrong(f"field directory: {_shown(record, 'directory')}; it must be text or a whole number")
    scene = read_scene(record.get("structured_rep"), wrong)
    if not sound or scene is None:
        return None
    return Example(
        identifier=str(identifier),
        statement=str(statement),
        scene=scene,
        label=None if label is None else _LABELS[label],
        directory=None if directory is None else str(directory),
    )


def to_record(example: Example) -> dict[str, object]:
    record: dict[str, object] = {"sentence": example.statement, "identifier": example.identifier}
    if example.label is not None:
        record["label"] = _word(example.label)
    if example.directory is not None:
        record["directory"] = example.directory
    record["structured_rep"] = scene_to_json(example.scene)
    return record


def write(path: str | Path, examples: Iterable[Example]) -> None:
    """Writes JSON lines that `read` turns into equal examples."""
    lines = (json.dumps(to_record(example), ensure_ascii=False) + "\n" for example in examples)
    write_text(Path(path), "".join(lines))


def write_predictions(path: str | Path, verdicts: Mapping[str, bool]) -> None:
    """The official form: `identifier,true|false`, a line each."""
    write_text(Path(path), "".join(f"{identifier},{_word(verdict)}\n" for identifier, verdict in verdicts.items()))


def read_predictions(path: str | Path) -> dict[str, bool]:
    """The inverse of `write_predictions`; an identifier that occurs twice is an error, not a choice."""
    path = Path(path)
    verdicts: dict[str, bool] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        row = line.split(",")
        if not line.strip():
            continue
        if len(row) != 2 or row[1].strip().lower() not in _LABELS:
            raise InputError(f"{path}:{number}: {line[:60]!r}; a line must be `identifier,true` or `…,false`")
        identifier = row[0].strip()
        if identifier in verdicts:
            raise InputError(f"{path}:{number}: identifier {identifier!r} is double; each must have one prediction")
        verdicts[identifier] = _LABELS[row[1].strip().lower()]
    return verdicts


def split_file(folder: str | Path, split: str) -> Path:
    """Where a split lies in a corpus folder: NLVR's own layout (dev/dev.json), or dev.json directly."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give the folder that holds {split}/{split}.json")
    candidates = [folder / split / f"{split}.json", folder / f"{split}.json"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise InputError(f"{folder}: has no {split} split; looked for {' and '.join(str(c) for c in candidates)}")


# ---------------------------------------------------------------- files


def _lines(path: Path, problems: list[Problem]) -> Iterator[tuple[int, str]]:
    """The lines that hold something, numbered from one; damage of the whole file goes to `problems`."""
    try:
        text = read_text(path)
    except InputError as error:
        problems.append(Problem(path, None, str(error).removeprefix(f"{path}: ")))
        return
    if not text.strip():
        problems.append(Problem(path, None, "the file is empty; it must hold one JSON object a line"))
        return
    if text.lstrip().startswith("["):
        what = "the file is one JSON array; it must be JSON lines, one object a line, no brackets or commas around them"
        problems.append(Problem(path, None, what))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _is_text(text: str) -> bool:
    """JSON can write half of a character (a lone surrogate), which no file can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _word(truth: bool) -> str:
    return "true" if truth else "false"


def _json_kind(value: object) -> str:
    return {list: "array", str: "string", bool: "truth value", type(None): "null"}.get(type(value), "number")


def _shown(record: Mapping[str, object], field: str) -> str:
    return f"{record[field]!r:.60} is not allowed" if field in record else "is missing"
