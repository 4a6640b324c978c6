"""judge(statement, scene) -> Verdict by ONNX Runtime, from one file that `veriscene export` wrote."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from veriscene import __version__
from veriscene.config import Config, from_json
from veriscene.errors import InputError
from veriscene.scenes.nlvr import Example
from veriscene.scenes.scene import BOXES_PER_SCENE, Color, Item, Scene, Shape, Size
from veriscene.serving.judge import STREAM_BATCH, Attention, Verdict, example_of
from veriscene.tensors.batch import ItemOrder, encode
from veriscene.tensors.features import ITEM_FEATURES, item_features
from veriscene.tensors.vocabulary import PADDING, Vocabulary, tokenize

SUFFIX = ".onnx"
FORMAT_KEY, FORMAT = "veriscene_format", "1"
GROUP = 16  # examples that are judged together; more are padded more, and overflow the caches
INPUTS = ("words", "lengths", "items", "counts")

Array = NDArray[Any]


@dataclass(frozen=True)
class Arrays:
    """What Checkpoint.encode gives, without torch, whose small operations cost more than a small example's numbers."""

    words: Array  # (batch, word), int64
    lengths: Array  # (batch,), int64
    items: Array  # (batch, box, item, ITEM_FEATURES), float32
    counts: Array  # (batch, box), int64
    positions: Array  # (batch, box, item), int64

    @classmethod
    def of(cls, examples: Sequence[Example], vocabulary: Vocabulary, order: ItemOrder) -> Arrays:
        sentences = [vocabulary.encode(example.statement) for example in examples]
        boxes = [box.items for example in examples for box in example.scene.boxes]
        if not all(sentences) or not all(boxes):
            encode(examples, vocabulary)  # raises, and says which example is at fault
        longest, fullest = max(map(len, sentences)), max(map(len, boxes))
        blank = (0.0,) * ITEM_FEATURES
        orders = [_reading_order(box, order) for box in boxes]
        rows = [
            [item_features(box[number]) for number in read] + [blank] * (fullest - len(box))
            for box, read in zip(boxes, orders, strict=True)
        ]
        shape = (len(examples), BOXES_PER_SCENE, fullest)
        return cls(
            words=np.array([words + [PADDING] * (longest - len(words)) for words in sentences], dtype=np.int64),
            lengths=np.array([len(words) for words in sentences], dtype=np.int64),
            items=np.array(rows, dtype=np.float32).reshape(*shape, ITEM_FEATURES),
            counts=np.array([len(box) for box in boxes], dtype=np.int64).reshape(shape[:2]),
            positions=np.array([[*read, *range(len(read), fullest)] for read in orders]).reshape(shape),
        )


class OnnxJudge:
    """Answers as a Judge does, on the CPU. `load_onnx` makes one."""

    def __init__(self, path: str | Path, *, threads: int) -> None:
        # One question is shared by all threads. Of many questions each thread judges its own, and waits for no other.
        self._shared = open_session(path, threads=threads)
        self._own = self._shared if threads == 1 else open_session(path, threads=1)
        self._outputs = [output.name for output in self._own.get_outputs()]
        self.threads = threads
        self.description = _description(path, self._own)
        self.vocabulary, self.order = self.description.vocabulary, self.description.order

    def __call__(self, statement: str, scene: Scene | list[Any]) -> Verdict:
        """Is the statement true of the scene? The scene is a Scene or NLVR's `structured_rep`."""
        return self._judge(self._shared, [example_of(statement, scene)])[0]

    def stream(
        self, questions: Iterable[tuple[str, Scene | list[Any]]], *, batch: int = STREAM_BATCH
    ) -> Iterator[Verdict]:
        """One verdict for each question, in order; questions are taken `batch` at a time, never all at once."""
        if batch < 1:
            raise InputError(f"batch={batch} questions cannot be taken at a time; it must be at least 1")
        waiting = iter(questions)
        while chunk := [example_of(*question) for question in islice(waiting, batch)]:
            by_size = sorted(range(len(chunk)), key=lambda number: _size(chunk[number]))
            groups = [[chunk[number] for number in by_size[i : i + GROUP]] for i in range(0, len(chunk), GROUP)]
            session = self._shared if len(groups) == 1 else self._own
            with ThreadPoolExecutor(min(self.threads, len(groups))) as pool:
                judged = chain.from_iterable(pool.map(partial(self._judge, session), groups))
                verdicts = dict(zip(by_size, judged, strict=True))
            yield from (verdicts[number] for number in range(len(chunk)))

    def _judge(self, session: Any, examples: list[Example]) -> list[Verdict]:
        arrays = Arrays.of(examples, self.vocabulary, self.order)
        given = {name: getattr(arrays, name) for name in INPUTS}
        judged = dict(zip(self._outputs, session.run(None, given), strict=True))
        return [
            self._verdict(example, arrays.positions[number], {name: values[number] for name, values in judged.items()})
            for number, example in enumerate(examples)
        ]

    def _verdict(self, example: Example, positions: Array, judged: dict[str, Array]) -> Verdict:
        """Of one example, from its own part of the arrays."""
        words, position_of = tokenize(example.statement), positions.tolist()
        found = {name: values.tolist() for name, values in judged.items()}
        order, words_to_items, items_to_words = [], [], []
        for number, box in enumerate(example.scene.boxes):
            # What was read at each place, as a number in the scene's own list of items; and the place of each of those.
            read = [position_of[number][item] for item in found["order"][number][: len(box.items)]]
            places = sorted(range(len(read)), key=read.__getitem__)
            order.append(read)
            if "alpha" in found:
                alpha, beta = found["alpha"][number], found["beta"][number]
                words_to_items.append([[row[place] for place in places] for row in alpha[: len(words)]])
                items_to_words.append([beta[place][: len(words)] for place in places])
        return Verdict(
            probability=_sigmoid(found["logits"]),
            per_box=[_sigmoid(score) for score in found["scores"]],
            order=order,
            attention=Attention(words, words_to_items, items_to_words) if words_to_items else None,
            order_is_chosen=self.description.order_is_chosen,
        )


