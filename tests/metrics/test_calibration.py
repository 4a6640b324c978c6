"""Calibration equals a slow reference; a perfectly calibrated model has no error."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import yellow_circle_examples
from veriscene.metrics.judged import BINS, Judged, expected_calibration_error, reliability

EXAMPLES = yellow_circle_examples(40)
# None lies on the border of two bins, where rounding decides.
PROBABILITY = st.integers(0, 999).map(lambda thousandth: (thousandth + 0.1) / 1000) | st.sampled_from([0.0, 1.0])


def slow_error(judged: list[Judged]) -> float:
    """From the definition: bins [0.5, 0.55), [0.55, 0.6), …, [0.95, 1]."""
    total = 0.0
    for number in range(BINS):
        low, high = 0.5 + number / (2 * BINS), 0.5 + (number + 1) / (2 * BINS)
        members = []
        for each in judged:
            confidence = each.probability if each.probability > 0.5 else 1 - each.probability
            if low <= confidence < high or (number == BINS - 1 and confidence >= high):
                members.append((confidence, (each.probability > 0.5) == each.example.label))
        if members:
            mean = sum(confidence for confidence, _ in members) / len(members)
            accuracy = sum(right for _, right in members) / len(members)
            total += len(members) / len(judged) * abs(mean - accuracy)
    return total


@given(st.lists(PROBABILITY, min_size=len(EXAMPLES), max_size=len(EXAMPLES)))
def test_the_error_equals_a_slow_reference_and_bins_cover_every_example(found: list[float]) -> None:
    judged = [Judged(example, p) for example, p in zip(EXAMPLES, found, strict=True)]
    bins = reliability(judged)
    assert expected_calibration_error(bins) == pytest.approx(slow_error(judged))
    assert sum(each.examples for each in bins) == len(judged)
    assert sum(each.examples * each.accuracy for each in bins) == pytest.approx(sum(bool(j.is_right) for j in judged))
    assert all(each.interval[0] <= each.accuracy <= each.interval[1] for each in bins)


def test_coins_that_know_their_bias_are_calibrated_and_boasters_are_not() -> None:
    rng = random.Random(0)
    honest, boasting = [], []
    for number in range(4000):
        example, p = EXAMPLES[number % 40], rng.random()
        said = p if (rng.random() < p) == example.label else 1 - p
        honest.append(Judged(example, said))
        boasting.append(Judged(example, 1.0 if said > 0.5 else 0.0))
    wrong = sum(not each.is_right for each in boasting) / len(boasting)
    assert expected_calibration_error(reliability(boasting)) == pytest.approx(wrong)
    assert expected_calibration_error(reliability(honest)) < 0.05
