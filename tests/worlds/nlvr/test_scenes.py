"""NLVR's own random scenes: how often walls and neighbours are touched. See also language/test_random_scenes.py."""

from __future__ import annotations

import numpy as np

from samples import drawn_scene
from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.bulk.random_scenes import by_kind
from veriscene.world.scene import Box, Scene
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.scenes import draw_scenes


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
