"""Models that are fitted without gradient steps."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from torch.nn.functional import binary_cross_entropy_with_logits

from samples import write_corpus, yellow_circle_examples
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.models import load_preset
from veriscene.training import run
from veriscene.training.base import Trainer
from veriscene.training.progress import read_log
from veriscene.worlds.nlvr.corpus import Example


def start(
    folder: Path, train: list[Example], dev: list[Example], preset: str = "maxent", *changes: str
) -> AbstractContextManager[Trainer]:
    corpus = write_corpus(folder / "corpus", train, dev)
    config = load_preset(preset, changes)
    return run.start(config, preset=preset, data=corpus, folder=folder / "run", accelerator=Accelerator(), quiet=True)


def test_the_log_has_the_loss_and_score_of_the_saved_weights(tmp_path: Path) -> None:
    train, dev = yellow_circle_examples(80), yellow_circle_examples(30, seed=1)
    with start(tmp_path, train, dev) as trainer:
        outcome = trainer.fit()
    saved = checkpoints.load(tmp_path / "run")
    (line,) = read_log(tmp_path / "run")
    logits, labels = saved.model(saved.encode(train)).logits, torch.tensor([float(e.label) for e in train])
    assert line.loss == pytest.approx(binary_cross_entropy_with_logits(logits, labels).item(), rel=1e-4)
    right = (saved.model(saved.encode(dev)).logits > 0) == torch.tensor([e.label for e in dev])
    assert line.dev_accuracy == outcome.position.best_accuracy == right.double().mean().item()
    with run.resume(tmp_path / "run", accelerator=Accelerator(), quiet=True) as resumed:
        assert resumed.position.finished
        with pytest.raises(InputError, match="finished"):
            resumed.fit()


def test_a_single_label_cannot_be_fitted_and_leaves_no_folder(tmp_path: Path) -> None:
    true = [Example(e.identifier, e.statement, e.scene, True) for e in yellow_circle_examples(12)]
    with pytest.raises(InputError, match="needs true and false"), start(tmp_path, true, true) as trainer:
        trainer.fit()
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.parametrize("preset", ["maxent", "mlp"])
def test_statements_without_n_grams_or_numbers_can_be_fitted(tmp_path: Path, preset: str) -> None:
    short = [Example(e.identifier, "yellow", e.scene, e.label) for e in yellow_circle_examples(12)]
    epochs = ["training.epochs=1"] if preset == "mlp" else []
    with start(tmp_path, short, short, preset, "data.minimum_count=1", *epochs) as trainer:
        assert trainer.fit().position.finished
