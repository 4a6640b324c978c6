"""Sharpness-aware minimisation (Foret et al. 2021): the gradient is taken where, nearby, the loss is highest.

Where a small step makes no difference, the weights know something rather than a list of examples.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def uphill(model: nn.Module, radius: float) -> Iterator[None]:
    """Inside, the weights lie `radius` further up the gradient that they have; the gradient is gone. All in place, and
    nothing is asked of the device, so that it can be recorded."""
    moved: list[Tensor] = [parameter for parameter in model.parameters() if parameter.grad is not None]
    gradients = [parameter.grad for parameter in moved if parameter.grad is not None]
    own = [parameter.detach().clone() for parameter in moved]
    with torch.no_grad():
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        steps = torch._foreach_mul(gradients, radius / (norm + 1e-12))
        torch._foreach_add_(moved, steps)
    model.zero_grad(set_to_none=True)
    try:
        yield
    finally:
        with torch.no_grad():
            torch._foreach_copy_(moved, own)
