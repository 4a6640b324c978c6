"""Scenes for a statement: pairs that differ in a small edit which changes the truth of the statement."""

from __future__ import annotations

import random
from bisect import bisect_left

from veriscene.language.notation import Statement
from veriscene.world.scene import Scene
from veriscene.worlds.nlvr.scene_drawing import draw_scene
from veriscene.worlds.nlvr.scene_editing import edit_scene

WALKS = 10
STRIDES = 4
STRIDE = 5  # Edits between two evaluations of the program, which cost more than an edit.
PAIRS = 2
ONE_EDIT_MORE = 0.35


def labelled_scenes(rng: random.Random, statement: Statement) -> list[tuple[Scene, bool]] | None:
    """Two scenes where the statement is true and two near misses where it is false, in random order.

    Returns None if the search fails because the statement is almost always true or almost always false.
    """
    found: list[tuple[Scene, bool]] = []
    for _ in range(PAIRS):
        pair = _contrast(rng, statement)
        if pair is None:
            return None
        found += [(_vary(rng, statement, scene, truth), truth) for scene, truth in pair]
    if len({scene for scene, _ in found}) < len(found):
        return None
    rng.shuffle(found)
    return found


def _contrast(rng: random.Random, statement: Statement) -> list[tuple[Scene, bool]] | None:
    """Two scenes, one edit apart, with different labels.

    A random walk of small edits stops where the truth changes. It starts from a scene with either label, so that
    edited scenes are equally frequent among both labels.
    """
    holds = statement.program.holds
    for _ in range(WALKS):
        here = draw_scene(rng, statement.kind)
        truth = holds(here)
        for _ in range(STRIDES):
            path = [here]
            for _ in range(STRIDE):
                path.append(edit_scene(rng, statement.kind, path[-1]))
            here = path[-1]
            if holds(here) is not truth:
                turn = bisect_left(path, True, lo=1, hi=STRIDE, key=lambda scene: holds(scene) is not truth)
                return [(path[turn - 1], truth), (path[turn], not truth)]
    return None


def _vary(rng: random.Random, statement: Statement, scene: Scene, truth: bool) -> Scene:
    """Sometimes applies one more edit that does not change the truth."""
    if rng.random() < ONE_EDIT_MORE:
        varied = edit_scene(rng, statement.kind, scene)
        if statement.program.holds(varied) is truth:
            return varied
    return scene
