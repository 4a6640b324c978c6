"""The one path from examples to tensors, for training, evaluation, prediction and ONNX alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from veriscene.data.batch import Batch, Layouts, Statement
from veriscene.data.items import ITEM_FEATURES, Items, X, Y, item_features
from veriscene.data.letters import MOST_LETTERS, spell
from veriscene.data.vocabulary import PADDING, Vocabulary, tokenize
from veriscene.errors import InputError
from veriscene.world.scene import BOX_EXTENT, BOXES_PER_SCENE, MOST_ITEMS, Color, Item, Shape, Size
from veriscene.worlds.nlvr import picture, raster
from veriscene.worlds.nlvr.corpus import Example
from veriscene.worlds.nlvr.layout import MOST_STEPS, layout


class Input(Enum):
    """What a model reads besides the statement."""

    ITEMS = "items"
    PIXELS = "pixels"
    LAYOUT = "layout"
    CHARACTERS = "characters"  # of the statement's words


class ItemOrder(Enum):
    """The order in which items are encoded. RANDOM is a fixed scramble here; training redraws it each epoch."""

    RANDOM = "random"
    FILE = "file"
    SORTED = "sorted"


@dataclass(frozen=True)
class Encoder:
    vocabulary: Vocabulary
    inputs: frozenset[Input] = frozenset({Input.ITEMS})
    order: ItemOrder = ItemOrder.RANDOM

    def __call__(
        self, examples: Sequence[Example], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Batch:
        """Examples as one batch, each encoded independently; it has labels only if every example has one.

        `progress` is told how many of the examples' picture files were read.
        """
        truths = [example.label for example in examples]
        return Batch(
            statement=self._statement(examples),
            items=self._items(examples) if Input.ITEMS in self.inputs else None,
            pixels=_pixels(examples, progress) if Input.PIXELS in self.inputs else None,
            layout=_layouts(examples) if Input.LAYOUT in self.inputs else None,
            labels=None if None in truths else torch.tensor(truths, dtype=torch.float32),
        )

    def _statement(self, examples: Sequence[Example]) -> Statement:
        sentences = [self.vocabulary.encode(example.statement) for example in examples]
        for example, sentence in zip(examples, sentences, strict=True):
            if not sentence:
                raise InputError(f"example {example.identifier!r}: the statement has no words", where=example.place)
        words = np.full((len(sentences), max(map(len, sentences), default=1)), PADDING, dtype=np.int64)
        for row, sentence in zip(words, sentences, strict=True):
            row[: len(sentence)] = sentence
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        characters = _characters(examples, words.shape[1]) if Input.CHARACTERS in self.inputs else None
        return Statement(torch.from_numpy(words), torch.from_numpy(lengths), characters)

    def _items(self, examples: Sequence[Example]) -> Items:
        boxes = [box.items for example in examples for box in example.scene.boxes]
        sizes = [len(items) for items in boxes]
        fullest = max(sizes, default=1)
        for size in sizes:
            if not 1 <= size <= MOST_ITEMS:  # scenes made in Python are not validated as files are
                raise InputError(f"a box has {size} items", allowed=f"allowed: 1 to {MOST_ITEMS}")
        features = np.zeros((len(boxes), fullest, ITEM_FEATURES), dtype=np.float32)
        positions = np.tile(np.arange(fullest), (len(boxes), 1))
        for row, items in enumerate(boxes):
            order = reading_order(items, self.order)
            features[row, : len(items)] = [item_features(items[number]) for number in order]
            positions[row, : len(items)] = order
        counts = np.array(sizes, dtype=np.int64)

        def per_box(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).view(len(examples), BOXES_PER_SCENE, *array.shape[1:])

        return Items(per_box(features), per_box(counts), per_box(positions))


def _pixels(examples: Sequence[Example], progress: Callable[[int, int], None]) -> Tensor:
    """(batch, box, height, width, RGB), from each example's picture, or rendered if it has none. Alpha is constant in
    the corpus and left out."""
    pixels = np.empty((len(examples), BOXES_PER_SCENE, BOX_EXTENT, BOX_EXTENT, 3), np.uint8)
    files: list[tuple[int, Path]] = []
    rendered: list[int] = []
    for number, example in enumerate(examples):
        if isinstance(example.picture, Path):
            files.append((number, example.picture))
        elif example.picture is None:
            rendered.append(number)
        else:
            pixels[number] = picture.cut(example.picture)
    if rendered:
        pixels[rendered] = raster.boxes([examples[number].scene for number in rendered])[..., :3]

    def read(file: tuple[int, Path]) -> None:
        pixels[file[0]] = picture.cut(picture.read(file[1]))

    if files:
        with ThreadPoolExecutor() as pool:  # half of the time is spent in Pillow's decoder, which releases the GIL
            for done, _ in enumerate(pool.map(read, files), 1):
                progress(done, len(files))
    return torch.from_numpy(pixels)


def _characters(examples: Sequence[Example], longest: int) -> Tensor:
    """(batch, word, letter). Statements occur with several scenes, so each is spelt once."""
    sentences = {example.statement: tokenize(example.statement) for example in examples}
    row_of = {statement: row for row, statement in enumerate(sentences)}
    rows = torch.zeros(len(sentences), longest, MOST_LETTERS, dtype=torch.uint8)
    for row, words in zip(rows, sentences.values(), strict=True):
        row[: len(words)] = spell(words)
    return rows[[row_of[example.statement] for example in examples]]


def _layouts(examples: Sequence[Example]) -> Layouts:
    """Statements occur with several scenes, so each is read once."""
    sentences = {example.statement: tokenize(example.statement) for example in examples}
    layouts = {statement: layout(words) for statement, words in sentences.items()}
    longest = max(map(len, sentences.values()), default=1)
    modules = np.zeros((len(examples), MOST_STEPS), dtype=np.int64)
    arguments = np.zeros((len(examples), MOST_STEPS, 2), dtype=np.int64)
    spans = np.zeros((len(examples), MOST_STEPS, longest), dtype=bool)
    for row, example in enumerate(examples):
        for number, step in enumerate(layouts[example.statement]):
            modules[row, number] = step.module
            arguments[row, number] = (step.arguments * 2)[:2] or 0
            spans[row, number, list(step.words)] = True
    return Layouts(torch.from_numpy(modules), torch.from_numpy(arguments), torch.from_numpy(spans))


def reading_order(items: Sequence[Item], order: ItemOrder) -> Sequence[int]:
    """The index of the item that is read at each place.

    RANDOM is a scramble that depends only on what the box holds, so that a verdict depends neither on the other
    examples of a batch nor on the order of the file; no item is always first, because the whole box enters the hash.
    """
    if order is ItemOrder.FILE:
        return range(len(items))
    if order is ItemOrder.SORTED:
        return sorted(range(len(items)), key=lambda number: (items[number].x, -items[number].y))
    mixed = [_mix(_code(item)) for item in items]
    whole_box = _mix(sum(mixed) & _BITS)
    keys = [_mix(each ^ whole_box) for each in mixed]
    return sorted(range(len(items)), key=keys.__getitem__)


def in_reading_order(items: Items, order: ItemOrder, generator: torch.Generator) -> Items:
    """Items that are in the order of the file, in the order of `reading_order`; but RANDOM is a new random order."""
    if order is ItemOrder.FILE:
        return items
    if order is ItemOrder.SORTED:
        keys = BOX_EXTENT * items.features[..., X] - items.features[..., Y] / 4  # a pixel to the right outweighs any y
    else:
        keys = torch.rand(items.features.shape[:3], generator=generator)
    return items.shuffled(keys.to(items.features.device, torch.float64))


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
    """A 32-bit hash without structure: shifts and multiplications by an odd number."""
    for _ in range(2):
        number = (((number >> 16) ^ number) * 0x45D9F3B) & _BITS
    return (number >> 16) ^ number
