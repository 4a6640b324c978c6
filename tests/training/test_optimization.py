"""AdamW's learning rate, and the moving average of parameters and buffers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.testing import assert_close

from samples import vocabulary_of, write_corpus, yellow_circle_examples
from training_toys import NAME, BatchNormConfig, BatchNormModel
from veriscene import models
from veriscene.config import Config, TrainingConfig
from veriscene.data.encoder import Encoder
from veriscene.models import MODELS
from veriscene.training.optimization import EMA, learning_rate
from veriscene.training.spec import Spec
from veriscene.training.train import train
from veriscene.worlds.nlvr.looks import WORLD


def test_the_average_forgets_initial_weights_and_then_keeps_its_decay() -> None:
    model = nn.Linear(3, 2).double()
    ema = EMA(model, decay=0.9)
    expected = model.weight.detach().clone()
    for step in range(200):
        with torch.no_grad():
            model.weight.add_(torch.randn(2, 3, dtype=torch.float64))
        ema.update(step)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * model.weight.detach()
    assert_close(ema.weights[0], expected)


def test_applied_puts_the_average_into_the_same_memory_and_takes_it_out_after_an_error() -> None:
    model = nn.Linear(3, 2)
    ema = EMA(model, decay=0.5)
    with torch.no_grad():
        model.weight.add_(1.0)
    own, memory = model.weight.detach().clone(), model.weight.data_ptr()
    with pytest.raises(KeyError), ema.applied():
        assert_close(model.weight.detach(), ema.weights[0], atol=0, rtol=0)
        assert model.weight.data_ptr() == memory
        raise KeyError
    assert torch.equal(model.weight.detach(), own) and model.weight.data_ptr() == memory


def test_running_statistics_are_averaged_and_counters_are_not() -> None:
    examples = yellow_circle_examples(24)
    vocabulary = vocabulary_of(examples)
    model, batch = BatchNormModel(BatchNormConfig(hidden=4), vocabulary, WORLD), Encoder(vocabulary, WORLD)(examples)
    ema = EMA(model, decay=0.5)
    expected = {name: value.clone() for name, value in model.norm.named_buffers() if value.is_floating_point()}
    for step in range(12):
        model(batch[torch.randperm(24)[:8]])
        ema.update(step)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = {name: decay * v + (1 - decay) * model.norm.get_buffer(name) for name, v in expected.items()}
    own = {name: value.clone() for name, value in model.state_dict().items()}
    with ema.applied():
        for name, value in expected.items():
            assert not torch.equal(own[f"norm.{name}"], value)
            assert_close(model.norm.get_buffer(name), value)
        assert model.norm.num_batches_tracked == 12
        model.eval()(batch)
    for name, value in model.state_dict().items():
        assert torch.equal(value, own[name]), name


@pytest.mark.parametrize("name", ["bienc", NAME])
def test_a_run_keeps_averaged_weights_as_best_and_is_not_disturbed_by_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, NAME, BatchNormModel)
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(40), yellow_circle_examples(12, seed=1))
    states = {}
    for decay in (0.0, 0.95):
        settings = TrainingConfig(batch=8, epochs=2, learning_rate=0.01, ema=decay, evaluate_every=10)
        config = Config(model=models.MODELS[name].Config(name=name, hidden=6), training=settings)
        folder = tmp_path / f"run{decay}"
        train(Spec(config, corpus=corpus), folder)
        states[decay] = [load_file(folder / part / "model.safetensors") for part in ("last", "best")]
    for key, weight in states[0.0][0].items():
        assert torch.equal(weight, states[0.95][0][key]), key
    floats = [key for key, weight in states[0.0][1].items() if weight.is_floating_point()]
    assert all(not torch.equal(states[0.0][1][key], states[0.95][1][key]) for key in floats)
    if name == NAME:
        assert states[0.95][1]["norm.num_batches_tracked"] == 10


def test_the_learning_rate_warms_up_stays_and_cools_down() -> None:
    settings = TrainingConfig(learning_rate=0.1, warmup=10, cooldown=0.5)
    rates = [learning_rate(settings, step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.01) and rates[9:50] == pytest.approx([0.1] * 41)
    assert rates[75] == pytest.approx(0.05) and rates[99] == pytest.approx(0.002)
    assert {learning_rate(TrainingConfig(), step, 100) for step in range(100)} == {1e-4}
