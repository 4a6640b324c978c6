"""Items that look at one another and at the statement, in layers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from veriscene.data.items import Items
from veriscene.data.vocabulary import CODES
from veriscene.models.layers.attention import Sequences, masked_softmax

RELATIONS = ("none", "box", "scene")  # whether items look at no others, at those of their box, or at all
HEADS, WIDTH = 8, 32  # of each attention
EDGE = 32  # size of a pair's vector
EXPECTED_ITEMS = 8  # gates of that many items begin with a sum of about one
# The weight of what a layer adds. In one small trial a task was learned after 120 steps with it, not after 200 without
# (docs/models.md); probably because the sums of a layer outgrow what an item is within a few steps.
PACE = 0.1


class Pairs(nn.Module):
    """e_ij = relu(W p_ij + b), of the features p_ij of each pair of items of a scene."""

    def __init__(self, features: int, relations: str) -> None:
        super().__init__()
        self.within_boxes = relations == "box"
        self.embed = nn.Linear(features, EDGE)

    def forward(self, items: Items, features: Tensor) -> tuple[Tensor, Tensor]:
        """Of pair features (batch, i, j, …): vectors (batch, i, j, EDGE), and whether i looks at j (batch, i, j)."""
        mask = items.mask.flatten(1)[:, None]  # (batch, 1, j)
        box = torch.arange(mask.size(-1), device=mask.device) // items.features.size(2)
        allowed = (box[:, None] == box) & mask if self.within_boxes else mask.expand(-1, mask.size(-1), -1)
        return torch.relu(self.embed(features)), allowed


class GatedItemAttention(nn.Module):
    """o_i = W Σ_j a_ij [v_j; e_ij], with gates a_ij = σ(q_i k_j / √d + w e_ij - log 8) in each head.

    Gates and not a softmax, because counts are sums. The constant lets the gates of a full box begin with a sum of
    about one.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.queries_keys_values = nn.Linear(size, 3 * HEADS * WIDTH)
        self.bias = nn.Linear(EDGE, HEADS)
        self.out = nn.Linear(HEADS * (WIDTH + EDGE), size)

    def forward(self, g: Tensor, pairs: tuple[Tensor, Tensor]) -> Tensor:
        """g (batch, item, size) -> (batch, item, size)."""
        e, allowed = pairs
        q, k, v = (part.unflatten(-1, (HEADS, WIDTH)) for part in self.queries_keys_values(g).chunk(3, dim=-1))
        scores = torch.einsum("bihd,bjhd->bihj", q, k) / math.sqrt(WIDTH) + self.bias(e).mT
        gates = torch.sigmoid(scores - math.log(EXPECTED_ITEMS)) * allowed[:, :, None]
        seen = [torch.einsum("bihj,bjhd->bihd", gates, v), gates @ e]
        out: Tensor = self.out(torch.cat(seen, dim=-1).flatten(2))
        return out


class WordAttention(nn.Module):
    """Items attend to words: o_i = W Σ_t softmax_t(q_i k_t / √d) v_t in each head."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.queries = nn.Linear(size, HEADS * WIDTH)
        self.keys_values = nn.Linear(size, 2 * HEADS * WIDTH)
        self.out = nn.Linear(HEADS * WIDTH, size)

    def forward(self, g: Tensor, words: Sequences) -> Tensor:
        """g (batch, item, size), words h (batch, word, size) -> (batch, item, size)."""
        q = self.queries(g).unflatten(-1, (HEADS, WIDTH))
        k, v = (part.unflatten(-1, (HEADS, WIDTH)) for part in self.keys_values(words.states).chunk(2, dim=-1))
        scores = torch.einsum("bihd,bthd->bhit", q, k) / math.sqrt(WIDTH)
        weights = masked_softmax(scores, words.mask[:, None, None])
        out: Tensor = self.out(torch.einsum("bhit,bthd->bihd", weights, v).flatten(2))
        return out


class ItemLayer(nn.Module):
    """g += asking(g, h); g += relating(g, e); g += W relu(W' g). Each reads normalised items and has dropout."""

    def __init__(self, size: int, joint: int, dropout: float, *, relations: bool) -> None:
        super().__init__()
        self.relating = GatedItemAttention(size) if relations else None
        self.asking = WordAttention(size)
        self.first = nn.Linear(size, joint)
        self.last = nn.Linear(joint, size)
        self.norm = nn.LayerNorm(size, elementwise_affine=False)
        self.dropout = nn.Dropout(dropout)

    def start_as_identity_(self) -> None:
        """Sets the last matrix of each summand to zero. Else what an item is drowns at first in sums over all items."""
        nn.init.zeros_(self.asking.out.weight)
        nn.init.zeros_(self.last.weight)
        if self.relating is not None:
            nn.init.zeros_(self.relating.out.weight)

    def forward(self, g: Tensor, words: Sequences, pairs: tuple[Tensor, Tensor] | None) -> Tensor:
        """g (batch, item, size), of all items of a scene; words normalised."""
        g = g + PACE * self.dropout(self.asking(self.norm(g), words))
        if self.relating is not None and pairs is not None:
            g = g + PACE * self.dropout(self.relating(self.norm(g), pairs))
        result: Tensor = g + PACE * self.dropout(self.last(torch.relu(self.first(self.norm(g)))))
        return result


# ---------------------------------------------------------------- spelling

# What a word's letters say about it.

LETTER, WINDOW = 32, 3  # size of a letter's vector, letters that a filter sees


class SpellingCNN(nn.Module):
    """A convolution over the letters and the max over the word, so that a misspelt word keeps most of its vector."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embed_letters = nn.Embedding(CODES, LETTER, padding_idx=0)
        self.filters = nn.Linear(WINDOW * LETTER, size)
        self.project = nn.Linear(size, size)

    def forward(self, characters: Tensor) -> Tensor:
        """(batch, word, letter), codes -> (batch, word, size)."""
        # Filters also see where a word begins and ends. One matrix product is faster than convolving such short rows.
        letters = pad(self.embed_letters(characters.long()), (0, 0, WINDOW - 1, WINDOW - 1))
        count = letters.size(2) - WINDOW + 1
        windows = torch.cat([letters[:, :, start : start + count] for start in range(WINDOW)], dim=-1)
        vectors: Tensor = self.project(torch.relu(self.filters(windows).amax(dim=2)))
        return vectors
