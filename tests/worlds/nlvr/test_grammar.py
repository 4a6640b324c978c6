"""The grammar: correct English, and programs that mean what the words say."""

from __future__ import annotations

import hashlib
import json
import operator
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from veriscene.errors import InputError
from veriscene.language.execution import compile_expression
from veriscene.language.notation import Statement
from veriscene.world.scene import Item, Scene, scene_to_json
from veriscene.worlds.nlvr import corpus as nlvr
from veriscene.worlds.nlvr.grammar import draw
from veriscene.worlds.nlvr.near_miss import labelled_scenes
from veriscene.worlds.nlvr.scene_drawing import draw_scene
from veriscene.worlds.nlvr.synthetic import normalized

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SINGULAR_NOUNS = ("block", "item", "object", "square", "circle", "triangle", "box", "tower")
PLURAL_NOUNS = tuple(f"{noun}es" if noun == "box" else f"{noun}s" for noun in SINGULAR_NOUNS)
ADJECTIVES = "(?:(?:yellow|black|blue|small|medium|big|grey|or) )*"


@pytest.fixture(scope="module")
def full() -> list[Statement]:
    rng = random.Random(1)
    return [draw(rng) for _ in range(4000)]


@pytest.fixture(scope="module")
def simple() -> list[Statement]:
    rng = random.Random(2)
    return [draw(rng, level="simple") for _ in range(1500)]


# ---------------------------------------------------------------- words


def test_statements_are_correct_english(full: list[Statement], simple: list[Statement]) -> None:
    for text in (statement.text for statement in full + simple):
        assert re.fullmatch(r"[A-Za-z0-9]+(?:,? [a-z0-9]+)*\.?", text), text
        assert not re.search(r"\ba (?:[aei]|o(?!ne\b))", text), text
        assert not re.search(r"\ban (?![aeio])", text), text
        assert not re.search(r"\b(\w+) \1\b", text), text


def test_nouns_agree_with_their_number(full: list[Statement], simple: list[Statement]) -> None:
    for text in (statement.text.lower() for statement in full + simple):
        for number, noun in re.findall(rf"\b({'|'.join(NUMBERS)}|\d) {ADJECTIVES}(\w+)", text):
            allowed, forbidden = (
                (SINGULAR_NOUNS, PLURAL_NOUNS) if number in ("one", "1") else (PLURAL_NOUNS, SINGULAR_NOUNS)
            )
            # In "2 blue and 1 yellow item", no noun follows the first number.
            assert noun in allowed or noun not in forbidden, text


SEVERAL = rf"(?:{'|'.join(NUMBERS[2:])}|[2-9])"
HOW_MANY = "(?:(?:exactly|only|at least|at most|more than|less than) )?"


@pytest.mark.parametrize(
    "wrong",
    [
        rf"there is {HOW_MANY}{SEVERAL}\b",
        rf"there are {HOW_MANY}(?:one|1|an?)\b (?!lot)",
        rf"^(?:each|every|no) {ADJECTIVES}\w+ (?:are|have|contain)\b",
        rf"^(?:all|none|{HOW_MANY}{SEVERAL})(?: of)?(?: the)? {ADJECTIVES}\w+ (?:is|has|contains)\b",
        r"\bthem (?:is|has)\b",
    ],
)
def test_verbs_agree_with_their_subject(wrong: str, full: list[Statement]) -> None:
    assert [statement.text for statement in full if re.search(wrong, statement.text.lower())] == []


def test_statements_vary(full: list[Statement], simple: list[Statement]) -> None:
    assert len({normalized(statement.text) for statement in full}) > 0.85 * len(full)
    assert len({normalized(statement.text) for statement in simple}) > 300


def test_the_simple_level_has_a_small_vocabulary(full: list[Statement], simple: list[Statement]) -> None:
    assert len(_words(simple)) <= 45
    assert _words(simple) < _words(full)
    assert len(_words(full)) > 120


def test_numbers_are_words_or_digits_but_not_both(full: list[Statement]) -> None:
    words = "|".join(NUMBERS[2:])
    for text in (statement.text.lower() for statement in full):
        assert not (re.search(r"\d", text) and re.search(rf"\b(?:{words})\b", text)), text


def test_each_kind_keeps_to_its_own_words(full: list[Statement]) -> None:
    tower = [statement for statement in full if statement.kind == "tower"]
    scatter = [statement for statement in full if statement.kind == "scatter"]
    assert min(len(tower), len(scatter)) > 1000
    assert not _words(tower) & {"circle", "circles", "triangle", "corner", "small", "edge"}
    assert not _words(scatter) & {"tower", "towers", "block", "base of a tower", "stacked"}


