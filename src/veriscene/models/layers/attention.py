"""Joint bidirectional attention (section 3.1): words matched with objects, objects with words.

The objects of a box are a sequence of states: items, or cells of a feature map.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from veriscene.models.layers.recurrence import BiLSTM, concurrently


class Sequences(NamedTuple):
    """Padded sequences: of a statement's words, or of the objects of each box."""

    states: Tensor  # (…, step, dim)
    lengths: Tensor  # (…), int64

    @property
    def mask(self) -> Tensor:
        """(…, step): whether the step lies within its sequence."""
        return torch.arange(self.states.size(-2), device=self.lengths.device) < self.lengths[..., None]


class Matched(NamedTuple):
    vectors: Tensor  # (batch, box, 4 hidden): [h̄; ḡ]
    alpha: Tensor  # (batch, box, word, object)
    beta: Tensor  # (batch, box, object, word)


class Matching(nn.Module, ABC):
    """Equations 4 to 13. What reads the matched objects (equations 11 and 13) depends on what they are."""

    def __init__(self, hidden: int, joint: int, dropout: float) -> None:
        super().__init__()
        size = 2 * hidden
        self.b1 = nn.Linear(size, size, bias=False)
        self.b2 = nn.Linear(size, size, bias=False)
        self.w_lang = nn.Linear(4 * size, joint, bias=False)
        self.w_obj = nn.Linear(4 * size, joint, bias=False)
        self.word_lstm = BiLSTM(joint, hidden, dropout)

    @abstractmethod
    def read_objects(self, g_hat: Tensor, objects: Sequences) -> Tensor:
        """ḡ (batch, box, dim) from the joint representations ĝ (batch, box, object, joint)."""

    def forward(self, words: Sequences, objects: Sequences) -> Matched:
        """Words h (batch, word, 2 hidden) against the objects g of each box (batch, box, object, 2 hidden)."""
        h, g, boxes = words.states, objects.states, objects.lengths.shape
        object_mask, word_mask = objects.mask, words.mask[:, None].expand(*boxes, -1)

        def words_with_objects() -> tuple[Tensor, Tensor]:
            alpha = masked_softmax(torch.einsum("btd,bjkd->bjtk", self.b1(h), g), object_mask[:, :, None])  # 4
            c = alpha @ g  # 5
            h_hat = fuse(self.w_lang.weight, h[:, None], c)  # 6
            lengths = words.lengths[:, None].expand(boxes).flatten()  # every box is a row of its own to an LSTM
            h_bar = self.word_lstm(h_hat.flatten(0, 1), lengths).unflatten(0, boxes)  # 10
            return alpha, element_max(h_bar, word_mask)  # 12

        def objects_with_words() -> tuple[Tensor, Tensor]:
            beta = masked_softmax(torch.einsum("bjkd,btd->bjkt", self.b2(g), h), word_mask[:, :, None])  # 7
            d = beta @ h[:, None]  # 8
            g_hat = fuse(self.w_obj.weight, g, d)  # 9
            return beta, self.read_objects(g_hat, objects)  # 11, 13

        (alpha, h_bar), (beta, g_bar) = concurrently(words_with_objects, objects_with_words)
        return Matched(torch.cat([h_bar, g_bar], dim=-1), alpha, beta)


class ItemMatching(Matching):
    """The objects are items in some order, which a BiLSTM reads."""

    def __init__(self, hidden: int, joint: int, dropout: float) -> None:
        super().__init__(hidden, joint, dropout)
        self.item_lstm = BiLSTM(joint, hidden, dropout)

    def read_objects(self, g_hat: Tensor, objects: Sequences) -> Tensor:
        lengths = objects.lengths
        g_bar = self.item_lstm(g_hat.flatten(0, 1), lengths.flatten()).unflatten(0, lengths.shape)  # 11
        return element_max(g_bar, objects.mask)  # 13


class ItemSetMatching(Matching):
    """The objects are items without an order: ḡ has maxima over them, and counts, which are sums of gates."""

    def __init__(self, hidden: int, joint: int, dropout: float) -> None:
        super().__init__(hidden, joint, dropout)
        self.read_items = nn.Linear(joint, 2 * hidden)
        self.dropout = nn.Dropout(dropout)

    def read_objects(self, g_hat: Tensor, objects: Sequences) -> Tensor:
        most, gates = self.read_items(g_hat).chunk(2, dim=-1)
        counts = (torch.sigmoid(gates) * objects.mask[..., None]).sum(dim=-2)
        g_bar: Tensor = self.dropout(torch.cat([element_max(torch.tanh(most), objects.mask), counts], dim=-1))
        return g_bar


class CellMatching(Matching):
    """The objects are the cells of a feature map, which convolutions read (appendix A.1)."""

    def __init__(self, hidden: int, joint: int, dropout: float, *, filters: int) -> None:
        super().__init__(hidden, joint, dropout)
        self.cell_cnn = CellReader(joint, filters)

    def read_objects(self, g_hat: Tensor, objects: Sequences) -> Tensor:
        g_bar: Tensor = self.cell_cnn(g_hat)
        return g_bar


class CellReader(nn.Module):
    """Three 3 x 3 convolutions with ReLU, without padding, then the element-wise max over what is left of the map."""

    def __init__(self, size: int, filters: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(width, filters, 3) for width in (size, filters, filters))

    def forward(self, cells: Tensor) -> Tensor:
        """Reads the cells of square maps, row by row: (batch, box, cell, size) -> (batch, box, filters)."""
        side = math.isqrt(cells.size(2))
        # Channels last: no copy of the map, and the layout that convolutions on a GPU prefer.
        maps = cells.reshape(-1, side, side, cells.size(3)).permute(0, 3, 1, 2)
        for layer in self.layers:
            maps = torch.relu(layer(maps))
        return maps.amax(dim=(2, 3)).view(*cells.shape[:2], -1)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension; exactly zero where the mask is off."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


def element_max(outputs: Tensor, mask: Tensor) -> Tensor:
    """Element-wise max over the steps in the mask: (…, step, dim), (…, step) -> (…, dim)."""
    return outputs.masked_fill(~mask[..., None], -torch.inf).amax(dim=-2)


def fuse(weight: Tensor, own: Tensor, context: Tensor) -> Tensor:
    """relu(W [h; c; h - c; h ∘ c]), equations 6 and 9.

    W is applied in parts, so the concatenation is never materialised, and the part that depends on h alone is computed
    once for all boxes.
    """
    first, second, difference, product = weight.chunk(4, dim=1)
    return torch.relu(
        linear(own, first + difference) + linear(context, second - difference) + linear(own * context, product)
    )
