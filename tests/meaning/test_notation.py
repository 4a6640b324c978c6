"""Text to programs and back, and the refusal of all other text."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import random_scene
from veriscene.errors import InputError
from veriscene.meaning.language.names import CALLABLE
from veriscene.meaning.language.syntax import DEEPEST, LONGEST
from veriscene.meaning.notation import StatedProgram, parse, parse_expression, read_programs, unparse

# ---------------------------------------------------------------- there and back

numbers = st.recursive(
    st.integers(0, 9).map(str) | st.sampled_from(["count(x)", "count(all_items)", "len(x.all_items_in_box())"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+%"), inner),
    max_leaves=4,
)
box_sets = st.recursive(
    st.just("all_boxes"),
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("{}[{}:{}]".format, inner, st.sampled_from(["", "0", "1 + 1"]), st.sampled_from(["", "2"])),
        st.builds("filter_obj({}, lambda y: y.is_tower())".format, inner),
        st.builds("[{}[0], min({}, key=lambda z: count(z))]".format, inner, inner),
    ),
    max_leaves=4,
)
truths = st.recursive(
    st.sampled_from(["x.is_tower()", "is_top(x.all_items_in_box()[0])", "Color.BLUE in {Color.BLUE, Color.BLACK}"])
    | st.builds("{} {} {}".format, numbers, st.sampled_from(["<", "<=", "==", "!="]), numbers)
    | st.builds("{} > {} >= {}".format, numbers, numbers, numbers)
    | st.builds("exist({})".format, box_sets)
    | st.builds("{} == {}".format, box_sets, box_sets),
    lambda inner: st.one_of(
        st.builds("({} and {} and {})".format, inner, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("AND({}, NOT({}))".format, inner, inner),
        st.builds("({}) == ({})".format, inner, inner),
        st.builds("All({}, lambda x: {})".format, box_sets, inner),
        st.builds("is_touching_wall(x[0], side=Side.TOP) == ({})".format, inner),
    ),
    max_leaves=6,
)


@given(truths, st.integers(0, 999))
def test_text_gives_the_same_program_back(truth: str, seed: int) -> None:
    program = parse(f"exist(filter_obj(all_boxes, lambda x: {truth}))")
    again = parse(program.text)
    assert again == program
    assert again.text == program.text == unparse(program)
    scene = random_scene(random.Random(seed))
    assert again.holds(scene) is program.holds(scene)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("((1) + (2 + 3)) % 4 == 2", "(1 + (2 + 3)) % 4 == 2"),
        ("(1 + 2) + 3 == 6", "1 + 2 + 3 == 6"),
        ("(1 == 1) == (2 == 2)", "(1 == 1) == (2 == 2)"),
        ("1 == 1 == 1", "1 == 1 == 1"),
        ("not (not (1 == 1))", "not not 1 == 1"),
        ("not (1 == 1 and 2 == 2) or 3 == 3", "not (1 == 1 and 2 == 2) or 3 == 3"),
        ("(1 == 1 and 2 == 2) and 3 == 3", "(1 == 1 and 2 == 2) and 3 == 3"),
        ("is_touching_wall(all_items[0], side=Side.TOP)", "is_touching_wall(all_items[0], Side.TOP)"),
        ("min(all_boxes, key=count).is_tower", "min(all_boxes, key=count).is_tower()"),
        (" \n\texist(\n all_boxes [ 1 : ] )\n", "exist(all_boxes[1:])"),
        ("Any(all_items,is_top)", "Any(all_items, is_top)"),
    ],
)
def test_brackets_and_blanks(written: str, text: str) -> None:
    assert parse(written).text == text
    assert parse(text) == parse(written)


def test_inner_names_hide_outer_ones() -> None:
    scene = random_scene(random.Random(5))
    shadowed = parse("exist(filter_obj(all_boxes, lambda x: exist(filter_obj(x, lambda x: is_blue(x)))))")
    plain = parse("exist(filter_obj(all_boxes, lambda x: exist(filter_obj(x, lambda y: is_blue(y)))))")
    assert shadowed.holds(scene) is plain.holds(scene)
    after = parse("exist(filter_obj(all_boxes, lambda x: Any(x, lambda x: is_blue(x)) and count(x) >= 1))")
    assert after.holds(scene) is plain.holds(scene)


# ---------------------------------------------------------------- hostile text

HOSTILE = [
    ("", "the program is empty"),
    ("  \n ", "the program is empty"),
    ("__import__('os').system('x')", "character 1: \"__import__('os').system\" cannot be called"),
    ("exist(__import__)", "character 7: unknown name '__import__'"),
    (
        "exist(all_items.__class__.__bases__)",
        "character 7: unknown attribute '__bases__'; choose from all_items_in_box",
    ),
    ("all_boxes[0].items == all_boxes", "character 1: unknown attribute 'items'"),
    ("Color.__members__ == Color.BLACK", "character 1: unknown constant 'Color.__members__'; choose from Color.YELLOW"),
    ("exist(filter_color(all_items, Color))", "Color alone is no value; write as Color.YELLOW"),
    ("exist(filter_color(all_items, Color.RED))", "character 31: unknown constant 'Color.RED'"),
    ("eval(1)", "character 1: 'eval' cannot be called; did you mean equal?"),
    ("exist(all_itemz)", "character 7: unknown name 'all_itemz'; did you mean all_items?"),
    ("exists(all_items)", "character 1: 'exists' cannot be called; did you mean exist?"),
    ("(lambda x: x)(1)", "'lambda x: x' cannot be called"),
    ("exist(all_items)(1)", "'exist(all_items)' cannot be called"),
    ("Any(all_items, lambda x, y: is_top(x))", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda: 1 == 1)", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda x=1: is_top(x))", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda *x: is_top(x))", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda **x: is_top(x))", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda *, x: is_top(x))", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda x, /: is_top(x))", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda x, *y: is_top(x))", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda x, **y: is_top(x))", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda x, *, y: is_top(x))", "character 16: a lambda must have one plain argument"),
    ("Any(all_items, lambda count: is_top(count))", "character 16: 'count' cannot name an argument"),
    ("Any(all_items, lambda __x: is_top(__x))", "character 16: '__x' cannot name an argument"),
    ("exist(lambda x: x)", "character 7: a lambda must be the second argument of one of filter_obj"),
    ("lambda x: x", "character 1: a lambda must be the second argument"),
    ("Any(3, lambda x: is_top(x))", "the first argument is a number"),
    ("Any(all_items, 3)", "argument 2 of Any must be a condition on each member"),
    ("Any(all_items, is_tower)", "the function is_tower needs arguments here"),
    ("Any(all_boxes, is_top)", "character 16: argument 1 of is_top must be an item, not a box"),
    ("[x for x in all_items]", "character 1: a comprehension is not allowed"),
    ("exist({x for x in all_items})", "character 7: a comprehension is not allowed"),
    ("exist(x for x in all_items)", "a comprehension is not allowed"),
    ("(x := 1) == 1", "character 2: an assignment `:=` is not allowed"),
    ("f'{all_items}' == 1", "character 1: an f-string is not allowed"),
    ("'text' == 1", "character 1: a text in quotes is not allowed; the only literals are whole numbers"),
    ("b'text' == 1", "character 1: a text in quotes is not allowed"),
    ("1.5 == 1", "character 1: a fraction is not allowed"),
    ("1j == 1", "character 2: a number runs into a word at 1j"),
    ("1 == 1and 2 == 2", "character 7: a number runs into a word at 1a; put a blank between"),
    ("1 == 0.is_tower()", "a number runs into a word"),
    ("True", "character 1: True is not allowed"),
    ("None == 1", "character 1: None is not allowed"),
    ("... == 1", "character 1: Ellipsis is not allowed"),
    ("{1: 2} == 1", "character 1: a dictionary is not allowed"),
    ("(1, 2) == 1", "character 1: a tuple is not allowed"),
    ("exist(all_items) if 1 == 1 else 2", "character 1: an `if` inside an expression is not allowed"),
    ("exist(*all_items)", "character 7: a star is not allowed"),
    ("exist(**all_items)", "character 7: **= is not allowed"),
    ("exist(side=all_items)", "side= is not allowed"),
    ("is_touching_wall(all_items[0], wall=Side.TOP)", "wall= is not allowed; is_touching_wall takes side= here"),
    ("(yield) == 1", "`yield` is not allowed"),
    ("-1 == 1", "character 1: a sign or `~` is not allowed"),
    ("all_items[-1] == all_items[0]", "character 11: a sign"),
    ("2 ** 9 == 1", "character 1: an operator other than + and % is not allowed"),
    ("9 * 9 == 1", "character 1: an operator other than + and % is not allowed"),
    ("1 is 1", "write == instead of `is`"),
    ("all_items[0] < all_items[1]", "character 1: < cannot compare an item with an item"),
    ("Color.BLACK in {Shape.SQUARE}", "character 1: in cannot compare a colour with a set of shapes"),
    ("all_items == all_boxes", "character 1: == cannot compare a set of items with a set of boxes"),
    ("query_color(all_items) == Color.BLUE", "character 1: == cannot compare a set of colours with a colour"),
    ("1000 == 1", "character 1: 1000 is not a number here; allowed: whole numbers, 0 to 999"),
    (f"{'9' * 3000} == 1", "whole numbers, 0 to 999"),
    (f"{'9' * 3999}", "is not a number here"),
    ("all_boxes[::2] == all_boxes", "a slice must have two ends at most"),
    ("all_boxes[0, 1] == all_boxes", "a tuple is not allowed"),
    ("exist([])", "an empty list says nothing"),
    ("all_boxes[0].is_tower(1)", "is_tower takes nothing between its brackets"),
    ("exist(all_items, all_items)", "character 1: exist takes 1 argument, not 2"),
    ("count(all_items)", "the program gives a number; it must give a truth"),
    ("all_items", "the program gives a set of items"),
    ("count == 1", "character 1: the function count needs arguments here"),
    ("exist(all_items", "not an expression"),
    ("exist(all_items))", "not an expression"),
    ("exist(all_items); exist(all_items)", "character 17: not an expression"),
    ("import os", "not an expression"),
    ("x = 1", "not an expression"),
    ("exist(all_items) # and more", "character 18: '#' is not allowed in a program"),
    ("exist(all_items) and \\\n 1", "'\\\\' is not allowed"),
    ("exist(all_items)\x00", "character 17: '\\x00' is not allowed"),
    ("exist(all_items) and \ud800", "is not allowed in a program"),
    ("éxist(all_items)", "character 1: 'é' is not allowed in a program; use plain ASCII text"),
    ("(" * 150 + "1" + ")" * 150, "the program gives a number"),
    ("(" * 1500 + "1" + ")" * 1500, "not an expression"),
    ("(" * LONGEST, "not an expression"),
    ("not " * 900 + "1 == 1", "nested too deeply"),
    ("-" * 3990 + "1", "nested too deeply"),
    ("(" * 190 + "-" * 3000 + "1" + ")" * 190, "nested too deeply"),
    ("1 if 1 else " * 300 + "1", "nested too deeply"),
    ("+".join("1" * 1900) + " == 1", "nested too deeply"),
    ("NOT(" * 100 + "1 == 1" + ")" * 100, "nested too deeply"),
    ("[" * 100 + "1" + "]" * 100, "nested too deeply"),
    ("Any(all_items, " + "lambda x: " * 300 + "1", "not an expression"),
    ("Any(all_items, " + "lambda x: " * 300 + "1)", "nested too deeply"),
    ("all_boxes" + "[0:]" * 900, "nested too deeply"),
    ("all_boxes" + ".box" * 900, "nested too deeply"),
    ("exist(all_items) and " * 300 + "1 == 1", f"at most {LONGEST} are allowed"),
    ("x" * 10_000_000, f"the program has 10000000 characters; at most {LONGEST}"),
]


@pytest.mark.parametrize(("text", "message"), HOSTILE, ids=[text[:40] for text, _ in HOSTILE])
def test_hostile_text_is_refused_with_its_place(text: str, message: str, recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert not recwarn.list
    assert message in str(caught.value)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("thing", [None, 3, b"exist(all_items)", ["exist(all_items)"]])
def test_only_text_is_read(thing: object) -> None:
    with pytest.raises(InputError, match="a program must be text"):
        parse(thing)  # type: ignore[arg-type]


def test_places_count_leading_blanks() -> None:
    with pytest.raises(InputError, match=r"^character 11: unknown name"):
        parse("\n   exist(thing)")


def test_the_deepest_allowed_program_runs() -> None:
    depth = DEEPEST // 2 - 4
    program = parse("NOT(" * depth + "exist(all_items)" + ")" * depth)
    assert program.holds(random_scene(random.Random(0))) is True
    assert parse(program.text) == program


SIGNS = "()()[]{},.:1xy+%*-<'\"\\\0"
WORDS = [
    "all_items",
    "all_boxes",
    "lambda x:",
    ".box",
    ".is_tower()",
    "Color.BLUE",
    "Side.ANY",
    "and",
    "or",
    "not",
    "in",
]
MORE_WORDS = ["==", "if", "else", "for", "is", ":=", "key=", "side=", "await", "yield", "__a__", "f'"]
tokens = st.lists(st.sampled_from([*CALLABLE, *SIGNS, *WORDS, *MORE_WORDS]), max_size=30).map(" ".join)


@given(st.text() | tokens)
def test_no_text_at_all_raises_anything_else(text: str) -> None:
    try:
        program = parse(text)
    except InputError:
        return
    assert parse(program.text) == program


@given(truths, st.integers(0, 400), st.sampled_from(["", "(", ")", ",", ".", "x", " ", "not ", "1", "lambda ", "'"]))
def test_no_damage_to_a_program_raises_anything_else(truth: str, at: int, instead: str) -> None:
    text = f"exist(filter_obj(all_boxes, lambda x: {truth}))"
    at %= len(text)
    try:
        parse(text[:at] + instead + text[at + 1 :]).holds(random_scene(random.Random(at)))
    except InputError as error:
        assert str(error)


def test_expressions_of_any_type() -> None:
    assert parse_expression("count(all_items)") == parse_expression(" count( all_items )")


# ---------------------------------------------------------------- files

GOOD = {"sentence": "There is a box.", "kind": "scatter", "program": "exist(all_boxes)"}


def write(folder: Path, *lines: str) -> Path:
    path = folder / "programs.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_programs_are_read_in_order(tmp_path: Path) -> None:
    second = {**GOOD, "kind": "tower", "program": "1 == 1", "more": "ignored"}
    path = write(tmp_path, json.dumps(GOOD), "", json.dumps(second))
    assert read_programs(path) == [
        StatedProgram("There is a box.", "scatter", parse("exist(all_boxes)")),
        StatedProgram("There is a box.", "tower", parse("1 == 1")),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (json.dumps(GOOD)[:-10], "not JSON: the line is cut off"),
        ("{'sentence': 1}", "not JSON: Expecting property name"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "the line holds no JSON object"),
        (json.dumps({**GOOD, "kind": "castle"}), "field kind: 'castle' is not allowed; allowed: tower, scatter"),
        (json.dumps({**GOOD, "sentence": None}), "field sentence: None is not allowed; it must be text"),
        (json.dumps({**GOOD, "program": ["x"]}), "field program: ['x'] is not allowed; it must be text"),
        (json.dumps({**GOOD, "program": " "}), "field program: ' ' is not allowed; it must be text"),
        (json.dumps({**GOOD, "program": "exit()"}), "field program: character 1: 'exit' cannot be called"),
        (json.dumps({"sentence": "a", "kind": "tower"}), "field program is missing"),
    ],
)
def test_damage_is_named_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, json.dumps(GOOD), line)
    with pytest.raises(InputError) as caught:
        read_programs(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_programs(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        read_programs(tmp_path)
    with pytest.raises(InputError, match="the file is empty"):
        read_programs(write(tmp_path, "", " "))
    (tmp_path / "latin.jsonl").write_bytes(b'{"sentence": "caf\xe9"}')
    with pytest.raises(InputError, match="not UTF-8"):
        read_programs(tmp_path / "latin.jsonl")
