"""Is this statement true of this scene? One interface for the command line, Python, ONNX and a service.

Question.from_json and Verdict.to_json define the wire format.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray

from veriscene.errors import InputError
from veriscene.models import Order
from veriscene.scenes import decode
from veriscene.scenes.nlvr import Example
from veriscene.scenes.raster import Pixels
from veriscene.scenes.scene import BOXES_PER_SCENE, Box, Scene
from veriscene.serving.question import Question as Question
from veriscene.tensors.batch import Batch
from veriscene.tensors.encoder import Encoder, Input
from veriscene.tensors.vocabulary import tokenize
from veriscene.training.checkpoint import Checkpoint

STREAM_BATCH = 64
FIELDS = ("logits", "scores", "order", "alpha", "beta")  # of a Judgement: what a verdict is made of
Array = NDArray[Any]
_NO_SCENE = Scene((Box(()), Box(()), Box(())))  # of a question about a picture, which a model of pixels does not read


@dataclass(frozen=True)
class Attention:
    """Rows sum to one. Items stand in the order of the scene, boxes outermost. None: the model has no such map."""

    words: list[str]
    words_to_items: list[list[list[float]]] | None  # [box][word][item]: alpha of equation 4
    items_to_words: list[list[list[float]]] | None  # [box][item][word]: beta of equation 7


@dataclass(frozen=True)
class Verdict:
    probability: float  # that the statement is true of the scene
    per_box: list[float] | None  # box scores as probabilities; None unless the verdict is the max or mean of box scores
    order: list[list[int]] | None  # per box, the items' indices as the model read them; None if order does not matter
    attention: Attention | None  # None for models without attention
    unknown_words: dict[str, list[str]]  # words that the model does not know, each with the nearest that it knows
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
            "unknown_words": self.unknown_words,
        }
        if attention and self.attention is not None:
            record["attention"] = asdict(self.attention)
        return record


AnyQuestion = Question | tuple[str, Scene | list[Any] | Pixels]


class Judge(ABC):
    """Answers questions. Can be pickled. Raises InputError if a question is malformed."""

    encoder: Encoder
    order: Order  # of the model

    @overload
    def __call__(self, statement: str, scene: Scene | list[Any] | Pixels) -> Verdict: ...
    @overload
    def __call__(self, statement: Question) -> Verdict: ...
    @overload
    def __call__(self, statement: Sequence[AnyQuestion]) -> list[Verdict]: ...
    def __call__(
        self, statement: str | Question | Sequence[AnyQuestion], scene: Scene | list[Any] | Pixels | None = None
    ) -> Verdict | list[Verdict]:
        """judge(statement, scene), judge(question), or judge([question, (statement, scene), …]).

        In place of a scene, a picture (height, width, RGB) may be given.
        """
        if isinstance(statement, Question):
            return self._judge([self.readable(statement)])[0]
        if isinstance(statement, str) or scene is not None:
            return self._judge([self.readable(Question.of(statement, scene))])[0]
        if isinstance(statement, Sequence) and not isinstance(statement, str):
            return list(self.stream(statement))
        raise _not_a_question(statement)

    def stream(self, questions: Iterable[AnyQuestion], *, batch: int = STREAM_BATCH) -> Iterator[Verdict]:
        """One verdict for each question, in order; takes `batch` questions at a time, never all at once.

        A malformed question raises InputError after the verdicts on those before it.
        """
        if batch < 1:
            raise InputError(f"batch={batch}", allowed="it must be at least 1")
        waiting, malformed = enumerate(questions, 1), None
        while malformed is None:
            chunk: list[Question] = []
            try:
                chunk.extend(self._question(question, number) for number, question in islice(waiting, batch))
            except InputError as error:
                malformed = error
            if not chunk:
                break
            yield from self._judge(chunk)
        if malformed is not None:
            raise malformed

    def readable(self, question: Question) -> Question:
        """The question in the form that the model reads; raises InputError if it has none.

        A model of items gets the scene of which the picture is exactly the rendering. A model of pixels reads the
        picture, or the rendering of the scene.
        """
        if question.picture is None:
            return question
        try:
            if Input.ITEMS in self.encoder.inputs:
                return Question(question.statement, decode.scene(question.picture))
            decode.check_size(question.picture)
        except InputError as error:
            place = "picture" if error.where is None else f"picture, {error.where}"
            eyes = "try --eyes or a model NAME-pixels"
            allowed = eyes if error.allowed is None else f"{error.allowed}, or {eyes}"
            raise InputError(error.what, where=place, allowed=allowed) from None
        return question

    @abstractmethod
    def _judge(self, questions: list[Question]) -> list[Verdict]:
        """The verdicts on questions that `readable` returned."""

    def _question(self, question: AnyQuestion, number: int) -> Question:
        if isinstance(question, Question):
            return self.readable(question)
        where = f"question {number}"
        if not isinstance(question, Sequence) or isinstance(question, str) or len(question) != 2:
            raise _not_a_question(question).at(where)
        try:
            return self.readable(Question.of(*question))
        except InputError as error:
            raise error.at(where) from None

    def _encode(self, questions: list[Question]) -> Batch:
        return self.encoder(
            [Example("0-0", asked.statement, asked.scene or _NO_SCENE, picture=asked.picture) for asked in questions]
        )

    def _verdicts(self, questions: list[Question], batch: Batch, judged: Mapping[str, Array]) -> list[Verdict]:
        """Decodes a Judgement's FIELDS, without those that are None, into the verdicts on the questions of a batch."""
        items = None if batch.items is None else (batch.items.positions.numpy(), batch.items.counts.numpy())
        probabilities, scores = _sigmoid(judged["logits"]).tolist(), judged.get("scores")
        per_box = None if scores is None else _sigmoid(scores).tolist()
        verdicts = []
        for number, question in enumerate(questions):
            maps = {name: judged[name][number] for name in ("order", "alpha", "beta") if name in judged}
            encoded = None if items is None else [at[:n] for at, n in zip(*(a[number] for a in items), strict=True)]
            order, attention = _decode(question.statement, encoded, maps)
            verdict = Verdict(
                probability=probabilities[number],
                per_box=None if per_box is None else per_box[number],
                order=order,
                attention=attention,
                unknown_words=self.encoder.vocabulary.unknown_words(question.statement),
                order_is_chosen=self.order is Order.CHOSEN,
            )
            verdicts.append(verdict)
        return verdicts


