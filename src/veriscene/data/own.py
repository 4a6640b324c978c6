"""Own data as a corpus: a CSV table of statements and a folder of scenes become train/train.json and dev/dev.json."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from veriscene import worlds
from veriscene.errors import InputError, located
from veriscene.files import read_text, write_text
from veriscene.output import counted
from veriscene.world import corpus, examples
from veriscene.world.examples import LABELS, Example, check_statement, normalized
from veriscene.world.scene import Scene
from veriscene.world.schema import World, not_allowed
from veriscene.world.world_file import to_toml

COLUMNS = ("statement", "scene", "label")
PICTURES = (".png", ".jpg", ".jpeg")

See = Callable[[Path], Scene]  # a picture file -> the scene that it shows


@dataclass(frozen=True)
class Row:
    statement: str
    scene: Scene
    label: bool


def read_table(table: Path, scenes: Path, world: World, see: See | None) -> list[Row]:
    """Returns the rows of a CSV file with the columns statement, scene (a file in `scenes`) and label (true or false).

    A scene is a JSON file, as `examples.read_scene_file` reads it, or a picture, which `see` reads if there is one.
    InputError names line and column.
    """
    if not scenes.is_dir():
        raise InputError("no such folder", where=scenes, allowed="give the folder that holds the scenes")

    @cache
    def read_scene(name: str) -> Scene:
        return _read_scene(name, scenes, world, see)

    parsers: dict[str, Callable[[str], Any]] = {
        "statement": check_statement,
        "scene": read_scene,
        "label": _parse_label,
    }
    rows: list[Row] = []
    first_line: dict[tuple[str, str], int] = {}
    for line, record in _records(table):
        place, values = f"{table}:{line}", dict[str, Any]()
        for name, parse in parsers.items():
            with located(f"{place}: column {name}"):
                values[name] = parse(record[name])
        row = Row(**values)
        if (first := first_line.setdefault((normalized(row.statement), record["scene"]), line)) != line:
            what = f"the same statement and scene as in line {first}"
            raise InputError(what, where=place, allowed="each pair must occur once")
        rows.append(row)
    if not rows:
        raise InputError("has no rows", where=table, allowed=f"the line after the header {','.join(COLUMNS)} is a row")
    return rows


def split(rows: list[Row], *, dev_share: float, seed: int) -> dict[str, list[Example]]:
    """Returns train and dev examples, in the rows' order. All scenes of a statement are in one of them, because a model
    that has seen a statement in training judges it better than a new one.

    The scenes of a statement are one presentation. Deterministic given the arguments.
    """
    numbers: dict[str, int] = {}
    presentations = [numbers.setdefault(normalized(row.statement), len(numbers)) for row in rows]
    if len(numbers) < 2:
        raise InputError("there is only one statement", allowed="train and dev need one each, at least")
    count = min(max(1, round(dev_share * len(numbers))), len(numbers) - 1)
    dev = set(random.Random(seed).sample(range(len(numbers)), count))
    splits: dict[str, list[Example]] = {"train": [], "dev": []}
    pictures = [0] * len(numbers)
    for row, number in zip(rows, presentations, strict=True):
        name = f"{number}-{pictures[number]}"
        pictures[number] += 1
        splits["dev" if number in dev else "train"].append(Example(name, row.statement, row.scene, row.label))
    return splits


def write(folder: Path, splits: Mapping[str, list[Example]], world: World, **facts: object) -> None:
    """Writes a corpus folder: the splits, corpus.json, which says how they were made, and the world's file."""
    description = {"supervision": "labels", "imported": True, **facts}
    write_text(folder / corpus.DESCRIPTION, json.dumps(description) + "\n")
    if world != worlds.get():
        write_text(folder / worlds.FILE, to_toml(world))
    for name, found in splits.items():
        examples.write(folder / name / f"{name}.json", found, world)


def _records(table: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows with their line numbers, each with a value in all of COLUMNS."""
    reader = csv.reader(io.StringIO(read_text(table), newline=""), strict=True)
    filled = ([field.strip() for field in fields] for fields in reader if any(map(str.strip, fields)))
    try:
        header = [name.lower() for name in next(filled, COLUMNS)]
        for name in COLUMNS:
            if header.count(name) != 1:
                what = f"column {name} {'occurs twice' if name in header else 'is missing'}"
                raise InputError(what, where=f"{table}:1", allowed=f"the first line must name {', '.join(COLUMNS)}")
        for fields in filled:
            if len(fields) != len(header):
                what = f"has {counted(len(fields), 'column')}, the header {len(header)}"
                allowed = "put a text with commas in double quotes"
                raise InputError(what, where=f"{table}:{reader.line_num}", allowed=allowed)
            yield reader.line_num, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        raise InputError(f"not CSV ({error})", where=f"{table}:{reader.line_num}") from None


def _parse_label(text: str) -> bool:
    if text.lower() not in LABELS:
        raise not_allowed(text or None, f"allowed: {', '.join(LABELS)}")
    return LABELS[text.lower()]


def _read_scene(name: str, folder: Path, world: World, see: See | None) -> Scene:
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or "\0" in name or PurePosixPath(name).is_absolute():
        raise not_allowed(name or None, f"it must be the name of a file in {folder}")
    path = folder / name
    if see is not None and path.suffix.lower() in PICTURES:
        return see(path)
    if path.suffix.lower() == ".json":
        return examples.read_scene_file(path, world)
    raise not_allowed(name, f"a scene is a file .json or {', '.join(PICTURES)}")
