"""Examples as tensors. A whole corpus is one large Batch; indexing it gives a smaller one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import torch
from torch import Tensor

from veriscene.errors import InputError
from veriscene.scenes.nlvr import Example
from veriscene.tensors.features import ITEM_FEATURES, item_features
from veriscene.tensors.vocabulary import PADDING, Vocabulary


class ItemOrder(Enum):
    """The order in which a model without a pointer reads items, and in which a pointer network first sees them."""

    RANDOM = "random"
    FILE = "file"
    SORTED = "sorted"


@dataclass(frozen=True)
class Batch:
    words: Tensor  # (batch, word), int64; PADDING beyond a statement's end
    lengths: Tensor  # (batch,), int64
    items: Tensor  # (batch, box, item, ITEM_FEATURES); zeros beyond a box's last item
    counts: Tensor  # (batch, box), int64: items in each box
    positions: Tensor  # (batch, box, item), int64: where each item stands in its box in the file
    labels: Tensor | None = None  # (batch,), 1.0 true, 0.0 false

    def __len__(self) -> int:
        return self.words.size(0)

    @property
    def word_mask(self) -> Tensor:
        return torch.arange(self.words.size(1), device=self.words.device) < self.lengths[:, None]

    @property
    def item_mask(self) -> Tensor:
        return torch.arange(self.items.size(2), device=self.items.device) < self.counts[:, :, None]

    @property
    def as_they_come(self) -> Tensor:
        """The order (batch, box, item) of a reader who takes the items as they come."""
        return torch.arange(self.items.size(2), device=self.items.device).expand(self.items.shape[:3])

    def __getitem__(self, which: slice | Tensor) -> Batch:
        """Some of the examples, without the padding that they do not need."""
        lengths, counts = self.lengths[which], self.counts[which]
        longest, fullest = (int(lengths.max()), int(counts.max())) if len(lengths) else (1, 1)
        return self.padded_to(which, words=longest, items=fullest)

    def padded_to(self, which: slice | Tensor, *, words: int, items: int) -> Batch:
        """Some of the examples in a shape that the caller knows to suffice: nothing is asked of the device."""
        return Batch(
            words=self.words[which, :words],
            lengths=self.lengths[which],
            items=self.items[which, :, :items],
            counts=self.counts[which],
            positions=self.positions[which, :, :items],
            labels=None if self.labels is None else self.labels[which],
        )

    def to(self, device: torch.device | str) -> Batch:
        moved = {name: value.to(device) for name, value in vars(self).items() if value is not None}
        return replace(self, **moved)

    def reordered(self, order: Tensor) -> Batch:
        """Items read in another order: `order` (batch, box, item) holds, for each place, the item that comes there."""
        return replace(
            self,
            items=take_items(self.items, order),
            positions=self.positions.gather(2, order),
        )

    def in_order(self, order: ItemOrder, generator: torch.Generator | None = None) -> Batch:
        """Items read in the given kind of order.

        RANDOM draws from `generator`. Without one it takes a fixed scramble that depends on what the box holds and on
        nothing else, so that a verdict depends neither on the other examples nor on the order of the file.
        """
        if order is ItemOrder.FILE:
            return self
        if order is ItemOrder.SORTED:
            keys = _left_to_right_then_upwards(self.items)
        elif generator is None:
            keys = _scramble(self.items, self.item_mask)
        else:
            keys = torch.rand(self.counts.shape + self.items.shape[2:3], generator=generator, device=generator.device)
            keys = keys.to(self.items.device, torch.float64)
        return self._by(keys)

    def shuffled(self) -> Batch:
        """Items in an order that the device itself draws, so that nothing is copied there."""
        return self._by(torch.rand(self.items.shape[:3], device=self.items.device))

    def _by(self, keys: Tensor) -> Batch:
        return self.reordered(keys.masked_fill(~self.item_mask, torch.inf).argsort(dim=2, stable=True))

    def followed_by(self, other: Batch) -> Batch:
        """The examples of both, which must be padded alike and either all have labels or none."""
        pairs = ((name, value, getattr(other, name)) for name, value in vars(self).items() if value is not None)
        return replace(self, **{name: torch.cat([mine, theirs]) for name, mine, theirs in pairs})


def take_items(items: Tensor, order: Tensor) -> Tensor:
    """items (batch, box, item, dim) in the given order (batch, box, item)."""
    return items.gather(2, order[..., None].expand(-1, -1, -1, items.size(-1)))


def encode(examples: Sequence[Example], vocabulary: Vocabulary) -> Batch:
    """Examples as one batch, items in the order of the file. Labels are there only if every example has one."""
    sentences = [vocabulary.encode(example.statement) for example in examples]
    for example, sentence in zip(examples, sentences, strict=True):
        if not sentence:
            raise InputError(f"example {example.identifier!r}: the statement is blank; it must hold at least one word")
        if not all(box.items for box in example.scene.boxes):
            raise InputError(f"example {example.identifier!r}: a box is empty; each must hold at least one item")
    longest = max(map(len, sentences), default=1)
    boxes = [box for example in examples for box in example.scene.boxes]
    fullest = max((len(box.items) for box in boxes), default=1)
    blank = (0.0,) * ITEM_FEATURES
    rows = [[item_features(item) for item in box.items] + [blank] * (fullest - len(box.items)) for box in boxes]
    items = torch.tensor(rows, dtype=torch.float32).view(len(examples), 3, fullest, ITEM_FEATURES)
    truths = [example.label for example in examples]
    labels = None if None in truths else torch.tensor(truths, dtype=torch.float32)
    return Batch(
        words=torch.tensor([s + [PADDING] * (longest - len(s)) for s in sentences], dtype=torch.int64).view(
            len(examples), longest
        ),
        lengths=torch.tensor([len(s) for s in sentences], dtype=torch.int64),
        items=items,
        counts=torch.tensor([len(box.items) for box in boxes], dtype=torch.int64).view(len(examples), 3),
        positions=torch.arange(fullest).expand(len(examples), 3, fullest).contiguous(),
        labels=labels,
    )


def _left_to_right_then_upwards(items: Tensor) -> Tensor:
    x, y = items[..., 0].double(), items[..., 1].double()
    return 1000 * x - y


def _scramble(items: Tensor, there: Tensor) -> Tensor:
    """A key per item that depends on the item and, so that no item is always first, on all that its box holds."""
    place_and_size = ((items[..., :3].double() + 1) * 50).round().long()
    looks = (items[..., 3:].long() * torch.tensor([1, 2, 3, 4, 8, 12], device=items.device)).sum(-1)
    code = ((place_and_size[..., 0] * 101 + place_and_size[..., 1]) * 101 + place_and_size[..., 2]) * 16 + looks
    mixed = _mix(code)
    whole_box = _mix((mixed * there).sum(-1, keepdim=True) & _BITS)
    return _mix(mixed ^ whole_box).double()


_BITS = 0xFFFFFFFF


def _mix(number: Tensor) -> Tensor:
    """A hash of 32 bits without structure: shifts and multiplications by an odd number, as hash tables use."""
    for _ in range(2):
        number = (((number >> 16) ^ number) * 0x45D9F3B) & _BITS
    return (number >> 16) ^ number
