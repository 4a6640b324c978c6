"""New training examples out of given ones: changes that a statement does not speak of, or that its words follow.

They draw on labels alone: nobody says what a statement means. Recolouring and mirroring keep its truth; jitter almost
always (items may come to touch that did not, or part); of a sentence with words missing a part is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from veriscene.errors import InputError
from veriscene.scenes.scene import BOX_EXTENT, Color, Size
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import UNKNOWN, Vocabulary

COLOR_WORDS = {Color.YELLOW: "yellow", Color.BLACK: "black", Color.BLUE: "blue"}
SIDED_WORDS = ("left", "right")
X, Y, SIZE, COLORS = 0, 1, 2, slice(6, 9)  # of an item's features
PIXEL = 2 / BOX_EXTENT  # in the units of the features


@dataclass(frozen=True)
class Augmentation:
    """What is drawn anew for each example and epoch."""

    vocabulary: Vocabulary
    recolor: bool = False  # the three colours change places, in scene and statement
    mirror: bool = False  # half of the scenes are seen in a mirror, unless the statement speaks of left or right
    jitter: float = 0.0  # the standard deviation, in pixels, of a shift of each item, but not off a wall
    word_dropout: float = 0.0  # the share of words that become UNK

    def __post_init__(self) -> None:
        missing = [word for word in COLOR_WORDS.values() if word not in self.vocabulary.words]
        if self.recolor and missing:
            raise InputError(f"data.recolor: the train split does not teach the word {missing[0]!r}; leave recolor off")

    def __call__(self, batch: Batch, generator: torch.Generator) -> Batch:
        if self.recolor:
            batch = self._recolored(batch, generator)
        if self.mirror:
            batch = self._mirrored(batch, generator)
        if self.jitter:
            batch = self._jittered(batch, generator)
        if self.word_dropout:
            dropped = _draw(torch.rand, batch.words.shape, generator, batch) < self.word_dropout
            batch = replace(batch, words=torch.where(dropped & batch.word_mask, UNKNOWN, batch.words))
        return batch

    def _recolored(self, batch: Batch, generator: torch.Generator) -> Batch:
        became = _draw(torch.rand, (len(batch), len(Color)), generator, batch).argsort(dim=1)
        words = batch.words
        numbers = [self.vocabulary.words.index(COLOR_WORDS[color]) for color in Color]
        names = torch.tensor(numbers, device=words.device)
        for number, name in enumerate(names):
            words = torch.where(batch.words == name, names[became[:, number]][:, None], words)
        items = batch.items.clone()
        of_item = became.argsort(dim=1)[:, None, None].expand(*items.shape[:3], -1)
        items[..., COLORS] = items[..., COLORS].gather(3, of_item)
        return replace(batch, words=words, items=items)

    def _mirrored(self, batch: Batch, generator: torch.Generator) -> Batch:
        sided = [number for number, word in enumerate(self.vocabulary.words) if word in SIDED_WORDS]
        says_side = torch.isin(batch.words, torch.tensor(sided, device=batch.words.device)).any(dim=1)
        mirrored = (_draw(torch.rand, (len(batch),), generator, batch) < 0.5) & ~says_side
        items = batch.items.clone()
        there = batch.item_mask & mirrored[:, None, None]
        items[..., X] = torch.where(there, -items[..., X] - _pixels(items) * PIXEL, items[..., X])
        return replace(batch, items=items)

    def _jittered(self, batch: Batch, generator: torch.Generator) -> Batch:
        place = batch.items[..., : Y + 1]
        limit = 1 - _pixels(batch.items)[..., None] * PIXEL  # the corner of an item that touches the far wall
        shift = _draw(torch.randn, place.shape, generator, batch) * self.jitter * PIXEL
        near = 1.5 * PIXEL
        free = (place > -1 + near) & (place < limit - near) & batch.item_mask[..., None]
        moved = torch.minimum((place + shift).clamp_min(-1 + near), limit - near)
        items = torch.cat([torch.where(free, moved, place), batch.items[..., SIZE:]], dim=-1)
        return replace(batch, items=items)


def _pixels(items: Tensor) -> Tensor:
    """Each item's width."""
    return Size.MEDIUM.value + items[..., SIZE] * (Size.LARGE.value - Size.MEDIUM.value)


def _draw(kind: Callable[..., Tensor], shape: Sequence[int], generator: torch.Generator, batch: Batch) -> Tensor:
    # Drawn where the generator is, so that every device sees the same.
    return kind(shape, generator=generator).to(batch.items.device)
