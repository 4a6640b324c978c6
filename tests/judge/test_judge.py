"""What every judge guarantees, on torch and on ONNX Runtime."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

import veriscene
from samples import random_scene
from small_models import EXAMPLES, STATEMENT, exported, judge_of, small_checkpoint
from veriscene import models
from veriscene.data.encoder import Input
from veriscene.data.vocabulary import tokenize
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.judge import STREAM_BATCH, Judge, Question, Verdict
from veriscene.judge.onnx_judge import OnnxJudge
from veriscene.world.examples import MAX_WORDS
from veriscene.world.scene import Box, Scene
from veriscene.worlds.nlvr.looks import WORLD

QUESTIONS = [(example.statement, example.scene) for example in EXAMPLES]
SCENE = EXAMPLES[0].scene


def assert_same(verdict: Verdict, expected: Verdict, *, probability: float = 1e-5, attention: float = 1e-5) -> None:
    assert verdict.probability == pytest.approx(expected.probability, abs=probability)
    assert verdict.per_box == pytest.approx(expected.per_box, abs=probability)
    assert verdict.order == expected.order and verdict.order_is_chosen == expected.order_is_chosen
    assert verdict.unknown_words == expected.unknown_words
    assert (verdict.attention is None) == (expected.attention is None)
    if verdict.attention is not None and expected.attention is not None:
        assert verdict.attention.words == expected.attention.words
        for name in ("words_to_items", "items_to_words"):
            mine, theirs = vars(verdict.attention)[name], vars(expected.attention)[name]
            assert (mine is None) == (theirs is None)
            for box, same in zip(mine or (), theirs or (), strict=True):
                assert np.shape(box) == np.shape(same) and np.allclose(box, same, rtol=0, atol=attention)


@pytest.mark.parametrize("name", [name for name, kind in models.MODELS.items() if Input.ITEMS in kind.inputs])
def test_torch_and_onnx_agree(name: str) -> None:
    reference, judge = judge_of("torch", name), judge_of("onnx", name)
    for verdict, expected in zip(judge(QUESTIONS), reference(QUESTIONS), strict=True):
        assert_same(verdict, expected, probability=1e-4, attention=1e-3)
    statement, scene = QUESTIONS[0]
    assert_same(judge(statement, scene), reference(statement, scene), probability=1e-4, attention=1e-3)


def test_a_model_that_was_left_in_training_mode_judges_without_dropout() -> None:
    checkpoint = small_checkpoint("biatt")
    for module in checkpoint.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.5
    judge = TorchJudge(checkpoint)
    expected = judge(*QUESTIONS[0])
    checkpoint.model.train()
    assert_same(judge(*QUESTIONS[0]), expected)


def test_an_exported_model_reads_the_letters_of_unknown_words() -> None:
    judge, reference = judge_of("onnx", "spatial"), judge_of("torch", "spatial")
    probabilities = []
    for statement in ("There is a yelow cirlce.", "There is a bleu cirlce.", "abcdefghijklmnopqrstuvwxyz"):
        found, expected = judge(statement, SCENE), reference(statement, SCENE)
        assert_same(found, expected, probability=1e-4, attention=1e-3)
        probabilities.append(found.probability)
    assert len(set(probabilities)) == len(probabilities)


@pytest.fixture(params=["torch", "onnx"])
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def judge(backend: str) -> Judge:
    return judge_of(backend, "biatt-pointer")


@pytest.mark.parametrize("name", ["biatt-pointer", "bidaf", "relation-net", "spatial"])
def test_all_ways_to_ask_give_the_same_verdict(backend: str, name: str) -> None:
    judge = judge_of(backend, name)
    alone = [judge(statement, scene) for statement, scene in QUESTIONS]
    questions = [Question(statement, scene) for statement, scene in QUESTIONS]
    ways: list[list[Verdict]] = [
        [judge(question) for question in questions],
        [judge(example) for example in EXAMPLES],
        [judge(pair) for pair in QUESTIONS],
        judge(questions),
        judge(EXAMPLES),
        list(judge(iter(QUESTIONS))),
        judge([(statement, WORLD.to_json_scene(scene)) for statement, scene in QUESTIONS]),
        list(judge.stream(iter(questions), batch=17)),
    ]
    for verdicts in ways:
        for verdict, expected in zip(verdicts, alone, strict=True):
            assert_same(verdict, expected)


@pytest.mark.parametrize("name", models.MODELS)
def test_every_map_of_a_model_is_returned(name: str) -> None:
    judge, kind = judge_of("torch", name), models.MODELS[name]
    for example in EXAMPLES[:10]:
        verdict = judge(example.statement, example.scene)
        counts = [len(box.items) if Input.ITEMS in kind.inputs else 100 for box in example.scene.boxes]  # or cells
        assert (verdict.order is None) == (kind.order is models.Order.NONE)
        assert verdict.order_is_chosen == (kind.order is models.Order.CHOSEN)
        if verdict.order is not None:
            assert [sorted(order) for order in verdict.order] == [list(range(count)) for count in counts]
        assert (verdict.attention is not None) == (name in ("bidaf", "biatt", "biatt-pointer", "cnn-biatt", "spatial"))
        if verdict.attention is None:
            continue
        words, maps = tokenize(example.statement), verdict.attention
        assert maps.words == words and maps.words_to_items is not None
        assert (maps.items_to_words is None) == (name == "bidaf")
        assert [np.shape(box) for box in maps.words_to_items] == [(len(words), count) for count in counts]
        for rows in (*maps.words_to_items, *(maps.items_to_words or ())):
            assert np.allclose(np.sum(rows, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("name", ["biatt", "biatt-pointer", "bidaf", "mlp", "spatial"])
def test_permuting_the_items_of_a_box_permutes_order_and_attention(backend: str, name: str) -> None:
    judge, rng = judge_of(backend, name), random.Random(5)
    scene = random_scene(rng)
    shuffles = [rng.sample(range(len(box.items)), len(box.items)) for box in scene.boxes]
    first, second, third = (
        Box(tuple(box.items[i] for i in shuffle)) for box, shuffle in zip(scene.boxes, shuffles, strict=True)
    )
    verdict, shuffled = judge(STATEMENT, scene), judge(STATEMENT, Scene((first, second, third)))
    assert shuffled.probability == pytest.approx(verdict.probability, abs=1e-6)
    for number, shuffle in enumerate(shuffles):
        if verdict.order is not None and shuffled.order is not None:
            assert [shuffle[i] for i in shuffled.order[number]] == verdict.order[number]
        if verdict.attention is None or shuffled.attention is None:
            continue
        if verdict.attention.words_to_items is not None and shuffled.attention.words_to_items is not None:
            ours = np.array(verdict.attention.words_to_items[number])[:, shuffle]
            assert np.allclose(ours, shuffled.attention.words_to_items[number], atol=1e-6)
        if verdict.attention.items_to_words is not None and shuffled.attention.items_to_words is not None:
            ours = np.array(verdict.attention.items_to_words[number])[shuffle]
            assert np.allclose(ours, shuffled.attention.items_to_words[number], atol=1e-6)


def test_a_pickled_judge_gives_the_same_verdicts(judge: Judge) -> None:
    copied = pickle.loads(pickle.dumps(judge))
    assert type(copied) is type(judge)
    for verdict, expected in zip(copied(QUESTIONS[:5]), judge(QUESTIONS[:5]), strict=True):
        assert_same(verdict, expected)
    assert pickle.loads(pickle.dumps(judge(*QUESTIONS[0]))) == judge(*QUESTIONS[0])


def test_a_pickled_onnx_judge_does_not_depend_on_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    path = exported("biatt-pointer")
    monkeypatch.chdir(path.parent)
    pickled = pickle.dumps(OnnxJudge.load(path.name))
    monkeypatch.chdir("/")
    assert_same(pickle.loads(pickled)(STATEMENT, SCENE), OnnxJudge.load(path)(STATEMENT, SCENE))


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ((None,), None),
        ((3,), None),
        (({},), "statement"),
        (((STATEMENT, 3),), "structured_rep"),
        ((None, None), None),
        (("There is a box.",), "structured_rep"),
        ((STATEMENT, 3), "structured_rep"),
        ((None, SCENE), "statement"),
        ((3, SCENE), "statement"),
        (("...", SCENE), "statement"),
        ((" ", SCENE), "statement"),
        ((" ".join(["box"] * (MAX_WORDS + 1)), SCENE), "statement"),
        ((STATEMENT, Scene((*SCENE.boxes[:2], Box(())))), None),
    ],
)
def test_malformed_questions_raise_one_line(judge: Judge, asked: tuple[Any, ...], where: str | None) -> None:
    with pytest.raises(InputError) as caught:
        judge(*asked)
    assert caught.value.where == where and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "record",
    [None, 3, [], {}, {"statement": STATEMENT}, {"scene": WORLD.to_json_scene(SCENE)}, {"statement": 3, "scene": []}],
)
def test_malformed_records_raise_input_errors(record: object) -> None:
    with pytest.raises(InputError):
        Question.from_json(record, WORLD)
    with pytest.raises(InputError):
        Question(STATEMENT, None)  # type: ignore[arg-type]


def test_both_spellings_of_a_record_are_read() -> None:
    scene = WORLD.to_json_scene(SCENE)
    ours, nlvrs = {"statement": STATEMENT, "scene": scene}, {"sentence": STATEMENT, "structured_rep": scene}
    assert Question.from_json(ours, WORLD) == Question.from_json(nlvrs, WORLD) == Question(STATEMENT, SCENE)


MALFORMED: list[Any] = [None, 3, STATEMENT, (STATEMENT, SCENE, 1), (STATEMENT, None), ("", SCENE), (STATEMENT, 3)]


def test_malformed_questions_keep_their_place_and_the_others_are_judged(judge: Judge) -> None:
    asked: list[Any] = [question for pair in zip(QUESTIONS, MALFORMED, strict=False) for question in pair]
    for answers in (judge(asked), list(judge(iter(asked))), list(judge.stream(asked, batch=3))):
        for answer, expected in zip(answers[::2], judge(QUESTIONS[: len(MALFORMED)]), strict=True):
            assert_same(answer, expected)
        assert all(isinstance(answer, InputError) for answer in answers[1::2])
    assert all(isinstance(answer, InputError) for answer in judge(MALFORMED))


def test_scenes_of_arrays_are_read_as_those_of_lists(judge: Judge) -> None:
    """As pandas.read_parquet returns them."""
    boxes = np.empty(3, dtype=object)
    for number, items in enumerate(WORLD.to_json_scene(SCENE)):
        boxes[number] = np.empty(len(items), dtype=object)
        boxes[number][:] = [{key: np.int64(v) if type(v) is int else v for key, v in item.items()} for item in items]
    for shown in (boxes, list(boxes)):
        assert Question.of(STATEMENT, shown, WORLD) == Question(STATEMENT, SCENE)
        assert_same(judge(STATEMENT, shown), judge(STATEMENT, SCENE))


def test_a_question_by_name_is_that_of_a_pair(judge: Judge) -> None:
    verdict = judge(STATEMENT, SCENE)
    for scene in (SCENE, WORLD.to_json_scene(SCENE)):
        assert_same(judge({"statement": STATEMENT, "scene": scene}), verdict)
    first, second = judge([{"statement": STATEMENT}, {"statement": STATEMENT, "scene": SCENE}])
    assert isinstance(first, InputError)
    assert_same(second, verdict)


def test_a_statement_with_too_much_is_one_malformed_question(judge: Judge) -> None:
    with pytest.raises(InputError):
        judge((STATEMENT, SCENE, "more"))


def test_two_questions_are_not_a_pair(judge: Judge) -> None:
    for pair in (QUESTIONS[:2], tuple(EXAMPLES[:2]), tuple(QUESTIONS[:2])):
        assert [verdict.probability for verdict in judge(pair)] == pytest.approx(
            [judge(*question).probability for question in QUESTIONS[:2]]
        )


def test_a_stream_takes_no_more_than_a_batch(judge: Judge) -> None:
    taken = []

    def endless() -> Iterator[tuple[str, Scene]]:
        while True:
            taken.append(1)
            yield STATEMENT, SCENE

    next(judge.stream(endless(), batch=4))
    assert len(taken) == 4
    next(judge(endless()))
    assert len(taken) == 4 + STREAM_BATCH
    with pytest.raises(InputError):
        next(judge.stream([], batch=0))


def test_unknown_words_are_listed_with_the_nearest_known_ones(judge: Judge) -> None:
    assert judge(STATEMENT, SCENE).unknown_words == {}
    verdict = judge("There is a yelow circel qqq.", SCENE)
    assert list(verdict.unknown_words) == ["yelow", "circel", "qqq"]
    assert verdict.unknown_words["yelow"][0] == "yellow" and verdict.unknown_words["circel"][0] == "circle"
    assert verdict.unknown_words["qqq"] == []
    record = json.loads(json.dumps(verdict.to_json(attention=True)))
    assert record["unknown_words"] == verdict.unknown_words and record["attention"]["words"][3] == "yelow"


def test_box_scores_are_shown_only_where_they_decide() -> None:
    for pooling in ("max", "mean", "joint", "lstm"):
        verdict = TorchJudge(small_checkpoint("biatt", pooling=pooling))(STATEMENT, SCENE)
        assert (verdict.per_box is None) == (pooling in ("joint", "lstm"))
        if pooling == "max" and verdict.per_box is not None:
            assert verdict.probability == max(verdict.per_box)


def test_load_takes_folders_files_and_devices(tmp_path: Path) -> None:
    checkpoints.save(tmp_path / "best", small_checkpoint("biatt-pointer"))
    expected = judge_of("torch", "biatt-pointer")(STATEMENT, SCENE)
    for model in (tmp_path, exported("biatt-pointer")):
        assert_same(veriscene.load(model, device="cpu")(STATEMENT, WORLD.to_json_scene(SCENE)), expected)
    meta = veriscene.load(tmp_path, device="meta")
    assert isinstance(meta, TorchJudge) and meta.checkpoint.device.type == "meta"
    with pytest.raises(InputError):
        veriscene.load(tmp_path, device="nonsense")
    with pytest.raises(InputError):
        veriscene.load(exported("biatt-pointer"), device="cuda")
