"""A judge's verdicts on examples, in one process or many."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from veriscene.data.encoder import Input
from veriscene.errors import InputError
from veriscene.judge.judge import EyesJudge, Judge, Question, Verdict, checked
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import Scores
from veriscene.metrics.judged import Judged
from veriscene.output import Progress, silent
from veriscene.world.examples import Example

if TYPE_CHECKING:
    from accelerate import Accelerator

T = TypeVar("T")
BATCH = 2048
MAX_NAMED = 10  # unreadable examples that an error names one by one


def evaluate(judge: Judge, examples: Sequence[Example]) -> Scores:
    """Returns accuracy with its 95 % interval, and consistency, on labelled examples; in this process, on the judge's
    device.

    scores = evaluate(veriscene.load("best"), veriscene.read("dev.json"))
    """
    answers = map(checked, judge(examples))
    verdicts = {example.identifier: answer.verdict for example, answer in zip(examples, answers, strict=True)}
    return metrics.score(examples, verdicts)


def probabilities(
    judge: Judge,
    examples: Sequence[Example],
    accelerator: Accelerator | None = None,
    progress: Progress = silent,
) -> dict[str, float]:
    """Returns the probability of truth by identifier, for each example exactly once, in the order of the file; NaN for
    a statement that was not understood. Of an example with a picture, the picture is judged, not the scene.

    Pictures that cannot be read are found before anything is judged, and one InputError names them all; likewise, in
    the end, those in which nothing was recognised. Processes share the examples, and the result does not depend on
    their number. Statements of similar length share a batch, to save padding. Without an `accelerator` there is one.
    """
    rank, processes = (0, 1) if accelerator is None else (accelerator.process_index, accelerator.num_processes)
    by_length = sorted(range(len(examples)), key=lambda number: len(examples[number].statement))
    mine = by_length[rank::processes]
    questions: dict[int, Question | Example] = {number: examples[number] for number in mine}
    failed: list[InputError] = []
    for number in mine:
        if examples[number].picture is not None:
            try:
                question = judge.prepare(Question.about(examples[number], judge.world))
            except InputError as error:
                failed.append(_named(error, examples[number]))
            else:
                if question.picture is None:  # pictures are read again: all of them at once may not fit into memory
                    questions[number] = question
    _raise_together(failed, processes)
    judged: list[tuple[int, float]] = []
    answers = judge.stream(questions.values(), batch=BATCH, maps=False, readings=False)
    for done, (number, answer) in enumerate(zip(mine, answers, strict=True), 1):
        if isinstance(answer, InputError):
            failed.append(_named(answer, examples[number]))
        else:
            judged.append((number, answer.probability if answer.understood else nan))
        progress(min(done * processes, len(examples)), len(examples))
    _raise_together(failed, processes)
    by_number = dict(_gathered(judged, processes))
    return {example.identifier: by_number[number] for number, example in enumerate(examples)}


def verdict_of(probability: float) -> bool | None:
    """Returns the verdict for one of `probabilities`; None for a statement that was not understood."""
    return None if isnan(probability) else probability > 0.5


def judged(judge: Judge, examples: Sequence[Example]) -> list[Judged]:
    """Returns the examples, in their order, with verdict and, where the model reads the scene's items, attention and
    the order that it chose. What eyes see in a picture are other items, and a feature map has none."""
    sees = isinstance(judge, EyesJudge)
    found = []
    for example, answer in zip(examples, judge.stream(examples), strict=True):
        verdict = answer if isinstance(answer, Verdict) else checked(_named(answer, example))
        reads_items = Input.ITEMS in judge.encoder.inputs and not (sees and example.picture is not None)
        attention = verdict.attention if reads_items else None
        found.append(
            Judged(
                example=example,
                probability=verdict.probability,
                per_box=verdict.per_box,
                order=verdict.order if reads_items and verdict.order_is_chosen else None,
                words=None if attention is None else attention.words,
                words_to_items=None if attention is None else attention.words_to_items,
                items_to_words=None if attention is None else attention.items_to_words,
            )
        )
    return found


def _named(error: InputError, example: Example) -> InputError:
    """Returns the error at the example's picture file, unless it already names it, or at the example."""
    place = str(example.picture) if isinstance(example.picture, Path) else example.identifier
    return error if str(error.where).startswith(place) else error.at(place)


def _gathered(values: list[T], processes: int) -> list[T]:
    """Joins the lists of all processes."""
    if processes == 1:
        return values
    from accelerate.utils import gather_object

    joined: list[T] = gather_object(values)
    return joined


def _raise_together(errors: list[InputError], processes: int) -> None:
    """Raises one error that names the places of all, those of other processes included, in every process."""
    found = _gathered([(error.what, str(error.where), error.allowed) for error in errors], processes)
    if len(found) == 1:
        ((what, where, allowed),) = found
        raise InputError(what, where=where, allowed=allowed)
    if found:
        places = ", ".join(sorted(where for _, where, _ in found)[:MAX_NAMED])
        more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        what, _, allowed = found[0]
        raise InputError(f"cannot be judged ({what})", where=places + more, allowed=allowed)
