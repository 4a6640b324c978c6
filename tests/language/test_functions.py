"""The functions of the language against a second, slow implementation over raw NLVR dictionaries."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from close_calls import ITEMS_ALIKE, LANGUAGE, SCENES, Where, some_scenes, value, where
from hypothesis import given
from hypothesis import strategies as st

from veriscene.language.functions import PlacedBox
from veriscene.world.scene import Box, Scene

# ---------------------------------------------------------------- the second implementation

Thing = dict[str, Any]


def things(scene: Scene) -> list[list[Thing]]:
    boxes: Any = LANGUAGE.world.to_json_scene(scene)
    return [
        [
            {
                **item,
                "where": (number, place),
                "box": number,
                "left": item["x_loc"],
                "right": item["x_loc"] + item["size"],
                "top": 100 - item["y_loc"],
                "bottom": 100 - (item["y_loc"] + item["size"]),
            }
            for place, item in enumerate(box)
        ]
        for number, box in enumerate(boxes)
    ]


def is_tower(box: list[Thing]) -> bool:
    return len(box) > 0 and {item["type"] for item in box} == {"square"} and len({item["right"] for item in box}) == 1


def walls(x: Thing, margin: int) -> set[str]:
    touched = set()
    if x["right"] >= 100 - margin:
        touched.add("RIGHT")
    if x["left"] <= margin:
        touched.add("LEFT")
    if x["bottom"] <= margin:
        touched.add("BOTTOM")
    if x["top"] >= 100 - margin:
        touched.add("TOP")
    return touched


def distance(x: Thing, y: Thing) -> int:
    gaps = [x["left"] - y["right"], y["left"] - x["right"], x["bottom"] - y["top"], y["bottom"] - x["top"]]
    return int(sorted(gaps)[-1])


def edges_within_four(x: Thing, y: Thing) -> bool:
    facing = [("top", "bottom"), ("bottom", "top"), ("left", "right"), ("right", "left")]
    return any(-4 <= x[mine] - y[yours] <= 4 for mine, yours in facing)


PREDICATES: dict[str, Callable[[Thing, list[Thing]], bool]] = {
    "is_yellow": lambda x, box: x["color"] == "Yellow",
    "is_black": lambda x, box: x["color"] == "Black",
    "is_blue": lambda x, box: x["color"] == "#0099ff",
    "is_square": lambda x, box: x["type"] == "square",
    "is_circle": lambda x, box: x["type"] == "circle",
    "is_triangle": lambda x, box: x["type"] == "triangle",
    "is_small": lambda x, box: x["size"] == 10,
    "is_medium": lambda x, box: x["size"] == 20,
    "is_big": lambda x, box: x["size"] == 30,
    "is_top": lambda x, box: not [y for y in box if y["top"] > x["top"]],
    "is_bottom": lambda x, box: not [y for y in box if y["top"] < x["top"]],
    "is_leftmost": lambda x, box: not [y for y in box if y["left"] < x["left"]],
    "is_rightmost": lambda x, box: not [y for y in box if y["right"] > x["right"]],
    "is_second": lambda x, box: is_tower(box) and x["bottom"] == 21,
    "is_third": lambda x, box: is_tower(box) and x["bottom"] == 42,
    "is_touching_wall": lambda x, box: len(walls(x, 0)) > 0,
    "is_closely_touching_wall": lambda x, box: len(walls(x, 4)) > 0,
    "is_touching_corner": lambda x, box: len(walls(x, 0)) == 2,
    "is_closely_touching_corner": lambda x, box: len(walls(x, 4)) == 2,
}
RELATIONS: dict[str, Callable[[Thing, Thing, list[Thing]], bool]] = {
    "get_touching": lambda x, y, box: distance(x, y) <= 1,
    "get_closely_touching": lambda x, y, box: distance(x, y) <= 4,
    "get_above": lambda x, y, box: x["top"] <= y["bottom"] and (not is_tower(box) or distance(x, y) <= 1),
    "get_below": lambda x, y, box: y["top"] <= x["bottom"] and (not is_tower(box) or distance(x, y) <= 1),
    "get_box_all_above": lambda x, y, box: x["top"] <= y["bottom"],
    "get_box_all_below": lambda x, y, box: y["top"] <= x["bottom"],
    "get_box_all_left": lambda x, y, box: y["right"] <= x["left"],
    "get_box_all_right": lambda x, y, box: y["left"] >= x["right"],
    "get_directly_above": lambda x, y, box: x["top"] <= y["bottom"] and distance(x, y) <= 1,
    "get_directly_below": lambda x, y, box: y["top"] <= x["bottom"] and distance(x, y) <= 1,
}
SIDES = ("TOP", "BOTTOM", "LEFT", "RIGHT")


def expected(scene: Scene, holds: Callable[[Thing, list[Thing]], bool]) -> Where:
    return {x["where"] for box in things(scene) for x in box if holds(x, box)}


def assert_finds(text: str, holds: Callable[[Thing, list[Thing]], bool]) -> None:
    """Finds the expected items in all scenes, and in at least one scene some but not all items."""
    sizes = set()
    for scene in SCENES:
        found = where(value(text, scene), scene)
        assert found == expected(scene, holds), scene
        sizes.add((len(found) > 0, len(found) < len(scene.items)))
    assert (True, True) in sizes


@pytest.mark.parametrize("name", PREDICATES)
def test_item_predicates(name: str) -> None:
    assert_finds(f"filter_obj(all_items, {name})", PREDICATES[name])
    assert_finds(f"filter_obj(all_items, lambda y: not {name}(y))", lambda x, box: not PREDICATES[name](x, box))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("closely", "margin"), [("", 0), ("closely_", 4)])
def test_walls_and_corners_by_side(closely: str, margin: int, side: str) -> None:
    wall, corner = f"is_{closely}touching_wall", f"is_{closely}touching_corner"
    assert_finds(f"filter_obj(all_items, lambda x: {wall}(x, Side.{side}))", lambda x, box: side in walls(x, margin))
    assert_finds(
        f"filter_obj(all_items, lambda x: {corner}(x, side=Side.{side}))",
        lambda x, box: len(walls(x, margin)) == 2 and side in walls(x, margin),
    )


@pytest.mark.parametrize("name", [name for name in PREDICATES if "wall" in name or "corner" in name])
def test_any_side_is_no_side(name: str) -> None:
    assert_finds(f"filter_obj(all_items, lambda x: {name}(x, Side.ANY))", PREDICATES[name])


@pytest.mark.parametrize("name", RELATIONS)
def test_relations_of_an_item_and_of_a_set(name: str) -> None:
    related = RELATIONS[name]

    def to_a_black_one(y: Thing, box: list[Thing]) -> bool:
        return any(x["color"] == "Black" and x is not y and related(x, y, box) for x in box)

    def to_some(x: Thing, box: list[Thing]) -> bool:
        return any(x is not y and related(x, y, box) for y in box)

    assert_finds(f"{name}(filter_color(all_items, Color.BLACK))", to_a_black_one)
    assert_finds(f"filter_obj(all_items, lambda x: exist({name}(x)))", to_some)


def test_close_edges_of_two_items() -> None:
    seen = set()
    for scene in SCENES:
        pairs = list(itertools.combinations([x for box in things(scene) for x in box], 2))
        got = value("filter_obj(combinations(all_items, 2), lambda p: is_closely_touching(p[0], p[1]))", scene)
        assert len(got) == sum(edges_within_four(x, y) for x, y in pairs)
        seen.add(len(got))
    assert len(seen) > 5


def test_towers() -> None:
    seen = set()
    for scene in SCENES:
        got = [value(f"all_boxes[{number}].is_tower()", scene) for number in range(3)]
        assert got == [is_tower(box) for box in things(scene)]
        assert value("count(filter_obj(all_items, lambda x: x.box.is_tower()))", scene) == sum(
            len(box) for box in things(scene) if is_tower(box)
        )
        seen.update(got)
    assert seen == {True, False}


# ---------------------------------------------------------------- looks, sets and numbers

LOOKS: dict[str, tuple[str, dict[Any, Any]]] = {
    "color": ("color", {"Yellow": 0, "Black": 1, "#0099ff": 2}),
    "shape": ("type", {"square": 0, "circle": 1, "triangle": 2}),
    "size": ("size", {10: 0, 20: 1, 30: 2}),
}


@pytest.mark.parametrize("look", LOOKS)
def test_looks(look: str) -> None:
    key, values = LOOKS[look]
    for scene in SCENES:
        first, *_ = boxes = things(scene)
        looks = [values[x[key]] for x in first]
        assert sorted(value(f"query_{look}(all_boxes[0])", scene), key=looks.index) == sorted(looks, key=looks.index)
        assert value(f"query_{look}(all_items[0])", scene) == (looks[0],)
        assert value(f"all_items[0].{look}", scene) == value(f"{look}(all_items[0])", scene) == looks[0]
        assert value(f"{look}(all_boxes[0])", scene) == tuple(looks)
        assert len(value(f"get_set_{look}s(all_boxes[0])", scene)) == len(set(looks))
        assert value(f"all_same_{look}(all_boxes[0])", scene) == (len(set(looks)) == 1)
        equal = f"equal_{look}(query_{look}(all_items[0]), all_items[0].{look})"
        assert value(equal, scene)
        same = {values[x[key]] for x in boxes[0]} == {values[x[key]] for x in boxes[1]}
        assert value(f"get_set_{look}s(all_boxes[0]) == get_set_{look}s(all_boxes[1])", scene) == same
        assert value(f"equal_{look}(query_{look}(all_boxes[0]), query_{look}(all_boxes[1]))", scene) == same
        assert value(f"get_set_{look}s(all_boxes[0]) != get_set_{look}s(all_boxes[1])", scene) == (not same)


@pytest.mark.parametrize(
    ("name", "constant", "key", "raw"),
    [
        ("filter_color", "Color.BLUE", "color", "#0099ff"),
        ("filter_shape", "Shape.CIRCLE", "type", "circle"),
        ("filter_size", "Size.BIG", "size", 30),
    ],
)
def test_filters_by_look(name: str, constant: str, key: str, raw: object) -> None:
    assert_finds(f"{name}(all_items, {constant})", lambda x, box: x[key] == raw)


def test_items_that_look_alike_in_different_boxes_are_different_items() -> None:
    assert value("count(all_items)", ITEMS_ALIKE) == 3
    assert value("count(all_boxes)", ITEMS_ALIKE) == 3
    assert value("count(set([all_items[0].box, all_items[1].box]))", ITEMS_ALIKE) == 2
    assert value("intersect(all_boxes[0], all_boxes[1])", ITEMS_ALIKE) == ()
    assert not value("all_items[0] == all_items[1]", ITEMS_ALIKE)
    assert not value("all_boxes[0] == all_boxes[1]", ITEMS_ALIKE)
    assert value("count(filter_obj(all_items, lambda x: x in all_boxes[1]))", ITEMS_ALIKE) == 1


COLOURS = "{Color.YELLOW, Color.BLACK}"


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("All(filter_obj(all_items, is_black), is_black)", False),
        ("All(all_items, is_blue)", True),
        ("Any(filter_obj(all_items, is_black), is_black)", False),
        ("Any(all_items, is_blue)", True),
        ("all(filter_obj(all_items, is_black))", True),
        ("all_same_color(filter_obj(all_items, is_black))", False),
        ("all_same_attribute(all_boxes, count)", True),
        ("all_same_attribute(all_boxes, get_set_colors)", True),
        ("all_same_attribute(all_boxes, lambda b: b == all_boxes[0])", False),
        ("exist(filter_obj(all_items, is_blue))", True),
        ("exist(filter_obj(all_items, is_black))", False),
        ("is_blue(unique(all_boxes[0]))", True),
        (f"contained({{Color.BLACK}}, {COLOURS})", True),
        (f"contained({COLOURS}, {{Color.BLACK}})", False),
        (f"member_of(Color.BLACK, {COLOURS})", True),
        (f"member_of(Color.BLUE, {COLOURS})", False),
        (f"Color.BLUE in {COLOURS}", False),
        (f"Color.BLUE not in {COLOURS}", True),
        (f"count(union({COLOURS}, get_set_colors(all_items))) == 3", True),
        (f"intersect({COLOURS}, get_set_colors(all_items)) == intersect({COLOURS}, {{Color.BLUE}})", True),
        ("equal_set([Color.BLUE, Color.BLUE], {Color.BLUE})", True),
        ("equal_set({Color.BLUE}, Color.BLUE)", True),
        ("equal({Color.BLUE}, Color.BLUE)", True),
        ("equal(Color.BLACK, Color.BLUE)", False),
        ("equal(all_boxes[0], all_items[0])", True),
        ("equal_int(count(all_items), 3)", True),
        ("equal_int([3, 3], 3)", True),
        ("len([Color.BLUE, Color.BLUE]) == 2", True),
        ("count([Color.BLUE, Color.BLUE]) == 1", True),
        ("len(set([Color.BLUE, Color.BLUE])) == 1", True),
        ("len({Color.BLUE, Color.BLUE}) == 1", True),
        ("count(combinations(all_items, 2)) == 3", True),
        ("count(combinations(all_items, 4)) == 0", True),
        # Nested sets are equal if they have the same members, in any order.
        ("[1, 2] in [[2, 1]] and member_of([1, 2], [[2, 1]])", True),
        ("count([[1, 2], [2, 1], [1]]) == 2", True),
        ("[[1, 2], [3]] == [[3], [2, 1]]", True),
        ("len({[1, 2], [2, 1]}) == 1", True),
        ("contained([[1, 2]], [[2, 1], [3]]) and len(intersect([[1, 2]], [[2, 1], [3]])) == 1", True),
        ("len(all_boxes[1:]) == 2", True),
        ("len(all_boxes[:1]) == 1", True),
        ("len(all_boxes[1:2]) == 1", True),
        ("all_boxes[1:][0] == all_boxes[1]", True),
        ("len(all_items + all_items) == 6", True),
        ("count(all_items + all_items) == 3", True),
        ("count(all_items) + 2 == 5", True),
        ("5 % count(all_items) == 2", True),
        ("1 < 2 <= 2 < 1", False),
        ("1 < 2 <= 2 == 2", True),
        ("min([3, 1, 2]) == 1", True),
        ("min(all_boxes, key=lambda b: count(b)) == all_boxes[0]", True),
        ("exist(all_items) == 1", True),
        ("not count(filter_obj(all_items, is_black))", True),
        ("exist(filter_obj(all_items, is_black) or all_boxes[1].all_items_in_box())", True),
        ("(count(all_items) or 7) == 3", True),
        ("exist(all_items) and all_items", True),
        ("all_items and (1 == 2 or count(all_boxes))", True),
        ("filter_obj(all_items, is_black) and 1 == 1", False),
        ("ge(2, 2) and gt(3, 2) and le(2, 2) and lt(1, 2)", True),
        ("ge(1, 2) or gt(2, 2) or le(3, 2) or lt(2, 2)", False),
        ("AND(1 == 1, 1 == 2)", False),
        ("OR(1 == 1, 1 == 2)", True),
        ("NOT(1 == 2)", True),
    ],
)
def test_sets_and_numbers(text: str, truth: bool) -> None:
    assert value(text, ITEMS_ALIKE) is truth


@given(some_scenes)
def test_least_box_is_the_first_of_the_smallest(scene: Scene) -> None:
    least = value("min(all_boxes, key=count)", scene)
    assert isinstance(least, PlacedBox)
    counts = [len(box.items) for box in scene.boxes]
    assert LANGUAGE.place(scene)[0].index(least) == counts.index(min(counts))


# ---------------------------------------------------------------- functions that no public program uses


@given(some_scenes, st.sampled_from([None, "ANY", *SIDES]), st.sampled_from([None, "ANY", *SIDES]))
def test_a_specific_corner(scene: Scene, a: str | None, b: str | None) -> None:
    given_sides = [f", side{letter}=Side.{side}" for letter, side in (("A", a), ("B", b)) if side]
    test = f"is_closely_touching_specific_corner(x{''.join(given_sides)})"
    wanted = {side for side in (a, b) if side not in (None, "ANY")}
    found = where(value(f"filter_obj(all_items, lambda x: {test})", scene), scene)
    assert found == expected(scene, lambda x, box: len(walls(x, 4)) == 2 and wanted <= walls(x, 4))


def test_corners_by_two_sides_occur() -> None:
    for a, b in itertools.product(("TOP", "BOTTOM"), ("LEFT", "RIGHT")):
        text = f"filter_obj(all_items, lambda x: is_closely_touching_specific_corner(x, Side.{a}, Side.{b}))"
        assert_finds(text, lambda x, box, sides={a, b}: walls(x, 4) == sides)


@given(some_scenes)
def test_items_of_the_whole_scene(scene: Scene) -> None:
    everything = [x for box in things(scene) for x in box]
    black = [x for x in everything if x["color"] == "Black"]
    above = {y["where"] for x in black for y in everything if x["top"] <= y["bottom"]}
    below = {y["where"] for x in black for y in everything if y["top"] <= x["bottom"]}
    assert where(value("get_img_all_above(filter_color(all_items, Color.BLACK))", scene), scene) == above
    assert where(value("get_img_all_below(filter_color(all_items, Color.BLACK))", scene), scene) == below
    for number, x in enumerate(everything):
        own = {y["where"] for y in everything if y["box"] == x["box"]}
        others = {y["where"] for y in everything} - {x["where"]}
        assert where(value(f"get_box_inclusive(all_items[{number}])", scene), scene) == own
        assert where(value(f"get_box_exclusive(all_items[{number}])", scene), scene) == own - {x["where"]}
        assert where(value(f"get_img_exclusive(all_items[{number}])", scene), scene) == others
        above = {y["where"] for y in everything if x["top"] <= y["bottom"]}
        assert where(value(f"get_img_all_above(all_items[{number}])", scene), scene) == above


@given(some_scenes)
def test_unions_and_intersections_of_sets(scene: Scene) -> None:
    everything = [x for box in things(scene) for x in box]
    predicates = ("is_yellow", "is_touching_wall", "is_top", "is_square")
    sets = [{x["where"] for box in things(scene) for x in box if PREDICATES[name](x, box)} for name in predicates]
    written = f"[{', '.join(f'filter_obj(all_items, {name})' for name in predicates)}]"
    assert where(value(f"union_all({written})", scene), scene) == set().union(*sets)
    assert where(value(f"intersect_all({written})", scene), scene) == sets[0].intersection(*sets)
    assert where(value("union_all(all_boxes)", scene), scene) == {x["where"] for x in everything}
    assert value("intersect_all(all_boxes)", scene) == ()
    for name in ("union_all", "intersect_all"):
        assert value(f"{name}(filter_obj({written}, lambda s: count(s) > 99))", scene) == ()


@given(some_scenes, st.integers(0, 4))
def test_subsets(scene: Scene, size: int) -> None:
    places = [x["where"] for x in things(scene)[0]]
    powerset = [{place for bit, place in enumerate(places) if mask >> bit & 1} for mask in range(2 ** len(places))]
    wanted = [subset for subset in powerset if len(subset) == size]
    for text in (f"select({size}, all_boxes[0])", f"select({size}, all_boxes[0] + all_boxes[0])"):
        found = [where(subset, scene) for subset in value(text, scene)]
        assert len(found) == len(wanted)
        assert all(subset in found for subset in wanted)
    kept = value(f"select({size}, get_set_colors(all_items))", scene)
    assert len(kept) == math.comb(len({x["color"] for box in things(scene) for x in box}), size)


def content(box: list[Thing]) -> list[tuple[Any, ...]]:
    return sorted((x["color"], x["type"], x["size"], x["x_loc"], x["y_loc"]) for x in box)


@given(some_scenes, st.lists(st.integers(0, 2), min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_all_same(scene: Scene, numbers: list[int], rng: random.Random) -> None:
    """Boxes are compared by their contents in any order, everything else by identity or value."""
    first, second, third = (
        Box(tuple(rng.sample(scene.boxes[number].items, len(scene.boxes[number].items)))) for number in numbers
    )
    scene = Scene((first, second, third))
    boxes = [content(box) for box in things(scene)]
    everything = [x for box in things(scene) for x in box]
    same = boxes[0] == boxes[1] == boxes[2]
    assert value("all_same(all_boxes)", scene) is same
    assert value("all_same_attribute(all_items, lambda x: x.box)", scene) is same
    assert value("all_same(combinations(all_boxes, 1))", scene) is same
    assert value("all_same(all_items)", scene) is False
    assert value("all_same(all_items[:1] + all_items[:1])", scene) is True
    assert value("all_same(query_color(all_items))", scene) is (len({x["color"] for x in everything}) == 1)
    assert value("all_same([count(all_boxes[0]), count(all_boxes[1])])", scene) is (len(boxes[0]) == len(boxes[1]))
    assert value("all_same(filter_obj(all_boxes, lambda b: count(b) > 99))", scene) is False
    colors = [{x["color"] for x in box} for box in things(scene)]
    sets = "[get_set_colors(all_boxes[0]), get_set_colors(all_boxes[1])]"
    assert value(f"all_same({sets})", scene) is (colors[0] == colors[1])


COMPOSED = [
    "All(all_items, lambda x: contained(get_box_exclusive(x), get_img_exclusive(x)))",
    "All(all_items, lambda x: equal_set(union_all([get_box_exclusive(x), [x]]), get_box_inclusive(x)))",
    "All(all_boxes, lambda b: All(b, lambda x: equal(get_box_inclusive(x), b)))",
    "All(all_items, lambda x: not Any(get_img_all_above(x), lambda y: x not in get_img_all_below(y)))",
    "All(all_items, lambda x: contained(get_box_all_above(x), get_img_all_above(x)))",
    "All(all_boxes, lambda b: union_all(select(1, b)) == b)",
    "All(all_boxes, lambda b: not intersect_all(select(1, b)) or count(b) == 1)",
    "All(all_boxes, lambda b: not Any(select(2, b), lambda s: count(s) != 2 or all_same(s)))",
    "All(all_boxes, lambda b: all_same_attribute(b, lambda x: get_box_inclusive(x)))",
    "All(all_items, lambda x: NOT(is_closely_touching_specific_corner(x, sideB=Side.LEFT, sideA=Side.RIGHT)))",
]


@given(some_scenes, st.sampled_from(COMPOSED))
def test_composed_in_lambdas(scene: Scene, text: str) -> None:
    program = LANGUAGE.parse(text)
    assert program.holds(scene)
    assert LANGUAGE.parse(program.text) == program
