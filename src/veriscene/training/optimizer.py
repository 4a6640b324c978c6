"""Adam, with the decoupled weight decay of AdamW."""

from __future__ import annotations

import torch
from torch import nn

from veriscene.config import TrainingConfig


def make_optimizer(model: nn.Module, settings: TrainingConfig, *, captured: bool) -> torch.optim.AdamW:
    """For a step that is recorded, or not."""
    return torch.optim.AdamW(
        model.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        capturable=captured,
        fused=captured or None,
    )
