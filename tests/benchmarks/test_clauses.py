"""The truths of `benchmarks/clauses.py` are those of programs, and a judge that is always right makes no error."""

from __future__ import annotations

import random

import pytest

from scripts import script
from some_worlds import NLVR, scenes_of
from veriscene import worlds

bench = script("clauses")
PROGRAMS = {
    "there is a black circle": "exist(filter_obj(all_items, lambda x: color(x) == black and shape(x) == circle))",
    "the left box has a square": "exist(filter_obj(all_boxes[0], lambda x: shape(x) == square))",
    "every box has a blue item": (
        "not exist(filter_obj(all_boxes, lambda b: not exist(filter_obj(b, lambda x: color(x) == blue))))"
    ),
    "there are exactly two blue squares": (
        "count(filter_obj(all_items, lambda x: color(x) == blue and shape(x) == square)) == 2"
    ),
    "the right box contains at least two yellow items": (
        "count(filter_obj(all_boxes[2], lambda x: color(x) == yellow)) >= 2"
    ),
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_clause_is_true_where_its_program_is(text: str) -> None:
    rng, program = random.Random(1), worlds.parse(PROGRAMS[text])
    holds = next(test for found, test in (bench.clause(rng) for _ in range(10_000)) if found == text)
    scenes = scenes_of(NLVR, 300)
    assert [holds(scene) for scene in scenes] == [program.holds(scene) for scene in scenes]


def test_forms_join_the_truths_of_their_clauses() -> None:
    found = bench.pairs(scenes_of(NLVR, 50), 200, 1)
    a = [truth for _, truth in found["A"]]
    assert [truth for _, truth in found["not A"]] == [not each for each in a]
    both, either = ([truth for _, truth in found[name]] for name in ("A and B", "A or B"))
    assert both == [truth for _, truth in found["A. B."]] == [truth for _, truth in found["A but B"]]
    assert all(one <= first <= other for one, first, other in zip(both, a, either, strict=True))
    assert {len(questions) for questions in found.values()} == {200}
