"""What training minimises, and how weights change: objective, optimizers, learning rate, moving average, precision."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from veriscene.config import TrainingConfig
from veriscene.models.base import Judgement, Model

# ---------------------------------------------------------------- Muon

# Matrices move by their orthogonalised momentum, embeddings and all other parameters as with AdamW: Jordan et al. 2024,
# with the step size of Liu et al. 2025, which gives a matrix the same root mean square as AdamW's steps have, so that
# learning rates and weight decays carry over. `torch.optim.Muon` computes the same; this one can be captured as a CUDA
# graph, and handles all matrices of one shape at once.

MOMENTUM = 0.95
# Of five iterations X <- a X + (b A + c A²) X with A = X Xᵀ, which bring all singular values to between 0.7 and 1.2.
COEFFICIENTS, ITERATIONS = (3.4445, -4.7750, 2.0315), 5
STEP_SIZE = 0.2  # root mean square of AdamW's steps at a learning rate of one
TINY = 1e-7


class Muon(torch.optim.AdamW):
    """Groups with `orthogonal` must hold matrices; they have the moment `exp_avg` alone."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        groups = self.param_groups
        for group in groups:
            if group["orthogonal"]:
                self._step_orthogonally(group)
        self.param_groups = [group for group in groups if not group["orthogonal"]]
        try:
            super().step()
        finally:
            self.param_groups = groups

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
    """Returns about U Vᵀ for each matrix U S Vᵀ."""
    results: dict[int, Tensor] = {}
    for shape in dict.fromkeys(matrix.shape for matrix in matrices):
        alike = [number for number, matrix in enumerate(matrices) if matrix.shape == shape]
        found = _orthogonalise(torch.stack([matrices[number] for number in alike]))
        results |= zip(alike, found.to(matrices[0].dtype).unbind(), strict=True)
    return [results[number] for number in range(len(matrices))]


def _orthogonalise(matrices: Tensor) -> Tensor:
    """Returns (n, row, column) in half precision, which is exact enough for a direction."""
    if matrices.size(1) > matrices.size(2):
        return _orthogonalise(matrices.mT).mT
    a, b, c = COEFFICIENTS
    x = matrices.bfloat16()
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=TINY)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


# ---------------------------------------------------------------- objective


@dataclass(frozen=True)
class Loss:
    """Holds what is minimised and what is reported of a batch."""

    surrogate: Tensor  # (batch,): its gradient is the gradient to follow
    comprehension: Tensor  # (batch,), detached: L(s, o, y) of equation 16, the figure to report


def objective(
    judgement: Judgement,
    labels: Tensor,
    *,
    smoothing: float = 0.0,
    policy_weight: float = 1.0,
    entropy_weight: float = 0.0,
) -> Loss:
    """Returns the cross entropy and, where an order was sampled, the policy gradient of section 3.2.

    With R = -L(s, o[π*], y) and b the same at the order and weights of inference (self-critical), the gradient is
    -(R - b) ∇ log p(π* | s, o) + ∇ L(s, o[π*], y); `policy_weight` scales the first term. Of several sampled orders,
    the mean is taken, and b of each is the mean of the other ones' R. `entropy_weight` rewards undecided choices.
    Smoothing moves labels towards one half.
    """
    labels = labels * (1 - smoothing) + smoothing / 2
    loss = _cross_entropy(judgement.logits, labels)
    surrogate = loss
    if judgement.sampled_logits is not None and judgement.log_probability is not None:
        rewards = -_cross_entropy(
            judgement.sampled_logits, labels[:, None].expand_as(judgement.sampled_logits)
        ).detach()
        count = rewards.size(1)
        advantage = (rewards - rewards.mean(dim=1, keepdim=True)) * count / (count - 1)
        surrogate = loss - policy_weight * (advantage * judgement.log_probability).mean(dim=1)
    elif judgement.log_probability is not None and judgement.baseline_logits is not None:
        reward = -loss.detach()
        baseline = -_cross_entropy(judgement.baseline_logits, labels).detach()
        surrogate = loss - policy_weight * (reward - baseline) * judgement.log_probability
    if entropy_weight and judgement.entropy is not None:
        surrogate = surrogate - entropy_weight * judgement.entropy
    return Loss(surrogate=surrogate, comprehension=loss.detach())


