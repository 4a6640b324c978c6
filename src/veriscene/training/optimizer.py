"""Adam, with the decoupled weight decay of AdamW; a pointer's own weights learn at their own pace and do not decay."""

from __future__ import annotations

import torch
from torch import nn

from veriscene import models
from veriscene.config import TrainingConfig

EPSILON = 1e-8  # what Adam adds to the size of a gradient, by which it divides
PACE = "pace"  # of a group of weights: its learning rate as a share of the run's


def make_optimizer(model: nn.Module, settings: TrainingConfig, *, captured: bool) -> torch.optim.AdamW:
    """For a step that is recorded, or not.

    What only chooses an order learns by the policy gradient alone, a small one whose mean is near zero. Decay would
    bring those weights to nothing, and Adam's epsilon would stop them if it did not follow `policy_weight`. So that
    weight says how much of the gradient reaches what the pointer shares with the rest, and `policy_rate` is its pace.
    """
    choosing = list(model.get_submodule("pointer").parameters()) if models.chooses_order(model) else []
    theirs = {id(parameter) for parameter in choosing}
    judging = [parameter for parameter in model.parameters() if id(parameter) not in theirs]
    groups = [{"params": judging, "weight_decay": settings.weight_decay, PACE: 1.0}]
    if choosing:
        epsilon = EPSILON * (settings.policy_weight or 1.0)
        groups.append({"params": choosing, "weight_decay": 0.0, PACE: settings.policy_rate, "eps": epsilon})
    return torch.optim.AdamW(
        groups, lr=settings.learning_rate, eps=EPSILON, capturable=captured, fused=captured or None
    )