def load_onnx(path: str | Path, *, threads: int | None = None) -> OnnxJudge:
    """A judge from a file that `veriscene export` wrote, with so many threads; default: as many as torch takes."""
    return OnnxJudge(path, threads=threads or torch.get_num_threads())


def open_session(model: str | Path | bytes, *, threads: int) -> Any:
    """An onnxruntime.InferenceSession on the CPU, of a file or of its contents."""
    try:
        import onnxruntime
    except ImportError:
        raise InputError("onnxruntime is not installed; pip install 'veriscene[onnx]'") from None

    where = "the graph" if isinstance(model, bytes) else str(model)
    if not isinstance(model, bytes) and not Path(model).is_file():
        raise InputError(f"{where}: no such file")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Threads that spin while they wait are a fifth faster on an idle machine, and twice as slow on a busy one. They do
    # as torch's threads are told to do; the command line tells them to sleep.
    if os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE":
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: the log goes to standard error
    try:
        source = model if isinstance(model, bytes) else where
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime promises no common class of its exceptions
        raise InputError(f"{where}: damaged, or not an ONNX file ({str(error).splitlines()[0]})") from None


def describe(*, vocabulary: Vocabulary, config: Config, order_is_chosen: bool) -> dict[str, str]:
    """What a file says of itself beside its graph, as ONNX's metadata."""
    return {
        FORMAT_KEY: FORMAT,
        "veriscene": __version__,
        "config": json.dumps(config.to_json()),
        "vocabulary": json.dumps(vocabulary.words),
        "order_is_chosen": json.dumps(order_is_chosen),
    }


@dataclass(frozen=True)
class Description:
    vocabulary: Vocabulary
    order: ItemOrder
    order_is_chosen: bool  # by a pointer network


def _description(path: str | Path, session: Any) -> Description:
    metadata = session.get_modelmeta().custom_metadata_map
    if FORMAT_KEY not in metadata:
        raise InputError(f"{path}: not a file that `veriscene export` wrote")
    if metadata[FORMAT_KEY] != FORMAT:
        raise InputError(f"{path}: written by another version of veriscene; this one reads format {FORMAT}")
    try:
        config, words, chosen = (json.loads(metadata[key]) for key in ("config", "vocabulary", "order_is_chosen"))
    except (KeyError, json.JSONDecodeError):
        raise InputError(f"{path}: damaged; export it again") from None
    order = ItemOrder(from_json(config, where=str(path)).data.order)
    return Description(Vocabulary(tuple(words)), order, order_is_chosen=bool(chosen))


def _size(example: Example) -> tuple[int, int]:
    # Letters say well enough which statements are of like length, and need not be split into words.
    return max(len(box.items) for box in example.scene.boxes), len(example.statement)


def _reading_order(items: Sequence[Item], order: ItemOrder) -> Sequence[int]:
    """What Batch.in_order without a generator does, for one box: the number of the item that comes at each place."""
    if order is ItemOrder.FILE:
        return range(len(items))
    if order is ItemOrder.SORTED:
        return sorted(range(len(items)), key=lambda number: (items[number].x, -items[number].y))
    mixed = [_mix(_code(item)) for item in items]
    whole_box = _mix(sum(mixed) & _BITS)
    keys = [_mix(each ^ whole_box) for each in mixed]
    return sorted(range(len(items)), key=keys.__getitem__)


def _code(item: Item) -> int:
    looks = _LOOKS[item.shape] + _LOOKS[item.color]
    return ((item.x * 101 + item.y) * 101 + _SIZES[item.size]) * 16 + looks


_SIZES = {Size.SMALL: 0, Size.MEDIUM: 50, Size.LARGE: 100}
_LOOKS: dict[Shape | Color, int] = {
    **{shape: number for number, shape in enumerate(Shape, 1)},
    **{color: 4 * number for number, color in enumerate(Color, 1)},
}
_BITS = 0xFFFFFFFF


def _mix(number: int) -> int:
    for _ in range(2):
        number = (((number >> 16) ^ number) * 0x45D9F3B) & _BITS
    return (number >> 16) ^ number


def _sigmoid(logit: float) -> float:
    return 0.5 + 0.5 * math.tanh(logit / 2)  # cannot overflow
