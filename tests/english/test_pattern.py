"""The notation of wordings, and the forms of sentences."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veriscene.english import pattern

words = st.sampled_from(["a", "cat", "there", "~is", "two", "in", "box"])
plain = st.lists(words, min_size=1, max_size=4).map(" ".join)
nested = st.recursive(
    plain,
    lambda part: st.one_of(
        st.lists(part, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.lists(part, min_size=1, max_size=3).map(lambda parts: f"[{'|'.join(parts)}]"),
        st.lists(part, min_size=2, max_size=3).map(" ".join),
    ),
    max_leaves=8,
)


@given(nested, st.integers(0, 99))
def test_expansion_leaves_only_words_of_the_wording(text: str, seed: int) -> None:
    found = pattern.expand(random.Random(seed), text)
    assert not re.search(r"[()\[\]|]|  ", found)
    assert set(found.split()) <= set(re.sub(r"[()\[\]|]", " ", text).split())
    assert found == pattern.expand(random.Random(seed), text)


@given(plain, st.integers(0, 9))
def test_expansion_leaves_plain_texts_as_they_are(text: str, seed: int) -> None:
    assert pattern.expand(random.Random(seed), text) == text


def test_all_alternatives_are_chosen() -> None:
    found = {pattern.expand(random.Random(seed), "(a|b (c|d)) [e]") for seed in range(200)}
    assert found == {"a", "b c", "b d", "a e", "b c e", "b d e"}


@pytest.mark.parametrize("text", ["(a|b", "a]", "(a]", "[a|(b]"])
def test_brackets_must_match(text: str) -> None:
    if text == "a]":  # nothing is opened
        assert pattern.expand(random.Random(1), text) == text
        return
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        pattern.expand(random.Random(1), text)


# A wording, then its statement, question, tag and note.
FORMS = [
    ("there ~is a cat", "there is a cat", "is there a cat", "isn't there", "a cat"),
    ("there ~are two cats here", "there are two cats here", "are there two cats here", "aren't there", "two cats here"),
    (
        "the left box ~has two",
        "the left box has two",
        "does the left box have two",
        "doesn't it",
        "the left box with two",
    ),
    ("all boxes ~contain it", "all boxes contain it", "do all boxes contain it", "don't they", "all boxes with it"),
    ("it ~touches it", "it touches it", "does it touch it", "doesn't it", "it touches it"),
    ("you ~can see it", "you can see it", "can you see it", "can't you", "it"),
    (
        "in the box, there ~is a cat",
        "in the box, there is a cat",
        "in the box, is there a cat",
        "isn't there",
        "in the box, a cat",
    ),
    (
        "there ~is a cat ^and it ~has a tail",
        "there is a cat and it has a tail",
        "is there a cat and does it have a tail",
        None,
        "a cat and it has a tail",
    ),
    ("there ~are no cats", "there are no cats", "are there no cats", None, "no cats"),
    ("we ~see a cat", "we see a cat", "do you see a cat", "don't we", "a cat"),
    ("nothing else", "nothing else", "is it true that nothing else", None, "nothing else"),
]


@pytest.mark.parametrize(("text", "statement", "question", "tag", "note"), FORMS, ids=[row[0] for row in FORMS])
def test_forms_of_sentences(text: str, statement: str, question: str, tag: str | None, note: str) -> None:
    assert pattern.statement(text) == statement
    assert pattern.question(text) == question
    assert pattern.tag(text) == tag
    assert pattern.note(text) == note


@pytest.mark.parametrize(
    ("text", "negative"),
    [
        ("there ~is a cat", {"there is not a cat", "there isn't a cat"}),
        ("the box ~has a cat", {"the box does not have a cat", "the box doesn't have a cat"}),
        ("they ~touch", {"they do not touch", "they don't touch"}),
        ("you ~can see it", {"you cannot see it", "you can't see it"}),
        ("it ~is here ^and it ~is red", {"it is not here and it is red", "it isn't here and it is red"}),
    ],
)
def test_negation_is_of_the_first_verb(text: str, negative: set[str]) -> None:
    assert {pattern.statement(pattern.negated(text, random.Random(seed))) for seed in range(30)} == negative


def test_negative_questions_are_only_asked_of_positive_statements() -> None:
    assert pattern.negative_question("there ~is a cat") == "isn't there a cat"
    assert pattern.negative_question("the box ~has a cat") == "doesn't the box have a cat"
    assert pattern.negative_question("there ~is no cat") is None
    assert pattern.negative_question("there ~is a cat ^and it ~is red") is None


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("has", "does have"),
        ("have", "do have"),
        ("touches", "does touch"),
        ("lies", "does lie"),
        ("carries", "does carry"),
        ("rises", "does rise"),
        ("goes", "does go"),
        ("sit", "do sit"),
        ("sits", "does sit"),
        ("boxes", "does box"),
    ],
)
def test_base_forms(verb: str, expected: str) -> None:
    assert " ".join(pattern.base_form(verb)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a item", "an item"),
        ("a box", "a box"),
        ("a one", "a one"),
        ("a odd box", "an odd box"),
        ("A orange cat", "An orange cat"),
        ("a unit", "a unit"),
        ("a 8", "an 8"),
        ("a 11", "an 11"),
        ("a 18", "an 18"),
        ("a 12", "a 12"),
        ("a Audi", "an Audi"),
        ("a Übercar", "an Übercar"),
        ("a Honda", "a Honda"),
        ("a cat and a owl", "a cat and an owl"),
    ],
)
def test_articles_before_vowels(text: str, expected: str) -> None:
    assert pattern.with_articles(text) == expected
