"""The picture files of a corpus: `SPLIT/images/DIRECTORY/SPLIT-IDENTIFIER-k.png`, k from 0 to 5.

k is the number of a permutation of the three boxes, in the order of `itertools.permutations(range(3))`; 0 is the order
of the structured form. Files are found by their names, because the hidden split's examples have no `directory`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

from veriscene.errors import InputError
from veriscene.world.examples import Example
from veriscene.world.scene import Scene
from veriscene.worlds.nlvr.looks import BOXES

SPLITS = ("train", "dev", "test", "hidden")
PERMUTATIONS = tuple(permutations(range(BOXES)))

_NAME = re.compile(r"(?P<split>.+)-(?P<identifier>[^-]+-[^-]+)-(?P<permutation>[0-5])\.png")


def file_name(split: str, identifier: str, permutation: int, suffix: str = ".png") -> str:
    return f"{split}-{identifier}-{permutation}{suffix}"


def permuted(scene: Scene, permutation: int) -> Scene:
    """The scene as picture number `permutation` shows it."""
    return Scene(tuple(scene.boxes[box] for box in PERMUTATIONS[permutation]))


def identifier_of(name: str) -> str:
    """The example's identifier in a file name of the corpus; of any other file its name without the suffix."""
    match = _NAME.fullmatch(name)
    return match["identifier"] if match else Path(name).stem


def find_pictures(folder: Path, split: str | None) -> dict[str, list[Path]]:
    """The 1 to 6 pictures of each example of a split below `folder`, by identifier, in the order of permutations.

    If `split` is None, the folder must hold pictures of only one.
    """
    by_split: dict[str, dict[str, dict[str, Path]]] = {}
    for path in pictures_below(folder):
        if match := _NAME.fullmatch(path.name):
            numbered = by_split.setdefault(match["split"], {}).setdefault(match["identifier"], {})
            other = numbered.setdefault(match["permutation"], path)
            if other != path:
                allowed = "name a folder that holds each picture once"
                raise InputError(f"has the same name as {other}", where=path, allowed=allowed)
    chosen = [name for name in by_split if split is None or name == split]
    if len(chosen) != 1:
        found = f"holds pictures of {', '.join(sorted(by_split))}" if by_split else "holds no pictures of a corpus"
        expected = file_name(split or "SPLIT", "IDENTIFIER", 0)
        raise InputError(found, where=folder, allowed=f"it must hold those of one split, named {expected}")
    return {name: [path for _, path in sorted(numbered.items())] for name, numbered in by_split[chosen[0]].items()}


def pictures_below(folder: Path) -> list[Path]:
    """All PNG files below a folder, sorted by path."""
    if not folder.is_dir():
        raise InputError("no such folder", where=folder)
    walk = os.walk(folder, onerror=_raise)
    return sorted(Path(parent, name) for parent, _, names in walk for name in names if name.endswith(".png"))


def with_pictures(examples: Sequence[Example], folder: Path, split: str) -> list[Example]:
    """The examples of a split, each with its picture in the box order of its scene (number 0)."""
    found = find_pictures(folder, split)
    first = [next(iter(found.get(example.identifier, [])), None) for example in examples]
    missing = [
        example.identifier
        for example, path in zip(examples, first, strict=True)
        if path is None or not path.name.endswith("-0.png")
    ]
    _check_none_missing(missing, folder, "complete the pictures, or remove the folder to have them rendered")
    return [replace(example, picture=path) for example, path in zip(examples, first, strict=True)]


def each_picture(examples: Iterable[Example], folder: Path, file: Path) -> list[Example]:
    """One example for each picture of each example, which were read from `file`.

    Their identifiers end with the number of the permutation, `n-m-k`, so that presentations stay together. A file that
    has not the name of one of the corpus's splits takes the pictures that there are.
    """
    found = find_pictures(folder, file.stem if file.stem in SPLITS else None)
    pictured: list[Example] = []
    missing: list[str] = []
    for example in examples:
        paths = found.get(example.identifier, [])
        pictured += [replace(example, identifier=_numbered(path.name), picture=path) for path in paths]
        missing += [] if paths else [example.identifier]
    _check_none_missing(missing, folder, "every example must have one to six")
    return pictured


def per_picture(examples: Iterable[Example], verdicts: Mapping[str, bool]) -> tuple[list[Example], dict[str, bool]]:
    """Examples and verdicts for scoring predictions by file name: one example for each of its pictures that was
    predicted, both by `n-m-k`. An example without predictions stays as it is, so that it is found to be missing.
    """
    by_number = {_numbered(name): verdict for name, verdict in verdicts.items()}
    if len(by_number) < len(verdicts):
        raise InputError("pictures of several splits have the same identifier", allowed="predict one split")
    predicted: dict[str, list[str]] = {}
    for number in by_number:
        predicted.setdefault(number.rpartition("-")[0], []).append(number)
    pictured = [
        replace(example, identifier=number)
        for example in examples
        for number in predicted.get(example.identifier, [example.identifier])
    ]
    return pictured, by_number


def written_name(example: Example) -> str:
    """What names the example in a prediction file: its picture's file name, if it has one."""
    return example.picture.name if isinstance(example.picture, Path) else example.identifier


def _numbered(name: str) -> str:
    """`n-m-k` of a file name."""
    match = _NAME.fullmatch(name)
    if match is None:
        allowed = f"a picture is named {file_name('SPLIT', 'IDENTIFIER', 0)}, with a number from 0 to 5"
        raise InputError(f"{name[:60]!r} is not the name of a picture", allowed=allowed)
    return f"{match['identifier']}-{match['permutation']}"


def _check_none_missing(identifiers: Sequence[str], folder: Path, allowed: str) -> None:
    if identifiers:
        what = f"has no picture for {len(identifiers):,} of the examples (the first: {identifiers[0]!r})"
        raise InputError(what, where=folder, allowed=allowed)


def _raise(error: OSError) -> None:
    raise InputError(f"cannot be read ({error.strerror})", where=error.filename) from None
