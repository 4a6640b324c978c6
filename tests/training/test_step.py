"""The recorded step learns what the plain one learns, and batches are what they promise."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st

from samples import yellow_circle_examples
from veriscene import models
from veriscene.config import ModelConfig, TrainingConfig
from veriscene.tensors.batch import ItemOrder, encode
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training.epochs import epoch_batches
from veriscene.training.optimizer import make_optimizer
from veriscene.training.schedule import learning_rate
from veriscene.training.sharpness import uphill
from veriscene.training.step import CapturedStep, PlainStep, filled_up

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@needs_gpu
@pytest.mark.parametrize(
    "settings",
    [
        TrainingConfig(),
        TrainingConfig(sharpness=0.05),
        TrainingConfig(agreement=1.0),
        TrainingConfig(agreement=1.0, sharpness=0.05),
        TrainingConfig(precision="bf16"),
        TrainingConfig(precision="bf16", agreement=1.0),
    ],
    ids=["as it is", "sharpness", "agreement", "agreement, sharpness", "bf16", "bf16, agreement"],
)
@pytest.mark.parametrize("name", ["mlp", "imagefeat-rnn", "relation-net", "bidaf", "bienc", "biatt", "biatt-pointer"])
def test_the_recorded_step_equals_the_plain_one(name: str, settings: TrainingConfig) -> None:
    examples = yellow_circle_examples(60)
    # The longest statement comes first, where a short batch of short ones must not look for something to fill it up.
    examples[0] = replace(examples[0], statement=examples[0].statement + " and nothing else is asked of these boxes")
    vocabulary = Vocabulary.of((e.statement for e in examples), minimum_count=1)
    corpora = [
        encode(examples, vocabulary).to("cuda").in_order(ItemOrder.RANDOM, torch.Generator().manual_seed(epoch))
        for epoch in range(2)
    ]
    weights, losses = [], []
    settings = replace(settings, batch=16, clip=1.0)
    for captured in (False, True):
        torch.manual_seed(0)
        sizes = ModelConfig(name=name, embedding=8, hidden=16, item=8, joint=16, mlp=16, dropout=0.0)
        model = models.build(sizes, vocabulary=vocabulary)
        if isinstance(model, models.Prepared):
            model.prepare(corpora[0].to("cpu"))
        model.cuda()
        optimizer = make_optimizer(model, settings, captured=captured)
        step = (
            CapturedStep(model, optimizer, corpora[0], settings, ItemOrder.RANDOM)
            if captured
            else PlainStep(model, optimizer, settings, Accelerator(), ItemOrder.RANDOM)
        )
        torch.manual_seed(1)
        generator = torch.Generator().manual_seed(2)
        told = []
        for number in range(12):
            # Some batches are short. Filled up, one that is read twice would draw others for its second reading.
            size = 16 if number % 4 or settings.agreement else 11
            numbers = torch.randint(1 if size < 16 else 0, len(examples), (size,), generator=generator)
            share = torch.full((size,), 1 / size)
            told.append(float(step(corpora[number % 2], numbers, share, learning_rate=1e-3 * (1 + number % 3))))
        losses.append(told)
        weights.append([parameter.detach().clone() for parameter in model.parameters()])
    if settings.precision == "bf16":  # roundings that differ may turn a step of Adam around: only the losses agree
        assert losses[1] == pytest.approx(losses[0], abs=0.02)
        return
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    for plain, recorded in zip(*weights, strict=True):
        torch.testing.assert_close(recorded, plain, atol=1e-4, rtol=1e-3)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=20), st.integers(0, 5))
def test_a_short_batch_is_filled_up_with_its_own_examples_which_do_not_count(numbers: list[int], missing: int) -> None:
    share = torch.full((len(numbers),), 1 / len(numbers))
    filled, shares = filled_up(torch.tensor(numbers), share, size=len(numbers) + missing)
    assert filled.tolist()[: len(numbers)] == numbers
    assert len(filled) == len(shares) == len(numbers) + missing
    assert set(filled.tolist()) == set(numbers)
    assert shares.tolist() == share.tolist() + [0.0] * missing


def first_moves(learning_rate: float = 1e-3, **changes: float) -> dict[str, torch.Tensor]:
    """How far the first step takes each weight of a small BiATT-Pointer."""
    examples = yellow_circle_examples(8)
    vocabulary = Vocabulary.of((e.statement for e in examples), minimum_count=1)
    settings = replace(TrainingConfig(batch=8, clip=1e9), **changes)
    torch.manual_seed(0)
    sizes = ModelConfig(name="biatt-pointer", embedding=8, hidden=16, item=8, joint=16, mlp=16)
    model = models.build(sizes, vocabulary=vocabulary)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = make_optimizer(model, settings, captured=False)
    step = PlainStep(model, optimizer, settings, Accelerator(), ItemOrder.RANDOM)
    step(encode(examples, vocabulary), torch.arange(8), torch.full((8,), 1 / 8), learning_rate=learning_rate)
    return {name: parameter.detach() - before[name] for name, parameter in model.named_parameters()}


def test_a_step_is_as_long_as_its_learning_rate() -> None:
    short, long = first_moves(), first_moves(learning_rate=3e-3)
    for name, move in short.items():
        torch.testing.assert_close(long[name], 3 * move, atol=1e-6, rtol=1e-3)


def test_the_pointers_own_weights_learn_by_policy_gradient_alone() -> None:
    without, with_it = first_moves(policy_weight=0.0), first_moves(policy_weight=0.01)
    for name, move in without.items():
        assert name.startswith("pointer.") == (not move.any())
        assert with_it[name].any()


def test_the_weight_of_agreement_counts() -> None:
    light, heavy = first_moves(agreement=1.0), first_moves(agreement=8.0)
    assert any((light[name] - move).abs().max() > 1e-5 for name, move in heavy.items())


@needs_gpu
def test_half_precision_is_rougher_but_says_nearly_the_same() -> None:
    examples = yellow_circle_examples(16)
    vocabulary = Vocabulary.of((e.statement for e in examples), minimum_count=1)
    corpus = encode(examples, vocabulary).to("cuda")
    losses = []
    for precision in ("tf32", "bf16"):
        settings = TrainingConfig(batch=16, precision=precision)
        torch.manual_seed(0)
        sizes = ModelConfig(name="biatt-pointer", embedding=8, hidden=16, item=8, joint=16, mlp=16, dropout=0.0)
        model = models.build(sizes, vocabulary=vocabulary).cuda()
        optimizer = make_optimizer(model, settings, captured=True)
        step = CapturedStep(model, optimizer, corpus, settings, ItemOrder.RANDOM)
        numbers, share = torch.arange(16), torch.full((16,), 1 / 16)
        losses.append([float(step(corpus, numbers, share, learning_rate=1e-3)) for _ in range(3)])
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], abs=0.05)


def test_sharpness_takes_the_gradient_a_step_up_the_slope() -> None:
    # loss = sum over weights of a w^2 / 2, whose gradient at w + r g / |g| is a (w + r a w / |a w|)
    curvature = torch.tensor([[1.0, 4.0]], dtype=torch.float64)
    model = torch.nn.Linear(2, 1, bias=False).double()
    before = model.weight.detach().clone()

    def backward() -> None:
        (curvature * model.weight**2).sum().div(2).backward()

    backward()
    with uphill(model, 0.1):
        assert model.weight.grad is None
        backward()
    slope = curvature * before
    torch.testing.assert_close(model.weight.grad, curvature * (before + 0.1 * slope / slope.norm()))
    torch.testing.assert_close(model.weight.detach(), before)


@given(st.lists(st.integers(1, 25), min_size=1, max_size=90), st.integers(1, 16), st.integers(1, 5), st.integers(0, 9))
def test_an_epoch_has_every_example_once_in_few_batches(lengths: list[int], size: int, window: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    batches = epoch_batches(torch.tensor(lengths), size=size, window=window, generator=generator)
    assert sorted(torch.cat(batches).tolist()) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert all(len(batch) <= size for batch in batches)


def test_windows_gather_like_lengths() -> None:
    lengths = torch.randint(1, 25, (800,), generator=torch.Generator().manual_seed(0))

    def padding(window: int) -> int:
        generator = torch.Generator().manual_seed(1)
        batches = epoch_batches(lengths, size=20, window=window, generator=generator)
        return sum(int(lengths[batch].max()) * len(batch) for batch in batches) - int(lengths.sum())

    assert padding(8) < 0.4 * padding(1)


def test_the_learning_rate_rises_stays_and_falls() -> None:
    settings = TrainingConfig(learning_rate=0.1, warmup=10, cooldown=0.5)
    rates = [learning_rate(settings, step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.01) and rates[9:50] == pytest.approx([0.1] * 41)
    assert rates[75] == pytest.approx(0.05) and rates[99] == pytest.approx(0.002)
    assert {learning_rate(TrainingConfig(), step, 100) for step in range(100)} == {1e-4}
