"""The measurements of grammar_coverage: programs compared by construction and behaviour, statements by n-grams."""

from __future__ import annotations

import random

import pytest

from scripts import script
from veriscene.language.program import Statement
from veriscene.worlds import parse

module = script("grammar_coverage")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("exist(filter_color(all_items, Color.BLUE))", "count(filter_obj(all_items, lambda y: is_black(y))) >= 1"),
        (
            "exist(filter_obj(all_boxes, lambda x: AND(count(x) == 1, x.is_tower())))",
            "ge(count(filter_obj(all_boxes, lambda b: count(b.all_items_in_box()) == 2)), 1)",
        ),
        (
            "exist(filter_obj(all_items, lambda x: AND(is_blue(x), AND(is_top(x), is_square(x)))))",
            "exist(filter_obj(all_items, lambda x: is_top(x) and is_circle(x) and is_black(x)))",
        ),
        (
            "exist(filter_obj(all_items, lambda x: is_touching_wall(x, Side.ANY)))",
            "exist(filter_obj(all_items, is_touching_wall))",
        ),
    ],
)
def test_notation_and_constants_do_not_count(one: str, other: str) -> None:
    assert module.skeleton(parse(one).expression) == module.skeleton(parse(other).expression)


def test_constructions_differ() -> None:
    texts = ("exist(all_items)", "not exist(all_items)", "count(all_items) == 1", "count(all_boxes) == 1")
    assert len({module.skeleton(parse(text).expression) for text in texts}) == len(texts)


def test_behaviour_is_that_of_the_program_up_to_colors() -> None:
    behaviours = module.Behaviours()

    def behaviour(text: str) -> tuple[str, tuple[bool, ...]]:
        return behaviours.of(Statement("", "tower", parse(text)))

    above = "exist(filter_obj(all_items, lambda x: is_{}(x) and exist(filter_color(get_below(x), Color.{}))))"
    assert behaviour(above.format("blue", "BLACK")) == behaviour(above.format("yellow", "BLUE"))
    assert behaviour(above.format("blue", "BLACK")) != behaviour(above.format("blue", "BLUE"))


def test_the_model_gives_probabilities_and_prefers_what_it_has_seen() -> None:
    rng = random.Random(1)
    seen = [tuple(rng.choices("abc", k=4)) for _ in range(30)]
    model = module.TrigramModel(seen)
    for context in [(), ("a",), ("a", "b"), ("x", "y")]:
        total = sum(model.probability(context, word) for word in model.vocabulary)
        assert total <= 1 + 1e-9
        assert total + model.probability(context, "unknown") == pytest.approx(1)
    assert model.cross_entropy(seen[0]) < model.cross_entropy(("a", "unknown", "word", "b"))


def test_ngrams_are_counted_as_often_as_they_occur() -> None:
    assert module.share_of_ngrams([("a", "b"), ("a", "c")], [("a", "b")], 2) == pytest.approx(4 / 6)
