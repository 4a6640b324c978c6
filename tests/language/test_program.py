"""Programs: logic, presuppositions, and limits on running time."""

from __future__ import annotations

import contextlib
import gc
import pickle
import random
import time
from collections.abc import Iterator

import pytest
from close_calls import ITEMS_ALIKE, LANGUAGE, SCENES, Where, some_scenes, value, where
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import random_programs

from some_worlds import WORLDS, scenes_of
from veriscene import worlds
from veriscene.errors import InputError
from veriscene.language.functions import Undefined
from veriscene.world.scene import Box, Scene
from veriscene.world.schema import World
from veriscene.world.world_file import world_of
from veriscene.worlds.nlvr.looks import Color, Shape, Size, make_item

parse = LANGUAGE.parse
PREDICATES = [name for name in LANGUAGE.callable if name.startswith("is_") and name != "is_closely_touching"]
SMALL, SQUARE, BLUE = Size.SMALL, Shape.SQUARE, Color.BLUE
RELATIONS = ["get_touching", "get_closely_touching", "get_above", "get_below", "get_box_all_above", "get_box_all_below"]
RELATIONS += ["get_box_all_left", "get_box_all_right", "get_directly_above", "get_directly_below"]

# ---------------------------------------------------------------- undefined values

NO_VALUE = [
    "is_black(unique(all_items))",
    "is_black(unique(filter_obj(all_items, is_black)))",
    "is_black(all_items[3])",
    "min(filter_obj([1, 2], lambda n: n == 3)) == 1",
    "min(filter_obj(all_boxes, lambda b: count(b) == 9), key=count).is_tower()",
    "3 % count(filter_obj(all_items, is_black)) == 0",
]


@pytest.mark.parametrize("text", NO_VALUE)
def test_a_failing_presupposition_makes_a_statement_and_its_negation_false(text: str) -> None:
    for statement in (text, f"not ({text})", f"NOT({text})"):
        assert parse(statement).holds(ITEMS_ALIKE) is False
        with pytest.raises(Undefined):
            value(statement, ITEMS_ALIKE)


@pytest.mark.parametrize("text", NO_VALUE)
def test_logic_short_circuits(text: str) -> None:
    assert parse(f"1 == 1 or {text}").holds(ITEMS_ALIKE)
    assert parse(f"OR(1 == 1, {text})").holds(ITEMS_ALIKE)
    assert parse(f"not (1 == 2 and {text})").holds(ITEMS_ALIKE)
    assert parse(f"NOT(AND(1 == 2, {text}))").holds(ITEMS_ALIKE)


def nested(levels: int, body: str) -> str:
    for level in range(levels):
        body = f"Any([[y, y]], lambda y: {body})" if level < levels - 1 else f"Any([all_items], lambda y: {body})"
    return body


