"""The one path from examples to arrays, for training, evaluation, prediction and ONNX alike. Does not import torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veriscene import worlds
from veriscene.data.vocabulary import MOST_LETTERS, PADDING, Vocabulary, spell, tokenize
from veriscene.errors import InputError
from veriscene.language.module_layout import MAX_LAYOUTS, MAX_STEPS
from veriscene.world.examples import Example
from veriscene.world.scene import Item, Value
from veriscene.world.schema import Attribute, World

if TYPE_CHECKING:
    from veriscene.data.batch import Batch

Array = NDArray[Any]
Values = tuple[tuple[str, Value], ...]  # of an item


class Input(Enum):
    """Says what a model reads besides the statement."""

    ITEMS = "items"
    PIXELS = "pixels"
    LAYOUT = "layout"
    CHARACTERS = "characters"  # of the statement's words


class ItemOrder(Enum):
    """Names the order in which items are encoded. RANDOM is a fixed scramble here; training redraws it each epoch."""

    RANDOM = "random"
    FILE = "file"
    SORTED = "sorted"


class Order(Enum):
    """Says whether a model's output depends on the order in which it reads items."""

    NONE = "none"  # it does not
    GIVEN = "given"  # it reads them as they come
    CHOSEN = "chosen"  # it chooses the order itself


@dataclass(frozen=True)
class Encoded:
    """Examples as arrays; None for what the model does not read. `Batch.of` makes tensors of them."""

    words: Array  # (batch, word), int64; PADDING beyond a statement's end
    lengths: Array  # (batch,), int64
    characters: Array | None = None  # (batch, word, MOST_LETTERS), uint8; 0: no letter
    features: Array | None = None  # (batch, box, item, feature), float32; zeros beyond a box's last item
    counts: Array | None = None  # (batch, box), int64: items in each box
    positions: Array | None = None  # (batch, box, item), int64: the index of each item in the scene's own list
    boxes: Array | None = None  # (batch,), int64: boxes in each scene; None: as many in all scenes of the world
    pixels: Array | None = None  # (batch, box, height, width, RGB), uint8
    modules: Array | None = None  # (batch, layout, step), int64: the layouts of module networks
    arguments: Array | None = None  # (batch, layout, step, 2), int64
    spans: Array | None = None  # (batch, layout, step, word), bool
    labels: Array | None = None  # (batch,), float32: 1.0 true, 0.0 false

    def groups(self, size: int) -> Iterator[tuple[Array, int, int]]:
        """Yields examples of similar size: their numbers, and how many words and items the largest of them have."""
        fullest = np.ones_like(self.lengths) if self.counts is None else self.counts.max(1, initial=1)
        by_size = np.lexsort((self.lengths, fullest))
        for start in range(0, len(by_size), size):
            rows = by_size[start : start + size]
            yield rows, int(self.lengths[rows].max()), int(fullest[rows].max())

    def fitted(self, rows: Array, words: int, items: int) -> Encoded:
        """Returns some of the examples with so many words and items, cut off or padded with zeros."""
        axes = {"words": (1, words), "characters": (1, words), "spans": (3, words)}
        axes |= {"features": (2, items), "positions": (2, items)}

        def fit(array: Array, axis: int, size: int) -> Array:
            part = array.take(range(min(size, array.shape[axis])), axis)[rows]
            missing = [(0, size - part.shape[axis] if number == axis else 0) for number in range(part.ndim)]
            return np.pad(part, missing)

        own = {name: array for name, array in vars(self).items() if array is not None}
        return Encoded(
            **{name: fit(array, *axes[name]) if name in axes else array[rows] for name, array in own.items()}
        )


