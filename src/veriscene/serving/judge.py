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
from veriscene.scenes.nlvr import Example, check_statement
from veriscene.scenes.scene import Scene, parse_scene
from veriscene.tensors.batch import Batch, required
from veriscene.tensors.encoder import Encoder
from veriscene.tensors.vocabulary import tokenize
from veriscene.training.checkpoint import Checkpoint

STREAM_BATCH = 64
Array = NDArray[Any]


@dataclass(frozen=True)
class Question:
    statement: str
    scene: Scene

    @classmethod
    def of(cls, statement: object, scene: object) -> Question:
        """A scene may be a Scene or NLVR's `structured_rep`; raises InputError if either is malformed."""
        if not isinstance(statement, str):
            raise InputError(f"the statement is {statement!r:.60}", allowed="it must be text")
        check_statement(statement)
        return cls(statement, scene if isinstance(scene, Scene) else parse_scene(scene))

    @classmethod
    def from_json(cls, record: object) -> Question:
        """An object with `statement` (or NLVR's `sentence`) and `scene` (or `structured_rep`)."""
        if not isinstance(record, Mapping):
            raise InputError("not a JSON object", allowed="a question is an object with statement and scene")
        statement = record.get("statement", record.get("sentence"))
        if statement is None:
            raise InputError("field statement is missing", allowed="a question has statement and scene")
        return cls.of(statement, record.get("scene", record.get("structured_rep")))


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


AnyQuestion = Question | tuple[str, Scene | list[Any]]


class Judge(ABC):
    """Answers questions. Can be pickled."""

    encoder: Encoder
    order: Order  # of the model

    @overload
    def __call__(self, statement: str, scene: Scene | list[Any]) -> Verdict: ...
    @overload
    def __call__(self, statement: Question) -> Verdict: ...
    @overload
    def __call__(self, statement: Sequence[AnyQuestion]) -> list[Verdict]: ...
    def __call__(
        self, statement: str | Question | Sequence[AnyQuestion], scene: Scene | list[Any] | None = None
    ) -> Verdict | list[Verdict]:
        """judge(statement, scene), judge(question), or judge([question, (statement, scene), …])."""
        if isinstance(statement, Question):
            return self._judge([statement])[0]
        if scene is None and isinstance(statement, Sequence) and not isinstance(statement, str):
            return list(self.stream(statement))
        return self._judge([Question.of(statement, scene)])[0]

    def stream(self, questions: Iterable[AnyQuestion], *, batch: int = STREAM_BATCH) -> Iterator[Verdict]:
        """One verdict for each question, in order; takes `batch` questions at a time, never all at once."""
        if batch < 1:
            raise InputError(f"batch={batch}", allowed="it must be at least 1")
        waiting = iter(questions)
        while chunk := [_question(question) for question in islice(waiting, batch)]:
            yield from self._judge(chunk)

    @abstractmethod
    def _judge(self, questions: list[Question]) -> list[Verdict]: ...

    def _encode(self, questions: list[Question]) -> Batch:
        return self.encoder([Example("0-0", question.statement, question.scene) for question in questions])

    def _verdicts(self, questions: list[Question], batch: Batch, judged: Mapping[str, Array]) -> list[Verdict]:
        """Decodes arrays by the names of Judgement's fields, for the questions of a batch, into verdicts."""
        positions = required(batch.items).positions.numpy() if "order" in judged else None
        probabilities, scores = _sigmoid(judged["logits"]), judged.get("scores")
        per_box = None if scores is None else _sigmoid(scores).tolist()
        return [
            self._verdict(
                question,
                float(probabilities[number]),
                per_box[number] if per_box is not None else None,
                None if positions is None else positions[number],
                {name: judged[name][number] for name in ("order", "alpha", "beta") if name in judged},
            )
            for number, question in enumerate(questions)
        ]

    def _verdict(
        self,
        question: Question,
        probability: float,
        per_box: list[float] | None,
        positions: Array | None,
        maps: Mapping[str, Array],
    ) -> Verdict:
        order, attention = None, None
        if positions is not None:
            words = tokenize(question.statement)
            # The item that was read at each place, as an index into the scene's own list.
            order = [
                positions[box][maps["order"][box, : len(items.items)]].tolist()
                for box, items in enumerate(question.scene.boxes)
            ]
            places = [np.argsort(read) for read in order]
            alpha, beta = maps.get("alpha"), maps.get("beta")
            if alpha is not None or beta is not None:
                attention = Attention(
                    words=words,
                    words_to_items=None
                    if alpha is None
                    else [alpha[box, : len(words), place].T.tolist() for box, place in enumerate(places)],
                    items_to_words=None
                    if beta is None
                    else [beta[box, place, : len(words)].tolist() for box, place in enumerate(places)],
                )
        return Verdict(
            probability=probability,
            per_box=per_box,
            order=order,
            attention=attention,
            unknown_words=self.encoder.vocabulary.unknown_words(question.statement),
            order_is_chosen=self.order is Order.CHOSEN,
        )


class TorchJudge(Judge):
    """A checkpoint that answers, on the checkpoint's device."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint, self.encoder, self.order = checkpoint, checkpoint.encoder, checkpoint.model.order

    def _judge(self, questions: list[Question]) -> list[Verdict]:
        batch = self._encode(questions)
        with torch.inference_mode():
            judgement = self.checkpoint.model.eval()(batch.to(self.checkpoint.device))
        given = {name: getattr(judgement, name) for name in ("logits", "scores", "order", "alpha", "beta")}
        arrays = {name: tensor.float().cpu().numpy() for name, tensor in given.items() if tensor is not None}
        if "order" in arrays:
            arrays["order"] = arrays["order"].astype(np.int64)
        return self._verdicts(questions, batch, arrays)


def _question(question: AnyQuestion) -> Question:
    if isinstance(question, Question):
        return question
    if not isinstance(question, Sequence) or isinstance(question, str) or len(question) != 2:
        raise InputError(f"not a question: {question!r:.60}", allowed="give a Question or a pair (statement, scene)")
    return Question.of(*question)


def _sigmoid(logits: Array) -> Array:
    return 0.5 + 0.5 * np.tanh(np.asarray(logits, dtype=np.float64) / 2)  # cannot overflow
