"""Is one model better than another? The difference of two models' accuracy, with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veriscene.evaluation.metrics import check_complete
from veriscene.scenes.nlvr import Example

Verdicts = Mapping[str, bool]
RESAMPLES = 10_000


@dataclass(frozen=True)
class Difference:
    """Accuracy of the first minus accuracy of the second, means over seeds."""

    mean: float
    interval: tuple[float, float]  # 95 %

    @property
    def is_decided(self) -> bool:
        return self.interval[0] > 0 or self.interval[1] < 0


def difference(
    examples: Sequence[Example], first: Sequence[Verdicts], second: Sequence[Verdicts], *, seed: int = 0
) -> Difference:
    """Each side's verdicts, one mapping a seed.

    The bootstrap draws what could have come out otherwise: each side's seeds, and statements, since the examples of
    a statement are judged right or wrong together. Both sides judge the same statements, so the draw is paired.
    """
    numbers = {statement: number for number, statement in enumerate(dict.fromkeys(e.statement for e in examples))}
    statements = [numbers[example.statement] for example in examples]
    sides = [_right(examples, statements, side) for side in (first, second)]
    sizes = np.bincount(statements).astype(float)
    rng = np.random.default_rng(seed)
    drawn = _times_drawn(rng, len(sizes))  # (resample, statement)
    accuracies = [
        (_times_drawn(rng, len(side)) @ side * drawn).sum(axis=1) / len(side) / (drawn @ sizes) for side in sides
    ]
    low, high = np.quantile(accuracies[0] - accuracies[1], [0.025, 0.975])
    means = [side.sum() / len(side) / sizes.sum() for side in sides]
    return Difference(float(means[0] - means[1]), (float(low), float(high)))


def _times_drawn(rng: np.random.Generator, count: int) -> np.ndarray:
    """(resample, thing): how often each of so many things comes if as many are drawn, each draw from all."""
    return rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)


def _right(examples: Sequence[Example], statements: Sequence[int], side: Sequence[Verdicts]) -> np.ndarray:
    """(seed, statement): how many of the statement's examples were judged right."""
    rows = []
    for verdicts in side:
        check_complete(examples, verdicts)
        right = [float(verdicts[example.identifier] == example.label) for example in examples]
        rows.append(np.bincount(statements, weights=right))
    return np.stack(rows)
