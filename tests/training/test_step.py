"""Plain and captured steps compute the same, in one process and in several."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, distributed, nn
from torch.testing import assert_close

from samples import small_config, vocabulary_of, yellow_circle_examples
from training_toys import NAME, BatchNormModel, PixelModel
from veriscene import models
from veriscene.config import ModelConfig, TrainingConfig
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.models import MODELS, Model
from veriscene.models.captured import tf32
from veriscene.models.layers import kernels
from veriscene.training.optimization import make_optimizer
from veriscene.training.step import CapturedStep, FlatGradients, PlainStep, Step, padded
from veriscene.world.examples import Example
from veriscene.worlds.nlvr.looks import WORLD

STEPPED = [name for name, kind in MODELS.items() if not kind.is_fitted]
# Rates are powers of two, because a captured step has its learning rates in single precision.
SIZES = {"embedding": 8, "hidden": 16, "item": 8, "joint": 16, "mlp": 16, "map_rate": 2**-3, "cell_rate": 2**-3}


@pytest.fixture(autouse=True)
def batch_norm_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, NAME, BatchNormModel)


# Models with settings whose steps differ from the default ones.
VARIANTS = {
    "biatt-pointer+": ("biatt-pointer", {"samples": 3, "encoder": "mean", "pointer_rate": 2.0}),
    "nmn+": ("nmn", {"pooling": "chosen", "words": "states"}),
}


def config_of(name: str) -> ModelConfig:
    name, more = VARIANTS.get(name, (name, {}))
    config = small_config(name)
    changes = {key: value for key, value in {**SIZES, "dropout": 0.0}.items() if key in vars(config)}
    return replace(config, **changes, **more)


def some_examples() -> list[Example]:
    """The longest statement comes first, so that a short batch of short ones must not be filled up with it."""
    first, *rest = yellow_circle_examples(60)
    return [replace(first, statement=first.statement + " and nothing else is asked of these boxes"), *rest]


def made(name: str, examples: Sequence[Example], device: str) -> tuple[Model, Batch]:
    config = config_of(name)
    encoder = Encoder(vocabulary_of(examples), WORLD, MODELS[config.name].inputs, ItemOrder.FILE)
    corpus = encoder(examples)
    torch.manual_seed(0)
    model = models.build(config, vocabulary=encoder.vocabulary, world=WORLD)
    model.prepare(corpus)
    return model.to(device), corpus.to(device)


def in_double(corpus: Batch) -> Batch:
    return corpus.map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)


def make_step(model: Model, corpus: Batch, settings: TrainingConfig, *, captured: bool, processes: int = 1) -> Step:
    optimizer, order = make_optimizer(model, settings, captured=captured), ItemOrder.RANDOM
    if captured:
        return CapturedStep(model, optimizer, settings, order, processes=processes)
    return PlainStep(model, optimizer, settings, order, processes=processes)


# ---------------------------------------------------------------- one process


@pytest.mark.parametrize("missing", [0, 1, 5])
def test_a_short_batch_is_padded_with_its_own_examples_at_no_share(missing: int) -> None:
    share = torch.full((3,), 1 / 3)
    numbers, shares = padded(torch.tensor([7, 2, 5]), share, size=3 + missing)
    assert numbers.tolist() == [7, 2, 5, 7, 2, 5, 7, 2][: 3 + missing]
    assert shares.tolist() == share.tolist() + [0.0] * missing


def first_moves(learning_rate: float = 1e-3, **changes: float) -> dict[str, Tensor]:
    """How far the first step takes each weight of a small BiATT-Pointer."""
    model, corpus = made("biatt-pointer", yellow_circle_examples(8), "cpu")
    settings = replace(TrainingConfig(batch=8, clip=1e6), **changes)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    step = make_step(model, corpus, settings, captured=False)
    step(corpus, torch.arange(8), torch.full((8,), 1 / 8), learning_rate=learning_rate)
    return {name: parameter.detach() - before[name] for name, parameter in model.named_parameters()}


def test_a_step_is_as_long_as_its_learning_rate() -> None:
    short, long = first_moves(), first_moves(learning_rate=3e-3)
    for name, move in short.items():
        assert_close(long[name], 3 * move, atol=1e-6, rtol=1e-3)


def test_the_pointer_learns_by_policy_gradient_alone() -> None:
    without, with_it = first_moves(policy_weight=0.0), first_moves(policy_weight=0.01)
    for name, move in without.items():
        assert name.startswith("pointer.") == (not move.any())
        assert with_it[name].any()


@pytest.mark.parametrize("order", list(ItemOrder))
def test_r_drop_reads_a_batch_twice_and_in_another_order_only_where_orders_are_random(order: ItemOrder) -> None:
    model, corpus = made("biatt-pointer", yellow_circle_examples(8), "cpu")
    settings = TrainingConfig(batch=8, r_drop=1.0)
    read: list[Batch] = []
    model.register_forward_pre_hook(lambda _model, arguments: read.append(arguments[0]))
    step = PlainStep(model, make_optimizer(model, settings, captured=False), settings, order)
    step(corpus, torch.arange(8), torch.full((8,), 1 / 8), learning_rate=1e-4)
    (batch,) = read
    first, second = batch[:8], batch[8:]
    assert len(batch) == 16 and torch.equal(first.statement.words, second.statement.words)
    mine, theirs = required(first.items).positions, required(second.items).positions
    assert torch.equal(mine.sort(dim=2).values, theirs.sort(dim=2).values)
    assert torch.equal(mine, theirs) is (order is not ItemOrder.RANDOM)


@pytest.mark.parametrize("name", [*STEPPED, NAME, *VARIANTS])
def test_gradients_in_a_flat_buffer_give_the_same_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two processes the buffer is all-reduced; with the other one's gradients zero, nothing may change."""
    monkeypatch.setattr(FlatGradients, "all_reduce", lambda self: None)
    results = []
    for processes in (1, 2):
        model, corpus = made(name, some_examples(), "cpu")
        model, corpus = model.double(), in_double(corpus)  # norms of one buffer and of many tensors round differently
        settings = TrainingConfig(batch=16, clip=0.1, weight_decay=0.1)
        step = make_step(model, corpus, settings, captured=False, processes=processes)
        torch.manual_seed(1)
        numbers, share = torch.arange(3, 19), torch.full((16,), 1 / 16)
        results.append([float(step(corpus, numbers, share, learning_rate=1e-2)) for _ in range(3)])
        results.append([tensor.clone() for tensor in model.state_dict().values()])
        assert all(parameter.grad is not None for parameter in model.parameters())
        if step.gradients is not None:
            norms = torch.stack([required(parameter.grad).norm() for parameter in model.parameters()])
            assert_close(step.gradients.flat.norm(), norms.norm())  # the gradients are views of the buffer
    assert results[0] == pytest.approx(results[2], abs=1e-12)
    for one, other in zip(results[1], results[3], strict=True):
        assert_close(one, other, atol=1e-9, rtol=0)


