"""What training minimises."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from veriscene.models.base import Judgement


@dataclass(frozen=True)
class Loss:
    surrogate: Tensor  # (batch,): its gradient is the gradient to follow
    comprehension: Tensor  # (batch,), detached: L(s, o, y) of equation 16, the figure to report


def objective(judgement: Judgement, labels: Tensor, *, smoothing: float = 0.0, policy_weight: float = 1.0) -> Loss:
    """Cross entropy and, where an order was sampled, the policy gradient of section 3.2.

    With R = -L(s, o[π*], y) and b the same at the order and weights of inference (self-critical), the gradient is
    -(R - b) ∇ log p(π* | s, o) + ∇ L(s, o[π*], y); `policy_weight` scales the first term. Smoothing moves labels
    towards one half.
    """
    labels = labels * (1 - smoothing) + smoothing / 2
    loss = _cross_entropy(judgement.logits, labels)
    surrogate = loss
    if judgement.log_probability is not None and judgement.baseline_logits is not None:
        reward = -loss.detach()
        baseline = -_cross_entropy(judgement.baseline_logits, labels).detach()
        surrogate = loss - policy_weight * (reward - baseline) * judgement.log_probability
    return Loss(surrogate=surrogate, comprehension=loss.detach())


def r_drop(loss: Loss, logits: Tensor, *, weight: float) -> Loss:
    """For a batch that was read twice, first half and second: the mean of both losses, and `weight` times the mean of
    KL(p || q) and KL(q || p), p and q being the probabilities of the two readings.

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
