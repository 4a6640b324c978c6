"""Batches: which questions are judged together, and that they do not disturb one another."""

from __future__ import annotations

from typing import cast

import pytest

from small_models import EXAMPLES, judge_of
from veriscene.errors import InputError
from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.service.batching import Batcher, Busy

JUDGE = judge_of("torch", "biatt-pointer")
QUESTIONS = [Question(example.statement, example.scene) for example in EXAMPLES]


class NotedJudge:
    """Notes the lengths of the statements of each batch; cannot judge some, and breaks on others."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def __call__(self, questions: list[Question]) -> list[Verdict | InputError]:
        self.batches.append([len(question.statement) for question in questions])
        if any(question.statement == "break" for question in questions):
            raise RuntimeError
        return [InputError("", where="box 1") if each.statement == "fail" else JUDGE(each) for each in questions]


def batcher_of(judge: object, *, batch: int = 8, queue: int = 8, workers: int = 1) -> Batcher:
    return Batcher(cast(Judge, judge), batch=batch, queue=queue, workers=workers)


def test_a_question_that_cannot_be_judged_fails_alone() -> None:
    batcher = batcher_of(NotedJudge())
    futures = batcher.submit([QUESTIONS[0], Question("fail", QUESTIONS[1].scene), QUESTIONS[2]])
    batcher.close()
    with pytest.raises(InputError) as failed:
        futures[1].result(0)
    assert failed.value.where == "box 1"
    for number in (0, 2):
        assert futures[number].result(0).probability == pytest.approx(JUDGE(QUESTIONS[number]).probability, abs=1e-5)


def test_a_broken_judge_fails_its_batch_and_judges_the_next() -> None:
    batcher = batcher_of(NotedJudge(), batch=1)
    futures = batcher.submit([Question("break", QUESTIONS[1].scene), QUESTIONS[2]])
    batcher.close()
    assert isinstance(futures[0].exception(0), RuntimeError)
    assert futures[1].result(0).probability == JUDGE(QUESTIONS[2]).probability


def test_statements_of_similar_length_share_a_batch_and_the_oldest_goes_first() -> None:
    judge = NotedJudge()
    scene = QUESTIONS[0].scene
    batcher = batcher_of(judge, batch=2)
    batcher.submit([Question("a" * length, scene) for length in (9, 2, 10, 3, 30)])
    batcher.close()
    assert judge.batches == [[9, 10], [2, 3], [30]]


def test_cancelled_questions_are_not_judged_and_closing_answers_the_rest() -> None:
    judge = NotedJudge()
    batcher = batcher_of(judge, batch=4, queue=64, workers=0)  # nothing is judged yet
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
    with pytest.raises(Busy):
        batcher.submit(QUESTIONS[:2])
    assert len(batcher) == 2
    batcher.submit(QUESTIONS[:1])
    batcher.close()
    with pytest.raises(Busy):
        batcher.submit(QUESTIONS[:1])
