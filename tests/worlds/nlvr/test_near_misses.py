"""Pairs of scenes, one edit apart, between which the truth of a statement changes."""

from __future__ import annotations

import numpy as np

from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.bulk.evaluation import BulkProgram
from veriscene.language.bulk.random_scenes import find_pairs
from veriscene.world.scene import Scene
from veriscene.worlds import parse
from veriscene.worlds.nlvr.scenes import draw_scenes, edit_scenes

PROGRAMS = [
    parse(text)
    for text in (
        "exist(filter_obj(all_items, lambda x: is_yellow(x) and is_circle(x)))",
        "count(filter_obj(all_boxes, lambda b: count(b) == 3)) == 1",
        "exist(filter_obj(all_items, lambda x: is_black(x) and is_touching_wall(x, Side.TOP)))",
        "exist(all_items)",  # always true: there is no near miss
    )
]


def changed_boxes(one: Scene, other: Scene) -> int:
    return sum(set(a.items) != set(b.items) for a, b in zip(one.boxes, other.boxes, strict=True))


def test_pairs_differ_in_one_edit_that_changes_the_truth() -> None:
    rng = np.random.default_rng(1)
    scenes, each = draw_scenes(rng, "scatter", 300), 300
    starts = SceneArrays.concatenated([scenes] * len(PROGRAMS))
    owners = np.repeat(np.arange(len(PROGRAMS)), each)
    programs = [BulkProgram(program) for program in PROGRAMS]
    truths = np.concatenate([program.holds(scenes) for program in programs])
    holds = [program.holds for program in programs]
    pairs = find_pairs(rng, edit_scenes, holds, starts, owners, truths, wanted=6, rounds=12)
    counts = np.bincount(pairs.statements, minlength=len(PROGRAMS))
    assert counts.tolist() == [6, 6, 6, 0]
    assert [pairs.truths[pairs.statements == number].sum() for number in range(3)] == [3, 3, 3], "from both sides"
    found = zip(pairs.statements, pairs.before.scenes(), pairs.after.scenes(), pairs.truths, strict=True)
    for statement, before, after, truth in found:
        assert PROGRAMS[statement].holds(before) == truth
        assert PROGRAMS[statement].holds(after) != truth
        assert 1 <= changed_boxes(before, after) <= 2


def test_without_starts_there_are_no_pairs() -> None:
    scenes, nothing = draw_scenes(np.random.default_rng(1), "tower", 0), np.empty(0, int)
    holds = [BulkProgram(PROGRAMS[0]).holds]
    rng, truths = np.random.default_rng(1), nothing.astype(bool)
    pairs = find_pairs(rng, edit_scenes, holds, scenes, nothing, truths, wanted=3, rounds=2)
    assert len(pairs.truths) == len(pairs.before) == len(pairs.after) == 0