# Published results were trained on these statements and scenes.
@pytest.mark.parametrize(("level", "digest"), [("simple", "42a11eb834e524f7"), ("full", "467b8c36bf2b5f09")])
def test_statements_and_scenes_of_a_seed_never_change(level: str, digest: str) -> None:
    rng = random.Random(1)
    found = hashlib.sha256()
    for statement in (draw(rng, level) for _ in range(60)):
        scenes = [(scene_to_json(scene), label) for scene, label in labelled_scenes(rng, statement) or []]
        record = [statement.text, statement.kind, statement.program.text, scenes]
        found.update(json.dumps(record).encode())
    assert found.hexdigest()[:16] == digest


def test_an_unknown_level_is_an_error() -> None:
    with pytest.raises(InputError, match=r"unknown level 'hard'.*simple, full"):
        draw(random.Random(0), level="hard")


def _words(statements: Iterable[Statement]) -> set[str]:
    return {word for statement in statements for word in re.findall(r"\w+", statement.text.lower())}


# ---------------------------------------------------------------- meanings


def test_every_program_has_a_value_on_every_scene_of_its_kind(full: list[Statement]) -> None:
    rng = random.Random(4)
    for statement in full[:1500]:
        scene = draw_scene(rng, statement.kind)
        assert compile_expression(statement.program.expression)(scene) in (True, False), statement.text


def test_simple_programs_against_a_second_reader(simple: list[Statement]) -> None:
    rng = random.Random(5)
    for statement in simple:
        for scene in (draw_scene(rng, statement.kind) for _ in range(4)):
            assert statement.program.holds(scene) is _read_simple(statement.text, scene), (statement.text, scene)


def _read_simple(text: str, scene: Scene) -> bool:
    """The meaning of a simple statement, derived from its words without a program."""
    text = text.lower().removesuffix(".").replace("one", "1").replace("two", "2")
    every = "(?:(?:each|every) (?:box|tower)|all the (?:boxes|towers))"
    if each := re.fullmatch(rf"{every} ha(?:s|ve) (.+)", text):
        return all(_holds_number_of(each[1], box.items) for box in scene.boxes)
    holding = "(?:with|having|containing|(?:that|which) (?:has|have|contains|contain))"
    if holder := re.fullmatch(rf"there (?:is|are) (.+?) (?:box|boxes|tower|towers) {holding} (.+)", text):
        fitting = [box for box in scene.boxes if _holds_number_of(holder[2], box.items)]
        return _compared(holder[1], len(fitting))
    plain = re.fullmatch(r"there (?:is|are) (.+)", text)
    assert plain, text
    return _holds_number_of(plain[1], scene.items)


def _holds_number_of(phrase: str, items: tuple[Item, ...]) -> bool:
    parts = re.fullmatch(r"(an?|no|at least \d|\d) (.+)", phrase)
    assert parts, phrase
    words = parts[2].split()
    return _compared(parts[1], sum(all(_fits(words, item, items)) for item in items))


def _fits(words: list[str], item: Item, items: tuple[Item, ...]) -> Iterable[bool]:
    names = {item.color.name.lower(), "item", "items", "block", "blocks", "object", "objects"}
    names |= {"at", "as", "the", "its", "their"}
    if item.y == min(other.y for other in items):
        names.add("top")
    if item.y == max(other.y for other in items):
        names |= {"base", "bottom"}
    return [word in names for word in words]


def _compared(determiner: str, number: int) -> bool:
    relations: dict[str, Callable[[int, int], bool]] = {"at least ": operator.ge, "": operator.eq}
    if determiner in ("a", "an", "no"):
        return (number == 0) is (determiner == "no")
    words, digit = determiner[:-1], int(determiner[-1])
    return relations[words](number, digit)


def test_the_readings_are_those_of_nlvr(nlvr_folder: Path, full: list[Statement]) -> None:
    """On statements that also occur in NLVR, programs agree with the labels about as often as a rater does."""
    raters: dict[str, list[nlvr.Example]] = {}
    for example in nlvr.read(nlvr_folder / "train" / "train.json"):
        raters.setdefault(normalized(example.statement), []).append(example)
    drawn = {normalized(statement.text): statement for statement in full}
    agreed = [
        statement.program.holds(example.scene) is example.label
        for text, statement in drawn.items()
        for example in raters.get(text, [])
    ]
    assert len(agreed) > 800
    assert sum(agreed) / len(agreed) > 0.93
