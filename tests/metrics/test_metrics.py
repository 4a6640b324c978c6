"""Scores equal the official scripts'; intervals cover what they should when examples share a statement."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from samples import yellow_circle_examples
from veriscene import worlds
from veriscene.errors import InputError
from veriscene.metrics import accuracy as metrics
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example, read_predictions, write, write_predictions
from veriscene.worlds.nlvr.looks import WORLD

EXAMPLES = yellow_circle_examples(22)


def official_scores(predictions: Path, labels: Path) -> tuple[float, float]:
    """The corpus's scorer, reimplemented from its description; it reads only the two files."""
    said = {row[0]: row[1] for row in csv.reader(predictions.open(encoding="utf-8"))}
    right = total = 0
    spoilt: dict[str, int] = defaultdict(int)
    for line in labels.open(encoding="utf-8"):
        example = json.loads(line)
        correct = said[example["identifier"]] == example["label"]
        right, total = right + correct, total + 1
        spoilt[example["identifier"].split("-")[0]] += not correct
    return right / total, sum(count == 0 for count in spoilt.values()) / len(spoilt)


@given(st.lists(st.booleans(), min_size=len(EXAMPLES), max_size=len(EXAMPLES)))
def test_scores_equal_the_official_ones_on_the_same_csv(
    tmp_path_factory: pytest.TempPathFactory, said: list[bool]
) -> None:
    folder = tmp_path_factory.mktemp("scores")
    verdicts = {example.identifier: truth for example, truth in zip(EXAMPLES, said, strict=True)}
    write(folder / "dev.json", EXAMPLES, WORLD)
    write_predictions(folder / "p.csv", verdicts)
    scores = metrics.score(worlds.read(folder / "dev.json"), read_predictions(folder / "p.csv"))
    assert (scores.accuracy, scores.consistency) == official_scores(folder / "p.csv", folder / "dev.json")
    assert scores.interval[0] <= scores.accuracy <= scores.interval[1]


def test_scores_equal_the_official_ones_on_the_real_dev_split(nlvr_folder: Path, tmp_path: Path) -> None:
    path = split_file(nlvr_folder, "dev")
    examples = worlds.read(path)
    verdicts = {example.identifier: hash_free_coin(example.identifier) for example in examples}
    write_predictions(tmp_path / "p.csv", verdicts)
    scores = metrics.score(examples, verdicts)
    assert (scores.accuracy, scores.consistency) == official_scores(tmp_path / "p.csv", path)
    assert scores.presentations == 267
    always = metrics.score(examples, dict.fromkeys(verdicts, True))
    assert round(always.accuracy, 3) == 0.553


def hash_free_coin(identifier: str) -> bool:
    return sum(map(ord, identifier)) % 3 > 0


def test_missing_duplicate_unknown_and_unlabelled_identifiers_are_errors() -> None:
    verdicts = {example.identifier: True for example in EXAMPLES}
    missing = {identifier: verdict for identifier, verdict in verdicts.items() if identifier != "2-1"}
    with pytest.raises(InputError):
        metrics.score(EXAMPLES, missing)
    with pytest.raises(InputError):
        metrics.score(EXAMPLES, {**verdicts, "99-0": True})
    with pytest.raises(InputError):
        metrics.score([*EXAMPLES, EXAMPLES[0]], verdicts)
    unlabelled = [Example(e.identifier, e.statement, e.scene) for e in EXAMPLES]
    with pytest.raises(InputError):
        metrics.score(unlabelled, verdicts)
    with pytest.raises(InputError) as caught:
        metrics.check_complete(EXAMPLES, missing, file=Path("p.csv"))
    assert caught.value.where == Path("p.csv") and "'2-1'" in caught.value.what


def width(interval: tuple[float, float]) -> float:
    return interval[1] - interval[0]


def independent(right: int, total: int) -> tuple[float, float]:
    """The interval with each example its own cluster."""
    return metrics.clustered_interval(np.arange(total) < right, np.ones(total))


