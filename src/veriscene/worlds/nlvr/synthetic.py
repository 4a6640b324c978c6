"""Balanced synthetic corpora in NLVR's layout, generated from the grammar: each statement has two scenes of which it is
true and two near misses of which it is false."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import numpy as np

from veriscene import files
from veriscene.english.words import real_words
from veriscene.errors import InputError
from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.bulk.evaluation import BulkProgram
from veriscene.language.bulk.random_scenes import find_pairs
from veriscene.language.program import Statement
from veriscene.output import Progress, silent
from veriscene.world import examples
from veriscene.world.corpus import DESCRIPTION
from veriscene.world.examples import Example, normalized
from veriscene.world.scene import Scene
from veriscene.world.schema import not_allowed
from veriscene.worlds.nlvr.grammar import draw
from veriscene.worlds.nlvr.looks import SCENE_KINDS, WORLD
from veriscene.worlds.nlvr.scenes import draw_scenes, edit_scenes

SPLITS = ("train", "dev", "test")
MIN_STATEMENTS, MAX_STATEMENTS = 10, 1_000_000
DIRECTORIES = 50
STATEMENTS_PER_BLOCK = 64  # drawn together, because evaluating few scenes at once is slow
MAX_FAILED = 1000  # statements in a row that have no scenes or no room in their split
PAIRS = 2  # for each statement of a corpus
STARTS, ROUNDS = 24, 12  # of the walks that find them
ONE_EDIT_MORE = 0.35


class Corpus(dict[str, list[Example]]):
    """Holds the examples of each split, and the statement of each presentation."""

    def __init__(self, *, level: str, seed: int) -> None:
        super().__init__({split: [] for split in SPLITS})
        self.statements: dict[str, list[Statement]] = {split: [] for split in SPLITS}
        self.level, self.seed = level, seed


def build(statements: int, seed: int, level: str = "full", progress: Progress = silent) -> Corpus:
    """Makes a corpus of that many statements, each with two scenes where it is true and two near misses.

    Deterministic given the arguments. Eight of ten statements are for training, one each for dev and test, and no
    text occurs in two splits. `progress` is called with the number of finished statements and their total.
    """
    if not MIN_STATEMENTS <= statements <= MAX_STATEMENTS:
        allowed = f"give a number from {MIN_STATEMENTS} to {MAX_STATEMENTS}"
        raise InputError(f"cannot make {statements} statements", allowed=allowed)
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


# ---------------------------------------------------------------- scenes of statements


def labelled_scenes(rng: np.random.Generator, statements: Sequence[Statement]) -> list[list[tuple[Scene, bool]] | None]:
    """Returns for each statement two scenes where it is true and two near misses where it is false, in random order.

    It is None if the search fails because the statement is almost always true or almost always false.
    """
    programs = [BulkProgram(statement.program) for statement in statements]
    starts = np.empty((len(statements), STARTS), np.intp)
    drawn, offset = [], 0
    for kind in SCENE_KINDS:
        of_kind = [number for number, statement in enumerate(statements) if statement.kind == kind]
        drawn.append(draw_scenes(rng, kind, len(of_kind) * STARTS))
        starts[of_kind] = offset + np.arange(len(drawn[-1])).reshape(len(of_kind), STARTS)
        offset += len(drawn[-1])
    scenes = SceneArrays.concatenated(drawn)
    truths = [program.holds(scenes, which) for program, which in zip(programs, starts, strict=True)]
    holds, owners = [program.holds for program in programs], np.arange(len(statements)).repeat(STARTS)
    started, known = scenes[starts.reshape(-1)], np.concatenate(truths)
    pairs = find_pairs(rng, edit_scenes, holds, started, owners, known, wanted=PAIRS, rounds=ROUNDS)
    found = SceneArrays.concatenated([pairs.before, pairs.after])
    # Some get one edit more, if that does not change the truth: so the scenes of a pair are not always one edit apart.
    varied, is_varied = edit_scenes(rng, found), rng.random(len(found)) < ONE_EDIT_MORE
    result: list[list[tuple[Scene, bool]] | None] = []
    for number, program in enumerate(programs):
        mine = np.flatnonzero(pairs.statements == number)
        which, labels = np.concatenate([mine, mine + len(pairs.truths)]), pairs.truths[mine]
        labels = np.concatenate([labels, ~labels])
        changed = is_varied[which] & (program.holds(varied, which) == labels)
        chosen = np.where(changed[:, None, None], varied.fields[:, which], found.fields[:, which])
        labelled = list(zip(SceneArrays(WORLD, chosen).scenes(), labels.tolist(), strict=True))
        is_complete = len(labelled) == 2 * PAIRS == len({scene for scene, _ in labelled})
        result.append([labelled[at] for at in rng.permutation(len(labelled))] if is_complete else None)
    return result


@cache
def _is_spelled(word: str) -> bool:
    """Whether a word is a usual one, or at least unlike all of these."""
    real, plain = real_words(WORLD), word.strip(".,?!'")
    is_like_one = len(plain) == 1 or get_close_matches(plain, real, n=1, cutoff=0.75)
    return plain in real or not plain.isalpha() or not is_like_one


def draw_example(rng: random.Random, kind: str | None = None) -> tuple[str, Scene, bool]:
    """Returns a random statement with a scene, and whether it is true of the scene; `kind` is tower or scatter.

    People see these statements, so none has one of the corpus's misspellings.
    """
    if kind is not None and kind not in SCENE_KINDS:
        raise not_allowed(kind, f"choose from {', '.join(SCENE_KINDS)}").at("kind")
    wanted = kind or rng.choice(SCENE_KINDS)
    while True:
        statement = draw(rng)
        if statement.kind == wanted and all(map(_is_spelled, statement.text.lower().split())):
            (scenes,) = labelled_scenes(np.random.default_rng(rng.getrandbits(64)), [statement])
            if scenes:
                scene, label = rng.choice(scenes)
                return statement.text, scene, label
