"""Balanced synthetic corpora in NLVR's layout, generated from the grammar."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from veriscene import files
from veriscene.config import LEVELS
from veriscene.errors import InputError
from veriscene.language.program import Statement
from veriscene.world import examples
from veriscene.world.corpus import DESCRIPTION
from veriscene.world.examples import Example, normalized
from veriscene.worlds.nlvr.grammar import draw
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.near_miss import labelled_scenes

SPLITS = ("train", "dev", "test")
MIN_STATEMENTS, MAX_STATEMENTS = 10, 1_000_000
DIRECTORIES = 50
STATEMENTS_PER_BLOCK = 64  # drawn together, because evaluating few scenes at once is slow
MAX_FAILED = 1000  # statements in a row that have no scenes or no room in their split

Progress = Callable[[int, int], None]


class Corpus(dict[str, list[Example]]):
    """The examples of each split, and the statement of each presentation."""

    def __init__(self, *, level: str, seed: int) -> None:
        super().__init__({split: [] for split in SPLITS})
        self.statements: dict[str, list[Statement]] = {split: [] for split in SPLITS}
        self.level, self.seed = level, seed


def build(statements: int, seed: int, level: str = "full", progress: Progress | None = None) -> Corpus:
    """Makes a corpus of that many statements, each with two scenes where it is true and two near misses.

    Deterministic given the arguments. Eight of ten statements are for training, one each for dev and test, and no
    text occurs in two splits. `progress` is called with the number of finished statements and their total.
    """
    if level not in LEVELS:
        raise InputError(f"unknown level {level!r}", allowed=f"choose from {', '.join(LEVELS)}")
    if not MIN_STATEMENTS <= statements <= MAX_STATEMENTS:
        raise InputError(
            f"cannot make {statements} statements", allowed=f"give a number from {MIN_STATEMENTS} to {MAX_STATEMENTS}"
        )
    rng, scene_rng = random.Random(seed), np.random.default_rng(seed)
    corpus = Corpus(level=level, seed=seed)
    tenth = statements // 10
    room = {"train": statements - 2 * tenth, "dev": tenth, "test": tenth}
    split_of: dict[str, str] = {}  # equal texts go to the same split
    number = failed = 0
    while number < statements:
        drawn = [draw(rng, level) for _ in range(STATEMENTS_PER_BLOCK)]
        for statement, scenes in zip(drawn, labelled_scenes(scene_rng, drawn), strict=True):
            text = normalized(statement.text)
            split = split_of.get(text) or rng.choices(SPLITS, [room[split] for split in SPLITS])[0]
            if scenes is None or not room[split]:
                failed += 1
                continue
            split_of[text] = split
            room[split] -= 1
            corpus.statements[split].append(statement)
            corpus[split] += [
                Example(f"{number}-{picture}", statement.text, scene, truth, directory=str(number % DIRECTORIES))
                for picture, (scene, truth) in enumerate(scenes)
            ]
            number, failed = number + 1, 0
            if progress:
                progress(number, statements)
            if number == statements:
                break
        if failed > MAX_FAILED:
            raise InputError("the grammar has no more statements that fit", allowed="ask for fewer")
    return corpus


def write(folder: str | Path, corpus: Corpus) -> None:
    """Writes SPLIT/SPLIT.json in NLVR's format, the statements' programs/SPLIT.jsonl, and corpus.json."""
    folder = Path(folder)
    count = sum(map(len, corpus.statements.values()))
    description = {"supervision": "synthetic", "statements": count, "level": corpus.level, "seed": corpus.seed}
    files.write_text(folder / DESCRIPTION, json.dumps(description) + "\n")
    for split in SPLITS:
        examples.write(folder / split / f"{split}.json", corpus[split], WORLD)
        lines = (statement.to_line() for statement in corpus.statements[split])
        files.write_text(program_file(folder, split), "".join(lines))


def program_file(folder: Path, split: str) -> Path:
    """Returns the file with the programs of a split, which `--teacher` reads."""
    return folder / "programs" / f"{split}.jsonl"


def make_corpus(folder: Path, statements: int, *, seed: int, level: str, progress: Progress) -> None:
    """Writes a synthetic corpus, drawn from the grammar, to a folder."""
    write(folder, build(statements, seed=seed, level=level, progress=progress))
