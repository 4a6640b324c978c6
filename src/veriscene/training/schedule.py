"""The learning rate over a run, and which examples make up each step of an epoch."""

from __future__ import annotations

import torch
from torch import Tensor

from veriscene.config import TrainingConfig


def learning_rate(settings: TrainingConfig, step: int, total_steps: int) -> float:
    """Fixed, as in the paper; with warm-up and cool-down where a preset asks for them."""
    up = min(1.0, (step + 1) / settings.warmup) if settings.warmup else 1.0
    cooling = settings.cooldown * total_steps
    down = min(1.0, (total_steps - step) / cooling) if cooling else 1.0
    return settings.learning_rate * min(up, down)


def epoch_batches(lengths: Tensor, *, size: int, window: int, generator: torch.Generator) -> list[Tensor]:
    """Every example once, in random batches of `size`: their numbers.

    Among each `window` batches' worth of examples, statements of like length come together, so that little padding is
    computed; the batches then go in random order.
    """
    shuffled = torch.randperm(len(lengths), generator=generator)
    windows = torch.split(shuffled, size * window)
    batches = [batch for some in windows for batch in torch.split(some[lengths[some].argsort(stable=True)], size)]
    return [batches[number] for number in torch.randperm(len(batches), generator=generator).tolist()]
