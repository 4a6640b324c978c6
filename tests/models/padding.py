"""Padding that no model may read."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.nn.functional import pad

from veriscene.data.batch import Batch, Statement, required
from veriscene.data.items import Items


def with_random_padding(batch: Batch, *, more_words: int = 0, more_items: int = 0) -> Batch:
    """The same examples with more padding, all of which holds real words and plausible items."""
    generator, items = torch.Generator().manual_seed(0), required(batch.items)
    statement = Statement(pad(batch.statement.words, (0, more_words)), batch.statement.lengths)
    wider = Items(pad(items.features, (0, 0, 0, more_items)), items.counts, pad(items.positions, (0, more_items)))
    words = torch.randint(1, int(statement.words.max()) + 1, statement.words.shape, generator=generator)
    features = torch.randint(-1, 2, wider.features.shape, generator=generator).to(wider.features.dtype)
    return replace(
        batch,
        statement=replace(statement, words=torch.where(statement.mask, statement.words, words)),
        items=replace(wider, features=torch.where(wider.mask[..., None], wider.features, features)),
    )
