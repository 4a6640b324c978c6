"""Batches: which questions are judged together, and that they do not disturb one another."""

from __future__ import annotations

import pytest

from small_models import EXAMPLES, judge_of
from veriscene.errors import InputError
from veriscene.judge.judge import Answer, Judge, Question
from veriscene.service.batching import Batcher
from veriscene.service.limits import Busy

JUDGE = judge_of("torch", "biatt-pointer")
QUESTIONS = [Question(example.statement, example.scene) for example in EXAMPLES]


class NotedJudge(Judge):
    """Notes the lengths of the statements of each batch; fails on some."""

    encoder, order = JUDGE.encoder, JUDGE.order

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def _judge(self, questions: list[Question]) -> list[Answer]:
        self.batches.append([len(question.statement) for question in questions])
        failure = InputError("no items were recognised", where="box 1")
        return [
            failure if question.statement == "fail" else answer
            for question, answer in zip(questions, JUDGE(questions), strict=True)
        ]


def test_a_question_that_cannot_be_judged_fails_alone() -> None:
    batcher = Batcher(NotedJudge(), batch=8, queue=8)
    futures = batcher.submit([QUESTIONS[0], Question("fail", QUESTIONS[1].scene), QUESTIONS[2]])
    batcher.close()
    with pytest.raises(InputError):
        futures[1].result(0)
    for number in (0, 2):
        assert futures[number].result(0).probability == pytest.approx(JUDGE(QUESTIONS[number]).probability, abs=1e-5)


def test_statements_of_similar_length_share_a_batch_and_the_oldest_goes_first() -> None:
    judge = NotedJudge()
    scene = QUESTIONS[0].scene
    batcher = Batcher(judge, batch=2, queue=8)
    batcher.submit([Question("a" * length, scene) for length in (9, 2, 10, 3, 30)])
    batcher.close()
    assert judge.batches == [[9, 10], [2, 3], [30]]


def test_cancelled_questions_are_not_judged_and_closing_answers_the_rest() -> None:
    judge = NotedJudge()
    batcher = Batcher(judge, batch=4, queue=64, workers=0)  # nothing is judged yet
    futures = batcher.submit(QUESTIONS)
    for future in futures[::2]:
        assert future.cancel()
    batcher.start(2)
    batcher.close()
    assert all(future.done() for future in futures) and sum(map(len, judge.batches)) == len(QUESTIONS) // 2
    assert [f.result(0).probability for f in futures[1::2]] == pytest.approx(
        [JUDGE(question).probability for question in QUESTIONS[1::2]], abs=1e-5
    )


def test_questions_beyond_the_queue_are_refused_together() -> None:
    batcher = Batcher(JUDGE, batch=4, queue=3, workers=0)
    batcher.submit(QUESTIONS[:2])
    with pytest.raises(Busy, match="waiting"):
        batcher.submit(QUESTIONS[:2])
    assert len(batcher) == 2
    batcher.submit(QUESTIONS[:1])
    batcher.close()
    with pytest.raises(Busy, match="shutting down"):
        batcher.submit(QUESTIONS[:1])
