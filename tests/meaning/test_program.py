"""What programs promise: logic, presuppositions, and a tree that cannot be built wrongly."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable

import pytest
from close_calls import ITEMS_ALIKE, SCENES, Where, some_scenes, value, where
from hypothesis import given
from hypothesis import strategies as st

from veriscene.errors import InputError
from veriscene.meaning.language.expression import Call, Comparison, Display, Everything, Lambda, Not, Number, Variable
from veriscene.meaning.language.kinds import Kind
from veriscene.meaning.language.names import CALLABLE, Whole
from veriscene.meaning.notation import parse
from veriscene.meaning.program import Program, Undefined
from veriscene.scenes.scene import Box, Scene

PREDICATES = [name for name in CALLABLE if name.startswith("is_") and name != "is_closely_touching"]
RELATIONS = ["get_touching", "get_closely_touching", "get_above", "get_below", "get_box_all_above", "get_box_all_below"]

# ---------------------------------------------------------------- what has no value

NO_VALUE = [
    "is_black(unique(all_items))",
    "is_black(unique(filter_obj(all_items, is_black)))",
    "is_black(all_items[3])",
    "min(filter_obj([1, 2], lambda n: n == 3)) == 1",
    "min(filter_obj(all_boxes, lambda b: count(b) == 9), key=count).is_tower()",
    "3 % count(filter_obj(all_items, is_black)) == 0",
]


@pytest.mark.parametrize("text", NO_VALUE)
def test_a_statement_whose_presupposition_fails_is_false_and_so_is_its_negation(text: str) -> None:
    for statement in (text, f"not ({text})", f"NOT({text})"):
        assert parse(statement).holds(ITEMS_ALIKE) is False
        with pytest.raises(Undefined):
            parse(statement).value(ITEMS_ALIKE)


@pytest.mark.parametrize("text", NO_VALUE)
def test_what_decides_alone_keeps_the_rest_from_being_asked(text: str) -> None:
    assert parse(f"1 == 1 or {text}").holds(ITEMS_ALIKE)
    assert parse(f"OR(1 == 1, {text})").holds(ITEMS_ALIKE)
    assert parse(f"not (1 == 2 and {text})").holds(ITEMS_ALIKE)
    assert parse(f"NOT(AND(1 == 2, {text}))").holds(ITEMS_ALIKE)


def test_a_program_that_would_run_forever_is_refused() -> None:
    scene = max(SCENES, key=lambda scene: len(scene.items))
    nested = "is_top(a)"
    for letter in "abcdefgh":
        nested = f"count(filter_obj(all_items, lambda {letter}: {nested})) == 1"
    sums = f"Any([combinations(all_items, 3)], lambda y: len({' + '.join(50 * ['y'])}) == 1)"
    for text in (nested, sums, "exist(combinations(all_items + all_items, 9))"):
        with pytest.raises(InputError, match="steps"):
            parse(text).holds(scene)


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
def test_above_and_below_are_each_others_inverse(scene: Scene) -> None:
    for up, down in (("get_above", "get_below"), ("get_box_all_above", "get_box_all_below")):
        text = f"All(all_items, lambda x: not {up}(x) or All({up}(x), lambda y: x in {down}(y)))"
        assert parse(text).holds(scene)


def test_programs_do_not_depend_on_what_was_evaluated_before() -> None:
    programs = [parse(f"count(filter_obj(all_items, {name})) == 2") for name in PREDICATES]
    first = [[program.holds(scene) for program in programs] for scene in SCENES]
    assert [[program.holds(scene) for program in programs] for scene in SCENES] == first


# ---------------------------------------------------------------- the tree

X = Variable("x", Kind.ITEM)
ALL_ITEMS = Everything(Whole.ITEMS)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Call("count", (Number(3),)), "argument 1 of count must be a set, not a number"),
        (lambda: Call("is_black", (ALL_ITEMS,)), "must be an item, not a set of items"),
        (lambda: Call("is_black", ()), "takes 1 argument, not 0"),
        (lambda: Call("is_red", (X,)), "unknown function"),
        (lambda: Call("filter_obj", (Everything(Whole.BOXES), Lambda(X, Call("is_top", (X,))))), "each member"),
        (lambda: Call("filter_obj", (ALL_ITEMS, Lambda(X, X))), "a condition on each member"),
        (lambda: Comparison((Number(1), X), ("<",)), "< cannot compare a number with an item"),
        (lambda: Comparison((Number(1), Number(1)), ("is",)), "is cannot compare"),
        (lambda: Comparison((Number(1),), ()), "needs an operator"),
        (lambda: Not(X), "not needs conditions, not an item"),
        (lambda: Display((), True), "at least one member"),
        (lambda: Display((Number(1), X), False), "one kind"),
        (lambda: Number(-1), "whole numbers, 0 to"),
        (lambda: Number(True), "whole numbers, 0 to"),
        (lambda: Variable("count", Kind.ITEM), "cannot name an argument"),
        (lambda: Variable("not", Kind.ITEM), "cannot name an argument"),
        (lambda: Program(Number(3)), "the program gives a number; it must give a truth"),
        (lambda: Program(Call("is_top", (X,))), "'x' is not the argument of a lambda around it"),
    ],
)
def test_what_does_not_fit_cannot_be_built(build: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert message in str(caught.value)


def test_a_variable_must_have_the_type_of_its_lambda() -> None:
    boxes = Everything(Whole.BOXES)
    with pytest.raises(InputError, match="not of that type"):
        Program(Call("Any", (boxes, Lambda(Variable("x", Kind.BOX), Call("is_top", (X,))))))


def test_programs_are_values() -> None:
    program = parse("exist(filter_obj(all_items, is_top))")
    again = pickle.loads(pickle.dumps(program))
    assert again == program and hash(again) == hash(program)
    assert again.holds(SCENES[0]) == program.holds(SCENES[0])
    assert program != parse("exist(filter_obj(all_items, is_bottom))")
