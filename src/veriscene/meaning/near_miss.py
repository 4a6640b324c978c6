"""Scenes for a statement: some where it is true, some where it is just not."""

from __future__ import annotations

import random
from bisect import bisect_left

from veriscene.meaning.grammar import Statement
from veriscene.meaning.scene_drawing import draw_scene
from veriscene.meaning.scene_editing import edit_scene
from veriscene.scenes.scene import Scene

WALKS = 10
STRIDES = 4
STRIDE = 5  # Edits between two looks at the truth: an edit is cheaper than a look.
PAIRS = 2
ONE_EDIT_MORE = 0.35


def labelled_scenes(rng: random.Random, statement: Statement) -> list[tuple[Scene, bool]] | None:
    """Two scenes where the statement is true and two near misses of them, in random order.

    None if the search does not find them: the statement is nearly always true, or nearly always false.
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
    """Two scenes, one edit apart, of which one makes the statement true.

    A random walk of small edits stops where the truth changes. It starts from whatever scene was drawn, true or false,
    so that neither label has more edited scenes than the other has.
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
    """Sometimes the scene with one edit more, if that does not change the truth."""
    if rng.random() < ONE_EDIT_MORE:
        varied = edit_scene(rng, statement.kind, scene)
        if statement.program.holds(varied) is truth:
            return varied
    return scene
