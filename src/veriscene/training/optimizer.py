"""Adam for all weights, with the decoupled weight decay of AdamW; a pointer network's own may learn at another pace."""

from __future__ import annotations

import torch
from torch import nn

from veriscene import models
from veriscene.config import TrainingConfig

EPSILON = 1e-8
PACE = "pace"  # of a group of weights: its learning rate as a share of the run's


def make_optimizer(model: nn.Module, settings: TrainingConfig, *, captured: bool) -> torch.optim.AdamW:
    """For a step that is recorded, or not.

    Adam's steps are as long for a small gradient as for a large one, down to its epsilon. The pointer's epsilon follows
    `policy_weight`, so that its pace is `policy_rate`'s matter alone: the other only says how much of the policy
    gradient reaches what the pointer shares with the rest.
    """
    own = list(model.pointer.parameters()) if isinstance(model, models.Pointing) else []
    theirs = {id(parameter) for parameter in own}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in theirs]
    epsilon = EPSILON * (settings.policy_weight or 1.0)
    pointers = {"params": own, PACE: settings.policy_rate, "eps": epsilon}
    return torch.optim.AdamW(
        [{"params": rest, PACE: 1.0}, *([pointers] if own else [])],
        lr=settings.learning_rate,
        eps=EPSILON,
        weight_decay=settings.weight_decay,
        capturable=captured,
        fused=captured or None,
    )
