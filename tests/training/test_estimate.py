"""The expected time of a run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator

from samples import write_corpus, yellow_circle_examples
from veriscene.models import load_preset
from veriscene.training.estimate import expected_seconds


def test_the_estimate_takes_seconds_and_changes_no_random_state(tmp_path: Path) -> None:
    config = load_preset("biatt-pointer", ["training.batch=256"])
    corpus = write_corpus(tmp_path, yellow_circle_examples(300), yellow_circle_examples(100))
    torch.manual_seed(5)
    before, tf32, started = torch.get_rng_state(), torch.backends.cuda.matmul.allow_tf32, time.monotonic()
    seconds = expected_seconds(config, corpus, Accelerator(cpu=True))
    assert time.monotonic() - started < 10
    assert torch.equal(torch.get_rng_state(), before) and torch.backends.cuda.matmul.allow_tf32 is tf32
    assert seconds > 0


def test_the_estimate_grows_with_epochs_and_is_bounded_by_the_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veriscene.training.estimate._seconds_per_step", lambda *_: (0.01, 0.0))
    corpus = write_corpus(tmp_path, yellow_circle_examples(32), yellow_circle_examples(8))

    def seconds(*changes: str) -> float:
        return expected_seconds(load_preset("bienc", changes), corpus, Accelerator(cpu=True))

    assert seconds("training.batch=1", "training.epochs=1") > 0
    one, ten = seconds("training.epochs=1"), seconds("training.epochs=10")
    assert ten == pytest.approx(10 * one, rel=0.01)
    assert seconds("training.epochs=1000000", "training.minutes=0.5") == 30.0


def test_what_is_computed_once_counts_once_per_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_corpus(tmp_path, yellow_circle_examples(32), yellow_circle_examples(8))
    estimates = []
    for extraction in (0.0, 8.0):
        monkeypatch.setattr("veriscene.training.estimate._seconds_per_step", lambda *_, e=extraction: (1.0, e))
        config = load_preset("bienc", ["training.batch=8", "training.epochs=3"])
        estimates.append(expected_seconds(config, corpus, Accelerator(cpu=True)))
    assert estimates[1] - estimates[0] == pytest.approx(32 + 8)  # 8 seconds for the sample of 8, of 40 examples
