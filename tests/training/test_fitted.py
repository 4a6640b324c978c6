"""Models that are fitted without steps: one piece of work, told as every other run is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from torch.nn.functional import binary_cross_entropy_with_logits

from samples import write_corpus, yellow_circle_examples
from veriscene.config import load_preset
from veriscene.errors import InputError
from veriscene.scenes.nlvr import Example
from veriscene.training import checkpoint as checkpoints
from veriscene.training import run
from veriscene.training.progress import read_log
from veriscene.training.run import AnyTrainer


def start(folder: Path, train: list[Example], dev: list[Example], preset: str = "maxent", *changes: str) -> AnyTrainer:
    corpus = write_corpus(folder / "corpus", train, dev)
    config = load_preset(preset, changes)
    return run.start(config, preset=preset, data=corpus, folder=folder / "run", accelerator=Accelerator(), quiet=True)


def test_the_log_tells_the_loss_and_the_score_of_the_weights_that_are_kept(tmp_path: Path) -> None:
    train, dev = yellow_circle_examples(80), yellow_circle_examples(30, seed=1)
    outcome = start(tmp_path, train, dev).fit()
    kept = checkpoints.load(tmp_path / "run")
    (line,) = read_log(tmp_path / "run")
    logits, truth = kept.model(kept.encode(train)).logits, torch.tensor([float(e.label) for e in train])
    assert line["loss"] == pytest.approx(binary_cross_entropy_with_logits(logits, truth).item(), rel=1e-4)
    right = (kept.model(kept.encode(dev)).logits > 0) == torch.tensor([e.label for e in dev])
    assert line["dev_accuracy"] == outcome.position.best_accuracy == right.double().mean().item()
    assert kept.metrics["supervision"] == "labels"
    with pytest.raises(InputError, match="finished"):
        run.resume(tmp_path / "run", accelerator=Accelerator(), quiet=True).fit()


def test_one_label_alone_teaches_nothing(tmp_path: Path) -> None:
    true = [Example(e.identifier, e.statement, e.scene, True) for e in yellow_circle_examples(12)]
    with pytest.raises(InputError, match="true and false"):
        start(tmp_path, true, true).fit()


@pytest.mark.parametrize("preset", ["maxent", "mlp"])
def test_statements_without_grams_or_numbers_are_no_trouble(tmp_path: Path, preset: str) -> None:
    short = [Example(e.identifier, "yellow", e.scene, e.label) for e in yellow_circle_examples(12)]
    epochs = ["training.epochs=1"] if preset == "mlp" else []
    assert start(tmp_path, short, short, preset, *epochs).fit().position.finished