@dataclass(frozen=True)
class Encoder:
    vocabulary: Vocabulary
    world: World
    inputs: frozenset[Input] = frozenset({Input.ITEMS})
    order: ItemOrder = ItemOrder.RANDOM

    def __call__(
        self, examples: Sequence[Example], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Batch:
        """Returns what `arrays` does, as tensors."""
        from veriscene.data.batch import Batch  # imports torch

        return Batch.of(self.arrays(examples, progress))

    def arrays(
        self, examples: Sequence[Example], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Encoded:
        """Encodes each example independently; there are labels only if every example has one.

        `progress` is told how many of the examples' picture files were read.
        """
        truths = [example.label for example in examples]
        return Encoded(
            **self._statements(examples),
            **self._items(examples) if Input.ITEMS in self.inputs else {},
            pixels=self._pixels(examples, progress) if Input.PIXELS in self.inputs else None,
            labels=None if None in truths else np.array(truths, np.float32),
        )

    def _statements(self, examples: Sequence[Example]) -> dict[str, Array]:
        """Statements occur with several scenes, so each is read once."""
        sentences = {example.statement: tokenize(example.statement) for example in examples}
        for example in examples:
            if not sentences[example.statement]:
                raise InputError(f"example {example.identifier!r}: the statement has no words", where=example.place)
        lengths = np.array([len(sentence) for sentence in sentences.values()], dtype=np.int64)
        words = np.full((len(sentences), max(lengths, default=1)), PADDING, dtype=np.int64)
        found = {"words": words, "lengths": lengths}
        if Input.CHARACTERS in self.inputs:
            found["characters"] = np.zeros((*words.shape, MOST_LETTERS), np.uint8)
        if Input.LAYOUT in self.inputs:
            found |= _layouts(list(sentences.values()), words.shape[1], self.world)
        for row, sentence in enumerate(sentences.values()):
            words[row, : len(sentence)] = self.vocabulary.numbers(sentence)
            if Input.CHARACTERS in self.inputs:
                found["characters"][row, : len(sentence)] = spell(sentence)
        if len(sentences) == len(examples):  # a copy of a million statements would take a gigabyte
            return found
        row_of = {statement: row for row, statement in enumerate(sentences)}
        rows = [row_of[example.statement] for example in examples]
        return {name: array[rows] for name, array in found.items()}

    def _items(self, examples: Sequence[Example]) -> dict[str, Array]:
        (fewest, most), (least, fullest) = self.world.boxes, self.world.items
        boxes = [box.items for example in examples for box in example.scene.boxes]
        for example in examples:  # scenes made in Python are not validated as files are
            if not fewest <= len(example.scene.boxes) <= most:
                what = f"the scene has {len(example.scene.boxes)} {self.world.box.plural}"
                raise InputError(what, where=example.place, allowed=f"allowed: {fewest} to {most}")
        for items in boxes:
            if not least <= len(items) <= fullest:
                what = f"a {self.world.box.singular} has {len(items)} {self.world.item.plural}"
                raise InputError(what, allowed=f"allowed: {least} to {fullest}")
        width = max(1, max(map(len, boxes), default=1))
        features = np.zeros((len(examples), most, width, self.world.feature_count), dtype=np.float32)
        positions = np.tile(np.arange(width), (len(examples), most, 1))
        counts = np.zeros((len(examples), most), dtype=np.int64)
        scene = np.repeat(np.arange(len(examples)), [len(example.scene.boxes) for example in examples])
        number = np.array([box for example in examples for box in range(len(example.scene.boxes))], np.int64)
        sizes = np.array([len(items) for items in boxes], np.int64)
        counts[scene, number] = sizes
        order, places = _reading_orders(boxes, self.order, self.world), _places(sizes)
        where = np.repeat(scene, sizes), np.repeat(number, sizes), places
        features[where] = _features(boxes, self.world)[order]
        positions[where] = places[order]
        found: dict[str, Array] = {"features": features, "counts": counts, "positions": positions}
        if fewest < most:
            found["boxes"] = np.array([len(example.scene.boxes) for example in examples], np.int64)
        return found

    def _pixels(self, examples: Sequence[Example], progress: Callable[[int, int], None]) -> Array:
        """(batch, box, height, width, RGB), from each example's picture, or rendered if it has none. Alpha is constant
        and left out."""
        what = "exact pictures, which this model reads"
        draw, cut, read_picture = (
            worlds.require(self.world, name, what) for name in ("box_pixels", "cut", "read_picture")
        )
        width, height = self.world.canvas
        pixels = np.empty((len(examples), self.world.boxes[1], height, width, 3), np.uint8)
        files = [number for number, example in enumerate(examples) if isinstance(example.picture, Path)]
        rendered = [number for number, example in enumerate(examples) if example.picture is None]
        for number in set(range(len(examples))) - {*files, *rendered}:
            pixels[number] = cut(examples[number].picture)
        if rendered:
            pixels[rendered] = draw([examples[number].scene for number in rendered])[..., :3]

        def read(number: int) -> None:
            pixels[number] = cut(read_picture(examples[number].picture))

        if files:
            with ThreadPoolExecutor() as pool:  # half of the time is spent in Pillow's decoder, which releases the GIL
                for done, _ in enumerate(pool.map(read, files), 1):
                    progress(done, len(files))
        return pixels


def scattered(parts: Sequence[tuple[Array, Mapping[str, Array]]]) -> dict[str, Array]:
    """Joins results on groups of examples, each with the numbers of its examples; smaller ones get zeros at the end."""
    count, found = sum(len(rows) for rows, _ in parts), dict[str, Array]()
    for name, first in parts[0][1].items():
        shape = np.max([part[name].shape[1:] for _, part in parts], axis=0, initial=0).astype(int)
        found[name] = np.zeros((count, *shape), first.dtype)
        for rows, part in parts:
            where: Any = (rows, *map(slice, part[name].shape[1:]))
            found[name][where] = part[name]
    return found


def _layouts(sentences: Sequence[Sequence[str]], longest: int, world: World) -> dict[str, Array]:
    """The arrays of module networks, (statement, layout, step, …)."""
    layouts = worlds.require(world, "layouts", "rules that lay out modules, which this model needs")
    steps = len(sentences), MAX_LAYOUTS, MAX_STEPS
    modules = np.zeros(steps, dtype=np.int64)
    arguments = np.zeros((*steps, 2), dtype=np.int64)
    spans = np.zeros((*steps, longest), dtype=bool)
    for row, sentence in enumerate(sentences):
        for number, layout in enumerate(layouts(sentence)):
            for place, step in enumerate(layout):
                modules[row, number, place] = step.module
                arguments[row, number, place] = (step.arguments * 2)[:2] or 0
                spans[row, number, place, list(step.words)] = True
    return {"modules": modules, "arguments": arguments, "spans": spans}


def _features(boxes: Sequence[Sequence[Item]], world: World) -> Array:
    """(item, feature): those of the items of all boxes, one after another, as `World.features` has them."""
    items, of_values = [item for each in boxes for item in each], _value_features(world)
    found = np.empty((len(items), world.feature_count))
    for column, (name, span) in enumerate(world.spans.items()):
        found[:, column] = 2 * np.array([getattr(item, name) for item in items], float) / span - 1
    if items:
        found[:, len(world.spans) :] = [of_values(item.values) for item in items]
    return found


@cache
def _value_features(world: World) -> Callable[[Values], list[float]]:
    return lru_cache(maxsize=4096)(world.value_features)  # most items look like others


def _places(sizes: Array) -> Array:
    """0, 1, … in each box, one after another."""
    places: Array = np.arange(sizes.sum()) - np.repeat(sizes.cumsum() - sizes, sizes)
    return places


def reading_order(items: Sequence[Item], order: ItemOrder, world: World) -> list[int]:
    """Returns the index of the item that is read at each place.

    RANDOM is a scramble that depends only on what the box holds, so that a verdict depends neither on the other
    examples of a batch nor on the order of the file; no item is always first, because the whole box enters the hash.
    """
    return list(map(int, _reading_orders([items], order, world)))


def _reading_orders(boxes: Sequence[Sequence[Item]], order: ItemOrder, world: World) -> Array:
    """The reading orders of many boxes, one after another, as indices into the items of all of them."""
    items, sizes = [item for each in boxes for item in each], np.array([len(each) for each in boxes], np.int64)
    box = np.repeat(np.arange(len(boxes)), sizes)
    if order is ItemOrder.FILE:
        return np.arange(len(items))
    if order is ItemOrder.SORTED:
        x, y = (np.array([getattr(item, name) for item in items], float) for name in ("x", "y"))
        return np.lexsort((-y, x, box))
    (base, look), rows = _digits(world), world.canvas[1] + 1
    # Numbers that differ between items: a mixed radix of position, quantities and choices. 48 bits of them are hashed.
    codes = [((round(item.x) * rows + round(item.y)) * base + look(item.values)) & (1 << 48) - 1 for item in items]
    mixed = _mix(np.array(codes, np.uint64))
    sums = np.concatenate([np.zeros(1, np.uint64), mixed.cumsum()])
    ends = sizes.cumsum()
    whole_box = _mix((sums[ends] - sums[ends - sizes]) & _BITS)
    return np.lexsort((_mix(mixed ^ whole_box[box]), box))


@cache
def _digits(world: World) -> tuple[int, Callable[[Values], int]]:
    """The weight of the position in a code, and what an item's values add to it."""
    categorical = [attribute for attribute in world.attributes if attribute.kind == "categorical"]
    weights, weight = dict[str, int](), 1
    for attribute in categorical:
        weights[attribute.name] = weight
        weight *= len(attribute.choices) + 1
    for attribute in reversed([each for each in world.attributes if each not in categorical]):
        weights[attribute.name] = weight
        weight *= 101

    def digit(attribute: Attribute, value: Value) -> int:
        if attribute.kind == "categorical":
            return attribute.rank[value] + 1
        low, high = attribute.scale  # a quantity, in percent of its range
        return round(100 * (attribute.number(value) - low) / ((high - low) or 1))

    @lru_cache(maxsize=4096)
    def look(values: Values) -> int:
        pairs = zip(world.attributes, values, strict=True)
        return sum(weights[name] * digit(attribute, value) for attribute, (name, value) in pairs)

    return weight, look


_BITS = np.uint64(0xFFFFFFFF)


def _mix(numbers: Array) -> Array:
    """32-bit hashes without structure, of uint64: shifts and multiplications by an odd number, modulo 2**32."""
    half, factor = np.uint64(16), np.uint64(0x45D9F3B)
    numbers = (((numbers >> half) ^ numbers) * factor) & _BITS
    numbers = (((numbers >> half) ^ numbers) * factor) & _BITS
    return (numbers >> half) ^ numbers
