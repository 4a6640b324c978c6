"""Temporary: NLVR's files by their old names."""

from __future__ import annotations

from functools import partial
from typing import Any

from veriscene.world import examples
from veriscene.world.corpus import split_file
from veriscene.world.examples import MAX_WORDS, WORD, Example, check_statement, read_predictions, write_predictions
from veriscene.worlds.nlvr.looks import WORLD

__all__ = [
    "MAX_WORDS",
    "WORD",
    "Example",
    "check_statement",
    "read",
    "read_predictions",
    "read_scene_file",
    "scan",
    "split_file",
    "to_record",
    "write",
    "write_predictions",
]


def read(path: Any, progress: Any = None) -> list[Example]:
    return examples.read(path, WORLD, progress)


def scan(path: Any, progress: Any = None) -> Any:
    return examples.scan(path, WORLD, progress)


def write(path: Any, found: Any) -> None:
    examples.write(path, found, WORLD)


to_record = partial(examples.to_record, world=WORLD)
read_scene_file = partial(examples.read_scene_file, world=WORLD)
