"""Worlds: what follows from them, and that nothing else is accepted."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from some_worlds import NLVR, ODD, SHELF, WORLDS, scenes_of
from veriscene.errors import InputError
from veriscene.world.random_scenes import random_scene
from veriscene.world.scene import Item, Side
from veriscene.world.schema import Attribute, World
from veriscene.world.world_file import to_toml, to_tree, world_of

each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
seeds = st.integers(0, 2**32)


@each_world
def test_a_world_survives_being_written(world: World) -> None:
    again = world_of(json.loads(json.dumps(to_tree(world))), where="test")
    assert again == world and hash(again) == hash(world)


@each_world
@given(seed=seeds)
def test_scenes_survive_being_written(world: World, seed: int) -> None:
    scene = random_scene(world, random.Random(seed))
    assert world.parse(json.loads(json.dumps(world.to_json_scene(scene)))) == scene


@each_world
def test_random_scenes_use_all_that_the_world_allows(world: World) -> None:
    scenes = scenes_of(world, 400)
    assert {len(scene.boxes) for scene in scenes} == set(range(world.boxes[0], world.boxes[1] + 1))
    counts = {len(box.items) for scene in scenes for box in scene.boxes}
    assert min(counts) == world.items[0] and max(counts) >= min(world.items[1], 5)
    for attribute in world.attributes:
        found = {item[attribute.name] for scene in scenes for item in scene.items}
        if attribute.kind != "numeric":
            assert found == set(attribute.by_name)


@each_world
def test_features_lie_within_one_and_tell_items_apart(world: World) -> None:
    items = {item for scene in scenes_of(world, 100) for item in scene.items}
    features = {tuple(world.features(item)) for item in items}
    assert len(features) == len(items)
    assert all(len(row) == world.feature_count for row in features)
    assert all(-1 <= number <= 1 for row in features for number in row)


def test_the_papers_nine_features() -> None:
    item = NLVR.make(25, 50, size="large", shape="circle", color="blue")
    assert NLVR.features(item) == [-0.5, 0.0, 1.0, 0, 1, 0, 0, 0, 1]
    assert list(NLVR.columns) == ["x", "y", "size", "shape", "color"]


def wrong_scenes() -> list[tuple[World, list[list[dict[str, Any]]], str]]:
    """Scenes with one mistake each, and a part of the place that must be named; NLVR's are in test_nlvr.py."""
    product = {"x": 0, "y": 0, "kind": "can", "color": "red", "price": 3, "offer": "no"}
    cow = {"x": 0, "y": 0, "width": 1, "height": 3, "животное": "корова", "weight": 0, "age": "old"}
    return [
        (SHELF, [[{**product, "color": "beige"}]], "color"),
        (SHELF, [[{key: value for key, value in product.items() if key != "color"}]], "color"),
        (SHELF, [[{**product, "price": True}]], "price"),
        (SHELF, [[{**product, "x": float("nan")}]], "x"),
        (SHELF, [[product, product]], "product 2"),
        (SHELF, [], "scene"),
        (SHELF, [[]] * 5, "scene"),
        (SHELF, [[{**product, "price": 3.5}]], "price"),
        (SHELF, [[{**product, "price": 21}]], "price"),
        (SHELF, [[{**product, "price": "3"}]], "price"),
        (SHELF, [[{**product, "width": 3}]], "product 1"),
        (SHELF, [[{**product, "y": 29}]], "y"),
        (ODD, [[{**cow, "width": 0}]], "width"),
        (ODD, [[{**cow, "age": "ol"}]], "age"),
    ]


@pytest.mark.parametrize(("world", "scene", "place"), wrong_scenes())
def test_a_wrong_scene_is_refused_where_it_is_wrong(world: World, scene: Any, place: str) -> None:
    with pytest.raises(InputError) as caught:
        world.parse(scene)
    assert place in str(caught.value.where) and caught.value.allowed


