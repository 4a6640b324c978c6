"""The average is what it says, and the model is itself again afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from torch import nn
from torch.testing import assert_close

from samples import write_corpus, yellow_circle_examples
from veriscene.config import load_preset
from veriscene.training import run
from veriscene.training.average import Average


def test_it_forgets_its_beginning_and_then_keeps_the_share_it_was_told() -> None:
    model = nn.Linear(3, 2).double()
    average = Average(model, keep=0.9)
    expected = model.weight.detach().clone()
    for step in range(200):
        with torch.no_grad():
            model.weight.add_(torch.randn(2, 3, dtype=torch.float64))
        average.follow(step)
        keep = min(0.9, (1 + step) / (10 + step))
        expected = keep * expected + (1 - keep) * model.weight.detach()
    assert_close(average.weights[0], expected)


def test_inside_the_model_has_the_average_and_outside_its_own_weights_in_the_same_memory() -> None:
    model = nn.Linear(3, 2)
    average = Average(model, keep=0.5)
    with torch.no_grad():
        model.weight.add_(1.0)
    own, memory = model.weight.detach().clone(), model.weight.data_ptr()
    with pytest.raises(KeyError), average.in_place():
        assert_close(model.weight.detach(), average.weights[0], atol=0, rtol=0)
        assert model.weight.data_ptr() == memory
        raise KeyError
    assert torch.equal(model.weight.detach(), own) and model.weight.data_ptr() == memory


def test_a_run_keeps_the_averaged_weights_and_goes_on_with_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(40), yellow_circle_examples(12, seed=1))
    sizes = ["model.embedding=6", "model.hidden=6", "model.item=6", "training.batch=8", "training.epochs=2"]
    states, followed = {}, []
    plain_follow = Average.follow
    monkeypatch.setattr(Average, "follow", lambda self, step: (followed.append(step), plain_follow(self, step))[1])
    for keep in (0.0, 0.95):
        config = load_preset("bienc", [*sizes, f"training.average={keep}", "training.evaluate_every=10"])
        folder = tmp_path / f"run{keep}"
        trainer = run.start(config, preset="bienc", data=corpus, folder=folder, accelerator=Accelerator(), quiet=True)
        trainer.fit()
        states[keep] = [load_file(folder / name / "model.safetensors") for name in ("last", "best")]
        if keep:
            assert trainer.position.best_step == 10
    assert followed == list(range(10))
    for name, weight in states[0.0][0].items():  # training itself is not disturbed
        assert torch.equal(weight, states[0.95][0][name]), name
    assert any(not torch.equal(weight, states[0.95][1][name]) for name, weight in states[0.0][1].items())
