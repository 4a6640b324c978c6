"""Judging many examples: in batches, without gradients, shared among processes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from veriscene.models.base import Judgement
from veriscene.tensors.batch import Batch

INFERENCE_BATCH = 256


def judge_in_batches(
    model: nn.Module, corpus: Batch, *, size: int = INFERENCE_BATCH, rank: int = 0, world: int = 1
) -> Iterator[tuple[Tensor, Batch, Judgement]]:
    """Every `world`-th example from `rank` on, each exactly once: (their numbers in the corpus, batch, judgement).

    Statements of like length share a batch, so that little padding is computed.
    """
    by_length = corpus.lengths.argsort(stable=True)[rank::world]
    was_training = model.training
    model.eval()
    try:
        for numbers in torch.split(by_length, size):
            batch = corpus[numbers]
            with torch.inference_mode():
                judgement: Judgement = model(batch)
            yield numbers, batch, judgement
    finally:
        model.train(was_training)
