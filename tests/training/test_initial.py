"""Runs that start from a trained model."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from samples import write_corpus, yellow_circle_examples
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.lab import plans, seeds
from veriscene.lab.reproduce import Reproduction
from veriscene.models import Model, load_preset
from veriscene.training.distributed import Machine
from veriscene.training.spec import Record, Spec
from veriscene.training.train import train as train_spec

SIZES = ["model.embedding=4", "model.hidden=4", "model.item=4"]
TINY = [*SIZES, "training.batch=16", "training.epochs=1", "training.evaluate_every=4"]


def corpus(folder: Path, **description: str) -> Path:
    if description:
        folder.mkdir()
        (folder / "corpus.json").write_text(json.dumps(description), encoding="utf-8")
    return write_corpus(folder, yellow_circle_examples(64), yellow_circle_examples(40, seed=1))


def tiny(*changes: str, preset: str = "bienc") -> Config:
    return load_preset(preset, [*TINY, *changes])


def train(data: Path, folder: Path, *changes: str, initial: Path | None = None) -> Path:
    train_spec(Spec(tiny(*changes), corpus=data, initial=initial and str(initial)), folder)
    return folder


def assert_same_weights(one: Model, other: Model) -> None:
    torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=0, atol=0)


def test_a_run_starts_with_the_weights_and_vocabulary_of_the_model(tmp_path: Path) -> None:
    first = train(corpus(tmp_path / "synthetic", supervision="synthetic"), tmp_path / "first")
    initial = checkpoints.load(first)
    examples = [replace(e, statement=f"Surely {e.statement}") for e in yellow_circle_examples(64)]
    data, second = write_corpus(tmp_path / "corpus", examples, examples), tmp_path / "second"
    still = ("training.seed=2", "training.learning_rate=1e-9", "training.ema=0", "training.weight_decay=0")
    kept = checkpoints.load(train(data, second, *still, initial=first))
    assert kept.encoder.vocabulary == initial.encoder.vocabulary
    torch.testing.assert_close(kept.model.state_dict(), initial.model.state_dict(), rtol=0, atol=1e-6)
    record = Record.read(second)
    assert record.spec.initial == str(first)
    assert kept.metrics["supervision"] == record.supervision == "synthetic"  # though the corpus has labels
    moved = checkpoints.load(train(data, tmp_path / "third", "training.learning_rate=0.01", initial=first))
    name = "embed_words.weight"
    assert not torch.equal(moved.model.state_dict()[name], initial.model.state_dict()[name])
    for weights in ("best", "last"):  # as if it had been killed before its first save
        shutil.rmtree(tmp_path / "third" / weights)
    train_spec(Record.read(tmp_path / "third").spec, tmp_path / "third", resume=True)
    assert_same_weights(checkpoints.load(tmp_path / "third").model, moved.model)


@pytest.mark.parametrize(("preset", "changes"), [("biatt", TINY), ("bienc", [*TINY, "model.hidden=5"]), ("maxent", [])])
def test_a_model_that_does_not_fit_is_one_line_and_leaves_nothing(
    tmp_path: Path, preset: str, changes: list[str]
) -> None:
    data = corpus(tmp_path / "corpus")
    first = train(data, tmp_path / "first")
    with pytest.raises(InputError) as error:
        train_spec(Spec(load_preset(preset, changes), corpus=data, initial=str(first)), tmp_path / "new")
    assert "\n" not in str(error.value) and error.value.allowed
    assert not (tmp_path / "new").exists()


def test_a_model_that_does_not_say_how_it_was_trained_is_refused(tmp_path: Path) -> None:
    data = corpus(tmp_path / "corpus")
    first = train(data, tmp_path / "first") / "best"
    (first / "metrics.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError) as error:
        train(data, tmp_path / "new", initial=first)
    assert error.value.where == first / "metrics.json"


def test_each_seed_starts_from_the_model_of_the_same_seed(tmp_path: Path) -> None:
    data = corpus(tmp_path / "corpus")
    still = ("training.learning_rate=1e-9", "training.ema=0", "training.weight_decay=0")
    before = Spec(tiny(), corpus=data)
    after = Spec(tiny(*still), corpus=data, initial=str(tmp_path / "before"))
    for folder, spec in (("before", before), ("after", after)):
        assert seeds.start(spec, tmp_path / folder, 2, machine=Machine())
    for seed in (1, 2):  # hardly trained, so that they are what they started from
        one, other = (checkpoints.load(tmp_path / folder / f"seed{seed}").model for folder in ("before", "after"))
        torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=0, atol=1e-6)


def test_a_row_that_starts_from_another_needs_it(tmp_path: Path) -> None:
    before = plans.Row("before", "bienc")
    after = plans.Row("after", "bienc", changes=("training.learning_rate=1e-3",), initial="before")
    work = Reproduction(
        plans.Plan("two", (before, after)), TINY, corpus(tmp_path / "corpus"), tmp_path / "out", Machine()
    )
    with pytest.raises(InputError):
        work.check([after])
    work.check([before, after])
    for row in (before, after):
        result = work.run_row(row)
        assert result is not None
    work.check([after])
    assert "--init bienc" in result.command
    assert Record.read(tmp_path / "out" / after.folder / "seed2").spec.initial == str(
        tmp_path / "out" / "bienc" / "seed2"
    )
