"""Runs that start from a trained model."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from veriscene.training.base import Trainer
from veriscene.training.run_record import read_record
from veriscene.training.trainer import StepTrainer

from samples import write_corpus, yellow_circle_examples
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.lab import plans, seeds
from veriscene.lab.reproduce import Reproduction
from veriscene.models import Model, load_preset
from veriscene.training import run

SIZES = ["model.embedding=4", "model.hidden=4", "model.item=4"]
TINY = [*SIZES, "training.batch=16", "training.epochs=1", "training.evaluate_every=4"]


def corpus(folder: Path, **description: str) -> Path:
    if description:
        folder.mkdir()
        (folder / "corpus.json").write_text(json.dumps(description), encoding="utf-8")
    return write_corpus(folder, yellow_circle_examples(64), yellow_circle_examples(40, seed=1))


def tiny(*changes: str, preset: str = "bienc") -> Config:
    return load_preset(preset, [*TINY, *changes])


def start(
    data: Path, folder: Path, *changes: str, initial: Path | None = None, preset: str = "bienc"
) -> AbstractContextManager[Trainer]:
    config = tiny(*changes, preset=preset)
    return run.start(
        config, preset=preset, data=data, folder=folder, initial=initial, accelerator=Accelerator(), quiet=True
    )


def train(data: Path, folder: Path, *changes: str, initial: Path | None = None) -> Path:
    with start(data, folder, *changes, initial=initial) as trainer:
        trainer.fit()
    return folder


def model_of(trainer: Trainer) -> Model:
    assert isinstance(trainer, StepTrainer)
    return trainer.state.checkpoint.model


def assert_same_weights(one: Model, other: Model) -> None:
    torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=0, atol=0)


def test_a_run_starts_with_the_weights_and_vocabulary_of_the_model(tmp_path: Path) -> None:
    first = train(corpus(tmp_path / "synthetic", supervision="synthetic"), tmp_path / "first")
    initial = checkpoints.load(first)
    examples = [replace(e, statement=f"Surely {e.statement}") for e in yellow_circle_examples(64)]
    data = write_corpus(tmp_path / "corpus", examples, examples)
    with start(data, tmp_path / "second", "training.seed=2", initial=first) as trainer:
        assert trainer.source.encoder.vocabulary == initial.encoder.vocabulary
        assert_same_weights(model_of(trainer), initial.model)
    record = read_record(tmp_path / "second")
    assert record.initial == str(first) and record.supervision == "synthetic"  # though the corpus has labels
    with run.resume(tmp_path / "second", accelerator=Accelerator(), quiet=True) as trainer:
        assert_same_weights(model_of(trainer), initial.model)  # nothing was saved yet
        trainer.fit()
    second = checkpoints.load(tmp_path / "second")
    assert second.metrics["supervision"] == "synthetic"
    assert second.encoder.vocabulary == initial.encoder.vocabulary
    assert not torch.equal(
        second.model.state_dict()["embed_words.weight"], initial.model.state_dict()["embed_words.weight"]
    )


@pytest.mark.parametrize(
    ("preset", "changes", "line"),
    [
        ("biatt", (), "the weights of the initial model, a bienc, do not fit"),
        ("bienc", ("model.hidden=5",), "the weights of the initial model, a bienc, do not fit"),
        ("maxent", (), "maxent finds its weights at once"),
    ],
)
def test_a_model_that_does_not_fit_is_one_line_and_leaves_nothing(
    tmp_path: Path, preset: str, changes: tuple[str, ...], line: str
) -> None:
    data = corpus(tmp_path / "corpus")
    first = train(data, tmp_path / "first")
    tiny_changes = [c for c in TINY if preset != "maxent"]
    config = load_preset(preset, [*tiny_changes, *changes])
    with (
        pytest.raises(InputError, match=line),
        run.start(config, preset=preset, data=data, folder=tmp_path / "new", initial=first, accelerator=Accelerator()),
    ):
        pass
    assert not (tmp_path / "new").exists()


def test_a_model_that_does_not_say_how_it_was_trained_is_refused(tmp_path: Path) -> None:
    data = corpus(tmp_path / "corpus")
    first = train(data, tmp_path / "first") / "best"
    (first / "metrics.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="does not say how"), start(data, tmp_path / "new", initial=first):
        pass


def test_each_seed_starts_from_the_model_of_the_same_seed(tmp_path: Path) -> None:
    data, common = corpus(tmp_path / "corpus"), {"preset": "bienc", "count": 2, "accelerator": Accelerator()}
    for folder, initial in (("before", None), ("after", tmp_path / "before")):
        changes = (
            () if initial is None else ("training.learning_rate=1e-9", "training.ema=0", "training.weight_decay=0")
        )
        seeds.start(tiny(*changes), data=data, folder=tmp_path / folder, initial=initial, **common)  # type: ignore[arg-type]
        assert seeds.train(tmp_path / folder, accelerator=Accelerator(), say=print, quiet=True)
    for seed in (1, 2):  # hardly trained, so that they are what they started from
        one, other = (checkpoints.load(tmp_path / folder / f"seed{seed}").model for folder in ("before", "after"))
        torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=0, atol=1e-6)


def test_a_row_that_starts_from_another_needs_it(tmp_path: Path) -> None:
    before = plans.Row("before", "bienc")
    after = plans.Row("after", "bienc", changes=("training.learning_rate=1e-3",), initial="before")
    work = Reproduction(
        plans.Plan("two", (before, after)), TINY, corpus(tmp_path / "corpus"), tmp_path / "out", Accelerator()
    )
    with pytest.raises(InputError, match="after starts from the models of before"):
        work.check([after])
    work.check([before, after])
    for row in (before, after):
        result = work.run_row(row, print)
        assert result is not None
    work.check([after])
    assert "--init bienc" in result.command
    assert read_record(tmp_path / "out" / after.folder / "seed2").initial == str(tmp_path / "out" / "bienc" / "seed2")