def test_with_one_example_per_statement_it_is_the_wilson_interval() -> None:
    # Newcombe 1998, table I.
    assert independent(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert independent(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


@given(st.lists(st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=30))
@example([(4, 8)] * 30)  # negative correlation: each statement half right
def test_the_interval_contains_the_accuracy_and_lies_between_independence_and_complete_dependence(
    clusters: list[tuple[int, int]],
) -> None:
    right, sizes = (np.array(column, dtype=float) for column in zip(*clusters, strict=True))
    low, high = metrics.clustered_interval(right, sizes)
    assert 0 <= low <= right.sum() / sizes.sum() <= high <= 1 and low < high
    assert high - low >= width(independent(int(right.sum()), int(sizes.sum()))) - 1e-9
    # Of one statement, however often repeated, one knows no more than of one example.
    assert high - low <= 0.9 and (len(clusters) > 1 or high - low > 0.7)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(2, 5))
def test_copies_add_information_only_as_clusters_of_their_own(outcomes: list[bool], copies: int) -> None:
    right, once = np.array(outcomes, dtype=float), np.ones(len(outcomes))
    original = metrics.clustered_interval(right, once)
    assert metrics.clustered_interval(right * copies, once * copies) == pytest.approx(original)
    separate = metrics.clustered_interval(np.tile(right, copies), np.tile(once, copies))
    assert separate == pytest.approx(independent(int(right.sum()) * copies, len(outcomes) * copies))
    assert width(separate) < width(original)


def test_one_error_more_or_less_changes_the_interval_little() -> None:
    # Without errors there is no estimate of how they cluster; the interval must not jump there.
    sizes = np.full(250, 4.0)
    bounds = [metrics.clustered_interval(sizes - (np.arange(250) < wrong), sizes)[0] for wrong in range(6)]
    assert all(abs(better - worse) < 0.002 for better, worse in pairwise(bounds))


def beta_binomial(rng: np.random.Generator, statements: int, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
    """Statements of one to eight examples that are right together: the correlation within a statement is 0.5."""
    sizes = rng.choice([1, 2, 3, 4, 4, 4, 8], statements)
    return rng.binomial(sizes, rng.beta(accuracy, 1 - accuracy, statements)).astype(float), sizes.astype(float)


def test_it_agrees_with_a_bootstrap_over_statements() -> None:
    right, sizes = beta_binomial(np.random.default_rng(1), 400, 0.75)
    clusters, rng = list(zip(right.tolist(), sizes.tolist(), strict=True)), random.Random(2)
    accuracies = []
    for _ in range(2000):
        drawn = rng.choices(clusters, k=len(clusters))
        accuracies.append(sum(r for r, _ in drawn) / sum(n for _, n in drawn))
    low, *_, high = np.quantile(accuracies, [0.025, 0.975])
    assert metrics.clustered_interval(right, sizes) == pytest.approx((low, high), abs=0.006)
    assert width(independent(int(right.sum()), int(sizes.sum()))) < 0.75 * (high - low)


@pytest.mark.parametrize(("statements", "accuracy"), [(6, 0.8), (30, 0.95), (250, 0.8)])
def test_it_covers_the_true_accuracy_95_times_in_100(statements: int, accuracy: float) -> None:
    rng = np.random.default_rng(3)
    covered = covered_if_independent = 0
    for _ in range(1000):
        right, sizes = beta_binomial(rng, statements, accuracy)
        low, high = metrics.clustered_interval(right, sizes)
        covered += low <= accuracy <= high
        low, high = independent(int(right.sum()), int(sizes.sum()))
        covered_if_independent += low <= accuracy <= high
    assert 930 <= covered <= 985
    assert covered_if_independent < 850


def test_scores_and_slices_cluster_by_statement_also_across_presentations() -> None:
    scene = EXAMPLES[0].scene
    repeated = [Example(f"{n}-0", f"statement {n // 4}", scene, True) for n in range(80)]
    distinct = [Example(e.identifier, f"statement {n}", scene, True) for n, e in enumerate(repeated)]
    verdicts = {example.identifier: n // 4 % 5 > 0 for n, example in enumerate(repeated)}
    narrow, wide = (metrics.score(examples, verdicts) for examples in (distinct, repeated))
    assert narrow.interval == independent(64, 80) and wide.interval == pytest.approx(independent(16, 20))
    assert metrics.breakdown(repeated, verdicts)[0].scores == wide


def test_statements_of_train_are_told_apart_whatever_their_writing(tmp_path: Path) -> None:
    scene, said = EXAMPLES[0].scene, ["There are two dots.", "there are 2  DOTS", "A dot is black!", "No dot"]
    examples = [Example(f"{n}-0", text, scene, True) for n, text in enumerate(said)]
    (tmp_path / "train").mkdir()
    write(tmp_path / "train" / "train.json", [examples[0]], WORLD)
    seen = metrics.train_statements(tmp_path)
    assert seen == metrics.train_statements(split_file(tmp_path, "train"))
    verdicts = {"0-0": True, "1-0": False, "2-0": True, "3-0": None}
    assert metrics.unseen_accuracy(examples, verdicts, seen) == 1 / 2
    assert metrics.unseen_accuracy(examples[:2], verdicts, seen) is None
    assert metrics.unseen_accuracy(examples, verdicts, None) is None
    parts = [each.scores for each in metrics.breakdown(examples, verdicts, seen) if each.group == "statement"]
    assert [(part.examples, part.accuracy) for part in parts] == [(2, 1 / 2), (2, 1 / 2)]
    (tmp_path / "none").mkdir()
    assert metrics.train_statements(tmp_path / "none") is None


def test_the_slices_of_a_group_that_divides_the_corpus_add_up() -> None:
    verdicts = {example.identifier: True for example in EXAMPLES}
    slices = metrics.breakdown(EXAMPLES, verdicts)
    for group in ("picture", "length"):
        assert sum(s.scores.examples for s in slices if s.group == group) == len(EXAMPLES)
    numbered = next(s for s in slices if s.name == "a number")
    assert numbered.scores.examples == sum("one" in e.statement for e in EXAMPLES)
