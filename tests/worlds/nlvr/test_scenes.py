"""Scenes that are drawn and edited at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import drawn_scene
from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.bulk.random_scenes import by_kind
from veriscene.world.edits import tower_of
from veriscene.world.scene import Box, Scene
from veriscene.worlds.nlvr.looks import SCENE_KINDS, TOUCHING, WORLD, SceneKind
from veriscene.worlds.nlvr.scenes import MAX_BLOCKS, MAX_SCATTERED, are_towers, draw_scenes, edit_scenes


def check_valid(scenes: SceneArrays, kind: SceneKind) -> None:
    for scene in scenes.scenes():
        assert WORLD.parse(WORLD.to_json_scene(scene)) == scene  # inside the box, 1 to 8 items, no overlaps
        for box in scene.boxes:
            assert len(box.items) <= MAX_SCATTERED
            assert all(a.distance(b) >= TOUCHING for a in box.items for b in box.items if a is not b)
        if kind == "tower":
            assert all(tower_of(WORLD, box.items) == box.items for box in scene.boxes)
            assert all(len(box.items) <= MAX_BLOCKS and box.items[0].x == 40 for box in scene.boxes)
    assert (are_towers(scenes) == (kind == "tower")).all()
    assert ((scenes.fields == 0) | scenes.mask).all(), "empty slots are zero"


@given(st.integers(0, 2**32), st.sampled_from(SCENE_KINDS))
def test_drawn_and_edited_scenes_are_valid_and_of_their_kind(seed: int, kind: SceneKind) -> None:
    rng = np.random.default_rng(seed)
    scenes = draw_scenes(rng, kind, 20)
    check_valid(scenes, kind)
    before = scenes.scenes()
    for _ in range(12):
        scenes = edit_scenes(rng, scenes)
    check_valid(scenes, kind)
    assert scenes.scenes() != before


@pytest.mark.parametrize("kind", SCENE_KINDS)
def test_an_edit_changes_little_and_nearly_always_something(kind: SceneKind) -> None:
    rng = np.random.default_rng(1)
    scenes = draw_scenes(rng, kind, 500)
    pairs = list(zip(scenes.scenes(), edit_scenes(rng, scenes).scenes(), strict=True))
    changed = [(one, other) for one, other in pairs if one != other]
    assert len(changed) > 0.6 * len(pairs)
    for one, other in changed:
        differing = [pair for pair in zip(one.boxes, other.boxes, strict=True) if pair[0] != pair[1]]
        assert len(differing) <= 2
        assert all(abs(len(a.items) - len(b.items)) <= 1 for a, b in differing)
        if kind == "scatter":
            assert all(len(set(a.items) - set(b.items)) <= 1 for a, b in differing)
    assert edit_scenes(np.random.default_rng(2), scenes).scenes() != edit_scenes(rng, scenes).scenes()


def test_walls_corners_and_neighbours_are_touched_often_enough() -> None:
    scenes = draw_scenes(np.random.default_rng(2), "scatter", 400).scenes()
    boxes = [box for scene in scenes for box in scene.boxes]
    items = [item for box in boxes for item in box.items]
    touching = [
        any(WORLD.touches(one, other) for other in box.items if other is not one) for box in boxes for one in box.items
    ]
    assert 3 < len(items) / len(boxes) < 4
    assert 0.3 < sum(bool(WORLD.walls_of(item)) for item in items) / len(items) < 0.55
    assert 0.03 < sum(len(WORLD.walls_of(item)) == 2 for item in items) / len(items) < 0.1
    assert 0.08 < sum(touching) / len(touching) < 0.25
    assert 0.1 < sum(len({item["color"] for item in scene.items}) < 3 for scene in scenes) / len(scenes) < 0.5


def test_scenes_are_sorted_by_kind_and_blocks_are_listed_from_the_floor_up() -> None:
    scene = drawn_scene(3, "tower")
    first, second, third = (Box(box.items[::-1]) for box in scene.boxes)
    scattered = drawn_scene(4, "scatter")
    sorted_scenes = by_kind(SceneArrays.of(WORLD, [scattered, Scene((first, second, third))]))
    assert {kind: scenes.scenes() for kind, scenes in sorted_scenes.items()} == {
        "tower": [scene],
        "scatter": [scattered],
    }
