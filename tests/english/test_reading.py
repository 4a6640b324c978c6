"""Programs in plain words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from drawn import each_world, statements

from some_worlds import NLVR
from veriscene import worlds
from veriscene.english.reading import reading_of
from veriscene.language.program import Program, read_programs
from veriscene.language.tokens import program_of, tokens_of
from veriscene.world.schema import World

LANGUAGE = worlds.language(NLVR)
# What words never contain: lambdas and their parameters, calls, subscripts, operators, names of functions.
NOTATION = re.compile(r"\blambda\b|\b[bvxy]\d+\b|\w\(|[\[\]{}=<>%@#$_]")
# The shares of programs whose reading is in plain words. The goal is 1 for drawn and 0.9 for public programs.
LEAST_PLAIN = {"nlvr": 0.85, "shelf": 0.84, "Ferme": 0.9, "tray": 0.91}
LEAST_PLAIN_PUBLIC = 0.5


def is_plain(program: Program) -> bool:
    return NOTATION.search(reading_of(program)) is None


@each_world
def test_drawn_programs_are_read_in_plain_words(world: World) -> None:
    programs = [each.program for each in statements(world)]
    plain = sum(map(is_plain, programs))
    assert plain >= LEAST_PLAIN[world.name] * len(programs), f"{plain} of {len(programs)}"


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
            "at least one item at the top directly on a blue item",
        ),
    ],
)
def test_readings(program: str, reading: str) -> None:
    assert reading_of(LANGUAGE.parse(program)) == reading


@each_world
def test_equal_programs_have_equal_readings(world: World) -> None:
    language = worlds.language(world)
    for each in statements(world)[:200]:
        assert reading_of(language.parse(each.program.text)) == reading_of(each.program)