def r_drop(loss: Loss, logits: Tensor, *, weight: float) -> Loss:
    """Returns the mean of both losses of a batch that was read twice, and `weight` times the mean of KL(p || q) and
    KL(q || p), p and q being the probabilities of the two readings.

    This is R-Drop (Liang et al. 2021), whose α is twice this weight, since they add the losses up. It penalises
    verdicts that depend on which units were dropped or in which order items were read. The pointer's reward is the loss
    alone.
    """
    first, second = logits.to(loss.surrogate.dtype).chunk(2)
    divergence = (first.sigmoid() - second.sigmoid()) * (first - second) / 2
    return Loss(
        surrogate=loss.surrogate.view(2, -1).mean(dim=0) + weight * divergence,
        comprehension=loss.comprehension.view(2, -1).mean(dim=0),
    )


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(logits.to(labels.dtype), labels, reduction="none")


# ---------------------------------------------------------------- optimizer, schedule, averages, precision


def make_optimizer(model: Model, settings: TrainingConfig, *, captured: bool) -> torch.optim.AdamW:
    """Makes the configured optimizer; `captured` says that its step is captured as a CUDA graph."""
    groups = [
        {**group, "weight_decay": settings.weight_decay * group.get("decay", 1.0)} for group in model.parameter_groups()
    ]
    kind: type[torch.optim.AdamW] = torch.optim.AdamW
    if settings.optimizer == "muon":
        kind, groups = Muon, [part for group in groups for part in matrices_apart(model, group)]
    return kind(groups, lr=settings.learning_rate, capturable=captured, fused=captured or None)


def matrices_apart(model: nn.Module, group: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the group's matrices, for `Muon`, and the rest: rows of an embedding are moved one by one, and a single
    row has no direction to share with others."""
    rows = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    parts: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for parameter in group["params"]:
        is_matrix = parameter.dim() == 2 and min(parameter.shape) > 1 and id(parameter) not in rows
        parts[is_matrix and group.get("orthogonal", True)].append(parameter)
    return [{**group, "params": params, "orthogonal": orthogonal} for orthogonal, params in parts.items() if params]


def learning_rate(settings: TrainingConfig, step: int, total_steps: int) -> float:
    """Returns the rate of a step: constant, as in the paper, or with linear warm-up and cool-down."""
    up = min(1.0, (step + 1) / settings.warmup) if settings.warmup else 1.0
    cooling = settings.cooldown * total_steps
    down = min(1.0, (total_steps - step) / cooling) if cooling else 1.0
    return settings.learning_rate * min(up, down)


def warmup_cosine(step: int, done: float, *, warmup: int, floor: float = 0.0) -> float:
    """Returns the share of the highest rate that a step gets: linear warm-up over `warmup` steps, times half a cosine
    wave from one to `floor`, of which the share `done` is over."""
    wave = 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
    return min(1.0, (step + 1) / warmup) * (floor + (1 - floor) * wave)


class EMA:
    """Keeps an exponential moving average of a model's floating-point parameters and buffers."""

    def __init__(self, model: nn.Module, *, decay: float) -> None:
        self.decay = decay
        self._own = [tensor for tensor in model.state_dict().values() if tensor.is_floating_point()]
        self.weights: list[Tensor] = [tensor.detach().clone() for tensor in self._own]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Follows the step with this index. Early on the decay is smaller, so that initial weights are forgotten."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.weights, self._own, 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Gives the model the averaged weights, inside. They are copied, because a CUDA graph reads fixed memory."""
        own = [tensor.detach().clone() for tensor in self._own]
        self._copy(self.weights)
        try:
            yield
        finally:
            self._copy(own)

    @torch.no_grad()
    def _copy(self, weights: list[Tensor]) -> None:
        torch._foreach_copy_(self._own, weights)
