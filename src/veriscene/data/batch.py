"""Examples as tensors. A whole corpus is one large Batch; indexing it gives a smaller one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from veriscene.data.encoder import Encoded
from veriscene.data.items import Items, TensorStruct

Part = TypeVar("Part")


@dataclass(frozen=True)
class Statement(TensorStruct):
    words: Tensor  # (batch, word), int64; PADDING beyond a statement's end
    lengths: Tensor  # (batch,), int64
    characters: Tensor | None = None  # (batch, word, MOST_LETTERS), uint8, for models that read letters; 0: no letter

    @property
    def mask(self) -> Tensor:
        """(batch, word): whether there is a word."""
        return torch.arange(self.words.size(1), device=self.words.device) < self.lengths[:, None]


@dataclass(frozen=True)
class Layouts(TensorStruct):
    """Holds the steps of module networks (language/module_layout.py), several networks for a statement.

    Beyond a layout's last step and beyond a statement's last layout all are zero.
    """

    modules: Tensor  # (batch, layout, step), int64: Module
    arguments: Tensor  # (batch, layout, step, 2), int64: earlier steps; a module with one argument has it twice
    spans: Tensor  # (batch, layout, step, word), bool: the words that the step reads


@dataclass(frozen=True)
class Batch(TensorStruct):
    statement: Statement
    items: Items | None = None  # for models that read items
    pixels: Tensor | None = None  # (batch, box, height, width, RGB), uint8, for models that read pictures
    features: Tensor | None = None  # (batch, box, channel, row, column), float16: what a frozen backbone made of pixels
    layout: Layouts | None = None  # for module networks
    labels: Tensor | None = None  # (batch,): 1.0 true, 0.0 false

    @classmethod
    def of(cls, encoded: Encoded) -> Batch:
        """Returns the arrays of an encoder as tensors, which share their memory."""
        arrays = {name: array for name, array in vars(encoded).items() if array is not None}
        return cls.of_tensors({name: torch.from_numpy(array) for name, array in arrays.items()})

    @classmethod
    def of_tensors(cls, of: Mapping[str, Tensor]) -> Batch:
        """Returns the batch that has these fields of Encoded."""

        def part(kind: type[Part], needed: str) -> Part | None:
            own = {name: of[name] for name in kind.__annotations__ if name in of}
            return kind(**own) if needed in of else None

        return cls(
            statement=required(part(Statement, "words")),
            items=part(Items, "features"),
            layout=part(Layouts, "modules"),
            pixels=of.get("pixels"),
            labels=of.get("labels"),
        )

    def __len__(self) -> int:
        return self.statement.words.size(0)

    @property
    def device(self) -> torch.device:
        return self.statement.words.device

    def __getitem__(self, which: slice | Tensor) -> Batch:
        """Returns some of the examples, without padding that none of them needs."""
        lengths = self.statement.lengths[which]
        counts = self.items.counts[which] if self.items is not None else lengths
        longest, fullest = (int(lengths.max()), max(1, int(counts.max()))) if len(lengths) else (1, 1)
        return self.select(which, words=longest, items=fullest)

    def select(self, which: slice | Tensor, *, words: int, items: int) -> Batch:
        """Returns some examples, padded to a shape that the caller knows to suffice: the device is not synchronised.

        Narrowing comes first, because it is a view and makes the copies smaller.
        """
        characters = None if self.statement.characters is None else self.statement.characters[:, :words]
        statement = replace(self.statement, words=self.statement.words[:, :words], characters=characters)
        narrow = replace(self, statement=statement)
        if self.items is not None:
            features, positions = self.items.features[:, :, :items], self.items.positions[:, :, :items]
            narrow = replace(narrow, items=replace(self.items, features=features, positions=positions))
        if self.layout is not None:
            narrow = replace(narrow, layout=replace(self.layout, spans=self.layout.spans[..., :words]))
        return narrow.map(lambda tensor: tensor[which])


def required(part: Part | None) -> Part:
    """Returns a field of a Batch that the caller's contract guarantees: a model's `inputs`, or labels in training."""
    if part is None:
        raise ValueError("the batch lacks a field; the encoder's inputs must be those of the model")
    return part
