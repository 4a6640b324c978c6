"""Models that are fitted without gradient steps."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from samples import write_corpus, yellow_circle_examples
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.training.log import read_log
from veriscene.training.spec import Record, Spec
from veriscene.training.train import Result, train
from veriscene.world.examples import Example


def fit(folder: Path, train_split: list[Example], dev: list[Example], preset: str = "maxent", *changes: str) -> Result:
    corpus = write_corpus(folder / "corpus", train_split, dev)
    return train(Spec.of(preset, data=corpus, changes=changes), folder / "run")


def test_the_log_has_the_loss_and_score_of_the_saved_weights(tmp_path: Path) -> None:
    examples, dev = yellow_circle_examples(80), yellow_circle_examples(30, seed=1)
    result = fit(tmp_path, examples, dev)
    saved = checkpoints.load(tmp_path / "run")
    (line,) = read_log(tmp_path / "run")
    logits, labels = saved.model(saved.encode(examples)).logits, torch.tensor([float(e.label) for e in examples])
    assert line.loss == pytest.approx(binary_cross_entropy_with_logits(logits, labels).item(), rel=1e-4)
    right = (saved.model(saved.encode(dev)).logits > 0) == torch.tensor([e.label for e in dev])
    assert line.dev_accuracy == result.best_accuracy == right.double().mean().item()
    assert train(Record.read(tmp_path / "run").spec, tmp_path / "run", resume=True).was_finished


def test_a_single_label_cannot_be_fitted_and_leaves_no_folder(tmp_path: Path) -> None:
    true = [Example(e.identifier, e.statement, e.scene, True) for e in yellow_circle_examples(12)]
    with pytest.raises(InputError):
        fit(tmp_path, true, true)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.parametrize("preset", ["maxent", "mlp"])
def test_statements_without_n_grams_or_numbers_can_be_fitted(tmp_path: Path, preset: str) -> None:
    short = [Example(e.identifier, "yellow", e.scene, e.label) for e in yellow_circle_examples(12)]
    epochs = ["training.epochs=1"] if preset == "mlp" else []
    assert fit(tmp_path, short, short, preset, "data.minimum_count=1", *epochs).position.finished