# ---------------------------------------------------------------- captured, on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize(
    "settings",
    [
        TrainingConfig(),
        TrainingConfig(r_drop=1.0),
        TrainingConfig(precision="bf16"),
        TrainingConfig(precision="bf16", r_drop=1.0),
    ],
    ids=["default", "r_drop", "bf16", "bf16, r_drop"],
)
@pytest.mark.parametrize("name", [*STEPPED, NAME, *VARIANTS])
def test_the_captured_step_equals_the_plain_one(name: str, settings: TrainingConfig) -> None:
    examples = some_examples()
    weights, losses = [], []
    settings = replace(settings, batch=16, clip=1.0)
    # At 2**-10, twelve steps turn differences of 1e-4 in the weights into 0.05 in the loss, and bf16 rounds to 4e-3.
    in_half = settings.precision == "bf16" or settings.optimizer == "muon"
    rate = 2**-13 if in_half else 2**-10
    for captured in (False, True):
        model, corpus = made(name, examples, "cuda")
        has_norm = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules())
        has_convolutions = any(isinstance(module, nn.Conv2d) for module in model.modules())  # in tf32, by any method
        if (has_norm or has_convolutions or name in ("spatial", "biatt-pointer+")) and settings.precision != "bf16":
            # Weights before batch norm have directions without gradient, in which Adam follows rounding errors. So do
            # many of Spatial's hundreds of features: in tf32 its losses differ by 1e-4 after six such steps. Of many
            # sampled orders one is soon another one by rounding.
            model, corpus = model.double(), in_double(corpus)
        corpora = [corpus, shuffled(corpus)]
        step = make_step(model, corpus, settings, captured=captured)
        torch.manual_seed(1)
        generator = torch.Generator().manual_seed(2)
        found = []
        for number in range(12):
            # Some batches are short. Padded ones draw other random numbers for R-Drop, and change batch statistics.
            size = 16 if number % 4 or settings.r_drop or has_norm else 11
            numbers = torch.randint(1 if size < 16 else 0, len(examples), (size,), generator=generator)
            share = torch.full((size,), 1 / size)
            found.append(float(step(corpora[number % 2], numbers, share, learning_rate=rate * (1 + number % 3))))
        losses.append(found)
        weights.append([tensor.detach().clone() for tensor in model.state_dict().values()])
    if in_half:  # different rounding may reverse the sign of an Adam step: only losses agree
        start = made(name, examples, "cuda")[0].state_dict().values()
        plain_way, captured_way = (
            torch.stack([(end.float() - first.float()).norm() for end, first in zip(ends, start, strict=True)]).norm()
            for ends in weights
        )
        assert_close(captured_way, plain_way, atol=0, rtol=0.2)  # and how far the weights went
        first = 4 if has_norm and has_convolutions else 12  # batch norm and convolutions make the difference grow
        assert losses[1][:first] == pytest.approx(losses[0][:first], abs=0.01)
        return
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    for plain, captured_weight in zip(*weights, strict=True):
        assert_close(captured_weight, plain, atol=1e-4, rtol=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["biatt-pointer", "spatial"])
