"""Scenes of any world that are drawn and edited at random, many at once."""

from __future__ import annotations

import numpy as np
import pytest

from some_worlds import NLVR, ODD, SHELF
from veriscene.errors import InputError
from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.bulk.random_scenes import SCATTER, TOWER, by_kind, draw_scenes, edit_scenes
from veriscene.world.edits import tower_of
from veriscene.world.schema import World
from veriscene.world.world_file import world_of

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


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("seed", range(3))
def test_drawn_and_edited_scenes_are_valid_and_of_their_kind(world: World, seed: int) -> None:
    for kind in (None,) if world.towers is None else (TOWER, SCATTER):
        rng = np.random.default_rng(seed)
        scenes = draw_scenes(world, rng, kind, 60)
        assert len(scenes) == 60
        check_valid(scenes, kind)
        before = scenes.scenes()
        for _ in range(12):
            scenes = edit_scenes(rng, scenes)
        check_valid(scenes, kind)
        assert scenes.scenes() != before
        assert sum(map(len, by_kind(scenes).values())) == len(scenes)
        assert kind != TOWER or len(by_kind(scenes)[TOWER]) == len(scenes)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_an_edit_changes_one_item_of_one_box_and_mostly_something(world: World) -> None:
    rng = np.random.default_rng(1)
    scenes = draw_scenes(world, rng, None, 400)
    pairs = list(zip(scenes.scenes(), edit_scenes(rng, scenes).scenes(), strict=True))
    changed = [(one, other) for one, other in pairs if one != other]
    assert len(changed) > 0.5 * len(pairs)
    for one, other in changed:
        ((a, b),) = [pair for pair in zip(one.boxes, other.boxes, strict=True) if pair[0] != pair[1]]
        assert len(set(a.items) - set(b.items)) <= 1 and len(set(b.items) - set(a.items)) <= 1


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
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
    with pytest.raises(InputError):
        draw_scenes(crowded, np.random.default_rng(0), None, 5)
