"""What several processes do as one. With a single one, nothing is sent anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object
from torch import nn

from veriscene.errors import InputError, message
from veriscene.models.inference import judge_in_batches
from veriscene.tensors.batch import Batch

T = TypeVar("T")


def by_the_first(accelerator: Accelerator, work: Callable[[], T]) -> T | None:
    """Done by the first process while the others wait, and get None. What is refused to it is refused to all."""
    done, refusal = None, ""
    if accelerator.is_main_process:
        try:
            done = work()
        except (InputError, OSError) as error:
            if accelerator.num_processes == 1:
                raise
            refusal = message(error)
    if accelerator.num_processes > 1:  # else the others would wait in vain, and end in tracebacks
        told = [refusal]
        broadcast_object_list(told)
        if told[0]:
            raise InputError(told[0])
    return done


def agree(accelerator: Accelerator, *wishes: bool) -> tuple[bool, ...]:
    """What any process wishes, all do: they must leave a loop at the same step."""
    if accelerator.num_processes == 1:
        return wishes
    votes = torch.tensor([float(wish) for wish in wishes], device=accelerator.device)
    return tuple(bool(count > 0) for count in accelerator.reduce(votes))


def mean(accelerator: Accelerator, value: float) -> float:
    if accelerator.num_processes == 1:
        return value
    return float(accelerator.reduce(torch.tensor(value, device=accelerator.device), reduction="mean"))


def accuracy(accelerator: Accelerator, model: nn.Module, corpus: Batch) -> float:
    """Every example judged once, by one process or another."""
    assert corpus.labels is not None
    rank, world = accelerator.process_index, accelerator.num_processes
    right: list[tuple[int, bool]] = []
    for numbers, batch, judgement in judge_in_batches(model, corpus, rank=rank, world=world):
        assert batch.labels is not None
        correct = (judgement.logits > 0) == (batch.labels > 0.5)
        right.extend(zip(numbers.tolist(), correct.tolist(), strict=True))
    gathered: dict[int, bool] = dict(gather_object(right) if world > 1 else right)
    return sum(gathered.values()) / len(gathered)