FULL = Scene(
    (Box(tuple(make_item(35 * (i % 3), 35 * (i // 3), SMALL, SQUARE, BLUE) for i in range(8))),) * 3
)  # 24 items
EVERY = "combinations(all_items, 4)"  # 10,626 members
ENDLESS = {
    "nested lambdas": "".join(f"Any(all_items, lambda {x}: " for x in "abcdefgh") + "is_top(a) and 1 == 2" + ")" * 8,
    "nested lambdas over a box": "Any(all_boxes, lambda z: "
    + "".join(f"Any(z, lambda {x}: " for x in "abcdefgh")
    + "not is_top(a) and 1 == 2"
    + ")" * 9,
    "repeated sums": f"Any([combinations(all_items, 3)], lambda y: len({' + '.join(50 * ['y'])}) == 1)",
    "many combinations": "exist(combinations(all_items + all_items, 9))",
    "large combinations": "exist(combinations(all_items + all_items + all_items, 68))",
    "many subsets": "exist(select(12, all_items))",
    "subsets of subsets": "exist(select(2, select(3, all_items)))",
    "subsets in a lambda": "Any(all_items, lambda x: count(select(4, get_img_exclusive(x))) == 0)",
    "counting in a lambda": f"Any([{EVERY}], lambda y: Any(y, lambda z: count(y) == 1))",
    "membership in a lambda": f"Any([{EVERY}], lambda y: Any(y, lambda z: z not in y))",
    "attributes of a lambda": f"Any([{EVERY}], lambda y: all_same_attribute(y, lambda z: y))",
    "unions in a lambda": f"Any([{EVERY}], lambda y: Any(y, lambda z: not exist(union_all(y))))",
    # 3,900 characters; it took 13 seconds before operators were charged.
    "a long condition in nested lambdas": "".join(f"exist(filter_obj(all_items, lambda {x}: " for x in "abcd")
    + " or ".join(["is_yellow(a)"] * 235)
    + "))" * 4,
    "aliasing": nested(25, "count(y) == 9"),
    "wide aliasing": f"Any([{EVERY}], lambda y: count([{', '.join(['y'] * 900)}]) == 2)",
}


@pytest.fixture
def uncollected() -> Iterator[None]:
    """In a process that has run many tests, looking through all objects for garbage takes seconds."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.usefixtures("uncollected")
def test_a_program_that_would_run_for_long_is_an_error(text: str) -> None:
    program, start = parse(text), time.process_time()
    with pytest.raises(InputError):
        program.holds(FULL)
    assert time.process_time() - start < 3


@pytest.mark.usefixtures("uncollected")
def test_nested_chains_of_comparisons_take_linear_time() -> None:
    text, start = "1 == 1", time.process_time()
    for _ in range(40):
        text = f"(1 == 1) == ({text}) == (1 == 1)"
    assert parse(text).holds(FULL)
    assert time.process_time() - start < 3


def test_subsets_within_the_limit() -> None:
    assert value("count(select(4, all_items))", FULL) == value(f"count({EVERY})", FULL) == 10626


# ---------------------------------------------------------------- laws

conditions = st.recursive(
    st.sampled_from(
        [f"{name}(x)" for name in PREDICATES]
        + [f"exist({name}(x))" for name in RELATIONS]
        + ["count(x.box) == 3", "x.box.is_tower()", "Color.BLUE in get_set_colors(x.box)", "get_above(x)"]
    ),
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("OR({}, {})".format, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("exist(filter_obj(x.box, lambda x: {}))".format, inner),
    ),
    max_leaves=5,
)


def found(condition: str, scene: Scene) -> Where:
    return where(value(f"filter_obj(all_items, lambda x: {condition})", scene), scene)


@given(conditions, conditions, some_scenes)
def test_laws_of_logic(a: str, b: str, scene: Scene) -> None:
    everything = found("1 == 1", scene)
    assert found(f"{a} and {b}", scene) == found(f"AND({a}, {b})", scene) == found(a, scene) & found(b, scene)
    assert found(f"{a} or {b}", scene) == found(f"OR({a}, {b})", scene) == found(a, scene) | found(b, scene)
    assert found(f"not {a}", scene) == found(f"NOT({a})", scene) == everything - found(a, scene)
    assert found(f"not ({a} and {b})", scene) == found(f"not {a} or not {b}", scene)
    assert found(f"not ({a} or {b})", scene) == found(f"not {a} and not {b}", scene)


@given(conditions, some_scenes)
def test_laws_of_quantifiers(a: str, scene: Scene) -> None:
    these, every = f"filter_obj(all_items, lambda x: {a})", f"All(all_items, lambda x: {a})"
    number = len(found(a, scene))
    assert value(f"count({these})", scene) == value(f"len({these})", scene) == number
    assert parse(f"exist({these})").holds(scene) == parse(f"Any(all_items, lambda x: {a})").holds(scene) == (number > 0)
    assert parse(every).holds(scene) == (number == len(scene.items))
    assert parse(f"contained(all_items, {these})").holds(scene) == parse(every).holds(scene)


@given(conditions, some_scenes, st.randoms(use_true_random=False))
def test_boxes_and_items_have_no_order(a: str, scene: Scene, rng: random.Random) -> None:
    boxes = [Box(tuple(rng.sample(box.items, len(box.items)))) for box in scene.boxes]
    rng.shuffle(boxes)
    text = f"count(filter_obj(all_items, lambda x: {a})) == {len(found(a, scene))}"
    assert parse(text).holds(Scene((boxes[0], boxes[1], boxes[2])))


@given(some_scenes)
def test_above_and_below_are_inverse(scene: Scene) -> None:
    for up, down in (("get_above", "get_below"), ("get_box_all_above", "get_box_all_below")):
        text = f"All(all_items, lambda x: not {up}(x) or All({up}(x), lambda y: x in {down}(y)))"
        assert parse(text).holds(scene)


def test_programs_do_not_depend_on_what_was_evaluated_before() -> None:
    programs = [parse(f"count(filter_obj(all_items, {name})) == 2") for name in PREDICATES]
    first = [[program.holds(scene) for program in programs] for scene in SCENES]
    assert [[program.holds(scene) for program in programs] for scene in SCENES] == first


def test_programs_are_values() -> None:
    program = parse("exist(filter_obj(all_items, is_top))")
    again = pickle.loads(pickle.dumps(program))
    assert again == program and hash(again) == hash(program)
    assert again.holds(SCENES[0]) == program.holds(SCENES[0])
    assert program != parse("exist(filter_obj(all_items, is_bottom))")


# ---------------------------------------------------------------- any world

each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


@each_world
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_a_well_typed_program_evaluates_or_raises_input_error(world: World, seed: int) -> None:
    language, (scene,) = worlds.language(world), scenes_of(world, 1, seed)
    for program in random_programs(language, random.Random(seed)):
        with contextlib.suppress(InputError):
            assert isinstance(program.holds(scene), bool)
        assert pickle.loads(pickle.dumps(program)) == program
        with contextlib.suppress(InputError):  # It can be longer or deeper than text may be.
            assert language.parse(program.text) == program


@each_world
def test_each_attribute_is_a_function_and_each_value_a_constant(world: World) -> None:
    language, scenes = worlds.language(world), scenes_of(world, 20)
    for name, attribute in language.attributes.items():
        values = [value for value in language.constants if value.startswith(f"{name}.")]
        for choice, full in zip(attribute.choices, values, strict=True):
            texts = [f"count(filter_obj(all_items, lambda x: {name}(x) == {full}))"]
            texts += [f"count(filter_obj(all_items, lambda x: x.{name} == {full}))"]
            short = full.partition(".")[2]
            texts += [f"count(filter_obj(all_items, lambda x: {short} == {name}(x)))"] * (short in language.constants)
            for scene in scenes:
                number = sum(item[attribute.name] == choice.name for item in scene.items)
                assert all(language.parse(f"{text} == {number}").holds(scene) for text in texts)


@each_world
def test_ordered_and_numeric_attributes_are_compared(world: World) -> None:
    language, scenes = worlds.language(world), scenes_of(world, 20)
    for name, attribute in language.attributes.items():
        if attribute.kind == "categorical":
            with pytest.raises(InputError):
                language.parse(f"Any(all_items, lambda x: {name}(x) < {name}(x))")
            continue
        for scene in (scene for scene in scenes if scene.items):
            numbers = [attribute.number(item[attribute.name]) for item in scene.items]
            greatest, least = (
                language.parse(f"All(all_items, lambda x: {name}(x) {word} {name}({choose}(all_items, key={name})))")
                for word, choose in (("<=", "max"), (">=", "min"))
            )
            assert greatest.holds(scene) and least.holds(scene)
            assert language.parse(f"Any(all_items, lambda x: {name}(x) < {name}(all_items[0]))").holds(scene) == (
                min(numbers) < numbers[0]
            )


def test_numbers_of_a_numeric_attribute() -> None:
    (shelf,) = (world for world in WORLDS if world.name == "shelf")
    language = worlds.language(shelf)
    for scene in scenes_of(shelf, 20):
        prices = [item["price"] for item in scene.items]
        total = sum(price for price in prices if isinstance(price, int))
        assert language.parse(f"sum(all_items, key=price) == {total}").holds(scene)
        assert language.parse("Any(all_items, lambda x: price(x) > 9.5)").holds(scene) == any(p > 9.5 for p in prices)  # type: ignore[operator]
        # A number that is no index has no member.
        assert not language.parse("all_items[0.5] == all_items[0]").holds(scene)


def test_names_that_are_no_identifiers_or_taken() -> None:
    """They become identifiers, and can always be written with the attribute's name."""
    tree = {
        "name": "odd-names",
        "canvas": [50, 50],
        "boxes": 1,
        "items": [1, 3],
        "extent": 5,
        "attributes": {
            "count": {"values": ["3d", "two words", "two-words", "is", "exist"]},
            "on-offer": {"values": ["yes", "no"]},
            "new": {"values": ["yes", "no"]},
        },
    }
    world = world_of(tree, where="test")
    language = worlds.language(world)
    scene = Scene((Box((world.make(1, 1, **{"count": "two-words", "on-offer": "yes", "new": "no"}),)),))
    assert "yes" not in language.constants  # two attributes have it
    for text in (
        "count_(all_items[0]) == two_words_",
        "count_(all_items[0]) != count_._3d and all_items[0].count_ != _is",
        "on_offer(all_items[0]) == on_offer.yes and new(all_items[0]) == new.no",
        "count_.exist != two_words and count(all_items) == 1",
    ):
        assert language.parse(text).holds(scene), text


def test_boxes_as_in_files_are_judged_as_the_scene_that_they_describe() -> None:
    program = parse("count(all_boxes[0]) == 1")
    boxes = [[{"x_loc": 40, "y_loc": 80, "size": 20, "type": "square", "color": "Black"}] for _ in range(3)]
    assert program.holds(boxes) and program.holds(worlds.get().parse(boxes))
    with pytest.raises(InputError):
        program.holds(boxes[:1])
