"""Programs as tokens and back."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_programs import random_programs

from some_worlds import WORLDS, scenes_of
from veriscene import worlds
from veriscene.english.grammar import draw
from veriscene.errors import InputError
from veriscene.language.program import Program, read_programs
from veriscene.language.tokens import program_of, tokens_of
from veriscene.world.scene import Scene
from veriscene.world.schema import World

LANGUAGE = worlds.language("nlvr")
GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "programs.jsonl"
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


def check_round_trip(program: Program, scenes: list[Scene]) -> None:
    tokens = tokens_of(program)
    again = program_of(tokens, program.language)
    assert tokens_of(again) == tokens, program
    for scene in scenes:
        assert again.holds(scene) == program.holds(scene), program


@each_world
def test_drawn_programs_keep_tokens_and_truth(world: World) -> None:
    rng, language, scenes = random.Random(1), worlds.language(world), scenes_of(world, 12)
    for _ in range(300):
        check_round_trip(draw(rng, language).program, scenes)


@each_world
def test_programs_of_any_functions_keep_tokens_and_truth(world: World) -> None:
    rng, language, scenes = random.Random(1), worlds.language(world), scenes_of(world, 4)
    for _ in range(4):
        for program in random_programs(language, rng):
            if not re.search(r"\b(AND|OR)\(", program.text):  # of truth values they are `and` and `or`, of others not
                check_round_trip(language.parse(program.text), scenes)


def test_golden_programs_keep_tokens_and_truth() -> None:
    scenes = scenes_of(LANGUAGE.world, 30)
    stated = read_programs(GOLDEN, LANGUAGE)
    assert len(stated) == 26
    for each in stated:
        check_round_trip(each.program, scenes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "exist(filter_obj(all_items, lambda x: is_black(x)))",
            "exist(filter_obj(all_items, lambda y: color(y) == black))",
        ),
        ("AND(exist(all_items), exist(all_boxes))", "exist(all_items) and exist(all_boxes)"),
        (
            "(exist(all_items) and exist(all_boxes)) and exist(all_boxes[0])",
            "exist(all_items) and (exist(all_boxes) and exist(all_boxes[0]))",
        ),
        ("ge(count(all_boxes[0].all_items_in_box()), 2)", "count(all_boxes[0]) >= 2"),
        ("NOT(exist(all_items))", "not exist(all_items)"),
    ],
)
def test_ways_to_write_the_same_have_the_same_tokens(one: str, other: str) -> None:
    assert tokens_of(LANGUAGE.parse(one)) == tokens_of(LANGUAGE.parse(other))


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        ["exist/1"],
        ["exist/1", "all_items", "all_items"],
        ["unheard_of/1", "all_items"],
        ["count/1", "all_items"],
        ["v0"],
        ["exist/1", "filter_obj/2", "all_items", "v0"],
        ["has color.red", "all_items"],
    ],
    ids=" ".join,
)
def test_tokens_that_describe_no_program_are_an_input_error(tokens: list[str]) -> None:
    with pytest.raises(InputError):
        program_of(tokens, LANGUAGE)


KNOWN = sorted({token for each in read_programs(GOLDEN, LANGUAGE) for token in tokens_of(each.program)})


@given(st.lists(st.sampled_from(KNOWN), max_size=12))
def test_any_tokens_give_a_program_or_an_input_error(tokens: list[str]) -> None:
    try:
        program = program_of(tokens, LANGUAGE)
    except InputError:
        return
    check_round_trip(program, [])