def test_the_captured_step_equals_the_plain_one_with_muon(name: str) -> None:
    test_the_captured_step_equals_the_plain_one(name, TrainingConfig(optimizer="muon"))


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["bf16", "tf32"])
@pytest.mark.parametrize("name", ["biatt", "biatt-pointer", "spatial"])
def test_the_captured_step_equals_the_plain_one_with_our_kernels(
    name: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SIZES, "hidden", 32)  # the smallest that the LSTM's kernel computes
    monkeypatch.setattr(kernels, "enabled", True)
    if kernels.load("fused_lstm", torch.device("cuda")) is None:
        pytest.skip("Triton does not work here")
    with tf32() if precision == "tf32" else nullcontext():
        test_the_captured_step_equals_the_plain_one(name, TrainingConfig(precision=precision))


def shuffled(corpus: Batch) -> Batch:
    """Another corpus of the same shape."""
    if corpus.items is None:
        return replace(corpus, pixels=required(corpus.pixels).flip(1))
    items = corpus.items
    keys = torch.rand(items.positions.shape, generator=torch.Generator().manual_seed(5))
    return replace(corpus, items=items.shuffled(keys.to(corpus.device)))


@pytest.mark.gpu
def test_pixels_are_not_copied_and_may_be_replaced() -> None:
    settings, examples, losses = TrainingConfig(batch=16), some_examples(), []
    for captured in (False, True):
        model, corpus = made("cnn-rnn", examples, "cuda")
        step = make_step(model.double(), corpus, settings, captured=captured)
        numbers, share = torch.arange(16), torch.full((16,), 1 / 16)
        seen = [corpus, corpus, shuffled(corpus), corpus]
        losses.append([float(step(own, numbers, share, learning_rate=2**-10)) for own in seen])
        if isinstance(step, CapturedStep):
            assert step.corpus.pixels is corpus.pixels
    assert losses[1] == pytest.approx(losses[0], abs=1e-6)


