"""Layouts: what the rules make of NLVR's English."""

from __future__ import annotations

from pathlib import Path

import pytest

from veriscene.language.module_layout import MAX_LAYOUTS, MAX_STEPS, Layout, Module
from veriscene.world.corpus import split_file
from veriscene.world.examples import WORD
from veriscene.worlds import read
from veriscene.worlds.nlvr.layout_rules import layouts

ARGUMENTS = {
    Module.FIND: 0,
    Module.RELATE: 1,
    Module.AND: 2,
    Module.OR: 2,
    Module.EXCEPT: 2,
    Module.COUNT: 2,
    Module.COUNT_ALL: 2,
    Module.BOTH: 2,
    Module.DECIDE: 1,
}
VERDICTS = {Module.COUNT, Module.COUNT_ALL, Module.BOTH}


def words_of(statement: str) -> list[str]:
    return WORD.findall(statement.lower())


def written(words: list[str], steps: Layout, number: int = -1) -> str:
    """A layout as an expression; a module is followed by its words, and a COUNT by its second map where it differs."""
    step = steps[number]
    inner = dict.fromkeys(step.arguments) if step.module in (Module.COUNT, Module.COUNT_ALL) else step.arguments
    name = " ".join([step.module.name.lower(), *(words[index] for index in step.words)])
    return name + (f"({', '.join(written(words, steps, argument) for argument in inner)})" if inner else "")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("There are 3 black items", "decide(count_all 3(find black items))"),
        ("There is a box with 5 items.", "decide a box(count 5(find items))"),
        (
            "one of the grey square contains exactly six objects",
            "decide one the square(count exactly six(find objects))",
        ),
        (
            "There is a box with a blue circle and two triangles.",
            "decide a box(both(count a(find blue circle), count two(find triangles)))",
        ),
        (
            "There is exactly one tower with a black block at the base",
            "decide exactly one tower(count a(and(find black block, find base), find black block))",
        ),
        (
            "there is a tower with a yellow block above a black block",
            "decide a tower(count a(and(find yellow block, relate above(find black block)), find yellow block))",
        ),
        (
            "There is a blue block on top of a black block.",
            "decide(count_all a(and(find blue block, relate on top(find black block)), find blue block))",
        ),
        (
            "there is a yellow triangle not touching the edge",
            "decide(count_all a(except(find yellow triangle, find touching edge), find yellow triangle))",
        ),
        (
            "There is no circle closely touching right wall of a box.",
            "decide a box(count_all no(and(find circle, find closely touching right wall), find circle))",
        ),
        (
            "There is a tower with only blue and yellow blocks",
            "decide a tower(count only(or(find blue blocks, find yellow blocks)))",
        ),
        (
            "There is a box with four items of which 2 are black.",
            "decide a box(both(count four(find items), count 2(find black)))",
        ),
        (
            "there is a tower with blocks of the same color",
            "decide a tower(count same color(find blocks))",
        ),
        (
            "There is a box with only one square and it is touching the wall.",
            "decide a box(count only one(and(find square, find touching wall), find square))",
        ),
        ("There is at least 1 black block in each tower", "decide each tower(count at least 1(find black block))"),
        ("gibberish", "decide(count_all(find gibberish))"),
        ("!", "decide(count_all(find !))"),
    ],
)
def test_layouts_of_some_statements(statement: str, expected: str) -> None:
    words = words_of(statement)
    assert written(words, layouts(words)[0]) == expected


OTHERS = [
    (
        "There are 3 black items",
        ["decide(count 3(find black items))"],  # without structure it is what the rules read
    ),
    (
        "there is a tower with a yellow block above a black block",
        [
            "decide a tower(count_all a(and(find yellow block, relate above(find black block)), find yellow block))",
            "decide a tower(count a(find yellow block above black block))",
        ],
    ),
    (
        "There is a box with no blue circle and two triangles.",
        [
            "decide a box(both(count_all no(find blue circle), count_all two(find triangles)))",
            "decide a box(count no two(find blue circle and triangles))",
        ],
    ),
]


@pytest.mark.parametrize(("statement", "expected"), OTHERS)
def test_other_layouts_have_the_other_scope_or_no_structure(statement: str, expected: list[str]) -> None:
    words = words_of(statement)
    assert [written(words, each) for each in layouts(words)[1:]] == expected


def assert_valid(words: list[str]) -> None:
    found = layouts(words)
    assert 1 <= len(found) <= MAX_LAYOUTS and len(set(found)) == len(found)
    for steps in found:
        assert_valid_layout(words, steps)


def assert_valid_layout(words: list[str], steps: Layout) -> None:
    assert 3 <= len(steps) <= MAX_STEPS
    used = [argument for step in steps for argument in step.arguments]
    for number, step in enumerate(steps):
        assert len(step.arguments) == ARGUMENTS[step.module]
        assert all(0 <= argument < number for argument in step.arguments)
        assert all(0 <= index < len(words) for index in step.words)
        reads_verdicts = step.module in (Module.BOTH, Module.DECIDE)
        assert all((steps[argument].module in VERDICTS) == reads_verdicts for argument in step.arguments)
        assert (step.module is Module.DECIDE) == (number == len(steps) - 1)
        assert number == len(steps) - 1 or number in used, "a step that nothing reads"


def test_every_train_statement_has_a_valid_layout(nlvr_folder: Path) -> None:
    for statement in {example.statement for example in read(split_file(nlvr_folder, "train"))}:
        assert_valid(words_of(statement))


@pytest.mark.parametrize("repeated", ["a blue circle and", "not touching", "above a", ", box", "blue and black", "it"])
def test_statements_of_any_length_fit(repeated: str) -> None:
    assert_valid(words_of("there is a box with a black square touching the wall and " + " ".join([repeated] * 80)))
