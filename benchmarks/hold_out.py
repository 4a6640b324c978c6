"""Writes a corpus with a larger dev split: some examples move there from train.

python benchmarks/hold_out.py NLVR OUT [--examples 1500] [--seed 7]

The 989 examples of dev are too few to compare settings. Examples that share a statement or a presentation stay in the
same split.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example, write
from veriscene.worlds.nlvr.looks import WORLD

LARGEST_GROUP = 60  # very common statements stay in train


def groups_of(examples: Sequence[Example]) -> dict[str, list[Example]]:
    """The connected components of examples that share a statement or a presentation."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    for example in examples:
        leader[find(f"presentation {example.presentation}")] = find(_statement(example))
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(find(_statement(example)), []).append(example)
    return groups


def hold_out(examples: Sequence[Example], *, count: int, seed: int) -> tuple[list[Example], list[Example]]:
    """(kept, held out): whole groups are held out until there are more than `count` examples."""
    groups = groups_of(examples)
    names = sorted(groups, key=repr)
    random.Random(seed).shuffle(names)
    held: list[Example] = []
    for name in names:
        if len(held) > count:
            break
        if len(groups[name]) <= LARGEST_GROUP:
            held += groups[name]
    out = {id(example) for example in held}
    return [example for example in examples if id(example) not in out], held


def _statement(example: Example) -> str:
    return "statement " + re.sub(r"[^a-z0-9 ]", "", example.statement.lower()).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--examples", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    try:
        train, dev = (worlds.read(split_file(given.data, split)) for split in ("train", "dev"))
        kept, held = hold_out(train, count=given.examples, seed=given.seed)
        # The numbers of train and dev overlap, but identifiers must be unique.
        held = [replace(example, identifier=f"9{example.identifier}") for example in held]
        for split, examples in (("train", kept), ("dev", [*dev, *held])):
            (given.out / split).mkdir(parents=True, exist_ok=True)
            write(given.out / split / f"{split}.json", examples, WORLD)
            print(f"{split}: {len(examples):,} examples")
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
