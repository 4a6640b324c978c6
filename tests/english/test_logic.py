"""Sentences made of whole clauses: they mean what their clauses and the words between them mean."""

from __future__ import annotations

import random

import pytest

from some_worlds import NLVR, scenes_of
from veriscene import worlds
from veriscene.english import logic
from veriscene.english.grammar import simple_sentence
from veriscene.english.speaker import Sentence, Speaker
from veriscene.english.words import lexicon_of

LANGUAGE = worlds.language(NLVR)
SCENES = scenes_of(NLVR, 60, seed=4)
FIRST = Sentence("there ~is a yellow square", "exist(filter_obj(all_items, lambda x: color(x) == color.yellow))")
SECOND = Sentence("the left box ~has a circle", "exist(filter_obj(all_boxes[0], lambda x: shape(x) == shape.circle))")
TRUTHS = {
    "and": lambda a, b: a and b,
    "but": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    ";": lambda a, b: a and b,
    ".": lambda a, b: a and b,
}


@pytest.fixture
def say() -> Speaker:
    return Speaker(random.Random(2), lexicon_of(LANGUAGE))


def test_two_clauses_mean_what_the_word_between_them_says(say: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    for _ in range(600):
        clauses = iter((FIRST, SECOND))
        monkeypatch.setattr(logic, "_clause", lambda _say, _draw, clauses=clauses: next(clauses, None))
        sentence = logic._joined(say, simple_sentence)
        assert sentence is not None
        words = say.expand(sentence.text).replace("~", "").replace("^", "")
        between = words.removeprefix("there is a yellow square").removesuffix("the left box has a circle").strip(" ,")
        if between in TRUTHS:
            seen.add(between)
            a, b, both = (LANGUAGE.parse(each.meaning) for each in (FIRST, SECOND, sentence))
            for scene in SCENES:
                assert both.holds(scene) is TRUTHS[between](a.holds(scene), b.holds(scene)), words
    assert seen == TRUTHS.keys()


def test_what_is_not_false_is_true(say: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(say, "weighted", lambda *options: options[-1][1])  # the last way of `combined`
    for _ in range(30):
        sentence = logic.combined(say, lambda _: FIRST)
        assert sentence is not None and sentence.meaning == FIRST.meaning
        assert sentence.text.endswith(" there is a yellow square")


def test_large_numbers_occur_where_a_world_has_so_many_items(say: Speaker) -> None:
    numbers = [say.small() for _ in range(3000)]
    assert max(numbers) > 15 and sum(number > 6 for number in numbers) < 0.12 * len(numbers)