@pytest.mark.gpu
def test_capturing_changes_no_weight_no_running_statistic_no_moment_and_no_random_state() -> None:
    examples = some_examples()
    model, corpus = made(NAME, examples, "cuda")
    settings = TrainingConfig(batch=16)
    step = make_step(model, corpus, settings, captured=True)
    assert isinstance(step, CapturedStep)
    numbers, share = torch.arange(16), torch.full((16,), 1 / 16)
    step(corpus, numbers, share, learning_rate=1e-2)
    assert model.state_dict()["norm.num_batches_tracked"] == 1

    def everything() -> list[Tensor]:
        moments = [value for state in step.optimizer.state.values() for value in state.values()]
        return [tensor.clone() for tensor in (*model.state_dict().values(), *moments, torch.cuda.get_rng_state())]

    before = everything()
    step.capture(words=4, items=2)
    torch.cuda.synchronize()
    for one, other in zip(before, everything(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.gpu
def test_pixels_of_a_new_corpus_are_copied_and_graphs_are_shared_between_lengths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(MODELS, "pixel", PixelModel)
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    examples = [
        replace(example, statement=" ".join(words[: 1 + number % 8]))
        for number, example in enumerate(yellow_circle_examples(24))
    ]
    losses = []
    for captured in (False, True):
        model, corpus = made("pixel", examples, "cuda")
        inverted = replace(corpus, pixels=255 - required(corpus.pixels))
        step = make_step(model, corpus, TrainingConfig(batch=3), captured=captured)
        share = torch.full((3,), 1 / 3)
        losses.append(
            [
                float(
                    step(
                        (corpus, inverted)[number % 2],
                        torch.arange(3 * number, 3 * number + 3),
                        share,
                        learning_rate=0.1,
                    )
                )
                for number in range(8)
            ]
        )
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    assert isinstance(step, CapturedStep) and len(step.graphs) <= 2


@pytest.mark.gpu
def test_bf16_changes_the_losses_a_little() -> None:
    examples = yellow_circle_examples(16)
    losses = []
    for precision in ("tf32", "bf16"):
        model, corpus = made("biatt-pointer", examples, "cuda")
        step = make_step(model, corpus, TrainingConfig(batch=16, precision=precision), captured=True)
        numbers, share = torch.arange(16), torch.full((16,), 1 / 16)
        torch.manual_seed(1)
        losses.append([float(step(corpus, numbers, share, learning_rate=1e-3)) for _ in range(3)])
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], abs=0.05)


# ---------------------------------------------------------------- several processes

STEPS, BATCH = 20, 16


def learn(name: str, device: str, *, captured: bool, rank: int = 0, world: int = 1) -> tuple[list[float], list[Tensor]]:
    """This process's part of the mean loss of each step, and the weights at the end. No randomness."""
    examples = some_examples()
    model, corpus = made(name, examples, device)
    settings = TrainingConfig(batch=BATCH, clip=1.0, weight_decay=0.1)
    step = make_step(model, corpus, settings, captured=captured, processes=world)
    generator = torch.Generator().manual_seed(3)
    losses = []
    for number in range(STEPS):
        size = BATCH if number % 5 else 9  # two processes get five and four of them
        whole = torch.randperm(len(examples), generator=generator)[:size]
        mine = whole[rank::world]
        share = torch.full((len(mine),), 1 / size)
        losses.append(float(step(corpus, mine, share, learning_rate=3e-3)))
    return losses, [tensor.detach().cpu() for tensor in model.state_dict().values()]


def one_of_two(rank: int, name: str, device: str, captured: bool, folder: str) -> None:
    torch.set_num_threads(1)
    meeting = f"file://{folder}/meeting-{captured}"  # a file, since a port found free may be taken by another test
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    try:
        result = learn(name, device, captured=captured, rank=rank, world=2)
        torch.save(result, Path(folder) / f"{rank}.pt")
    finally:
        distributed.destroy_process_group()


def in_two_processes(name: str, device: str, folder: Path, *, captured: bool) -> tuple[list[float], list[Tensor]]:
    torch.multiprocessing.spawn(one_of_two, (name, device, captured, str(folder)), nprocs=2)
    (losses, weights), (others, other_weights) = (torch.load(folder / f"{rank}.pt") for rank in (0, 1))
    for one, other in zip(weights, other_weights, strict=True):
        assert torch.equal(one, other)  # processes never drift apart
    return [one + other for one, other in zip(losses, others, strict=True)], weights


def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    losses, weights = learn("biatt", "cpu", captured=False)
    shared_losses, shared_weights = in_two_processes("biatt", "cpu", tmp_path, captured=False)
    assert losses[-1] < losses[0]
    assert shared_losses == pytest.approx(losses, abs=1e-5)
    for one, other in zip(weights, shared_weights, strict=True):
        assert_close(one, other, atol=1e-4, rtol=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["biatt", "mlp"])
def test_two_processes_that_share_a_gpu_learn_what_one_learns_captured_or_not(name: str, tmp_path: Path) -> None:
    losses, _ = learn(name, "cuda:0", captured=True)
    assert losses[-1] < losses[0]
    for captured in (False, True):
        shared_losses, _ = in_two_processes(name, "cuda:0", tmp_path, captured=captured)
        assert shared_losses == pytest.approx(losses, abs=1e-3), f"captured={captured}"
