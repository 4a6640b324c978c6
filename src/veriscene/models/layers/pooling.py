"""From three boxes to one verdict: the combinations that section 3.1 tried, and `joint`, its future work.

Each takes the box vectors [h̄; ḡ], (batch, box, dim), and gives logits (batch,) and per-box scores (batch, box).
A box's score is the logit if all three boxes looked like it, which for max and mean is the paper's score^j.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from veriscene.errors import InputError

BOXES = 3


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


class ScorePooling(nn.Module):
    """Each box scored alone, then the max (the paper's choice) or the mean of the scores."""

    def __init__(self, size: int, hidden: int, dropout: float, *, combine: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.scorer = Scorer(size, hidden, dropout)
        self.combine = combine

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.scorer(vectors)
        return self.combine(scores), scores


class VectorPooling(nn.Module):
    """The three vectors merged into one, which is scored."""

    def __init__(self, merge: nn.Module, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.merge = merge
        self.scorer = Scorer(size, hidden, dropout)

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        batch, boxes, size = vectors.shape
        alike = vectors[:, :, None].expand(batch, boxes, boxes, size)
        # The scenes of three equal boxes only inform the reader, so they must not reach the gradient.
        with torch.no_grad():
            scores = self.scorer(self.merge(alike.reshape(batch * boxes, boxes, size))).view(batch, boxes)
        return self.scorer(self.merge(vectors)), scores


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
    """Boxes have no order (the corpus shuffles them), so all that may be said of them is symmetric."""

    def forward(self, vectors: Tensor) -> Tensor:
        return torch.cat([vectors.amax(dim=1), vectors.mean(dim=1), vectors.amin(dim=1)], dim=-1)


SCORE_COMBINATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "max": lambda scores: scores.amax(dim=1),
    "mean": lambda scores: scores.mean(dim=1),
}
POOLINGS = (*SCORE_COMBINATIONS, "concatenate", "lstm", "early", "joint")


def pooling(name: str, *, size: int, units: int, hidden: int, dropout: float) -> nn.Module:
    """The pooling of that name over box vectors of `size`; `units` of an LSTM, `hidden` of the scorer's layer."""
    if name in SCORE_COMBINATIONS:
        return ScorePooling(size, hidden, dropout, combine=SCORE_COMBINATIONS[name])
    merges: dict[str, tuple[nn.Module, int]] = {
        "concatenate": (Concatenate(), BOXES * size),
        "lstm": (LastOfLSTM(size, units, dropout), units),
        "early": (EarlyMax(), size),
        "joint": (MaxMeanMin(), 3 * size),
    }
    if name not in merges:
        raise InputError(f"unknown pooling {name!r}; choose from {', '.join(POOLINGS)}")
    merge, merged = merges[name]
    return VectorPooling(merge, merged, hidden, dropout)
