"""From the boxes of a scene to one verdict: the combinations that section 3.1 tried, and `joint`, its future work.

Each takes the box vectors [h̄; ḡ], (batch, box, dim), and which boxes there are (batch, box; None: all). It returns
logits (batch,) and, where the logit is the max or the mean of box scores, those scores (batch, box), else None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from veriscene.world.schema import World


class Scorer(nn.Module):
    """score = W2 tanh(W1 v + b1), equation 14, with dropout before the last layer."""

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(size, hidden)
        self.dropout = nn.Dropout(dropout)
        self.last = nn.Linear(hidden, 1, bias=False)

    def forward(self, vectors: Tensor) -> Tensor:
        scores: Tensor = self.last(self.dropout(torch.tanh(self.first(vectors)))).squeeze(-1)
        return scores


Combine = Callable[[Tensor, Tensor | None], Tensor]  # (batch, box, …), which boxes there are -> (batch, …)


def max_over(values: Tensor, mask: Tensor | None) -> Tensor:
    """Takes the maximum over boxes: (batch, box, …) -> (batch, …)."""
    return _filled(values, mask, -torch.inf).amax(dim=1)


def min_over(values: Tensor, mask: Tensor | None) -> Tensor:
    return _filled(values, mask, torch.inf).amin(dim=1)


def mean_over(values: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return values.mean(dim=1)
    count = mask.sum(dim=1).view(-1, *[1] * (values.dim() - 2))
    return _filled(values, mask, 0).sum(dim=1) / count


def _filled(values: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """(batch, box, …) with another value where there is no box."""
    return values if mask is None else values.masked_fill(~mask.view(*mask.shape, *[1] * (values.dim() - 2)), value)


SCORE_COMBINATIONS = {"max": max_over, "mean": mean_over}
POOLINGS = (*SCORE_COMBINATIONS, "concatenate", "lstm", "early", "joint")


class Pooling(nn.Module):
    """Merges the boxes into one vector and scores that; or, without `merge`, scores each box by itself and combines the
    scores: their max (the paper's choice) or their mean."""

    def __init__(self, merge: Combine | None, scorer: Scorer, combine: Combine = max_over) -> None:
        super().__init__()
        self.merge, self.scorer, self.combine = merge, scorer, combine

    def forward(self, vectors: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        if self.merge is not None:
            return self.scorer(self.merge(vectors, mask)), None
        scores = self.scorer(vectors)
        return self.combine(scores, mask), scores


class LastOfLSTM(nn.Module):
    def __init__(self, size: int, units: int, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(size, units, batch_first=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, mask: Tensor | None) -> Tensor:
        outputs = self.lstm(vectors)[0]
        if mask is None:
            last: Tensor = outputs[:, -1]
        else:
            last = outputs[torch.arange(len(outputs), device=outputs.device), mask.sum(dim=1) - 1]
        return self.dropout(last)  # type: ignore[no-any-return]


def concatenate(vectors: Tensor, mask: Tensor | None) -> Tensor:
    return (vectors if mask is None else vectors * mask[..., None]).flatten(1)


def max_mean_min(vectors: Tensor, mask: Tensor | None) -> Tensor:
    """Does not depend on the order of the boxes, as most statements do not either."""
    return torch.cat([max_over(vectors, mask), mean_over(vectors, mask), min_over(vectors, mask)], dim=-1)


class PoolingConfig(Protocol):
    """Declares the settings that a pooling depends on."""

    @property
    def pooling(self) -> str: ...
    @property
    def hidden(self) -> int: ...  # units of an LSTM over boxes
    @property
    def mlp(self) -> int: ...  # units of the scorer's hidden layer
    @property
    def dropout(self) -> float: ...


def make_pooling(config: PoolingConfig, world: World, size: int, scorer: type[Scorer] = Scorer) -> Pooling:
    """Returns the configured pooling of box vectors of this size."""

    def scored(merge: Combine, size: int) -> Pooling:
        return Pooling(merge, scorer(size, config.mlp, config.dropout))

    match config.pooling:
        case "concatenate":
            return scored(concatenate, world.boxes[1] * size)
        case "lstm":
            return scored(LastOfLSTM(size, config.hidden, config.dropout), config.hidden)
        case "early":
            return scored(max_over, size)
        case "joint":
            return scored(max_mean_min, 3 * size)
    return Pooling(None, scorer(size, config.mlp, config.dropout), SCORE_COMBINATIONS[config.pooling])
