"""Edits lead to other valid scenes, are said so that they can be followed, and keep towers towers."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from some_worlds import NLVR, WORLDS
from veriscene.world.edits import edits, name, tower_of
from veriscene.world.random_scenes import random_scene
from veriscene.world.scene import Box, Scene
from veriscene.world.schema import World

each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


def towers(*heights: int) -> Scene:
    """Towers as in the corpus: blocks of 20 pixels with a pixel between them."""
    boxes = [
        [NLVR.make(40, 80 - 21 * level, size="medium", shape="square", color="blue") for level in range(height)]
        for height in heights
    ]
    return Scene(tuple(Box(tuple(items)) for items in boxes))


@each_world
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_an_edit_changes_one_item_and_leads_to_a_valid_scene(world: World, seed: int) -> None:
    scene = random_scene(world, random.Random(seed))
    found = list(edits(world, scene))
    for edit, edited in random.Random(seed).sample(found, min(len(found), 60)):
        assert world.parse(world.to_json_scene(edited)) == edited
        before, after = (set(each.boxes[edit.box].items) for each in (scene, edited))
        assert before != after
        assert before - after <= {edit.before} and after - before <= {edit.after}
        others = [number for number in range(len(scene.boxes)) if number != edit.box]
        assert all(scene.boxes[number] == edited.boxes[number] for number in others)
        assert edit.text
        if edit.attribute is not None:
            assert edit.before is not None and edit.after is not None
            changed = {key for key, value in edit.before.values if edit.after[key] != value}
            assert changed == {edit.attribute}


@each_world
def test_every_kind_of_edit_and_every_attribute_occurs(world: World) -> None:
    rng = random.Random(3)
    found = [edit for _ in range(10) for edit, _ in edits(world, random_scene(world, rng))]
    assert {edit.kind for edit in found} == {"change", "move", "remove", "add"}
    assert {edit.attribute for edit in found} == {None, *world.by_name}


@each_world
@given(seed=st.integers(0, 2**32))
def test_names_tell_the_items_of_a_box_apart(world: World, seed: int) -> None:
    for box in random_scene(world, random.Random(seed)).boxes:
        names = {name(world, item, box.items) for item in box.items}
        corners = {(item.x, item.y, item.values) for item in box.items}
        assert len(names) == len(corners)


@pytest.mark.parametrize("heights", [(1, 2, 3), (4, 4, 1)])
def test_edited_towers_remain_towers(heights: tuple[int, ...]) -> None:
    kinds = set()
    for edit, edited in edits(NLVR, towers(*heights)):
        assert all(tower_of(NLVR, box.items) is not None for box in edited.boxes)
        assert NLVR.parse(NLVR.to_json_scene(edited)) == edited
        kinds.add((edit.kind, edit.attribute))
    # All blocks look the same, so moving one changes nothing.
    assert kinds == {("change", "color"), ("remove", None), ("add", None)}
