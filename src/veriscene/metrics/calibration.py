"""Does a model know when it is right? Confidence compared with accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veriscene.metrics.accuracy import clustered_interval, per_statement
from veriscene.metrics.judged import Judged

BINS = 10


@dataclass(frozen=True)
class Bin:
    """The verdicts whose confidence lies in one part of 0.5 to 1."""

    examples: int
    confidence: float  # mean probability of the verdict given
    accuracy: float
    interval: tuple[float, float]  # 95 %, of the accuracy, clustered by statement


def reliability(judged: Sequence[Judged], *, bins: int = BINS) -> list[Bin]:
    """Groups verdicts by confidence in `bins` parts of equal width from 0.5 to 1; empty ones are left out.

    Every example needs a label.
    """
    confidence = np.array([each.confidence for each in judged])
    right = np.array([each.is_right is True for each in judged], dtype=float)
    numbers = np.minimum(((confidence - 0.5) * 2 * bins).astype(int), bins - 1)  # a confidence of 1 is in the last one
    found = []
    for number in np.unique(numbers).tolist():
        members = np.flatnonzero(numbers == number)
        examples = [judged[index].example for index in members.tolist()]
        sizes = per_statement(examples, np.ones(len(examples)))
        interval = clustered_interval(per_statement(examples, right[members]), sizes)
        found.append(Bin(len(members), float(confidence[members].mean()), float(right[members].mean()), interval))
    return found


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """Returns the gap between accuracy and mean confidence, averaged over bins by their number of examples."""
    return sum(b.examples * abs(b.accuracy - b.confidence) for b in bins) / sum(b.examples for b in bins)
