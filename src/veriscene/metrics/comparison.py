"""Is one model better than another? The difference between two models' accuracies, its interval, and McNemar's test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veriscene.metrics.accuracy import correct, per_statement
from veriscene.world.examples import Example

Verdicts = Mapping[str, bool]
RESAMPLES = 10_000


@dataclass(frozen=True)
class Difference:
    """Accuracy of the first model minus accuracy of the second, means over seeds."""

    mean: float
    interval: tuple[float, float]  # 95 %

    @property
    def is_decided(self) -> bool:
        """Tells whether the interval excludes zero."""
        return self.interval[0] > 0 or self.interval[1] < 0


@dataclass(frozen=True)
class McNemar:
    """How often two models are right on the same examples, and McNemar's exact test of whether they are equally good.

    The test takes examples as independent. Those of one statement tend to be right or wrong together, so `p` tends
    to be too small where statements have several examples; the interval of `difference` accounts for that.
    """

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def p(self) -> float:
        """Returns how likely coins would split the examples that only one model gets right at least as unevenly."""
        tosses, fewer = self.only_first + self.only_second, min(self.only_first, self.only_second)
        tail = sum(math.comb(tosses, heads) for heads in range(fewer + 1))  # exact: whole numbers
        return min(1.0, float(2 * tail / 2**tosses))


def mcnemar(examples: Sequence[Example], first: Verdicts, second: Verdicts) -> McNemar:
    """Counts how often two models are right on the same examples."""
    one, other = correct(examples, first), correct(examples, second)
    pairs = ((one & other), (one & ~other), (~one & other), (~one & ~other))
    return McNemar(*(int(pair.sum()) for pair in pairs))


def difference(
    examples: Sequence[Example], first: Sequence[Verdicts], second: Sequence[Verdicts], *, seed: int = 0
) -> Difference:
    """Compares two models by their verdicts, one mapping per training seed.

    The bootstrap resamples each model's seeds, and statements, since the examples of a statement tend to be right or
    wrong together. Both models judge the same examples, so they share the resampled statements.
    """
    sizes = per_statement(examples, np.ones(len(examples)))
    rng = np.random.default_rng(seed)
    weights = _resample(rng, len(sizes))  # (resample, statement)
    means, resampled = [], []
    for verdicts_by_seed in (first, second):
        # (seed, statement): the number of correct examples
        right = np.stack([per_statement(examples, correct(examples, verdicts)) for verdicts in verdicts_by_seed])
        seeds = _resample(rng, len(right)) / len(right)
        means.append(right.sum() / len(right) / sizes.sum())
        resampled.append((seeds @ right * weights).sum(axis=1) / (weights @ sizes))
    low, high = np.quantile(resampled[0] - resampled[1], [0.025, 0.975])
    return Difference(float(means[0] - means[1]), (float(low), float(high)))


def _resample(rng: np.random.Generator, count: int) -> np.ndarray:
    """(resample, element): how often each of `count` elements is drawn in `count` draws with replacement."""
    return rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
