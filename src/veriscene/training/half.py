"""Weights in half precision, converted once per step.

Autocast without its cache converts a weight at each use, in a kernel of its own, and each gradient back. Here one
multi-tensor kernel converts all of them, and another one all gradients.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from veriscene.models.layers.recurrence import BiLSTM


class HalfWeights:
    """Knows which weights of a model autocast would convert to bfloat16 wherever it uses them.

    Those are the weights and biases of linear layers and of LSTMs that recurrence.py reads. Other LSTMs are torch's
    own: they would move their weights in memory, where a CUDA graph reads them, whenever these are other tensors.
    """

    def __init__(self, model: nn.Module) -> None:
        modules = [(name, module) for name, module in model.named_modules() if _is_converted(module)]
        modules += [
            (f"{name}.{direction}", lstm)
            for name, module in model.named_modules()
            if isinstance(module, BiLSTM)
            for direction, lstm in (("forwards", module.forwards), ("backwards", module.backwards))
        ]
        self.model, self.weights = model, dict[str, nn.Parameter]()
        seen = set[nn.Parameter]()
        for name, module in modules:
            for part, weight in module.named_parameters(recurse=False):
                if weight not in seen:  # a weight with two names gets one tensor under both
                    seen.add(weight)
                    self.weights[f"{name}.{part}".removeprefix(".")] = weight

    def __call__(self, *arguments: Any) -> Any:
        """Runs the model with converted weights. The gradients are those of its own weights, in their precision."""
        if not self.weights:
            return self.model(*arguments)
        converted = _ToHalf.apply(*self.weights.values())  # type: ignore[no-untyped-call]
        return torch.func.functional_call(self.model, dict(zip(self.weights, converted, strict=True)), arguments)


def _is_converted(module: nn.Module) -> bool:
    return isinstance(module, (nn.Linear, nn.LSTMCell))


class _ToHalf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.dtype = weights[0].dtype
        halves = tuple(torch.empty_like(weight, dtype=torch.bfloat16) for weight in weights)
        torch._foreach_copy_(halves, weights)
        is_frozen = zip(halves, ctx.needs_input_grad, strict=True)
        ctx.mark_non_differentiable(*(half for half, needed in is_frozen if not needed))
        return halves

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        used = [number for number, gradient in enumerate(gradients) if gradient is not None]
        given = [gradient for gradient in gradients if gradient is not None]
        single = [torch.empty_like(gradient, dtype=ctx.dtype) for gradient in given]
        if single:
            torch._foreach_copy_(single, given)
        results: list[Tensor | None] = [None] * len(gradients)
        for number, gradient in zip(used, single, strict=True):
            results[number] = gradient
        return tuple(results)
