"""The interval of a difference accounts for seeds and for examples that share a statement."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest

from samples import random_scene
from veriscene.errors import InputError
from veriscene.metrics.accuracy import McNemar, difference, mcnemar
from veriscene.world.examples import Example

SCENE = random_scene(random.Random(0))


def examples(count: int, *, per_statement: int = 1) -> list[Example]:
    """`count` examples, all true; each statement has `per_statement` of them."""
    return [Example(f"{n}-0", f"statement {n // per_statement}", SCENE, True) for n in range(count)]


def judged(some: list[Example], share: float, seed: int) -> dict[str, bool]:
    rng = random.Random(seed)
    return {example.identifier: rng.random() < share for example in some}


def test_with_one_seed_and_distinct_statements_it_is_the_paired_normal_interval() -> None:
    some = examples(1200)
    one, other = judged(some, 0.75, 1), judged(some, 0.70, 2)
    gaps = [one[e.identifier] - other[e.identifier] for e in some]
    mean = sum(gaps) / len(gaps)
    error = math.sqrt(sum((gap - mean) ** 2 for gap in gaps)) / len(gaps)
    found = difference(some, [one], [other])
    assert found.mean == pytest.approx(mean)
    assert found.interval == pytest.approx((mean - 1.96 * error, mean + 1.96 * error), abs=0.003)


def test_examples_of_one_statement_are_resampled_together() -> None:
    single, grouped = examples(1200), examples(1200, per_statement=4)
    rng = random.Random(3)
    whole = [rng.random() < 0.6 for _ in range(300)]  # all examples of a statement are right, or none is
    one = {example.identifier: whole[number // 4] for number, example in enumerate(grouped)}
    other = dict.fromkeys(one, True)
    narrow, wide = (difference(some, [one], [other]).interval for some in (single, grouped))
    assert (wide[1] - wide[0]) / (narrow[1] - narrow[0]) == pytest.approx(2.0, rel=0.1)  # sqrt(4)


def test_resampling_is_paired_and_weighted_by_examples() -> None:
    # One statement with 100 examples and 100 statements with one. The models differ only on the former, so the
    # difference depends only on how often it is drawn.
    some = [*examples(100, per_statement=100), *(Example(f"{n}-1", f"other {n}", SCENE, True) for n in range(100))]
    rng = random.Random(4)
    other = {example.identifier: rng.random() < 0.5 for example in some}
    other |= {example.identifier: False for example in some[:100]}
    one = other | {example.identifier: True for example in some[:100]}
    found = difference(some, [one], [other])
    assert found.mean == pytest.approx(0.5)
    # Drawn k times of 101, it has 100 k of 100 k + (101 - k) examples; k is 0 in 37 % of draws and over 3 in 2 %.
    assert found.interval == pytest.approx((0.0, 300 / 398), abs=0.01)


def test_disagreeing_seeds_widen_it_and_equal_models_are_not_decided() -> None:
    some = examples(400)
    good, bad, middle = (judged(some, share, seed=5) for share in (0.9, 0.5, 0.7))
    same = difference(some, [middle] * 3, [middle] * 3)
    assert same.mean == 0 and not same.is_decided
    varied = difference(some, [good, bad, middle], [middle] * 3)
    assert varied.interval[0] < -0.08 and varied.interval[1] > 0.08
    assert difference(some, [good] * 3, [bad] * 3).is_decided


def test_every_example_needs_a_verdict() -> None:
    some = examples(3)
    with pytest.raises(InputError):
        difference(some, [judged(some, 1, 0)], [judged(some[:2], 1, 0)])


@pytest.mark.parametrize("only_first", range(7))
@pytest.mark.parametrize("only_second", range(5))
def test_mcnemar_is_the_share_of_all_coin_tosses_that_are_at_least_as_uneven(only_first: int, only_second: int) -> None:
    tosses = list(product((0, 1), repeat=only_first + only_second))
    gap = abs(only_first - only_second)
    uneven = [toss for toss in tosses if abs(2 * sum(toss) - len(toss)) >= gap]
    assert McNemar(3, only_first, only_second, 2).p == pytest.approx(len(uneven) / len(tosses))


def test_mcnemar_agrees_with_scipy_and_counts_what_both_models_get_right() -> None:
    stats = pytest.importorskip("scipy.stats", reason="an independent implementation: pip install -e '.[dev]'")
    some = examples(1200)
    for share in (0.70, 0.73, 0.60, 0.05):
        one, other = judged(some, 0.72, 1), judged(some, share, 2)
        found = mcnemar(some, one, other)
        counts = (found.both, found.only_first, found.only_second, found.neither)
        pairs = [(one[e.identifier], other[e.identifier]) for e in some]
        assert counts == tuple(pairs.count(pair) for pair in product((True, False), repeat=2))
        exact = stats.binomtest(found.only_first, found.only_first + found.only_second).pvalue
        assert found.p == pytest.approx(exact, rel=1e-9)
    assert mcnemar(some, one, one).p == 1.0
