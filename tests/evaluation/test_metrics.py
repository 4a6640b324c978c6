from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import yellow_circle_examples
from veriscene.errors import InputError
from veriscene.evaluation import metrics
from veriscene.scenes import nlvr

EXAMPLES = yellow_circle_examples(22)


def official_scores(predictions: Path, labels: Path) -> tuple[float, float]:
    """The corpus's scorer, written again from its description: it sees nothing but the two files."""
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
    nlvr.write(folder / "dev.json", EXAMPLES)
    nlvr.write_predictions(folder / "p.csv", verdicts)
    scores = metrics.score(nlvr.read(folder / "dev.json"), nlvr.read_predictions(folder / "p.csv"))
    assert (scores.accuracy, scores.consistency) == official_scores(folder / "p.csv", folder / "dev.json")
    assert scores.interval[0] <= scores.accuracy <= scores.interval[1]


def test_scores_equal_the_official_ones_on_the_real_dev_split(nlvr_folder: Path, tmp_path: Path) -> None:
    path = nlvr.split_file(nlvr_folder, "dev")
    examples = nlvr.read(path)
    verdicts = {example.identifier: hash_free_coin(example.identifier) for example in examples}
    nlvr.write_predictions(tmp_path / "p.csv", verdicts)
    scores = metrics.score(examples, verdicts)
    assert (scores.accuracy, scores.consistency) == official_scores(tmp_path / "p.csv", path)
    assert scores.presentations == 267
    always = metrics.score(examples, dict.fromkeys(verdicts, True))
    assert round(always.accuracy, 3) == 0.553


def hash_free_coin(identifier: str) -> bool:
    return sum(map(ord, identifier)) % 3 > 0


def test_it_refuses_missing_double_unknown_and_unlabelled_identifiers() -> None:
    verdicts = {example.identifier: True for example in EXAMPLES}
    missing = {identifier: verdict for identifier, verdict in verdicts.items() if identifier != "2-1"}
    with pytest.raises(InputError, match=r"no prediction.*'2-1'"):
        metrics.score(EXAMPLES, missing)
    with pytest.raises(InputError, match=r"predicted but not among.*'99-0'"):
        metrics.score(EXAMPLES, {**verdicts, "99-0": True})
    with pytest.raises(InputError, match=r"occur twice.*'0-0'"):
        metrics.score([*EXAMPLES, EXAMPLES[0]], verdicts)
    unlabelled = [nlvr.Example(e.identifier, e.statement, e.scene) for e in EXAMPLES]
    with pytest.raises(InputError, match="no label"):
        metrics.score(unlabelled, verdicts)


def test_wilson_interval_against_known_values() -> None:
    # Newcombe 1998, table I: 81 of 263, and 0 of 20.
    assert [round(bound, 4) for bound in metrics.wilson(81, 263)] == [0.2553, 0.3662]
    assert [round(bound, 4) for bound in metrics.wilson(0, 20)] == [0.0, 0.1611]


def test_the_slices_of_a_group_that_divides_the_corpus_add_up() -> None:
    verdicts = {example.identifier: True for example in EXAMPLES}
    slices = metrics.breakdown(EXAMPLES, verdicts)
    for group in ("picture", "length"):
        assert sum(s.scores.examples for s in slices if s.group == group) == len(EXAMPLES)
    numbered = next(s for s in slices if s.name == "a number")
    assert numbered.scores.examples == sum("one" in e.statement for e in EXAMPLES)
