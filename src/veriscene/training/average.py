"""A moving average of a model's weights: it wanders less than they do, and judges better."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    def __init__(self, model: nn.Module, *, keep: float) -> None:
        """At each step the average keeps this share of itself, but never more than lets it forget where it began."""
        self.parameters: list[Tensor] = list(model.parameters())
        self.keep = keep
        self.weights: list[Tensor] = [parameter.detach().clone() for parameter in self.parameters]

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """After the step of that number, from 0 on."""
        keep = min(self.keep, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.weights, self.parameters, 1 - keep)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside, the model has the averaged weights."""
        own = [parameter.detach().clone() for parameter in self.parameters]
        self._copy(self.weights)
        try:
            yield
        finally:
            self._copy(own)

    @torch.no_grad()
    def _copy(self, weights: list[Tensor]) -> None:
        for parameter, weight in zip(self.parameters, weights, strict=True):
            parameter.copy_(weight)  # in place: a recorded graph knows the parameters by their memory
