"""Muon: matrices move by their orthogonalised momentum, embeddings and all other parameters as with AdamW.

Jordan et al. 2024, with the step size of Liu et al. 2025, which gives a matrix the same root mean square as AdamW's
steps have, so that learning rates and weight decays carry over. `torch.optim.Muon` computes the same; this one can be
captured as a CUDA graph, and handles all matrices of one shape at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import torch
from torch import Tensor

MOMENTUM = 0.95
# Of five iterations X <- a X + (b A + c A²) X with A = X Xᵀ, which bring all singular values to between 0.7 and 1.2.
COEFFICIENTS, ITERATIONS = (3.4445, -4.7750, 2.0315), 5
STEP_SIZE = 0.2  # root mean square of AdamW's steps at a learning rate of one
TINY = 1e-7


class Muon(torch.optim.AdamW):
    """Groups with `orthogonal` must hold matrices; they have the moment `exp_avg` alone."""

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        groups = self.param_groups
        for group in groups:
            if group["orthogonal"]:
                self._step_orthogonally(group)
        self.param_groups = [group for group in groups if not group["orthogonal"]]
        try:
            super().step()
        finally:
            self.param_groups = groups
        return loss

    def _step_orthogonally(self, group: dict[str, Any]) -> None:
        parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
        gradients = [parameter.grad for parameter in parameters]
        for parameter in parameters:
            if not self.state[parameter]:
                self.state[parameter] |= {"step": parameter.new_zeros(()), "exp_avg": torch.zeros_like(parameter)}
        momenta = [self.state[parameter]["exp_avg"] for parameter in parameters]
        torch._foreach_add_([self.state[parameter]["step"] for parameter in parameters], 1)
        torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
        steps = orthogonalised(torch._foreach_lerp(gradients, momenta, MOMENTUM))  # Nesterov's momentum
        torch._foreach_mul_(steps, [STEP_SIZE * math.sqrt(max(step.shape)) for step in steps])
        torch._foreach_mul_(steps, group["lr"])  # a tensor while a graph is captured
        torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_sub_(parameters, steps)


def orthogonalised(matrices: Sequence[Tensor]) -> list[Tensor]:
    """Each matrix U S Vᵀ as about U Vᵀ."""
    results: dict[int, Tensor] = {}
    for shape in dict.fromkeys(matrix.shape for matrix in matrices):
        alike = [number for number, matrix in enumerate(matrices) if matrix.shape == shape]
        found = _orthogonalise(torch.stack([matrices[number] for number in alike]))
        results |= zip(alike, found.to(matrices[0].dtype).unbind(), strict=True)
    return [results[number] for number in range(len(matrices))]


def _orthogonalise(matrices: Tensor) -> Tensor:
    """(n, row, column), in half precision, which is exact enough for a direction."""
    if matrices.size(1) > matrices.size(2):
        return _orthogonalise(matrices.mT).mT
    a, b, c = COEFFICIENTS
    x = matrices.bfloat16()
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=TINY)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x
