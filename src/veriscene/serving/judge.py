"""judge(statement, scene) -> Verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from veriscene.errors import InputError
from veriscene.models import chooses_order, reads_in_order
from veriscene.models.base import Judgement
from veriscene.scenes.nlvr import Example
from veriscene.scenes.scene import Scene, parse_scene
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import tokenize
from veriscene.training.checkpoint import Checkpoint

STREAM_BATCH = 64


@dataclass(frozen=True)
class Attention:
    """Rows sum to one. Items stand in the order of the scene, boxes outermost."""

    words: list[str]
    words_to_items: list[list[list[float]]]  # [box][word][item]: alpha of equation 4
    items_to_words: list[list[list[float]]]  # [box][item][word]: beta of equation 7


@dataclass(frozen=True)
class Verdict:
    probability: float  # that the statement is true of the scene
    per_box: list[float]  # the probability if all three boxes looked like this one
    order: list[list[int]] | None  # per box, the items' numbers as the model read them; None if it reads in no order
    attention: Attention | None  # None for models that do not attend
    order_is_chosen: bool = False  # by a pointer network; else the items were read as they came

    @property
    def verdict(self) -> bool:
        return self.probability > 0.5

    def to_json(self, *, attention: bool = False) -> dict[str, Any]:
        record: dict[str, Any] = {
            "probability": self.probability,
            "verdict": self.verdict,
            "per_box": self.per_box,
            "order": self.order,
        }
        if attention and self.attention is not None:
            record["attention"] = asdict(self.attention)
        return record


class Judge:
    """A checkpoint that answers."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint

    def __call__(self, statement: str, scene: Scene | list[Any]) -> Verdict:
        """Is the statement true of the scene? The scene is a Scene or NLVR's `structured_rep`."""
        return next(self.stream([(statement, scene)]))

    def stream(
        self, questions: Iterable[tuple[str, Scene | list[Any]]], *, batch: int = STREAM_BATCH
    ) -> Iterator[Verdict]:
        """One verdict for each question, in order; questions are taken `batch` at a time, never all at once."""
        if batch < 1:
            raise InputError(f"batch={batch} questions cannot be taken at a time; it must be at least 1")
        waiting = iter(questions)
        model = self.checkpoint.model
        while chunk := [example_of(*question) for question in islice(waiting, batch)]:
            tensors = self.checkpoint.encode(chunk)
            with torch.inference_mode():
                judgement: Judgement = model.eval()(tensors)
            for number, example in enumerate(chunk):
                verdict = _verdict(number, example, tensors, judgement, order_is_chosen=chooses_order(model))
                yield verdict if reads_in_order(model) else replace(verdict, order=None)


def example_of(statement: str, scene: Scene | list[Any]) -> Example:
    if not isinstance(statement, str) or not statement.strip():
        raise InputError(f"the statement is {statement!r}; it must be text that is not blank")
    return Example("0-0", statement, scene if isinstance(scene, Scene) else parse_scene(scene))


def _verdict(number: int, example: Example, batch: Batch, judgement: Judgement, *, order_is_chosen: bool) -> Verdict:
    assert judgement.scores is not None
    boxes = range(len(example.scene.boxes))
    counts = [len(box.items) for box in example.scene.boxes]
    # What was read at each place, as a number in the scene's own list of items.
    read = batch.positions[number].gather(1, judgement.order[number])
    order = [read[box, : counts[box]].tolist() for box in boxes]
    attention = None
    if judgement.alpha is not None and judgement.beta is not None:
        words = tokenize(example.statement)
        alpha = judgement.alpha[number, :, : len(words)]
        beta = judgement.beta[number, :, :, : len(words)]
        attention = Attention(
            words=words,
            words_to_items=[_in_scene_order(alpha[box].T, order[box]).T.tolist() for box in boxes],
            items_to_words=[_in_scene_order(beta[box], order[box]).tolist() for box in boxes],
        )
    return Verdict(
        probability=judgement.logits[number].sigmoid().item(),
        per_box=judgement.scores[number].sigmoid().tolist(),
        order=order,
        attention=attention,
        order_is_chosen=order_is_chosen,
    )


def _in_scene_order(rows: Tensor, order: list[int]) -> Tensor:
    """Rows by place of reading -> rows by number in the scene."""
    return rows[: len(order)][torch.tensor(order).argsort()]
