"""Programs in plain words."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from drawn import each_world, scenes, statements

from some_worlds import NLVR, SHELF
from veriscene import worlds
from veriscene.english.reading import reading_of
from veriscene.language.program import Program, read_programs
from veriscene.language.tokens import program_of, tokens_of
from veriscene.world.schema import World

LANGUAGE = worlds.language(NLVR)
# What words never contain: lambdas and their parameters, calls, subscripts, operators, names of functions.
NOTATION = re.compile(r"\blambda\b|\b[bvxy]\d+\b|\w\(|[\[\]{}=<>%@#$_]")
# The least shares of drawn and of public programs whose reading is in plain words.
LEAST_PLAIN, LEAST_PLAIN_PUBLIC = 0.995, 0.99


def is_plain(program: Program) -> bool:
    return NOTATION.search(reading_of(program)) is None


@each_world
def test_drawn_programs_are_read_in_plain_words(world: World) -> None:
    programs = [each.program for each in statements(world)]
    plain = sum(map(is_plain, programs))
    assert plain >= LEAST_PLAIN * len(programs), f"{plain} of {len(programs)}"


def test_public_programs_are_read_in_plain_words(nlvr_folder: Path) -> None:
    """As a reader writes them, which normalises their notation."""
    path = next(
        (folder / "programs" / "train.jsonl" for folder in (nlvr_folder, nlvr_folder.parent)
         if (folder / "programs" / "train.jsonl").is_file()),
        None,
    )  # fmt: skip
    if path is None:
        pytest.skip(f"no programs in or beside {nlvr_folder}; put train.jsonl into a folder `programs` there")
    programs = [program_of(tokens_of(each.program), LANGUAGE) for each in read_programs(path, LANGUAGE)]
    plain = sum(map(is_plain, programs))
    said = defaultdict(set)
    for program in {*programs, *(each.program for each in statements(NLVR))}:
        said[reading_of(program)].add(program)
    judged = [*scenes(NLVR, "scatter"), *scenes(NLVR, "tower")]
    for reading, alike in said.items():
        truths = {tuple(map(program.holds, judged)) for program in alike} if len(alike) > 1 else ()
        assert len(truths) < 2, f"of {len(truths)} truths: {reading}"
    print(f"{plain / len(programs):.1%} of {len(programs)} public programs are read in plain words")
    assert plain >= LEAST_PLAIN_PUBLIC * len(programs), f"{plain} of {len(programs)}"


@pytest.mark.parametrize(
    ("program", "reading"),
    [
        ("exist(filter_obj(all_items, lambda x: color(x) == black))", "at least one black item"),
        ("not exist(filter_obj(all_items, lambda x: shape(x) == circle))", "no circles"),
        ("count(filter_obj(all_boxes[0], lambda x: color(x) == blue)) == 2", "exactly two blue items in the left box"),
        (
            "exist(filter_obj(all_boxes, lambda b: count(filter_obj(b, lambda x: color(x) == yellow)) >= 3))",
            "some box: at least three yellow items",
        ),
        (
            "not exist(filter_obj(all_items, lambda x: shape(x) == circle and not color(x) == blue))",
            "every circle is blue",
        ),
        (
            "count(filter_obj(all_items, lambda x: shape(x) == circle))"
            " > count(filter_obj(all_items, lambda x: shape(x) == square))",
            "more circles than squares",
        ),
        (
            "exist(filter_obj(all_items, lambda x: color(x) == black and is_touching_wall(x, Side.LEFT)))",
            "at least one black item at the left wall",
        ),
        (
            "exist(filter_obj(all_items, lambda x: is_top(x)"
            " and exist(filter_obj(get_directly_below(x), lambda y: color(y) == blue))))",
            "at least one topmost item directly on a blue item",
        ),
        (
            "exist(filter_obj(all_boxes, lambda b: All(filter_obj(all_boxes, lambda c: c != b),"
            " lambda c: count(b) > count(c))))",
            "some box X: every box Y other than X: more items in X than items in Y",
        ),
        (
            "exist(filter_obj(all_items, lambda x: exist(filter_obj(all_items, lambda y: size(x) > size(y)))))",
            "at least one item X where at least one item Y where the size of X is more than the size of Y",
        ),
        (
            "exist(filter_obj(all_boxes, lambda b: b != all_boxes[0] and exist(filter_obj(b, lambda x: is_top(x)))))",
            "some box other than the left box: at least one topmost item",
        ),
        (
            "exist(all_items) != exist(all_boxes[0])",
            "either at least one item or at least one item in the left box, but not both",
        ),
        ("count(all_items) % 2 == 1", "the number of items is odd"),
        (  # false if there are none, unlike "every circle is blue"
            "not All(filter_obj(all_items, lambda x: shape(x) == circle), lambda x: color(x) == blue)",
            "not: (every circle is blue (and there is one))",
        ),
        (
            "count(all_boxes[0]) != count(all_boxes[1])",
            "a different number of items in the left box than items in the middle box",
        ),
        (
            "exist(filter_obj(all_boxes, lambda b: count(filter_obj(b, lambda x: shape(x) == triangle))"
            " == count(filter_obj(all_items, lambda x: shape(x) == triangle))))",
            "some box: as many triangles in it as triangles in the scene",
        ),
        (
            "exist(filter_obj(all_boxes, lambda b: b.is_tower() and exist(filter_obj(b, lambda x: is_top(x)))))",
            "some box: it is a tower, and at least one item at the top",
        ),
        (
            "exist(filter_obj(all_items, lambda x: is_rightmost(x) and color(x) == blue and not is_bottom(x)))",
            "at least one blue rightmost item that is not bottommost",
        ),
        (
            "count(all_items) == count(all_boxes[0]) + count(all_boxes[0]) + count(all_boxes[0])",
            "the number of items is three times the number of items in the left box",
        ),
        (
            "count(all_items) == count(all_boxes[0]) + count(all_boxes[0]) + 1",
            "the number of items is twice the number of items in the left box plus one",
        ),
        (
            "(count(all_boxes[0]) + count(all_boxes[1])) * 2 > count(all_items)",
            "twice (the number of items in the left box plus the number of items in the middle box)"
            " is more than the number of items",
        ),
        ("all_same_attribute(all_boxes, lambda b: count(b))", "all boxes have equally many items"),
        ("exist(filter_obj(all_boxes, lambda b: count(color(b)) == 1))", "some box: exactly one color in it"),
        (
            "exist(filter_obj(all_items, lambda x: exist(filter_obj(filter_obj(all_boxes[0], lambda y:"
            " shape(x) == shape(y)), lambda y: shape(x) == shape(y) and size(x) == size(y)))))",
            "at least one item X where at least one item Y in the left box where X and Y have the same shape"
            " and where X and Y have the same size",
        ),
        (
            "not exist(filter_obj(all_boxes[0], lambda x: color(x) == black or shape(x) == triangle))",
            "no items in the left box that are black or a triangle",
        ),
        (
            "count(filter_obj(all_items, lambda x: not color(x) == black and is_touching_wall(x))) == 1",
            "exactly one item that is not black and that is at a wall",
        ),
        (
            "exist(filter_obj(all_items, lambda x: shape(x) == triangle and color(x) == blue and size(x) == medium))",
            "at least one medium blue triangle",
        ),
    ],
)
def test_readings(program: str, reading: str) -> None:
    assert reading_of(LANGUAGE.parse(program)) == reading


BLUE, BLACK = "exist(filter_obj(b, lambda x: color(x) == blue))", "exist(filter_obj({}, lambda x: color(x) == black))"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            f"exist(filter_obj(all_boxes, lambda b: {BLUE})) and {BLACK.format('all_items')}",
            f"exist(filter_obj(all_boxes, lambda b: {BLUE} and {BLACK.format('b')}))",
        ),
        (
            f"not all_same_color(all_items) or {BLACK.format('all_items')}",
            f"not (all_same_color(all_items) or {BLACK.format('all_items')})",
        ),
        (
            "all_same_attribute(all_boxes, lambda b: count(b))",
            "all_same_attribute(all_boxes, lambda b: count(filter_obj(b, lambda x: color(x) == black)))",
        ),
        (
            "exist(filter_obj(all_items, lambda x: exist(filter_obj(get_above(x), lambda y: color(y) == blue))"
            " and is_touching_wall(x)))",
            "exist(filter_obj(all_items, lambda x: exist(filter_obj(get_above(x), lambda y: color(y) == blue"
            " and is_touching_wall(y)))))",
        ),
        (
            # The second condition is of the outer item, and of the inner one.
            "exist(filter_obj(all_items, lambda x: exist(filter_obj(get_above(x), lambda y: not color(y) == blue))"
            " and not color(x) == black))",
            "exist(filter_obj(all_items, lambda x: exist(filter_obj(get_above(x), lambda y: not color(y) == blue"
            " and not color(y) == black))))",
        ),
        (
            f"exist(filter_obj(all_boxes, lambda b: {BLUE} and {BLACK.format('all_items')}))",
            f"exist(filter_obj(all_boxes, lambda b: {BLUE} and {BLACK.format('b')}))",
        ),
        (
            "(count(all_boxes[0]) + count(all_boxes[1])) * 2 > 3",
            "count(all_boxes[0]) * 2 + count(all_boxes[1]) > 3",
        ),
        (
            "exist(max(all_boxes, key=lambda b: count(b)))",
            "exist(max(all_boxes, key=lambda b: count(filter_obj(b, lambda x: color(x) == black))))",
        ),
    ],
)
def test_different_programs_have_different_readings(first: str, second: str) -> None:
    assert reading_of(LANGUAGE.parse(first)) != reading_of(LANGUAGE.parse(second))


@pytest.mark.parametrize("test", ["not (offer(x) == offer.no)", "offer(x) != offer.no", "offer(x) == offer.yes"])
def test_what_is_not_not_on_offer_is_on_offer(test: str) -> None:
    program = worlds.language(SHELF).parse(f"exist(filter_obj(all_items, lambda x: {test}))")
    assert reading_of(program) == "at least one product on offer"


@each_world
def test_equal_programs_have_equal_readings(world: World) -> None:
    language = worlds.language(world)
    for each in statements(world)[:200]:
        assert reading_of(language.parse(each.program.text)) == reading_of(each.program)
