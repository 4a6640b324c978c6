from __future__ import annotations

from hypothesis import given

from strategies import scenes
from veriscene.world.scene import Color, Item, Scene, Shape, Side, Size, parse_scene, scene_to_json


def square(x: int, y: int, size: Size = Size.MEDIUM) -> Item:
    return Item(x=x, y=y, size=size, shape=Shape.SQUARE, color=Color.BLACK)


def test_edges_count_upwards_from_the_floor() -> None:
    item = square(40, 59)
    assert (item.left, item.right, item.bottom, item.top) == (40, 60, 21, 41)


def test_the_blocks_of_a_tower_touch_their_neighbours() -> None:
    lower, upper, next_one = square(40, 80), square(40, 59), square(40, 38)
    assert lower.touches(upper) and upper.touches(lower)
    assert not lower.touches(next_one)


def test_wall_contact_has_a_margin() -> None:
    assert square(0, 80).walls() == {Side.LEFT, Side.BOTTOM}
    assert square(3, 40).walls() == set()
    assert square(3, 40).walls(margin=4) == {Side.LEFT}
    assert square(80, 0).walls() == {Side.RIGHT, Side.TOP}


@given(scenes)
def test_distance_is_symmetric_and_negative_exactly_on_overlap(scene: Scene) -> None:
    items = scene.items
    for item in items:
        for other in items:
            pixels = {(x, y) for x in range(item.left, item.right) for y in range(item.bottom, item.top)}
            others = {(x, y) for x in range(other.left, other.right) for y in range(other.bottom, other.top)}
            assert item.distance(other) == other.distance(item)
            assert (item.distance(other) < 0) == bool(pixels & others)


@given(scenes)
def test_json_round_trip(scene: Scene) -> None:
    assert parse_scene(scene_to_json(scene)) == scene
