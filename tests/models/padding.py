"""Padding that no model may see."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.nn.functional import pad

from veriscene.tensors.batch import Batch


def with_rubbish(batch: Batch, *, more_words: int = 0, more_items: int = 0) -> Batch:
    """The same examples, with more padding, all of which holds real words and likely items."""
    generator = torch.Generator().manual_seed(0)
    wider = replace(
        batch,
        words=pad(batch.words, (0, more_words)),
        items=pad(batch.items, (0, 0, 0, more_items)),
        positions=pad(batch.positions, (0, more_items)),
    )
    words = torch.randint(1, int(batch.words.max()) + 1, wider.words.shape, generator=generator)
    items = torch.randint(-1, 2, wider.items.shape, generator=generator).to(batch.items.dtype)
    return replace(
        wider,
        words=torch.where(wider.word_mask, wider.words, words),
        items=torch.where(wider.item_mask[..., None], wider.items, items),
    )
