"""Is this statement true of this scene? One interface for the command line, Python, ONNX and a service.

Question.from_json and Verdict.to_json define the wire format.

    >>> judge = veriscene.load("best")
    >>> judge("There is a yellow circle.", scene).probability  # one question: a Verdict
    >>> [verdict.verdict for verdict in judge(nlvr.read("dev.json"))]  # a list: a list of verdicts
    >>> for verdict in judge(lines_to_come()): ...  # a generator: verdicts as it goes, in bounded memory
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard, cast, overload

import numpy as np
import torch
from numpy.typing import NDArray

from veriscene.data.batch import Batch
from veriscene.data.encoder import Encoder, Input
from veriscene.data.vocabulary import tokenize
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import Checkpoint
from veriscene.judge.hub import HubMixin
from veriscene.judge.question import Question as Question
from veriscene.judge.verdict import Attention, Verdict
from veriscene.models import Order
from veriscene.world.scene import BOXES_PER_SCENE, Box, Scene
from veriscene.worlds.nlvr import decode
from veriscene.worlds.nlvr.corpus import Example
from veriscene.worlds.nlvr.raster import Pixels

__all__ = ["AnyQuestion", "Array", "Attention", "Judge", "Question", "TorchJudge", "Verdict"]

STREAM_BATCH = 64
FIELDS = ("logits", "scores", "order", "alpha", "beta")  # of a Judgement: what a verdict is made of
Array = NDArray[Any]
_NO_SCENE = Scene((Box(()), Box(()), Box(())))  # of a question about a picture, which a model of pixels does not read


Shown = Scene | list[Any] | Pixels  # a scene, NLVR's `structured_rep`, or a picture (height, width, RGB)
AnyQuestion = Question | Example | tuple[str, Shown]


class Judge(HubMixin, ABC):
    """Answers questions. Can be pickled. Raises InputError if a question is malformed.

    A question is a Question, an Example (whose label is ignored) or a pair (statement, scene).
    """

    encoder: Encoder
    order: Order  # of the model

    @overload
    def __call__(self, statement: str, scene: Shown) -> Verdict: ...
    @overload
    def __call__(self, statement: AnyQuestion) -> Verdict: ...
    @overload
    def __call__(self, statement: Sequence[AnyQuestion]) -> list[Verdict]: ...
    @overload
    def __call__(self, statement: Iterator[AnyQuestion]) -> Iterator[Verdict]: ...
    def __call__(
        self,
        statement: str | AnyQuestion | Sequence[AnyQuestion] | Iterator[AnyQuestion],
        scene: Shown | None = None,
    ) -> Verdict | list[Verdict] | Iterator[Verdict]:
        """judge(statement, scene) or judge(question): its verdict. judge([question, …]): the list of verdicts.
        judge(generator): the verdicts as they come, which is `stream`.

            judge("There is a yellow circle.", scene)
            judge([("There is a yellow circle.", scene), ("There is a tower.", pixels)])
            judge(nlvr.read("dev.json"))
        """
        if isinstance(statement, str) or scene is not None:
            return self._judge([self.readable(Question.of(statement, scene))])[0]
        if isinstance(statement, Question | Example) or (isinstance(statement, tuple) and _is_pair(statement)):
            return self._judge([self._question(statement)])[0]
        if isinstance(statement, Sequence):
            return list(self.stream(cast(Sequence[AnyQuestion], statement)))
        if isinstance(statement, Iterator):
            return self.stream(statement)
        raise _not_a_question(statement)

    def stream(self, questions: Iterable[AnyQuestion], *, batch: int = STREAM_BATCH) -> Iterator[Verdict]:
        """One verdict for each question, in order; takes `batch` questions at a time, never all at once.

        A malformed question raises InputError after the verdicts on those before it.

            for verdict in judge.stream(map(Question.from_json, records), batch=256): ...
        """
        if batch < 1:
            raise InputError(f"batch={batch}", allowed="it must be at least 1")
        waiting, malformed = enumerate(questions, 1), None
        while malformed is None:
            chunk: list[Question] = []
            try:
                chunk.extend(self._numbered_question(question, number) for number, question in islice(waiting, batch))
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

    @classmethod
    def _of_checkpoint(cls, folder: str | Path, *, device: str) -> Judge:
        return TorchJudge.load(folder, device=device)

    def _question(self, question: AnyQuestion) -> Question:
        if isinstance(question, Question):
            return self.readable(question)
        if isinstance(question, Example):
            return self.readable(Question.about(question))
        if not _is_pair(question):
            raise _not_a_question(question)
        return self.readable(Question.of(*question))

    def _numbered_question(self, question: AnyQuestion, number: int) -> Question:
        try:
            return self._question(question)
        except InputError as error:
            raise error if isinstance(question, Question) else error.at(f"question {number}") from None

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

    @classmethod
    def load(cls, name_or_folder: str | Path, *, device: str = "cpu") -> TorchJudge:
        """From the name of a shipped checkpoint, a folder that holds one, or `owner/name` on the Hugging Face hub."""
        try:
            torch.empty(1, device=device)
        except (RuntimeError, AssertionError) as error:
            what = f"cannot be used here ({next(iter(str(error).splitlines()), 'unknown')})"
            allowed = "use cpu, or cuda on a machine with a GPU"
            raise InputError(what, where=f"device {device!r}", allowed=allowed) from None
        return cls(checkpoints.load(name_or_folder, device=device))

    def _saved(self) -> Checkpoint:
        return self.checkpoint

    def _judge(self, questions: list[Question]) -> list[Verdict]:
        batch = self._encode(questions)
        model = self.checkpoint.model
        if model.training:  # it visits every module, which takes as long as some layers
            model.eval()
        with torch.inference_mode():
            judgement = model(batch.to(self.checkpoint.device))
        judged = {name: tensor for name, tensor in vars(judgement).items() if name in FIELDS and tensor is not None}
        return self._verdicts(questions, batch, {name: tensor.cpu().numpy() for name, tensor in judged.items()})


def _is_pair(value: object) -> TypeGuard[tuple[str, Shown]]:
    """Whether it is a statement and something else, which `Question.of` checks; two questions are not a pair."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        return False
    return not isinstance(value[0], Question | Example | Sequence) or isinstance(value[0], str)


def _not_a_question(value: object) -> InputError:
    return InputError(f"not a question: {value!r:.60}", allowed="give a Question or a pair (statement, scene)")


def _sigmoid(logits: Array) -> Array:
    return 0.5 + 0.5 * np.tanh(np.asarray(logits, dtype=np.float64) / 2)  # cannot overflow
