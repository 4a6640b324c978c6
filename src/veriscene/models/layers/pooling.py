"""From three boxes to one verdict: the combinations that section 3.1 tried, and `joint`, its future work.

Each takes the box vectors [h̄; ḡ], (batch, box, dim), and returns logits (batch,) and, where the logit is the max or the
mean of box scores, those scores (batch, box), else None.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from veriscene.world.scene import BOXES_PER_SCENE


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


def max_score(scores: Tensor) -> Tensor:
    return scores.amax(dim=1)


def mean_score(scores: Tensor) -> Tensor:
    return scores.mean(dim=1)


SCORE_COMBINATIONS = {"max": max_score, "mean": mean_score}
POOLINGS = (*SCORE_COMBINATIONS, "concatenate", "lstm", "early", "joint")


class ScorePooling(nn.Module):
    """Scores each box by itself, then takes the max (the paper's choice) or the mean of the scores."""

    def __init__(self, scorer: Scorer, *, combine: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.scorer = scorer
        self.combine = combine

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.scorer(vectors)
        return self.combine(scores), scores


class VectorPooling(nn.Module):
    """Merges the three vectors into one, and scores that."""

    def __init__(self, merge: nn.Module, scorer: Scorer) -> None:
        super().__init__()
        self.merge = merge
        self.scorer = scorer

    def forward(self, vectors: Tensor) -> tuple[Tensor, None]:
        return self.scorer(self.merge(vectors)), None


class Concatenate(nn.Module):
    def forward(self, vectors: Tensor) -> Tensor:
        return vectors.flatten(1)


class LastOfLSTM(nn.Module):
    def __init__(self, size: int, units: int, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(size, units, batch_first=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor) -> Tensor:
        last: Tensor = self.dropout(self.lstm(vectors)[0][:, -1])
        return last


class EarlyMax(nn.Module):
    def forward(self, vectors: Tensor) -> Tensor:
        return vectors.amax(dim=1)


class MaxMeanMin(nn.Module):
    """Boxes have no order (the corpus shuffles them), so pooling must be symmetric."""

    def forward(self, vectors: Tensor) -> Tensor:
        return torch.cat([vectors.amax(dim=1), vectors.mean(dim=1), vectors.amin(dim=1)], dim=-1)


def make_pooling(
    name: str, *, size: int, units: int, hidden: int, dropout: float, scorer: MakeScorer = Scorer
) -> ScorePooling | VectorPooling:
    """The pooling of that name over box vectors of `size`; `units` of an LSTM, `hidden` of the scorer's layer."""
    if name in SCORE_COMBINATIONS:
        return ScorePooling(scorer(size, hidden, dropout), combine=SCORE_COMBINATIONS[name])
    # All of them are built, so that the random numbers drawn for a given seed stay those of the published results.
    merges: dict[str, tuple[nn.Module, int]] = {
        "concatenate": (Concatenate(), BOXES_PER_SCENE * size),
        "lstm": (LastOfLSTM(size, units, dropout), units),
        "early": (EarlyMax(), size),
        "joint": (MaxMeanMin(), 3 * size),
    }
    merge, merged = merges[name]
    return VectorPooling(merge, scorer(merged, hidden, dropout))
