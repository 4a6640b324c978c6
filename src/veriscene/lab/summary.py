"""Scores over seeds: mean, spread and best."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any


@dataclass(frozen=True)
class Score:
    seed: int
    accuracy: float
    consistency: float


@dataclass(frozen=True)
class Summary:
    """The scores of all seeds on one split."""

    scores: tuple[Score, ...]

    @property
    def accuracy(self) -> float:
        return mean(score.accuracy for score in self.scores)

    @property
    def consistency(self) -> float:
        return mean(score.consistency for score in self.scores)

    @property
    def spread(self) -> float | None:
        """The standard deviation over seeds."""
        return stdev(score.accuracy for score in self.scores) if len(self.scores) > 1 else None

    @property
    def best(self) -> Score:
        return max(self.scores, key=lambda score: score.accuracy)

    def to_json(self) -> dict[str, Any]:
        figures = {"accuracy": self.accuracy, "spread": self.spread, "consistency": self.consistency}
        return {**figures, "scores": [asdict(score) for score in self.scores]}

    def __str__(self) -> str:
        spread = f" ± {self.spread:.1%}" if self.spread is not None else ""
        count = "1 seed" if len(self.scores) == 1 else f"{len(self.scores)} seeds"
        best = f"best {self.best.accuracy:.1%} (seed {self.best.seed})"
        return f"{self.accuracy:.1%}{spread} over {count}, {best}, consistency {self.consistency:.1%}"
