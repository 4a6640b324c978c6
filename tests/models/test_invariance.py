"""What must not change a judgement: padding, the company in a batch, and the order of the boxes."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from toy import ALL_KINDS, Toy, batch_of, mixed_toys, toy_model

from veriscene.models import MODELS, Judgement
from veriscene.models.biatt_pointer import greedy
from veriscene.models.inference import judge_in_batches
from veriscene.tensors.batch import Batch
from veriscene.training.objective import objective

CLOSE = {"atol": 1e-9, "rtol": 1e-9}
SEES_BOX_ORDER = {"concatenate", "lstm"}


def said_of_box(judgement: Judgement, row: int, example: Toy, box: int) -> list[Tensor]:
    """All that a judgement says of one box, without its padding."""
    count, words = example.counts[box], len(example.words)
    said = [judgement.scores[row, box], judgement.order[row, box, :count]]
    if judgement.alpha is not None:
        said.append(judgement.alpha[row, box, :words, :count])
    if judgement.beta is not None:
        said.append(judgement.beta[row, box, :count, :words])
    return said


def said_of(judgement: Judgement, row: int, example: Toy) -> list[Tensor]:
    """All that a judgement says of one example."""
    said = [judgement.logits[row]]
    if judgement.log_probability is not None:
        said.append(judgement.log_probability[row])
    for box in range(3):
        said += said_of_box(judgement, row, example, box)
    return said


@pytest.mark.parametrize(("name", "pooling"), ALL_KINDS)
def test_a_judgement_depends_neither_on_padding_nor_on_the_rest_of_the_batch_nor_on_its_order(name, pooling):
    examples = mixed_toys(seed=4)
    model = toy_model(name, pooling, seed=5).eval()
    alone = [said_of(model(batch_of([example])), 0, example) for example in examples]
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
            assert_close(said_of(judgement, row, examples[number]), alone[number], **CLOSE)


@pytest.mark.parametrize("name", ["biatt", "biatt-pointer"])
def test_attention_is_a_distribution_that_gives_padding_exactly_nothing(name):
    batch = batch_of(mixed_toys(seed=4), more_words=3, more_items=2)
    judgement = toy_model(name, seed=5).eval()(batch)
    to_items, to_words = batch.item_mask[:, :, None], batch.word_mask[:, None, None]
    for attention, real in ((judgement.alpha, to_items), (judgement.beta, to_words)):
        assert (attention.masked_select(~real) == 0).all()
        assert (attention.masked_select(real) > 0).all()
        assert_close(attention.sum(-1), torch.ones_like(attention[..., 0]))


def mean_loss_gradient(model: nn.Module, batch: Batch, baseline_logits: Tensor) -> dict[str, Tensor]:
    """Of the objective of training, policy gradient included, with the order chosen greedily to make it repeatable."""
    model.zero_grad()
    judgement = model.judge(batch, greedy) if hasattr(model, "judge") else model(batch)
    if judgement.log_probability is not None:
        judgement = replace(judgement, baseline_logits=baseline_logits)
    objective(judgement, batch.labels).surrogate.mean().backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize(("name", "pooling"), ALL_KINDS)
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
            assert not gradient[0].any()  # the padding's own vector, whatever padding there was
        assert gradient.any(), parameter
        assert_close(gradient, mean, **CLOSE)


@pytest.mark.parametrize(("name", "pooling"), [*ALL_KINDS, ("biatt-pointer", "joint")])
def test_box_order_changes_nothing_but_the_order_of_the_scores(name, pooling):
    examples = mixed_toys(seed=8)
    model = toy_model(name, pooling, seed=9).eval()
    before = model(batch_of(examples))
    for turn in ([1, 2, 0], [2, 1, 0], [0, 2, 1]):
        turned = [replace(example, boxes=[example.boxes[box] for box in turn]) for example in examples]
        after = model(batch_of(turned))
        for row, example in enumerate(examples):
            for box, origin in enumerate(turn):
                said = said_of_box(after, row, turned[row], box)
                assert_close(said, said_of_box(before, row, example, origin), **CLOSE)
        if pooling in SEES_BOX_ORDER:
            assert (after.logits - before.logits).abs().max() > 1e-2
        else:
            assert_close(after.logits, before.logits, **CLOSE)


@pytest.mark.parametrize(("name", "pooling"), ALL_KINDS)
def test_a_boxs_score_is_the_logit_of_a_scene_of_three_such_boxes(name, pooling):
    examples = mixed_toys(seed=10)
    model = toy_model(name, pooling, seed=11).eval()
    scores = model(batch_of(examples)).scores
    for box in range(3):
        alike = [replace(example, boxes=[example.boxes[box]] * 3) for example in examples]
        judgement = model(batch_of(alike))
        assert_close(judgement.logits, scores[:, box], **CLOSE)
        assert_close(judgement.scores, scores[:, [box] * 3], **CLOSE)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_processes_together_judge_every_example_once_as_in_one_batch_without_dropout(world):
    corpus = batch_of(mixed_toys(seed=12) + mixed_toys(seed=13))
    model = toy_model("biatt-pointer", dropout=0.3).train()
    expected = model.eval()(corpus).logits
    model.train()
    seen: dict[int, Tensor] = {}
    for rank in range(world):
        for numbers, batch, judgement in judge_in_batches(model, corpus, size=2, rank=rank, world=world):
            assert_close(batch.labels, corpus.labels[numbers])
            assert not judgement.logits.requires_grad
            for number, logit in zip(numbers.tolist(), judgement.logits, strict=True):
                assert number not in seen
                seen[number] = logit
    assert model.training
    assert_close(torch.stack([seen[number] for number in range(len(corpus))]), expected.detach(), **CLOSE)


@pytest.mark.parametrize("name", ["bidaf", "relation-net"])
def test_nothing_is_asked_of_the_numbers_while_judging(name):
    """A tensor on the meta device has a shape and no values: what would wait for a GPU, or not be recorded, fails."""
    judgement = toy_model(name, "joint").to("meta")(batch_of(mixed_toys()).to("meta"))
    assert judgement.logits.shape == (5,) and judgement.scores.shape == (5, 3)


def test_a_model_that_does_not_read_in_order_does_not_see_one():
    examples = mixed_toys(seed=8)
    upturned = [replace(example, boxes=[box[::-1] for box in example.boxes]) for example in examples]
    for name, pooling in ALL_KINDS:
        before, after = (toy_model(name, pooling, seed=9).eval()(batch_of(some)) for some in (examples, upturned))
        assert torch.allclose(before.logits, after.logits) is not getattr(MODELS[name], "reads_in_order", True), name
