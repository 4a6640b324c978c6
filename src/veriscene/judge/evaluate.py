"""A judge's verdicts on examples, in one process or many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from accelerate import Accelerator

from veriscene.data.encoder import Input
from veriscene.errors import InputError
from veriscene.judge.eyes import EyesJudge
from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import Scores
from veriscene.metrics.judged import Judged
from veriscene.models.base import INFERENCE_BATCH
from veriscene.training.distributed import gathered
from veriscene.worlds.nlvr.corpus import Example


def evaluate(judge: Judge, examples: Sequence[Example]) -> Scores:
    """Accuracy with its 95 % interval, and consistency, on labelled examples; in this process, on the judge's device.

    scores = evaluate(veriscene.load("best"), nlvr.read("dev.json"))
    """
    verdicts = {example.identifier: verdict.verdict for example, verdict in zip(examples, judge(examples), strict=True)}
    return metrics.score(examples, verdicts)


def probabilities(
    judge: Judge,
    examples: Sequence[Example],
    accelerator: Accelerator,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, float]:
    """The probability of truth by identifier, for each example exactly once, in the order of the file. Of an example
    with a picture, the picture is judged, not the scene.

    Processes share the examples, and the result does not depend on their number. Statements of similar length share a
    batch, to save padding.
    """
    world = accelerator.num_processes
    by_length = sorted(range(len(examples)), key=lambda number: len(examples[number].statement))
    mine = by_length[accelerator.process_index :: world]
    questions = (_question(judge, examples[number]) for number in mine)
    judged: list[tuple[int, float]] = []
    for number, verdict in zip(mine, judge.stream(questions, batch=INFERENCE_BATCH), strict=True):
        judged.append((number, verdict.probability))
        progress(min(len(judged) * world, len(examples)), len(examples))
    judged = gathered(accelerator, judged)
    by_number = dict(judged)
    if len(judged) != len(examples) or len(by_number) != len(examples):
        raise InputError(f"{len(judged)} judgements for {len(examples)} examples; each must be judged exactly once")
    return {example.identifier: by_number[number] for number, example in enumerate(examples)}


def judged(judge: Judge, examples: Sequence[Example]) -> list[Judged]:
    """The examples, in their order, with verdict and, where the model reads the scene's items, attention and the order
    that it chose. What eyes see are other items, and a feature map has none."""
    reads_items = Input.ITEMS in judge.encoder.inputs and not isinstance(judge, EyesJudge)
    verdicts = judge.stream(_question(judge, example) for example in examples)
    return [_judged(example, verdict, reads_items) for example, verdict in zip(examples, verdicts, strict=True)]


def _judged(example: Example, verdict: Verdict, reads_items: bool) -> Judged:
    attention = verdict.attention if reads_items else None
    return Judged(
        example=example,
        probability=verdict.probability,
        per_box=verdict.per_box,
        order=verdict.order if reads_items and verdict.order_is_chosen else None,
        words=None if attention is None else attention.words,
        words_to_items=None if attention is None else attention.words_to_items,
        items_to_words=None if attention is None else attention.items_to_words,
    )


def _question(judge: Judge, example: Example) -> Question:
    """In the form that the model reads, so that an error names the picture's file."""
    question = Question.about(example)
    try:
        return judge.readable(question)
    except InputError as error:
        raise error.at(example.picture) if isinstance(example.picture, Path) else error from None
