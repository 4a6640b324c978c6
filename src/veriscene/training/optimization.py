"""How weights change: the optimizer, the learning rate schedule, the moving average of the weights, precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from veriscene.config import TrainingConfig
from veriscene.models.base import Model
from veriscene.training.muon import Muon


def make_optimizer(model: Model, settings: TrainingConfig, *, captured: bool) -> torch.optim.AdamW:
    """`captured`: for a step that is captured as a CUDA graph."""
    groups = [
        {**group, "weight_decay": settings.weight_decay * group.get("decay", 1.0)} for group in model.parameter_groups()
    ]
    kind: type[torch.optim.AdamW] = torch.optim.AdamW
    if settings.optimizer == "muon":
        kind, groups = Muon, [part for group in groups for part in _parts(model, group)]
    return kind(groups, lr=settings.learning_rate, capturable=captured, fused=captured or None)


def _parts(model: Model, group: dict[str, Any]) -> list[dict[str, Any]]:
    """The group's matrices, and the rest: rows of an embedding are moved one by one, and a single row has no
    direction to share with others."""
    rows = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    parts: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for parameter in group["params"]:
        is_matrix = parameter.dim() == 2 and min(parameter.shape) > 1 and id(parameter) not in rows
        parts[is_matrix and group.get("orthogonal", True)].append(parameter)
    return [{**group, "params": params, "orthogonal": orthogonal} for orthogonal, params in parts.items() if params]


def learning_rate(settings: TrainingConfig, step: int, total_steps: int) -> float:
    """Constant, as in the paper; with linear warm-up and cool-down where a preset asks for them."""
    up = min(1.0, (step + 1) / settings.warmup) if settings.warmup else 1.0
    cooling = settings.cooldown * total_steps
    down = min(1.0, (total_steps - step) / cooling) if cooling else 1.0
    return settings.learning_rate * min(up, down)


class EMA:
    """An exponential moving average of a model's floating-point parameters and buffers (running statistics too)."""

    def __init__(self, model: nn.Module, *, decay: float) -> None:
        self.decay = decay
        self._own = [tensor for tensor in model.state_dict().values() if tensor.is_floating_point()]
        self.weights: list[Tensor] = [tensor.detach().clone() for tensor in self._own]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """After the step with this index. Early on the decay is smaller, so that initial weights are forgotten."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.weights, self._own, 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the model has the averaged weights. They are copied, because a CUDA graph reads fixed memory."""
        own = [tensor.detach().clone() for tensor in self._own]
        self._copy(self.weights)
        try:
            yield
        finally:
            self._copy(own)

    @torch.no_grad()
    def _copy(self, weights: list[Tensor]) -> None:
        torch._foreach_copy_(self._own, weights)


@contextmanager
def tf32() -> Iterator[None]:
    """Matrix products in tf32 on a GPU: about three decimal digits, and several times faster than fp32."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
