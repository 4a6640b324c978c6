"""Accuracy on the dev split, in one process or many."""

from __future__ import annotations

from accelerate import Accelerator

from veriscene.data.batch import Batch, required
from veriscene.models.base import Model, judge_in_batches
from veriscene.training.distributed import gathered


def accuracy(accelerator: Accelerator, model: Model, corpus: Batch) -> float:
    """Every example is judged exactly once, by one process or another, so the score does not depend on their number."""
    rank, world = accelerator.process_index, accelerator.num_processes
    right: list[bool] = []
    for _, batch, judgement in judge_in_batches(model, corpus, rank=rank, world=world):
        right.extend(((judgement.logits > 0) == (required(batch.labels) > 0.5)).tolist())
    everywhere = gathered(accelerator, right)
    return sum(everywhere) / len(everywhere)
