"""Weights that are converted once give the step that autocast gives, without its conversions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from test_step import STEPPED, VARIANTS, made, some_examples
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from veriscene.data.batch import Batch, required
from veriscene.models import Model
from veriscene.models.layers import recurrence
from veriscene.models.layers.recurrence import BiLSTM
from veriscene.training.half import HalfWeights
from veriscene.training.optimization import objective


@pytest.fixture(autouse=True)
def recurrence_as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for on_cpu, on_gpu in (
        ("torch_bilstm", recurrence.chained_bilstm),
        ("stepped_to_final_state", recurrence.chained_to_final_state),
        ("stepped_from", recurrence.chained_from),
    ):
        monkeypatch.setattr(recurrence, on_cpu, on_gpu)


class Conversions(TorchDispatchMode):
    """Remembers what is converted to bfloat16."""

    def __init__(self) -> None:
        super().__init__()
        self.converted: list[Tensor] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.ops.aten._to_copy.default and kwargs.get("dtype") is torch.bfloat16:
            self.converted.append(args[0])
        return function(*args, **(kwargs or {}))


@contextmanager
def half_precision() -> Iterator[None]:
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        yield


def learn(model: Model, run: Any, batch: Batch) -> tuple[float, dict[str, Tensor]]:
    torch.manual_seed(1)
    model.zero_grad()
    loss = objective(run(batch), required(batch.labels)).surrogate.mean()
    loss.backward()
    return loss.item(), {name: own.grad for name, own in model.named_parameters() if own.grad is not None}


def error(found: dict[str, Tensor], expected: dict[str, Tensor]) -> float:
    assert found.keys() == expected.keys()
    one, other = (torch.cat([tensor.flatten() for tensor in some.values()]) for some in (found, expected))
    return float((one - other).norm() / other.norm())


@pytest.mark.parametrize("name", [*STEPPED, *VARIANTS])
def test_losses_and_gradients_are_as_near_to_those_in_single_precision_as_under_autocast(name: str) -> None:
    model, corpus = made(name, some_examples(), "cpu")
    model, batch, half = model.train(), corpus[torch.arange(16)], HalfWeights(model)
    loss, gradients = learn(model, model, batch)
    with half_precision():
        usual_loss, usual = learn(model, model, batch)
        own_loss, own = learn(model, half, batch)
    assert own_loss == pytest.approx(loss, abs=max(0.005, 3 * abs(usual_loss - loss)))
    assert all(gradient.dtype == torch.float32 for gradient in own.values())
    if name not in ("biatt-pointer", "biatt-pointer+"):  # rounding changes which orders are sampled
        assert error(own, gradients) < max(0.02, 2 * error(usual, gradients))
    assert error(own, usual) < max(0.05, 2 * error(usual, gradients))


@pytest.mark.parametrize("name", [*STEPPED, *VARIANTS])
def test_no_weight_is_converted_at_its_uses(name: str) -> None:
    model, corpus = made(name, some_examples(), "cpu")
    half = HalfWeights(model)
    names = {weight.data_ptr(): own for own, weight in model.named_parameters()}
    with Conversions() as seen, half_precision():
        half(corpus[torch.arange(16)])
    left = {names.get(tensor.data_ptr()) for tensor in seen.converted} & half.weights.keys()
    assert not left
    for own, module in model.named_modules():
        if isinstance(module, (nn.Linear, nn.LSTMCell)):
            assert {f"{own}.{part}" for part, _ in module.named_parameters()} <= half.weights.keys()
        if isinstance(module, BiLSTM):
            assert {f"{own}.{part}" for part, _ in module.named_parameters()} <= half.weights.keys()


class Layers(nn.Module):
    """Has a weight with two names, a frozen one, one without use, and a buffer that changes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.unused = (nn.Linear(4, 4) for _ in range(3))
        self.again = nn.Linear(4, 4, bias=False)
        self.again.weight = self.first.weight
        self.first.bias.requires_grad_(False)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.norm(self.again(torch.relu(self.second(self.first(inputs)))))


def test_frozen_unused_and_shared_weights_and_buffers_work() -> None:
    torch.manual_seed(0)
    model, inputs, aim = Layers(), torch.randn(8, 4), torch.randn(8, 4)
    half, found = HalfWeights(model), []
    own = dict(model.named_parameters())
    for run in (model, half):
        model.zero_grad(), model.norm.reset_running_stats()
        with half_precision():
            (run(inputs) * aim).sum().backward()
        found.append({name: weight.grad for name, weight in own.items() if weight.grad is not None})
        assert model.norm.num_batches_tracked == 1 and model.norm.running_mean.any()
        assert dict(model.named_parameters()).keys() == own.keys()
        assert all(weight is own[name] for name, weight in model.named_parameters())
    assert found[0].keys() == found[1].keys()
    assert not {"first.bias", "unused.weight", "unused.bias"} & found[1].keys()
    for name, gradient in found[0].items():
        assert_close(found[1][name], gradient, atol=0.1, rtol=0.05)


def test_a_model_without_such_layers_is_run_as_it_is() -> None:
    model = nn.Sequential(nn.Conv1d(3, 2, 1))
    inputs = torch.randn(1, 3, 4)
    assert torch.equal(HalfWeights(model)(inputs), model(inputs))


@pytest.mark.gpu
def test_torchs_own_lstms_keep_their_weights_in_place() -> None:
    """They move their weights in memory if these are other tensors than in the last call."""
    model, corpus = made("imagefeat-rnn", some_examples(), "cuda")
    model.train()(corpus[:4])
    before = [weight.data_ptr() for weight in model.parameters()]
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
        HalfWeights(model)(corpus[:4])
    model.eval()(corpus[:4])
    assert [weight.data_ptr() for weight in model.parameters()] == before
