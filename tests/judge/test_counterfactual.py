"""Flips really flip, have as few edits as possible, and cost no more judgements than allowed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

import veriscene
from samples import drawn_scene
from small_models import EXAMPLES, STATEMENT, judge_of
from veriscene.errors import InputError
from veriscene.judge.explain import explain, find_flip
from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.language.program import Program
from veriscene.models import Order
from veriscene.world.edits import Edit, edits, name
from veriscene.world.scene import Box, Scene
from veriscene.worlds import parse
from veriscene.worlds.nlvr import grammar, raster
from veriscene.worlds.nlvr.looks import SCENE_KINDS, WORLD, Color, Shape, Size, make_item

CIRCLE = make_item(40, 10, Size.MEDIUM, Shape.CIRCLE, Color.BLUE)
SINGLES = Scene((Box((CIRCLE,)),) * 3)
BLOCKS = [make_item(40, y, Size.MEDIUM, Shape.SQUARE, color) for y, color in ((80, Color.BLUE), (59, Color.BLACK))]
TOWERS = Scene((Box(tuple(BLOCKS)),) * 3)
TWO_YELLOW = "count(filter_obj(all_items, lambda x: is_yellow(x))) == 2"
NEVER = "count(all_items) == 0"


class StubJudge(Judge):
    """Gives each scene the probability that a function says, and counts what it is asked."""

    order, world = Order.NONE, WORLD

    def __init__(self, probability: Callable[[Scene], float]) -> None:
        self.probability, self.asked = probability, 0

    @classmethod
    def of(cls, program: Program) -> StubJudge:
        return cls(lambda scene: 0.9 if program.holds(scene) else 0.1)

    def prepare(self, question: Question) -> Question:
        return question

    def _judge(self, questions: list[Question], *, maps: bool = True, readings: bool = True) -> list[Verdict]:
        self.asked += len(questions)
        scenes = [question.scene for question in questions if question.scene is not None]
        return [Verdict(self.probability(scene), None, None, None, {}) for scene in scenes]


def follow(scene: Scene, steps: tuple[Edit, ...]) -> Scene:
    """The scene after these edits, one after the other."""
    for edit in steps:
        scene = dict(edits(WORLD, scene))[edit]
    return scene


@pytest.mark.parametrize("seed", range(15, 25))  # of flips with one edit, with two, and none
def test_a_flip_has_as_few_edits_as_possible(seed: int) -> None:
    rng = random.Random(seed)
    statement = grammar.draw(rng)
    scene = drawn_scene(rng.getrandbits(32), statement.kind)
    truth = statement.program.holds(scene)
    found = find_flip(StubJudge.of(statement.program), Question(statement.text, scene))
    by_one_edit = any(statement.program.holds(edited) != truth for _, edited in edits(WORLD, scene))
    if by_one_edit:
        assert found.flip is not None and len(found.flip.edits) == 1
    if found.flip is not None:
        assert len(found.flip.edits) == (1 if by_one_edit else 2)
        assert statement.program.holds(found.flip.scene) != truth
        assert follow(scene, found.flip.edits) == found.flip.scene
        assert WORLD.parse(WORLD.to_json_scene(found.flip.scene)) == found.flip.scene


def test_two_edits_are_combined_if_one_is_not_enough() -> None:
    """By towers, of which all scenes with up to two edits can be judged."""
    judge = StubJudge.of(parse(TWO_YELLOW))
    flip = find_flip(judge, Question(STATEMENT, TOWERS), most_judgements=10_000).flip
    assert flip is not None and [edit.kind for edit in flip.edits] == ["change", "change"]
    assert [edit.attribute for edit in flip.edits] == ["color", "color"]
    assert all(edit.text in flip.text for edit in flip.edits)
    alone = find_flip(judge, Question(STATEMENT, TOWERS), most_edits=1)
    assert alone.flip is None and alone.complete


def test_promising_edits_are_combined_first() -> None:
    """A probability that grows with the number of yellow items leads the search to them."""
    judge = StubJudge(lambda scene: 0.2 + 0.2 * sum(item["color"] == Color.YELLOW for item in scene.items))
    singles = len(list(edits(WORLD, SINGLES)))
    found = find_flip(judge, Question(STATEMENT, SINGLES), most_judgements=singles + 1 + 64)
    assert found.flip is not None and all(
        edit.after is not None and edit.after["color"] == Color.YELLOW for edit in found.flip.edits
    )


def test_what_was_read_tells_which_edits_to_combine() -> None:
    """Of a judge whose probability leads nowhere, a flip with two edits is found among the first that are judged."""
    program, singles = parse(TWO_YELLOW), len(list(edits(WORLD, SINGLES)))

    class ReadingJudge(StubJudge):
        def program(self, statement: str) -> Program:
            return program

    question, most = Question(STATEMENT, SINGLES), singles + 1 + 64
    found = find_flip(ReadingJudge.of(program), question, most_judgements=most)
    assert found.flip is not None and len(found.flip.edits) == 2 and program.holds(found.flip.scene)
    blind = ReadingJudge(lambda scene: 0.9)  # its verdict is against what was read, which is then of no use
    assert find_flip(blind, question, most_judgements=most).flip is None


@pytest.mark.parametrize(
    "statement", ["most items are black", "All items in box 1 are blue.", "There is a box with 3 items of one color."]
)
def test_the_service_finds_two_items_to_recolour(statement: str) -> None:
    """The network sees little gain in the first of the two edits."""
    looks = [(Size.LARGE, Shape.SQUARE), (Size.MEDIUM, Shape.CIRCLE), (Size.SMALL, Shape.TRIANGLE)]
    places, colors = [(5, 10), (55, 10), (60, 60)], [Color.BLUE, Color.YELLOW, Color.BLACK]
    box = Box(tuple(make_item(*at, *look, color) for at, look, color in zip(places, looks, colors, strict=True)))
    found = find_flip(veriscene.load("best"), Question(statement, Scene((box,) * 3)), most_judgements=500)
    assert found.flip is not None and [edit.attribute for edit in found.flip.edits] == ["color", "color"]


def test_judgements_are_kept_for_two_edits_if_a_program_was_read() -> None:
    program, singles = parse(TWO_YELLOW), len(list(edits(WORLD, SINGLES)))

    class ReadingJudge(StubJudge):
        def program(self, statement: str) -> Program:
            return program

    found = find_flip(ReadingJudge.of(program), Question(STATEMENT, SINGLES), most_judgements=singles - 20)
    assert found.flip is not None and len(found.flip.edits) == 2 and program.holds(found.flip.scene)


@pytest.mark.parametrize("most", [1, 2, 10, 100, 700])
def test_no_more_judgements_than_allowed_and_the_search_says_when_it_gives_up(most: int) -> None:
    judge = StubJudge.of(parse(NEVER))
    found = find_flip(judge, Question(STATEMENT, SINGLES), most_judgements=most)
    assert found.flip is None and not found.complete
    assert judge.asked == found.judgements == most


def test_the_search_says_when_nothing_flips() -> None:
    judge = StubJudge.of(parse(NEVER))
    found = find_flip(judge, Question(STATEMENT, TOWERS), most_judgements=10_000)
    assert found.flip is None and found.complete and judge.asked == found.judgements < 10_000
    one, two = (
        {drawn for parent in parents for _, drawn in edits(WORLD, parent)}
        for parents in ([TOWERS], [edited for _, edited in edits(WORLD, TOWERS)])
    )
    assert found.judgements == len(one | two | {TOWERS})  # each once


def test_the_smallest_clear_change_is_preferred() -> None:
    """Blue circles and small ones flip, and so do those that touch the floor; blue ones barely."""

    def probability(scene: Scene) -> float:
        item = scene.boxes[1].items[0]
        barely = 0.55 if item["color"] == Color.BLACK else 0.0
        return max(barely, 0.9 * (item.y == 0), 0.8 * (item.x == 0), 0.1)

    found = find_flip(StubJudge(probability), Question(STATEMENT, SINGLES)).flip
    assert found is not None and found.edits[0].kind == "move" and found.text.endswith("box 2 to the top wall")
    without_clear = find_flip(StubJudge(lambda scene: min(probability(scene), 0.55)), Question(STATEMENT, SINGLES)).flip
    assert without_clear is not None and without_clear.text == "paint the blue circle in box 2 black"


def test_a_models_flips_are_found_again_and_flip_again() -> None:
    judge, rng, flips = veriscene.load("best"), random.Random(1), 0
    for kind in SCENE_KINDS * 2:
        question = Question(
            "There is a box with a yellow item above a blue item.", drawn_scene(rng.getrandbits(32), kind)
        )
        found = find_flip(judge, question, most_edits=1)
        assert found == find_flip(judge, question, most_edits=1)
        assert found.verdict == judge(question)
        if found.flip is not None:
            again = judge(question.statement, found.flip.scene)
            assert again.verdict == found.flip.verdict.verdict != found.verdict.verdict
            flips += 1
    assert flips >= 2


def test_the_wire_format() -> None:
    found = find_flip(StubJudge.of(parse(TWO_YELLOW)), Question(STATEMENT, TOWERS), most_judgements=10_000)
    record = json.loads(json.dumps(found.to_json()))
    assert record.keys() == {"verdict", "counterfactual", "searched"}
    assert record["searched"] == {"judgements": found.judgements, "complete": True}
    flip = record["counterfactual"]
    assert flip.keys() == {"scene", "edits", "verdict", "text"} and WORLD.parse(flip["scene"])
    assert all(edit.keys() == {"kind", "attribute", "box", "before", "after", "text"} for edit in flip["edits"])
    assert all(edit["before"] in WORLD.to_json_scene(TOWERS)[edit["box"]] for edit in flip["edits"])
    assert all(edit["after"] in flip["scene"][edit["box"]] for edit in flip["edits"])


@pytest.mark.parametrize("limits", [{"most_edits": 0}, {"most_judgements": 0}])
def test_limits_are_positive(limits: dict[str, int]) -> None:
    with pytest.raises(InputError):
        find_flip(StubJudge.of(parse(NEVER)), Question(STATEMENT, SINGLES), **limits)


@pytest.mark.parametrize("as_picture", [False, True])
def test_an_explanation_names_the_items_that_were_read(as_picture: bool) -> None:
    example = EXAMPLES[0]
    asked = raster.pixels(example.scene)[..., :3] if as_picture else example.scene
    explained = explain(judge_of("torch", "biatt-pointer"), Question.of(STATEMENT, asked, WORLD), most_judgements=50)
    verdict = explained.search.verdict
    assert explained.text.startswith(f"{str(verdict.verdict).lower()} (probability {verdict.probability:.3f})")
    assert verdict.order is not None
    for number, box in enumerate(explained.scene.boxes):
        assert set(box.items) == set(example.scene.boxes[number].items)
        items = ", ".join(name(WORLD, box.items[index], box.items) for index in verdict.order[number])
        assert f"items in the order chosen: {items}" in explained.text
    assert ("if you" in explained.text) == (explained.search.flip is not None)
    assert explained.svg.count("<svg") == (2 if explained.search.flip is None else 3)


def test_what_eyes_see_is_explained() -> None:
    scene = drawn_scene(2, "scatter")
    explained = explain(veriscene.load("best-pixels"), Question(STATEMENT, scene), most_edits=1, most_judgements=20)
    assert [set(box.items) for box in explained.scene.boxes] == [set(box.items) for box in scene.boxes]


@pytest.mark.parametrize("name", ["cnn-rnn", "maxent", "bienc"])
def test_models_without_attention_or_items_are_explained_too(name: str) -> None:
    explained = explain(judge_of("torch", name), Question(STATEMENT, TOWERS), most_edits=1, most_judgements=20)
    assert explained.text.startswith(("true", "false")) and "attention" not in explained.text
