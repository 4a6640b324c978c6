"""Variants of statements: what is exchanged in the words is exchanged in the program, and nothing else."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veriscene.language.notation import parse
from veriscene.world.scene import Box, Color, Scene, Shape
from veriscene.worlds.nlvr import grammar
from veriscene.worlds.nlvr.scene_drawing import draw_scene
from veriscene.worlds.nlvr.variation import COLORS, SHAPES, vary
from veriscene.worlds.nlvr.wordings.wording import NUMBER_WORDS

LOOKS = {name: (Color if name in COLORS else Shape)[name.upper()] for name in (*COLORS, *SHAPES)}


def variants(text: str, program: str, count: int = 2000) -> set[tuple[str, str]]:
    rng = random.Random(1)
    return {vary(rng, text, parse(program)) for _ in range(count)}


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_a_variant_is_true_of_the_scene_in_which_the_same_things_were_exchanged(seed: int) -> None:
    rng = random.Random(seed)
    statement = grammar.draw(rng, "full")
    text, meaning = vary(rng, statement.text, statement.program)
    before, after = (words.lower().replace(".", "").replace(",", "").split() for words in (statement.text, text))
    if len(before) != len(after):
        return  # another comparison
    exchanged = {(old.removesuffix("s"), new.removesuffix("s")) for old, new in zip(before, after, strict=True)}
    if any(old != new and old not in LOOKS for old, new in exchanged):
        return  # numbers, sizes and words of comparison: tested below
    looks = {LOOKS[old]: LOOKS[new] for old, new in exchanged if old in LOOKS}
    for kind in (Color, Shape):
        # What the statement does not name becomes whatever is left; with two left, either will do if nobody names them.
        left = [look for look in kind if look not in looks.values()]
        unnamed = [look for look in kind if look not in looks]
        program_names = [look for look in unnamed if look.name in statement.program.text.upper()]
        if len(unnamed) > 1 and program_names:
            return
        looks |= zip(unnamed, left, strict=True)
    scene = draw_scene(rng, statement.kind)
    items = [[replace(i, color=looks[i.color], shape=looks[i.shape]) for i in box.items] for box in scene.boxes]
    assert parse(meaning).holds(Scene(tuple(Box(tuple(some)) for some in items))) == statement.program.holds(scene)


def test_numbers_and_comparisons_change_in_both_and_stay_in_step() -> None:
    found = variants("There are exactly two yellow items", "count(filter_color(all_items, Color.YELLOW)) == 2")
    assert ("There are exactly two yellow items", "count(filter_color(all_items, Color.YELLOW)) == 2") in found
    assert ("There are at least three blue items", "count(filter_color(all_items, Color.BLUE)) >= 3") in found
    assert ("There are less than six black items", "count(filter_color(all_items, Color.BLACK)) < 6") in found
    signs = {"exactly": "==", "at least": ">=", "at most": "<=", "more than": ">", "less than": "<"}
    for text, meaning in found:
        said = next(sign for phrase, sign in signs.items() if phrase in text)
        number = next(str(value) for value, word in enumerate(NUMBER_WORDS) if f" {word} " in text)
        assert meaning.split(")) ")[1] == f"{said} {number}"


def test_capitals_digits_and_plurals_are_kept_and_large_is_big() -> None:
    found = variants(
        "Yellow circles: 2 of them are large",
        "count(filter_obj(all_items, lambda x: is_yellow(x) and is_circle(x) and is_big(x))) == 2",
    )
    assert any(text.startswith("Blue triangles: 3 of them are small") for text, _ in found)
    assert all(text.split()[1] in {"circles:", "squares:", "triangles:"} and text[0].isupper() for text, _ in found)
    sizes = {(text.split()[-1], meaning.partition("(x))) ==")[0].split()[-1]) for text, meaning in found}
    assert sizes == {("big", "is_big"), ("large", "is_big"), ("medium", "is_medium"), ("small", "is_small")}


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("There is a blck item", "exist(filter_color(all_items, Color.BLACK))"),  # the word would stay black
        ("There is a yellow black at the top", "exist(filter_obj(all_items, lambda x: is_yellow(x) and is_top(x)))"),
        ("A yelllow square and a yellow item", "count(filter_color(all_items, Color.YELLOW)) > 1"),
        ("A black block is over a blue black", "exist(filter_obj(all_items, lambda x: is_black(x) or is_blue(x)))"),
        ("2 boxes have items of 2 colors", "count(filter_obj(all_boxes, lambda b: not all_same_color(b))) == 2"),
        ("ll three towers have items", "count(filter_obj(all_boxes, lambda b: exist(b))) == 3"),
        ("exactly two boxes exist and both have items", "count(filter_obj(all_boxes, lambda b: exist(b))) == 2"),
        ("A small blue item touches the wall", "Any(filter_color(all_items, Color.BLUE), is_touching_wall)"),
        ("A grey square has a square", "exist(filter_shape(all_items, Shape.SQUARE))"),  # the first is a box
        ("Each of the three boxes has an item", "All(all_boxes, lambda b: exist(b))"),  # three says nothing here
        ("There is more than one item", "count(all_items) >= 2"),
        ("Two items are of one shape", "exist(filter_obj(combinations(all_items, 2), lambda p: all_same_shape(p)))"),
    ],
)
def test_what_words_and_program_do_not_both_name_stays(text: str, program: str) -> None:
    assert variants(text, program) == {(text, parse(program).text)}
