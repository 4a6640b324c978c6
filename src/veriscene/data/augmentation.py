"""Changes to training examples that keep their labels valid, redrawn each epoch."""

from __future__ import annotations

from dataclasses import replace

import torch

from veriscene.data.batch import Batch
from veriscene.data.vocabulary import UNKNOWN


def drop_words(batch: Batch, share: float, generator: torch.Generator) -> Batch:
    """Replaces this share of the words by UNK."""
    if not share:
        return batch
    # Drawn on the generator's device and moved, so that every device sees the same words dropped.
    dropped = (torch.rand(batch.statement.words.shape, generator=generator) < share).to(batch.device)
    words = torch.where(dropped & batch.statement.mask, UNKNOWN, batch.statement.words)
    return replace(batch, statement=replace(batch.statement, words=words))