def _decode(
    statement: str, encoded: list[Array] | None, maps: Mapping[str, Array]
) -> tuple[list[list[int]] | None, Attention | None]:
    """Order and attention of one question, in terms of the scene's own lists of items.

    `encoded` are, per box, the items' indices in the scene, as encoded; None: the objects are feature-map cells.
    """
    alpha, beta = maps.get("alpha"), maps.get("beta")
    if encoded is None:
        encoded = [np.arange(0 if alpha is None else alpha.shape[-1])] * BOXES_PER_SCENE
    # What was read at each place, as an index into the scene's list.
    read = [at[maps["order"][box, : len(at)]] if "order" in maps else at for box, at in enumerate(encoded)]
    order = [each.tolist() for each in read] if "order" in maps else None
    if alpha is None and beta is None:
        return order, None
    words, places = tokenize(statement), [each.argsort() for each in read]
    long = len(words)
    attention = Attention(
        words=words,
        words_to_items=None if alpha is None else [alpha[b, :long].take(at, 1).tolist() for b, at in enumerate(places)],
        items_to_words=None if beta is None else [beta[b, at, :long].tolist() for b, at in enumerate(places)],
    )
    return order, attention


class TorchJudge(Judge):
    """A checkpoint that answers, on the checkpoint's device."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint, self.encoder, self.order = checkpoint, checkpoint.encoder, checkpoint.model.order

    def _judge(self, questions: list[Question]) -> list[Verdict]:
        batch = self._encode(questions)
        with torch.inference_mode():
            judgement = self.checkpoint.model.eval()(batch.to(self.checkpoint.device))
        judged = {name: tensor for name, tensor in vars(judgement).items() if name in FIELDS and tensor is not None}
        return self._verdicts(questions, batch, {name: tensor.cpu().numpy() for name, tensor in judged.items()})


def _not_a_question(value: object) -> InputError:
    return InputError(f"not a question: {value!r:.60}", allowed="give a Question or a pair (statement, scene)")


def _sigmoid(logits: Array) -> Array:
    return 0.5 + 0.5 * np.tanh(np.asarray(logits, dtype=np.float64) / 2)  # cannot overflow
