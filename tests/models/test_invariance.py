"""What must not change a judgement: padding, the rest of the batch, the order of the boxes, and the device."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from toy import KINDS, Toy, batch_of, mixed_toys, toy_model

from veriscene.data.batch import Batch
from veriscene.models import MODELS, Judgement, Order
from veriscene.models.base import judge_in_batches
from veriscene.models.biatt_pointer import BiATTPointer, greedy
from veriscene.training.optimization import objective

CLOSE = {"atol": 1e-9, "rtol": 1e-9}
SEES_BOX_ORDER = {"concatenate", "lstm"}


def box_values(judgement: Judgement, row: int, example: Toy, box: int) -> list[Tensor]:
    """What a judgement holds for one box, without padding."""
    count, words = example.counts[box], len(example.words)
    values = []
    if judgement.scores is not None:
        values.append(judgement.scores[row, box])
    if judgement.order is not None:
        values.append(judgement.order[row, box, :count])
    if judgement.alpha is not None:
        values.append(judgement.alpha[row, box, :words, :count])
    if judgement.beta is not None:
        values.append(judgement.beta[row, box, :count, :words])
    return values


def values_of(judgement: Judgement, row: int, example: Toy) -> list[Tensor]:
    """What a judgement holds for one example, without padding."""
    values = [judgement.logits[row]]
    if judgement.log_probability is not None:
        values.append(judgement.log_probability[row])
    for box in range(3):
        values += box_values(judgement, row, example, box)
    return values


@pytest.mark.parametrize(("name", "pooling"), KINDS)
def test_batched_equals_single(name, pooling):
    examples = mixed_toys(seed=4)
    model = toy_model(name, pooling, seed=5).eval()
    alone = [values_of(model(batch_of([example])), 0, example) for example in examples]
    turned = [3, 0, 4, 2, 1]
    whole = batch_of(examples, more_words=3, more_items=2)
    for numbers, batch in (
        (range(len(examples)), whole),
        (range(len(examples)), batch_of(examples)),
        (turned, batch_of([examples[number] for number in turned])),
        (turned, whole[torch.tensor(turned)]),
        ([1, 2], whole[1:3]),
    ):
        judgement = model(batch)
        for row, number in enumerate(numbers):
            assert_close(values_of(judgement, row, examples[number]), alone[number], **CLOSE)


@pytest.mark.parametrize("name", ["biatt", "biatt-pointer", "bidaf", "spatial"])
def test_attention_is_a_distribution_that_is_exactly_zero_on_padding(name):
    batch = batch_of(mixed_toys(seed=4), more_words=3, more_items=2)
    judgement = toy_model(name, seed=5).eval()(batch)
    maps = [(judgement.alpha, batch.items.mask[:, :, None]), (judgement.beta, batch.statement.mask[:, None, None])]
    for attention, real in maps[: 1 if name == "bidaf" else 2]:  # BiDAF has no second map
        assert (attention.masked_select(~real) == 0).all()
        assert (attention.masked_select(real) > 0).all()
        assert_close(attention.sum(-1), torch.ones_like(attention[..., 0]))


def mean_loss_gradient(model: nn.Module, batch: Batch, baseline_logits: Tensor) -> dict[str, Tensor]:
    """The gradient of the training objective, policy gradient included; a greedy order makes it repeatable."""
    model.zero_grad()
    judgement = model.judge(batch, greedy) if isinstance(model, BiATTPointer) else model(batch)
    if judgement.log_probability is not None:
        judgement = replace(judgement, baseline_logits=baseline_logits)
    objective(judgement, batch.labels).surrogate.mean().backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize(("name", "pooling"), KINDS)
def test_the_gradient_of_a_padded_batch_is_the_mean_of_the_gradients_of_its_examples(name, pooling):
    examples = mixed_toys(seed=6)
    model = toy_model(name, pooling, seed=7).train()
    baseline_logits = torch.linspace(-2, 2, len(examples), dtype=torch.float64)
    together = mean_loss_gradient(model, batch_of(examples, more_words=2, more_items=2), baseline_logits)
    singles = [
        mean_loss_gradient(model, batch_of([example]), baseline_logits[row : row + 1])
        for row, example in enumerate(examples)
    ]
    for parameter, gradient in together.items():
        mean = torch.stack([single[parameter] for single in singles]).mean(dim=0)
        if parameter.endswith("embed_words.weight"):
            assert not gradient[0].any()  # the vector of PADDING
        assert gradient.any(), parameter
        assert_close(gradient, mean, **CLOSE)


@pytest.mark.parametrize(("name", "pooling"), KINDS)
def test_box_order_only_permutes_the_values_of_boxes(name, pooling):
    examples = mixed_toys(seed=8)
    model = toy_model(name, pooling, seed=9).eval()
    before = model(batch_of(examples))
    for turn in ([1, 2, 0], [2, 1, 0], [0, 2, 1]):
        turned = [replace(example, boxes=[example.boxes[box] for box in turn]) for example in examples]
        after = model(batch_of(turned))
        for row, example in enumerate(examples):
            for box, origin in enumerate(turn):
                values = box_values(after, row, turned[row], box)
                assert_close(values, box_values(before, row, example, origin), **CLOSE)
        if pooling in SEES_BOX_ORDER:
            assert (after.logits - before.logits).abs().max() > 1e-2
        else:
            assert_close(after.logits, before.logits, **CLOSE)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_processes_together_judge_every_example_once_and_without_dropout(processes):
    corpus = batch_of(mixed_toys(seed=12) + mixed_toys(seed=13))
    model = toy_model("biatt-pointer", dropout=0.3).train()
    expected = model.eval()(corpus).logits
    model.train()
    seen: dict[int, Tensor] = {}
    for rank in range(processes):
        for numbers, batch, judgement in judge_in_batches(model, corpus, size=2, rank=rank, processes=processes):
            assert_close(batch.labels, corpus.labels[numbers])
            assert not judgement.logits.requires_grad
            for number, logit in zip(numbers.tolist(), judgement.logits, strict=True):
                assert number not in seen
                seen[number] = logit
    assert model.training
    assert_close(torch.stack([seen[number] for number in range(len(corpus))]), expected.detach(), **CLOSE)


@pytest.mark.parametrize(("name", "pooling"), KINDS)
def test_a_training_step_does_not_synchronise_with_the_device(name, pooling):
    """Tensors on the meta device have no values, so that reading one fails. A CUDA graph needs the same."""
    model = toy_model(name, pooling).to("meta").train()
    batch = batch_of(mixed_toys()).to("meta")
    objective(model(batch), batch.labels).surrogate.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(("name", "pooling"), KINDS)
def test_item_order_matters_exactly_to_models_that_declare_it(name, pooling):
    examples = mixed_toys(seed=8)
    upturned = [replace(example, boxes=[box[::-1] for box in example.boxes]) for example in examples]
    before, after = (toy_model(name, pooling, seed=9).eval()(batch_of(some)) for some in (examples, upturned))
    assert torch.allclose(before.logits, after.logits) == (MODELS[name].order is Order.NONE)
    assert (after.order is None) == (MODELS[name].order is Order.NONE)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["bienc", "biatt", "biatt-pointer", "bidaf", "relation-net"])
def test_judgements_and_gradients_are_those_of_the_cpu(name):
    """On a GPU the models run other code for LSTMs."""
    results = []
    for device in ("cpu", "cuda"):
        model = toy_model(name, seed=2).to(device).train()  # dropout is 0
        batch = batch_of(mixed_toys(), more_words=1, more_items=1).to(device)
        judgement = model.judge(batch, greedy) if isinstance(model, BiATTPointer) else model(batch)
        loss = judgement.logits.pow(2).sum()
        if judgement.log_probability is not None:
            loss = loss + judgement.log_probability.sum()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        results.append([tensor.cpu() for tensor in (judgement.logits, *gradients)])
    for on_cpu, on_gpu in zip(*results, strict=True):
        assert_close(on_gpu, on_cpu, atol=1e-8, rtol=1e-8)
