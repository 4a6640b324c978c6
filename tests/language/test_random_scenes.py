"""Scenes of any world that are drawn and edited at random, many at once, and near misses among them.

NLVR has generators of its own, which keep the same promises; what is theirs alone is in worlds/nlvr/test_scenes.py.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pytest

from some_worlds import NLVR, ODD, SHELF
from veriscene.errors import InputError
from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.bulk.random_scenes import SCATTER, TOWER, by_kind, draw_scenes, edit_scenes
from veriscene.world.edits import tower_of
from veriscene.world.random_scenes import random_scene
from veriscene.world.schema import World
from veriscene.world.world_file import world_of
from veriscene.worlds.nlvr import scenes as nlvr

# Items of different proportions, whole numbers, and no empty boxes.
BRICKS: World = world_of(
    {
        "name": "bricks",
        "canvas": [60, 80],
        "boxes": [2, 3],
        "items": [1, 5],
        "whole": True,
        "attributes": {"brick": {"values": {"lying": {"extent": [20, 8]}, "standing": {"extent": [8, 20]}}}},
    },
    where="tests",
)
WORLDS = [SHELF, ODD, BRICKS, NLVR]
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
# A world, how its scenes are drawn and edited, and of how many boxes an edit changes items.
GENERATORS = [(world, partial(draw_scenes, world), edit_scenes, 1) for world in WORLDS]
GENERATORS.append((NLVR, nlvr.draw_scenes, nlvr.edit_scenes, 2))  # which also swaps the looks of two items
each_generator = pytest.mark.parametrize(
    ("world", "draw", "edit", "boxes"), GENERATORS, ids=[*(world.name for world in WORLDS), "nlvr's own"]
)


def kinds_of(world: World) -> tuple[str | None, ...]:
    return (None,) if world.towers is None else (TOWER, SCATTER)


def check_valid(scenes: SceneArrays, kind: str | None) -> None:
    world = scenes.world
    for scene in scenes.scenes():
        assert world.parse(world.to_json_scene(scene)) == scene
        for box in scene.boxes:
            pairs = [(a, b) for a in box.items for b in box.items if a is not b]
            assert world.overlap or all(a.distance(b) >= world.touching for a, b in pairs)
            assert kind != TOWER or tower_of(world, box.items) == box.items
    assert ((scenes.fields[1:] == 0) | scenes.mask).all(), "empty slots are zero"
    assert np.array_equal(SceneArrays.of(world, scenes.scenes()).fields, scenes.fields)


@each_generator
@pytest.mark.parametrize("seed", range(12))
def test_drawn_and_edited_scenes_are_valid_and_of_their_kind(
    world: World, draw: Any, edit: Any, boxes: int, seed: int
) -> None:
    for kind in kinds_of(world):
        rng = np.random.default_rng(seed)
        scenes = draw(rng, kind, 60)
        assert len(scenes) == 60
        check_valid(scenes, kind)
        before = scenes.scenes()
        for _ in range(12):
            scenes = edit(rng, scenes)
        check_valid(scenes, kind)
        assert scenes.scenes() != before
        assert sum(map(len, by_kind(scenes).values())) == len(scenes)
        assert kind != TOWER or len(by_kind(scenes)[TOWER]) == len(scenes)
        if draw is nlvr.draw_scenes:
            most, left = (nlvr.MAX_BLOCKS, {40}) if kind == TOWER else (nlvr.MAX_SCATTERED, set(range(100)))
            found = [box.items for scene in scenes.scenes() for box in scene.boxes]
            assert all(len(items) <= most and items[0].x in left for items in found)
            assert (nlvr.are_towers(scenes) == (kind == TOWER)).all()


@each_generator
def test_an_edit_changes_one_item_of_a_box_and_mostly_something(world: World, draw: Any, edit: Any, boxes: int) -> None:
    for kind in kinds_of(world) if draw is nlvr.draw_scenes else (None,):
        rng = np.random.default_rng(1)
        scenes = draw(rng, kind, 500)
        pairs = list(zip(scenes.scenes(), edit(rng, scenes).scenes(), strict=True))
        changed = [(one, other) for one, other in pairs if one != other]
        assert len(changed) > (0.6 if draw is nlvr.draw_scenes else 0.5) * len(pairs)
        for one, other in changed:
            differing = [pair for pair in zip(one.boxes, other.boxes, strict=True) if pair[0] != pair[1]]
            assert len(differing) <= boxes
            assert all(abs(len(a.items) - len(b.items)) <= 1 for a, b in differing)
            if kind != TOWER:  # where the blocks above follow
                counts = [len(set(one.items) - set(two.items)) for a, b in differing for one, two in ((a, b), (b, a))]
                assert max(counts) <= 1
        assert edit(np.random.default_rng(2), scenes).scenes() != edit(rng, scenes).scenes()


@each_world
def test_every_number_of_boxes_and_items_and_every_value_occurs(world: World) -> None:
    scenes = draw_scenes(world, np.random.default_rng(3), None, 1500).scenes()
    assert {len(scene.boxes) for scene in scenes} == set(range(world.boxes[0], world.boxes[1] + 1))
    boxes = [box for scene in scenes for box in scene.boxes]
    assert {len(box.items) for box in boxes} >= set(range(world.items[0], min(world.items[1], 5) + 1))
    items = [item for box in boxes for item in box.items]
    for attribute in world.attributes:
        values = {item[attribute.name] for item in items}
        assert len(values) > 20 if attribute.step == 0 and attribute.kind == "numeric" else values
        assert attribute.kind == "numeric" or values == set(attribute.by_name)
    alone = [box for box in boxes if len(box.items) >= 3]
    for attribute in [each for each in world.attributes if each.choices]:
        same = np.mean([len({item[attribute.name] for item in box.items}) == 1 for box in alone])
        assert 0.15 < same < 0.7, "a box whose items agree is neither rare nor usual"
    touching = [world.touches(a, b) for box in boxes for a in box.items for b in box.items if a is not b]
    assert np.mean(touching) > 0.03 and np.mean([bool(world.walls_of(item)) for item in items]) > 0.2


def test_a_world_without_room_for_its_items_is_refused() -> None:
    attributes = {"mood": {"values": ["good"]}}
    tree = {"name": "full", "canvas": [10, 10], "boxes": 1, "items": [3, 4], "extent": [9, 9], "attributes": attributes}
    crowded = world_of(tree, where="tests")
    with pytest.raises(InputError, match=r"^world full: .*3 items"):
        draw_scenes(crowded, np.random.default_rng(0), None, 5)
    with pytest.raises(InputError, match=r"^world full: .*3 items"):
        random_scene(crowded, random.Random(0))


@pytest.mark.parametrize("limits", [(0.001, 0.004), (1.005, 1.009), (0, 1e-300)])
def test_numbers_of_a_narrow_range_are_valid_and_differ(limits: tuple[float, float]) -> None:
    attributes = {"thickness": {"range": [*limits]}}
    tree = {"name": "thin", "canvas": [90, 90], "boxes": 1, "items": 3, "extent": 9, "attributes": attributes}
    thin = world_of(tree, where="tests")
    drawn = [random_scene(thin, random.Random(seed)) for seed in range(20)]
    for scenes in (drawn, draw_scenes(thin, np.random.default_rng(0), None, 20).scenes()):
        assert [thin.parse(thin.to_json_scene(scene)) for scene in scenes] == scenes
        assert limits[1] < 1e-9 or len({item["thickness"] for scene in scenes for item in scene.items}) > 20
