from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch

import veriscene
from samples import random_scene, yellow_circle_examples
from veriscene import models
from veriscene.config import Config, DataConfig, ModelConfig
from veriscene.errors import InputError
from veriscene.scenes.scene import Box, Scene, scene_to_json
from veriscene.serving import lines
from veriscene.serving.judge import Judge
from veriscene.tensors.vocabulary import Vocabulary, tokenize
from veriscene.training import checkpoint as checkpoints
from veriscene.training.checkpoint import Checkpoint

EXAMPLES = yellow_circle_examples(12)
STATEMENT = "There is a yellow circle."


def judge_of(name: str, order: str = "random") -> Judge:
    torch.manual_seed(3)
    vocabulary = Vocabulary.of((example.statement for example in EXAMPLES), minimum_count=1)
    sizes = ModelConfig(name=name, embedding=4, hidden=3, item=4, joint=6, mlp=5)
    model = models.build(sizes, vocabulary=vocabulary)
    return Judge(Checkpoint(model, Config(model=sizes, data=DataConfig(order=order)), vocabulary, {}))


@pytest.fixture(params=["bienc", "biatt", "biatt-pointer"])
def judge(request: pytest.FixtureRequest) -> Judge:
    return judge_of(request.param)


def test_a_stream_gives_what_single_questions_give(judge: Judge) -> None:
    questions = [(example.statement, example.scene) for example in EXAMPLES]
    streamed = list(judge.stream(iter(questions), batch=5))
    for (statement, scene), verdict in zip(questions, streamed, strict=True):
        alone = judge(statement, scene)
        assert alone.order == verdict.order
        assert alone.probability == pytest.approx(verdict.probability, abs=1e-5)
        assert alone.per_box == pytest.approx(verdict.per_box, abs=1e-5)


def test_a_stream_takes_no_more_than_it_needs(judge: Judge) -> None:
    taken = []

    def endless():  # type: ignore[no-untyped-def]
        while True:
            taken.append(1)
            yield STATEMENT, EXAMPLES[0].scene

    next(judge.stream(endless(), batch=4))
    assert len(taken) == 4


def test_a_model_that_reads_in_no_order_tells_none() -> None:
    verdict = judge_of("relation-net")(STATEMENT, EXAMPLES[0].scene)
    assert verdict.order is None and verdict.to_json()["order"] is None
    assert len(verdict.per_box) == 3


@pytest.mark.parametrize("name", ["bienc", "biatt", "biatt-pointer"])
def test_only_a_pointer_chooses_its_order(name: str) -> None:
    verdict = judge_of(name)(STATEMENT, EXAMPLES[0].scene)
    assert verdict.order_is_chosen is (name == "biatt-pointer")


def test_orders_are_permutations_and_attention_rows_sum_to_one(judge: Judge) -> None:
    for example in EXAMPLES:
        verdict = judge(example.statement, example.scene)
        for box, order in zip(example.scene.boxes, verdict.order, strict=True):
            assert sorted(order) == list(range(len(box.items)))
        if verdict.attention is None:
            continue
        assert verdict.attention.words == tokenize(example.statement)
        for maps in (verdict.attention.words_to_items, verdict.attention.items_to_words):
            assert all(sum(row) == pytest.approx(1, abs=1e-5) for box in maps for row in box)
        assert [len(rows[0]) for rows in verdict.attention.words_to_items] == [
            len(b.items) for b in example.scene.boxes
        ]


def test_attention_follows_the_items_however_the_file_lists_them() -> None:
    """The same scene with its items listed in another order: same probability, maps permuted along."""
    judge, rng = judge_of("biatt-pointer"), random.Random(5)
    scene = random_scene(rng)
    shuffles = [rng.sample(range(len(box.items)), len(box.items)) for box in scene.boxes]
    first, second, third = (
        Box(tuple(box.items[i] for i in shuffle)) for box, shuffle in zip(scene.boxes, shuffles, strict=True)
    )
    verdict, shuffled = judge(STATEMENT, scene), judge(STATEMENT, Scene((first, second, third)))
    assert shuffled.probability == pytest.approx(verdict.probability, abs=1e-6)
    assert verdict.attention is not None and shuffled.attention is not None
    for number, shuffle in enumerate(shuffles):
        assert [shuffle[i] for i in shuffled.order[number]] == verdict.order[number]
        for row, same in zip(
            verdict.attention.words_to_items[number], shuffled.attention.words_to_items[number], strict=True
        ):
            assert same == pytest.approx([row[i] for i in shuffle], abs=1e-6)


def test_load_gives_a_judge_and_takes_plain_json(tmp_path: Path) -> None:
    judge = judge_of("biatt")
    checkpoints.save(tmp_path / "best", judge.checkpoint)
    loaded = veriscene.load(tmp_path)
    scene = EXAMPLES[0].scene
    assert loaded(STATEMENT, scene_to_json(scene)).probability == judge(STATEMENT, scene).probability
    with pytest.raises(InputError, match="not blank"):
        loaded(" ", scene)


def test_lines_answer_each_question_and_name_the_bad_one() -> None:
    judge = judge_of("biatt")
    good = {"identifier": "7-1", "sentence": STATEMENT, "structured_rep": scene_to_json(EXAMPLES[0].scene)}
    stream = [json.dumps(good).encode(), b"\n", b'{"statement": "There is a box."}']
    answers = lines.answers(judge, stream)
    assert next(answers)["identifier"] == "7-1"
    with pytest.raises(InputError, match="standard input, line 3: structured_rep"):
        next(answers)
    for bad in (b"[1]", b"{", b'{"sentence": 3, "structured_rep": []}', b"\xff\xfe"):
        with pytest.raises(InputError, match="standard input, line 1"):
            next(lines.answers(judge, [bad]))
