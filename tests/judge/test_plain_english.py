"""`best` reads plain English: what its programs say, what it does not understand, and a reader without a network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import veriscene
from veriscene.data.reader import END, Reading, has_negative_number, large_numbers, split_words
from veriscene.judge.folders import READER, find
from veriscene.judge.judge import Judge, NetworkJudge, Question, ReaderJudge, Verdict, checked
from veriscene.judge.reading import with_reading
from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.tokens import tokens_of
from veriscene.world.scene import Scene
from veriscene.worlds.nlvr.scenes import draw_scenes

MEANINGS = {
    "No yellow in the middle box, just black": "not exist(filter_obj(all_boxes[1], lambda x: color(x) != black))",
    "Most of the stuff in the middle is black.": (
        "count(filter_obj(all_boxes[1], lambda x: color(x) == black))"
        " > count(filter_obj(all_boxes[1], lambda x: color(x) != black))"
    ),
    "is there a blue thing on the left?": "exist(filter_obj(all_boxes[0], lambda x: color(x) == blue))",
    "nothing is green": "exist(all_items)",
    "there is a red square": "not exist(all_items)",
    "i think every box has at least 2 things in it": "not exist(filter_obj(all_boxes, lambda b: count(b) < 2))",
    "the right box has more stuff than the left one": "count(all_boxes[2]) > count(all_boxes[0])",
    "if an object is yellow it isn't big": (
        "not exist(filter_obj(all_items, lambda x: color(x) == yellow and size(x) == large))"
    ),
}
NOT_ABOUT_A_SCENE = ["hello", "what is the weather like tomorrow?", "asdf jkl qwer", "Guten Morgen, wie geht es dir?"]
NEGATIVE = ["There are -1 black items.", "There is a box with −2 yellow items.", "There are minus two circles."]


@pytest.fixture(scope="module")
def best() -> Judge:
    return veriscene.load("best")


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    rng = np.random.default_rng(5)
    return SceneArrays.concatenated([draw_scenes(rng, "scatter", 12), draw_scenes(rng, "tower", 12)]).scenes()


@pytest.mark.parametrize("statement", MEANINGS)
def test_a_statement_in_plain_english_is_judged_by_what_it_says(
    statement: str, best: Judge, scenes: list[Scene]
) -> None:
    program = veriscene.parse(MEANINGS[statement])
    verdicts = [checked(answer) for answer in best([(statement, scene) for scene in scenes])]
    assert [verdict.verdict for verdict in verdicts] == [program.holds(scene) for scene in scenes]
    assert all(verdict.reading and 0.005 < verdict.probability < 0.995 for verdict in verdicts)


def test_real_words_are_offered_for_unknown_ones(best: Judge) -> None:
    unknown = best.unknown_words("There isntt a yellow sqquuare, isn't that so? The towwer has a blok and no itm.")
    expected = {"isntt": "isn't", "sqquuare": "square", "towwer": "tower", "blok": "block", "itm": "item"}
    assert {word: offers[0] for word, offers in unknown.items()} == expected, "signs and contractions are known"
    typed = {"sqaure", "bloxk", "trianlges", "yelloe", "ciircles", "exacrly", "bow"}
    assert typed & {*best.encoder.vocabulary.words}, "the corpus has misspellings"
    for judge in (best, veriscene.load("biatt-pointer")):
        assert typed.isdisjoint(judge.offers) and len(judge.offers) > 100


def test_a_program_that_compares_something_with_itself_is_no_reading(best: Judge) -> None:
    reader = best.reader
    assert reader is not None
    for text, is_read in (
        ("count(all_boxes[0]) > count(all_boxes[1])", True),
        ("count(all_items) > count(all_items)", False),
    ):
        numbers = [reader.tokens.index(token) for token in tokens_of(veriscene.parse(text))]
        assert (reader._program([0, *numbers, END]) is not None) is is_read


@pytest.mark.parametrize("text", [*NOT_ABOUT_A_SCENE, *NEGATIVE])
def test_what_is_not_about_a_scene_has_no_verdict(text: str, best: Judge, scenes: list[Scene]) -> None:
    for scene in scenes[:3]:
        verdict = best(text, scene)
        assert not verdict.understood and verdict.verdict is None
        assert json.loads(json.dumps(verdict.to_json()))["verdict"] is None


@pytest.mark.parametrize("word", ["13", "16", "sixteen", "twenty", "thirty", "99999999999999999999999"])
def test_a_large_number_is_read_as_itself_or_not_at_all(word: str, best: Judge, scenes: list[Scene]) -> None:
    for text in (f"There are {word} items.", f"At least {word} items are in the picture."):
        for verdict in map(checked, best([(text, scene) for scene in scenes])):
            assert verdict.verdict in (None, False)  # no scene has so many items in this test
    assert large_numbers(split_words("more than 16 percent")) == set() == large_numbers(split_words("12 or ten"))
    assert large_numbers(split_words("sixteen or 17")) == {16, 17}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("'There is a black circle.'", "There is a black circle."),
        ("**There is a black circle**", "There is a black circle"),
        ("There are 2-3 circles in the left box.", "There are 2 to 3 circles in the left box."),
        ("The left box has <3 circles.", "The left box has fewer than 3 circles."),
        ("The left box has ≥2 circles.", "The left box has at least 2 circles."),
    ],
)
def test_signs_are_read_as_words(text: str, plain: str, best: Judge, scenes: list[Scene]) -> None:
    assert best(text, scenes[0]).reading == best(plain, scenes[0]).reading is not None


@pytest.mark.parametrize("text", ["There are 2-3 circles.", "There are three blocks -2 of them black.", "2 - 2 - 1"])
def test_a_dash_is_no_sign(text: str) -> None:
    assert not has_negative_number(text)


def test_probabilities_do_not_depend_on_what_was_read_before(scenes: list[Scene]) -> None:
    """Where readings are not asked for, what the reader knows from another question is not used."""
    judge = veriscene.load("best")
    asked = [(text, scene) for text in ("There is a tower with 3 blocks.", "there are three boxes") for scene in scenes]
    first = [each.probability for each in judge.stream(asked, readings=False)]
    judge(asked)
    assert [each.probability for each in judge.stream(asked, readings=False)] == first


def together(seen: float, scene: Scene, *, is_new: bool = False, **reading: float) -> Verdict:
    """Returns the verdict for a program that is true, where the network alone has the probability `seen`."""
    values = {"certainty": 0.99, "dialect": 0.0, "outside": 0.0, **reading}
    verdict = Verdict(seen, None, None, None, {})
    return with_reading(
        verdict,
        Question("there is something", scene),
        Reading(veriscene.parse("exist(all_items)"), **values),
        is_new=is_new,
    )


def test_who_decides_and_what_counts_as_understood(scenes: list[Scene]) -> None:
    scene = scenes[0]
    assert together(0.01, scene).verdict is True  # plain English: the reader
    assert together(0.01, scene, dialect=1.0).verdict is False  # the corpus's dialect: the network,
    disputed = together(0.01, scene, dialect=1.0)
    assert disputed.disputed and 0.2 < disputed.probability < together(0.99, scene).probability
    assert together(0.01, scene, dialect=1.0, is_new=True).verdict is True  # unless it does not know a word
    assert together(0.9, scene, outside=0.4).verdict is None  # probably about something else
    assert together(0.9, scene, outside=0.05).verdict is True
    assert together(0.9, scene, certainty=0.2).verdict is None  # hardly understood,
    assert together(0.9, scene, certainty=0.2, dialect=1.0).verdict is True  # which does not matter to the network
    sure = [together(0.5, scene, certainty=certainty).probability for certainty in (0.4, 0.7, 0.9, 0.99)]
    assert sure == sorted(sure) and sure[0] < 0.7 and 0.9 < sure[-1] < 0.995


def test_a_typing_error_makes_no_new_word(best: Judge) -> None:
    assert isinstance(best, NetworkJudge)
    assert not best.has_new_words("There is a twoer with a blackk blok at the tpo.")
    assert not best.has_new_words("There is a tower; isn't it?")
    assert best.has_new_words("There is a hippopotamus on the tower.")


def test_a_reader_alone_is_a_judge(scenes: list[Scene]) -> None:
    judge = veriscene.load(find("best") / READER)
    assert isinstance(judge, ReaderJudge)
    statement = "the right box has more stuff than the left one"
    program = veriscene.parse(MEANINGS[statement])
    assert [judge(statement, scene).verdict for scene in scenes] == [program.holds(scene) for scene in scenes]
    assert judge("hello", scenes[0]).verdict is None


def test_a_file_that_is_no_reader_is_refused(tmp_path: Path) -> None:
    (tmp_path / "reader.safetensors").write_bytes(b"nothing")
    with pytest.raises(veriscene.InputError) as refused:
        veriscene.load(tmp_path / "reader.safetensors")
    assert refused.value.where is not None
