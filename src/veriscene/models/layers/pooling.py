"""From the boxes of a scene to one verdict: the combinations that section 3.1 tried, and `joint`, its future work.

Each takes the box vectors [h̄; ḡ], (batch, box, dim), and which boxes there are (batch, box; None: all). It returns
logits (batch,) and, where the logit is the max or the mean of box scores, those scores (batch, box), else None.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


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


MakeScorer = Callable[[int, int, float], Scorer]  # size of the input, hidden units, dropout


def max_over(values: Tensor, mask: Tensor | None) -> Tensor:
    """The maximum over boxes: (batch, box, …) -> (batch, …)."""
    return (values if mask is None else values.masked_fill(~_fitted(mask, values), -torch.inf)).amax(dim=1)


def min_over(values: Tensor, mask: Tensor | None) -> Tensor:
    return (values if mask is None else values.masked_fill(~_fitted(mask, values), torch.inf)).amin(dim=1)


def mean_over(values: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return values.mean(dim=1)
    own = _fitted(mask, values)
    return values.masked_fill(~own, 0).sum(dim=1) / own.sum(dim=1)


def _fitted(mask: Tensor, values: Tensor) -> Tensor:
    return mask.view(*mask.shape, *[1] * (values.dim() - 2))


SCORE_COMBINATIONS = {"max": max_over, "mean": mean_over}
POOLINGS = (*SCORE_COMBINATIONS, "concatenate", "lstm", "early", "joint")


class ScorePooling(nn.Module):
    """Scores each box by itself, then takes the max (the paper's choice) or the mean of the scores."""

    def __init__(self, scorer: Scorer, *, combine: Callable[[Tensor, Tensor | None], Tensor]) -> None:
        super().__init__()
        self.scorer = scorer
        self.combine = combine

    def forward(self, vectors: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        scores = self.scorer(vectors)
        return self.combine(scores, mask), scores


class VectorPooling(nn.Module):
    """Merges the vectors into one, and scores that."""

    def __init__(self, merge: nn.Module, scorer: Scorer) -> None:
        super().__init__()
        self.merge = merge
        self.scorer = scorer

    def forward(self, vectors: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        return self.scorer(self.merge(vectors, mask)), None


class Concatenate(nn.Module):
    def forward(self, vectors: Tensor, mask: Tensor | None) -> Tensor:
        return (vectors if mask is None else vectors * mask[..., None]).flatten(1)


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


class EarlyMax(nn.Module):
    def forward(self, vectors: Tensor, mask: Tensor | None) -> Tensor:
        return max_over(vectors, mask)


class MaxMeanMin(nn.Module):
    """Pooling that does not depend on the order of the boxes, which most statements do not either."""

    def forward(self, vectors: Tensor, mask: Tensor | None) -> Tensor:
        return torch.cat([max_over(vectors, mask), mean_over(vectors, mask), min_over(vectors, mask)], dim=-1)


def make_pooling(
    name: str, *, boxes: int, size: int, units: int, hidden: int, dropout: float, scorer: MakeScorer = Scorer
) -> ScorePooling | VectorPooling:
    """Returns the pooling of that name over at most `boxes` vectors of `size`; `units` are those of an LSTM, `hidden`
    those of the scorer's layer."""
    if name in SCORE_COMBINATIONS:
        return ScorePooling(scorer(size, hidden, dropout), combine=SCORE_COMBINATIONS[name])
    merges: dict[str, tuple[Callable[[], nn.Module], int]] = {
        "concatenate": (Concatenate, boxes * size),
        "lstm": (lambda: LastOfLSTM(size, units, dropout), units),
        "early": (EarlyMax, size),
        "joint": (MaxMeanMin, 3 * size),
    }
    merge, merged = merges[name]
    return VectorPooling(merge(), scorer(merged, hidden, dropout))
