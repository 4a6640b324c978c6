"""Parsing and unparsing of programs, and errors for any other text."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.files import MAX_LINE
from veriscene.language.program import Statement, read_programs
from veriscene.language.text import MAX_DEPTH, MAX_LENGTH
from veriscene.world.random_scenes import random_scene as random_scene_of
from veriscene.world.scene import Scene

LANGUAGE = worlds.language("nlvr")
parse = LANGUAGE.parse


def random_scene(rng: random.Random) -> Scene:
    return random_scene_of(LANGUAGE.world, rng)


# ---------------------------------------------------------------- round trip

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
def test_round_trip(truth: str, seed: int) -> None:
    program = parse(f"exist(filter_obj(all_boxes, lambda x: {truth}))")
    again = parse(program.text)
    assert again == program
    assert again.text == program.text
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
        (
            "is_closely_touching_specific_corner(all_items[0], sideB=Side.LEFT, sideA=Side.TOP)",
            "is_closely_touching_specific_corner(all_items[0], Side.TOP, Side.LEFT)",
        ),
        (
            "is_closely_touching_specific_corner(all_items[0], sideB=Side.LEFT)",
            "is_closely_touching_specific_corner(all_items[0], Side.ANY, Side.LEFT)",
        ),
        ("min(all_boxes, key=count).is_tower", "min(all_boxes, key=lambda x: count(x)).is_tower()"),
        (" \n\texist(\n all_boxes [ 1 : ] )\n", "exist(all_boxes[1:])"),
        ("Any(all_items,is_top)", "Any(all_items, lambda x: is_top(x))"),
    ],
)
def test_parentheses_and_white_space(written: str, text: str) -> None:
    assert parse(written).text == text
    assert parse(text) == parse(written)


def test_inner_parameters_hide_outer_ones() -> None:
    scene = random_scene(random.Random(5))
    shadowed = parse("exist(filter_obj(all_boxes, lambda x: exist(filter_obj(x, lambda x: is_blue(x)))))")
    plain = parse("exist(filter_obj(all_boxes, lambda x: exist(filter_obj(x, lambda y: is_blue(y)))))")
    assert shadowed.holds(scene) is plain.holds(scene)
    after = parse("exist(filter_obj(all_boxes, lambda x: Any(x, lambda x: is_blue(x)) and count(x) >= 1))")
    assert after.holds(scene) is plain.holds(scene)


# ---------------------------------------------------------------- rejected text


def repr_start(value: object) -> str:
    return repr(value)[:40]


REJECTED: dict[str, list[str]] = {
    "the program is empty": ["", "  \n "],
    f"at most {MAX_LENGTH} are allowed": ["exist(all_items) and " * 300 + "1 == 1", "x" * 10_000_000],
    "a sign that is not allowed": [
        "exist(all_items) # and more",
        "exist(all_items) and \\\n 1",
        "exist(all_items)\x00",
        "exist(all_items) and \ud800",
        "€xist(all_items)",
        "__import__('os').system('x')",
        "f'{all_items}' == 1",
        "'text' == 1",
        'b"text" == 1',
    ],
    "no blank between a number and a word": ["1j == 1", "1 == 1and 2 == 2", "1 == 0.is_tower()"],
    "not an expression": [
        "exist(all_items",
        "exist(all_items))",
        "exist(all_items); exist(all_items)",
        "import os",
        "x = 1",
        "(" * 1500 + "1" + ")" * 1500,
        "(" * MAX_LENGTH,
        "Any(all_items, " + "lambda x: " * 300 + "1",
    ],
    "nested too deeply": [
        "not " * 900 + "1 == 1",
        "-" * 3990 + "1",
        "(" * 190 + "-" * 3000 + "1" + ")" * 190,
        "1 if 1 else " * 300 + "1",
        "+".join("1" * 1900) + " == 1",
        "NOT(" * 100 + "1 == 1" + ")" * 100,
        "[" * 100 + "1" + "]" * 100,
        "Any(all_items, " + "lambda x: " * 300 + "1)",
        "all_boxes" + "[0:]" * 900,
        "all_boxes" + ".box" * 900,
    ],
    "cannot be called": [
        "__import__(os).system(x)",
        "eval(1)",
        "(lambda x: x)(1)",
        "exist(all_items)(1)",
        "all_items.exist()",
    ],
    "unknown name": ["exist(__import__)", "exist(x)"],
    "did you mean all_items?": ["exist(all_itemz)"],
    "did you mean exist?": ["exists(all_items)"],
    "unknown attribute": ["exist(all_items.__class__.__bases__)", "all_boxes[0].items == all_boxes"],
    "unknown constant": ["Color.__members__ == Color.BLACK", "exist(filter_color(all_items, Color.RED))"],
    "Color is not a value": ["exist(filter_color(all_items, Color))"],
    "a lambda must have one plain parameter": [
        f"Any(all_items, lambda {parameters}: 1 == 1)"
        for parameters in ("", "x, y", "x=1", "*x", "**x", "*, x", "x, /", "x, *y", "x, **y", "x, *, y")
    ],
    "cannot be the name of a parameter": [
        f"Any(all_items, lambda {name}: 1 == 1)" for name in ("count", "__x", "Side", "all_items", "x" * 99)
    ],
    "a lambda is not a value": ["exist(lambda x: x)", "lambda x: x", "Any(all_items, lambda x: lambda y: 1)"],
    "the first argument is a number": ["Any(3, lambda x: is_top(x))"],
    "needs arguments here": ["Any(all_items, is_tower)", "count == 1"],
    "'[x for x in all_items]' is not allowed; use calls": ["[x for x in all_items]"],
    "is not allowed; use calls": [
        "exist({x for x in all_items})",
        "exist(x for x in all_items)",
        "{x: x for x in all_items}",
        "(x := 1) == 1",
        "{1: 2} == 1",
        "(1, 2) == 1",
        "all_boxes[0, 1] == all_boxes",
        "exist(all_items) if 1 == 1 else 2",
        "exist(*all_items)",
        "(yield) == 1",
    ],
    "the only literals are whole numbers": ["1.5 == 1", "True", "None == 1", "... == 1"],
    "use `not`, or a number without a sign": ["-1 == 1", "all_items[-1] == all_items[0]", "~1 == 1"],
    "the operators are +, * and %": ["2 ** 9 == 1", "9 - 9 == 1"],
    "write == instead of `is`": ["1 is 1"],
    "0 to 999 are allowed": ["1000 == 1", f"{'9' * 3000} == 1"],
    "a slice cannot have a step": ["all_boxes[::2] == all_boxes"],
    "an empty list has no type": ["exist([])"],
    "takes no arguments": ["all_boxes[0].is_tower(1)"],
    "exist takes no keyword arguments": ["exist(**all_items)", "exist(side=all_items)"],
    "takes sideA=, sideB=": ["is_closely_touching_specific_corner(all_items[0], side=Side.TOP)"],
    "is given twice": ["is_touching_wall(all_items[0], Side.TOP, side=Side.TOP)"],
    "is missing": ["min(key=count) == 1", "is_closely_touching_specific_corner(sideB=Side.TOP)"],
}
TYPE_ERRORS = {
    "exist(all_items, all_items)": 1,
    "Any(all_items, 3)": 1,
    "Any(all_items, lambda x: x)": 1,
    "Any(all_boxes, is_top)": 16,
    "count(3) == 1": 1,
    "min(all_items) == 1": 1,
    "all_items[0] < all_items[1]": 1,
    "Color.BLACK in {Shape.SQUARE}": 1,
    "all_items == all_boxes": 1,
    "query_color(all_items) == Color.BLUE": 1,
    "exist([1, all_items[0]])": 7,
    "not all_items[0]": 1,
    "all_items[all_boxes] == all_items[0]": 1,
    "1[0] == 1": 1,
    "all_items[0] and 1 == 1": 1,
    "all_items + 1 == all_items": 1,
    "exist(all_items + all_items[0])": 7,
    "1 + [1] == 2": 1,
    "Color.BLUE + Color.BLUE == Color.BLUE": 1,
    "all_same(all_items[0])": 1,
    "exist(union_all(all_items))": 7,
    "exist(intersect_all(1))": 7,
    "exist(select(all_items, 2))": 7,
    "exist(get_box_inclusive(all_items))": 7,
    "exist(get_box_exclusive(1))": 7,
    "exist(get_img_exclusive(all_boxes[0]))": 7,
    "exist(get_img_all_above(all_boxes))": 7,
    "is_closely_touching_specific_corner(all_items[0], sideB=1)": 1,
}


@pytest.mark.parametrize(
    ("reason", "text"), [(reason, text) for reason, texts in REJECTED.items() for text in texts], ids=repr_start
)
def test_rejected_text(reason: str, text: str, recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert not recwarn.list
    assert len(str(caught.value)) < 2000 and "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "character"), TYPE_ERRORS.items())
def test_type_errors(text: str, character: int) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.where == f"character {character}"


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("exist(all_itemz)", "all_items"),
        ("exists(all_items)", "exist"),
        ("is_yelow(all_items[0])", "is_yellow"),
        ("color(all_items[0]) == yelow", "yellow"),
    ],
)
def test_a_close_name_is_suggested(text: str, suggested: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert suggested in (caught.value.allowed or "").replace("?", "").split()


@pytest.mark.parametrize(
    "text", ["is_red(all_items[0])", "exist(filter_obj(all_items, is_red))", "color(all_items[0]) == red"]
)
def test_for_a_value_that_the_world_does_not_have_its_values_are_listed(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    what, allowed = caught.value.what, caught.value.allowed or ""
    assert what.split()[-1] == "red" and "yellow, black, blue" in allowed and "is_third" not in allowed


@pytest.mark.parametrize("text", ["count(all_items)", "all_items", "(" * 150 + "1" + ")" * 150])
def test_a_program_returns_a_truth_value(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)


@pytest.mark.parametrize("thing", [None, 3, b"exist(all_items)", ["exist(all_items)"]])
def test_only_strings_are_parsed(thing: object) -> None:
    with pytest.raises(InputError):
        parse(thing)  # type: ignore[arg-type]


def test_positions_count_leading_white_space() -> None:
    with pytest.raises(InputError) as caught:
        parse("\n   exist(thing)")
    assert caught.value.where == "character 11"


def test_the_deepest_allowed_program_runs() -> None:
    depth = MAX_DEPTH // 2 - 4
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
tokens = st.lists(st.sampled_from([*LANGUAGE.callable, *SIGNS, *WORDS, *MORE_WORDS]), max_size=30).map(" ".join)


@given(st.text() | tokens)
def test_any_text_parses_or_raises_input_error(text: str) -> None:
    try:
        program = parse(text)
    except InputError:
        return
    assert parse(program.text) == program


@given(truths, st.integers(0, 400), st.sampled_from(["", "(", ")", ",", ".", "x", " ", "not ", "1", "lambda ", "'"]))
def test_any_edit_parses_or_raises_input_error(truth: str, at: int, instead: str) -> None:
    text = f"exist(filter_obj(all_boxes, lambda x: {truth}))"
    at %= len(text)
    try:
        parse(text[:at] + instead + text[at + 1 :]).holds(random_scene(random.Random(at)))
    except InputError as error:
        assert str(error)


# ---------------------------------------------------------------- files

GOOD = {"sentence": "There is a box.", "kind": "scatter", "program": "exist(all_boxes)"}


def write(folder: Path, *lines: str) -> Path:
    path = folder / "programs.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_programs_are_read_in_order(tmp_path: Path) -> None:
    second = {**GOOD, "kind": "tower", "program": "1 == 1", "more": "ignored"}
    own = {"statement": "One is one.", "program": "1 == 1"}
    path = write(tmp_path, json.dumps(GOOD), "", json.dumps(second), json.dumps(own))
    assert read_programs(path, LANGUAGE) == [
        Statement("There is a box.", "scatter", parse("exist(all_boxes)")),
        Statement("There is a box.", "tower", parse("1 == 1")),
        Statement("One is one.", None, parse("1 == 1")),
    ]


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(GOOD)[:-10],
        "9" * 5000,
        "{'sentence': 1}",
        "[" * 100_000,
        json.dumps(GOOD)[:-1] + ', "kind": "tower"}',
        " " * (MAX_LINE + 1),
        "[1]",
        json.dumps({**GOOD, "kind": 3}),
        json.dumps({**GOOD, "sentence": None}),
        json.dumps({**GOOD, "program": ["x"]}),
        json.dumps({**GOOD, "program": " "}),
        json.dumps({**GOOD, "program": "exit()"}),
        json.dumps({"sentence": "a", "kind": "tower"}),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, json.dumps(GOOD), line)
    with pytest.raises(InputError) as caught:
        read_programs(path, LANGUAGE)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_programs(tmp_path / "none.jsonl", LANGUAGE)
    with pytest.raises(InputError):
        read_programs(tmp_path, LANGUAGE)
    with pytest.raises(InputError):
        read_programs(write(tmp_path, "", " "), LANGUAGE)
    (tmp_path / "latin.jsonl").write_bytes(b'{"sentence": "caf\xe9"}')
    with pytest.raises(InputError):
        read_programs(tmp_path / "latin.jsonl", LANGUAGE)
