"""Statements drawn from the grammar for different worlds.

VERISCENE_GRAMMAR_STATEMENTS=100000 draws that many statements of each world in place of 5,000.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict

import pytest
from drawn import draw_statements, each_world, scenes, statements

from some_worlds import NLVR, SHELF, scenes_of
from veriscene import worlds
from veriscene.english import logic
from veriscene.english.grammar import draw_alike
from veriscene.english.speaker import Sentence, Speaker
from veriscene.english.words import lexicon_of
from veriscene.language.program import Statement
from veriscene.world.schema import World
from veriscene.world.world_file import world_of

NOTATION = re.compile(r"[\[\]()|~^{}@#$<>]|  ")
MAX_JUDGED = 600  # statements of a world that are judged on scenes
# The others say what hardly any random scene has ("exactly five black triangles in the left box"), what no scene can
# have (foreign values), or what always holds.
LEAST_VARYING = 0.75


@each_world
def test_programs_can_be_written_and_parsed_again(world: World) -> None:
    language = worlds.language(world)
    for each in statements(world):
        assert each.kind in (None, "tower") and (each.kind is None or world.towers is not None)
        assert language.parse(each.program.text) == each.program


@each_world
def test_texts_are_free_of_notation(world: World) -> None:
    for each in statements(world):
        assert not NOTATION.search(each.text) and each.text == each.text.strip(), each
        assert re.search(r"\w", each.text), each


@each_world
def test_statements_are_true_of_some_scenes_and_false_of_others(world: World) -> None:
    judged = statements(world)[:MAX_JUDGED]
    varying = sum(varies(each, world) for each in judged)
    assert varying >= LEAST_VARYING * len(judged), f"{varying} of {len(judged)} vary"


def varies(statement: Statement, world: World) -> bool:
    first, *others = scenes(world, statement.kind)
    truth = statement.program.holds(first)
    return any(statement.program.holds(scene) is not truth for scene in others)


@each_world
def test_no_text_has_two_meanings(world: World) -> None:
    """Texts that differ only in capitals and final marks count as one. What is said of towers is judged on towers."""
    by_text: dict[str, dict[str, Statement]] = defaultdict(dict)
    for each in statements(world):
        by_text[each.text.lower().rstrip(".?!")].setdefault(each.program.text, each)
    ambiguous = []
    for text, found in by_text.items():
        if len(found) == 1:
            continue
        kind = next((each.kind for each in found.values() if each.kind is not None), None)
        truths = {tuple(each.program.holds(scene) for scene in scenes(world, kind)) for each in found.values()}
        if len(truths) > 1:
            ambiguous.append(f"{text!r} means {list(found)}")
    assert not ambiguous, "\n".join(ambiguous)


@each_world
def test_drawing_is_deterministic_by_seed(world: World) -> None:
    count = min(100, len(statements(world)))
    assert draw_statements(world, count) == statements(world)[:count]
    assert draw_statements(world, count, seed=2) != statements(world)[:count]


@each_world
def test_wordings_of_one_statement_share_its_program(world: World) -> None:
    for seed in range(20):
        alike = draw_alike(random.Random(seed), worlds.language(world), 5)
        assert len(alike) == 5
        assert {(each.program.text, each.kind) for each in alike} == {(alike[0].program.text, alike[0].kind)}


def test_a_negated_verb_denies_all_that_is_said() -> None:
    """ "The left box doesn't have a circle, and so does the right one" would deny the first clause alone."""
    clauses = "the left box ~has a circle, and so does the right one"
    say = Speaker(random.Random(1), lexicon_of(worlds.language(NLVR)))
    for _ in range(20):
        sentence = logic._negated(say, Sentence(clauses, "exist(all_boxes[0]) and exist(all_boxes[2])"))
        assert sentence is not None and sentence.text.endswith(clauses.replace("~", ""))


def test_the_grammar_has_breadth() -> None:
    """Hardly a text is drawn twice where a world has more than a few words, and all forms of sentences occur."""
    texts = [each.text for each in statements(NLVR)]
    assert len(set(texts)) >= 0.97 * len(texts)
    assert 0.05 <= sum(text.endswith("?") for text in texts) / len(texts) <= 0.3
    assert sum(each.kind == "tower" for each in statements(NLVR)) >= 0.3 * len(texts)


@pytest.mark.parametrize(
    "words", ["no", "every", "most", "half", "only", "neither", "if", "unless", "left", "touch", "than", "same", "both"]
)
def test_words_of_all_constructions_occur(words: str) -> None:
    for world in (NLVR, SHELF):
        assert any(re.search(rf"\b{words}", each.text.lower()) for each in statements(world)), world.name


@pytest.mark.parametrize(
    "attributes",
    [
        {"price": {"range": [1, 20], "step": 1}},
        {"kind": {"values": ["a b", "blue"], "noun": True}, "state": {"values": ["all items", "on hold"]}},
    ],
    ids=["numbers alone", "values of several words"],
)
def test_any_world_can_be_spoken_about(attributes: dict[str, object]) -> None:
    tree = {"name": "marks", "canvas": [100, 100], "boxes": 2, "items": [0, 6], "extent": 10, "attributes": attributes}
    world = world_of(tree, where="tests")
    given = scenes_of(world, 40)
    truths = [sum(each.program.holds(scene) for scene in given) for each in draw_statements(world, 600)]
    assert sum(0 < number < len(given) for number in truths) > 300
