"""Scenes for NLVR's statements: for each, two of which it is true and two near misses of which it is false."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.bulk.evaluation import BulkProgram
from veriscene.language.bulk.near_misses import find_pairs
from veriscene.language.program import Statement
from veriscene.world.scene import Scene
from veriscene.world.schema import not_allowed
from veriscene.worlds.nlvr.grammar import draw
from veriscene.worlds.nlvr.looks import SCENE_KINDS, WORLD
from veriscene.worlds.nlvr.scenes import draw_scenes, edit_scenes

PAIRS = 2  # for each statement of a corpus
STARTS, ROUNDS = 24, 12  # of the walks that find them
ONE_EDIT_MORE = 0.35


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
    pairs = find_pairs(
        rng,
        edit_scenes,
        holds,
        scenes[starts.reshape(-1)],
        owners,
        np.concatenate(truths),
        wanted=PAIRS,
        rounds=ROUNDS,
    )
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


def draw_example(rng: random.Random, kind: str | None = None) -> tuple[str, Scene, bool]:
    """Returns a random statement with a scene, and whether it is true of the scene; `kind` is tower or scatter."""
    if kind is not None and kind not in SCENE_KINDS:
        raise not_allowed(kind, f"choose from {', '.join(SCENE_KINDS)}").at("kind")
    wanted = kind or rng.choice(SCENE_KINDS)
    while True:
        statement = draw(rng)
        if statement.kind == wanted:
            (scenes,) = labelled_scenes(np.random.default_rng(rng.getrandbits(64)), [statement])
            if scenes:
                scene, label = rng.choice(scenes)
                return statement.text, scene, label