def test_an_undeclared_field_is_named() -> None:
    scene = NLVR.to_json_scene(scenes_of(NLVR, 1)[0])
    scene[1][0]["weight"] = 3
    with pytest.raises(InputError) as caught:
        NLVR.parse(scene)
    assert "weight" in caught.value.what


@each_world
@given(
    value=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda some: st.lists(some, max_size=4))
)
def test_whatever_is_no_scene_is_an_input_error(world: World, value: object) -> None:
    with contextlib.suppress(InputError):
        world.parse(value)


@pytest.mark.parametrize(
    ("unit", "value", "said"),
    [("€", 17, "17€"), ("kg", 2.5, "2.5kg"), ("years", 28, "28 years"), ("years", 1, "1 year")],
)
def test_a_unit_that_is_a_word_stands_apart(unit: str, value: float, said: str) -> None:
    attribute = Attribute("age", "numeric", "age", ("age",), low=0, high=90, unit=unit)
    assert attribute.say(value) == said


@each_world
@given(seed=seeds)
def test_distance_is_negative_exactly_on_overlap(world: World, seed: int) -> None:
    items = random_scene(world, random.Random(seed)).items
    for item in items:
        for other in items:
            overlap_x = min(item.right, other.right) - max(item.x, other.x)
            overlap_y = min(item.lower, other.lower) - max(item.y, other.y)
            assert item.distance(other) == other.distance(item)
            assert (item.distance(other) < 0) == (overlap_x > 0 and overlap_y > 0)


def square(x: int, y: int) -> Item:
    return NLVR.make(x, y, size="medium", shape="square", color="black")


def test_walls_have_a_margin() -> None:
    assert NLVR.walls_of(square(0, 80)) == {Side.LEFT, Side.BOTTOM}
    assert NLVR.walls_of(square(3, 40)) == set()
    assert NLVR.walls_of(square(3, 40), margin=4) == {Side.LEFT}
    assert NLVR.walls_of(square(80, 0)) == {Side.RIGHT, Side.TOP}


# ---------------------------------------------------------------- world files

KEYS = [
    ("name", 5),
    ("name", ""),
    ("canvas", [100]),
    ("canvas", [0, 5]),
    ("boxes", 0),
    ("boxes", [3, 2]),
    ("items", -1),
    ("items", 0),
    ("extent", [200, 5]),
    ("overlap", "yes"),
    ("unknown", 1),
    ("attributes", {}),
    ("attributes.kind", 5),
    ("attributes.kind.values", []),
    ("attributes.kind.values", ["a", "a"]),
    ("attributes.kind.shade", "x"),
    ("attributes.color.values.red.fill", "url(x)"),
    ("attributes.color.values.red.shape", "blob"),
    ("attributes.color.values.red.extent", 3),
    ("attributes.price.range", [20, 1]),
    ("attributes.price.range", None),
    ("attributes.price.values", ["cheap"]),
    ("attributes.price.change", "do it"),
    ("towers", {"kind": "ladder"}),
]


@pytest.mark.parametrize(("key", "value"), KEYS)
def test_a_wrong_key_of_a_world_file_is_named(key: str, value: object) -> None:
    tree = copy.deepcopy(to_tree(SHELF))
    table: Any = tree
    *path, last = key.split(".")
    for part in path:
        table = table[part]
    table[last] = value
    with pytest.raises(InputError) as caught:
        world_of(tree, where="test.toml")
    assert caught.value.allowed
    assert last in str(caught.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "canvas", "boxes", "attributes", "values", "a"]), inner, max_size=4
            )
        ),
        max_leaves=20,
    )
)
def test_whatever_is_no_world_is_an_input_error(tree: object) -> None:
    with contextlib.suppress(InputError):
        world_of(tree, where="test.toml")


@each_world
def test_a_world_file_can_be_written(world: World, tmp_path: Path) -> None:
    (tmp_path / "world.toml").write_text(to_toml(world), encoding="utf-8")
    assert World.read(tmp_path / "world.toml") == world
