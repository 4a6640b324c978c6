"""Programs: logic, presuppositions, and limits on running time."""

from __future__ import annotations

import contextlib
import pickle
import random
import re
import time
from collections.abc import Callable
from functools import partial

import pytest
from close_calls import ITEMS_ALIKE, SCENES, Where, some_scenes, value, where
from hypothesis import given, settings
from hypothesis import strategies as st

from veriscene.errors import InputError
from veriscene.language import expression as tree
from veriscene.language.expression import CALLABLE, Expression
from veriscene.language.functions import FUNCTIONS
from veriscene.language.notation import parse
from veriscene.language.parsing import parse_expression
from veriscene.language.program import Program
from veriscene.language.sets import Undefined
from veriscene.language.types import Kind, member_type
from veriscene.world.scene import Box, Color, Item, Scene, Shape, Size

PREDICATES = [name for name in CALLABLE if name.startswith("is_") and name != "is_closely_touching"]
SMALL, SQUARE, BLUE = Size.SMALL, Shape.SQUARE, Color.BLUE
RELATIONS = ["get_touching", "get_closely_touching", "get_above", "get_below", "get_box_all_above", "get_box_all_below"]

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


FULL = Scene((Box(tuple(Item(35 * (i % 3), 35 * (i // 3), SMALL, SQUARE, BLUE) for i in range(8))),) * 3)  # 24 items
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
    "aliasing": nested(25, "count(y) == 9"),
    "wide aliasing": f"Any([{EVERY}], lambda y: count([{', '.join(['y'] * 900)}]) == 2)",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_program_that_would_run_for_long_is_an_error(text: str) -> None:
    program, start = parse(text), time.process_time()
    with pytest.raises(InputError, match="steps"):
        program.holds(FULL)
    assert time.process_time() - start < 3


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


# ---------------------------------------------------------------- random well-typed programs

BASIS = "all_boxes, all_items, all_boxes[0], all_items[0], [0, 2], 1, Color.BLUE, Shape.SQUARE, Size.BIG, Side.ANY"


def random_expressions(
    rng: random.Random, variables: tuple[tree.Variable, ...] = (), size: int = 60
) -> list[Expression]:
    """Expressions built from random functions and operators, of arguments that fit their parameters."""
    found = [*map(parse_expression, re.split(r", (?![0-9]\])", BASIS)), *variables]
    for _ in range(size):
        name = rng.choice(list(FUNCTIONS))
        arguments: list[Expression] = []
        for parameter in FUNCTIONS[name].parameters:
            options = found
            if parameter.mapped and (member := member_type(arguments[0].type)) and len(variables) < 2:
                variable = tree.Variable(f"v{len(variables)}", member)
                options = [tree.Lambda(variable, body) for body in random_expressions(rng, (*variables, variable), 9)]
            types = [argument.type for argument in arguments]
            options = [option for option in options if parameter.accepts(option.type, [*types, option.type])]
            arguments += [rng.choice(options)] if options else []
        pair = (rng.choice(found), rng.choice(found))
        nodes: list[Callable[[], Expression]] = [
            partial(tree.Call, name, tuple(arguments)),
            partial(tree.Comparison, pair, (rng.choice(["==", "!=", "in", "not in"]),)),
            partial(tree.Display, pair, rng.random() < 0.5),
            partial(tree.Logic, rng.choice(["and", "or"]), pair),
        ]
        for node in nodes:
            with contextlib.suppress(InputError):
                found.append(node())
    return found


@settings(max_examples=40)
@given(st.integers(0, 2**32), some_scenes)
def test_a_well_typed_program_evaluates_or_raises_input_error(seed: int, scene: Scene) -> None:
    for expression in random_expressions(random.Random(seed)):
        if expression.type is Kind.TRUTH:
            program = Program(expression)
            with contextlib.suppress(InputError):
                assert isinstance(program.holds(scene), bool)
            with contextlib.suppress(InputError):  # It can be longer or deeper than text may be.
                assert parse(program.text) == program
