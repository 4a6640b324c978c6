"""RelationNet against Santoro's formula written out pair by pair, and what must not move its judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from reference import Answer, Drop, Vector, Weights, keep, lstm, merged, under, weights_of
from torch import nn
from torch.testing import assert_close
from toy import VOCABULARY, Toy, batch_of, mixed_toys, toys

from veriscene.errors import InputError
from veriscene.models.pooling import POOLINGS
from veriscene.models.relation import RelationNet
from veriscene.training.objective import objective

CLOSE = {"atol": 1e-9, "rtol": 1e-9}
SEES_BOX_ORDER = {"concatenate", "lstm"}


def relation_net(pooling: str = "max", *, dropout: float = 0.0, seed: int = 0) -> RelationNet:
    """In float64, each size unlike the others, every parameter random and large enough to matter."""
    model = RelationNet(
        vocabulary=VOCABULARY, embedding=5, hidden=4, joint=7, mlp=6, dropout=dropout, pooling=pooling
    ).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.7 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def layer(weights: Weights, name: str, x: Vector) -> Vector:
    """relu(W x + b)"""
    rows = zip(weights[f"{name}.weight"], weights[f"{name}.bias"], strict=True)
    return np.array([max(0.0, float(row @ x + bias)) for row, bias in rows])


def sum_over_pairs(weights: Weights, box: np.ndarray, q: Vector) -> Vector:
    total = np.zeros(weights["g3.bias"].shape)
    for o_i in box:
        for o_k in box:
            x = np.concatenate([o_i, o_k, q])
            for name in ("g1", "g2", "g3"):
                x = layer(weights, name, x)
            total += x
    return total


def f(weights: Weights, vector: Vector, drop: Drop) -> float:
    units = drop(layer(weights, "pool.scorer.second", layer(weights, "pool.scorer.first", vector)))
    return float(weights["pool.scorer.last.weight"][0] @ units)


def judged(model: nn.Module, example: Toy, pooling: str, drop: Drop = keep) -> Answer:
    weights = weights_of(model)
    embedded = [weights["embed_words.weight"][word] for word in example.words]
    q = lstm(under(weights, "lang_lstm"), embedded)[0][-1]
    sums = [sum_over_pairs(weights, box, q) for box in example.boxes]
    if pooling in ("max", "mean"):
        scores = [f(weights, vector, drop) for vector in sums]
        return Answer(max(scores) if pooling == "max" else sum(scores) / 3, scores)

    def of_three(three: list[Vector]) -> float:
        return f(weights, merged(weights, three, pooling, drop), drop)

    return Answer(of_three(sums), [of_three([vector] * 3) for vector in sums])


def assert_judged_alike(model: nn.Module, examples: Sequence[Toy], pooling: str, drop: Drop = keep) -> None:
    judgement = model(batch_of(examples, more_words=1, more_items=1))
    answers = [judged(model, example, pooling, drop) for example in examples]
    assert len({round(answer.logit, 6) for answer in answers}) == len(examples)  # else agreement says little
    for row, answer in enumerate(answers):
        np.testing.assert_allclose(judgement.logits[row].item(), answer.logit, **CLOSE)
        np.testing.assert_allclose(judgement.scores[row].tolist(), answer.scores, **CLOSE)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("seed", range(2))
def test_a_batch_is_judged_as_the_formula_judges_each_example(pooling, seed):
    assert_judged_alike(relation_net(pooling, seed=seed).eval(), mixed_toys(), pooling)


@pytest.mark.parametrize("pooling", ["max", "joint"])
def test_dropout_acts_on_the_second_layer_of_f_and_only_in_training(pooling, monkeypatch):
    """Dropout is made a fixed factor for each unit: it shows where it was applied."""

    def drop(vector):
        factors = 0.6 + 0.1 * np.arange(vector.shape[-1])
        return vector * (torch.from_numpy(factors) if isinstance(vector, torch.Tensor) else factors)

    def fixed_dropout(vector, p=0.5, training=True, inplace=False):
        return drop(vector) if training else vector

    monkeypatch.setattr(torch.nn.functional, "dropout", fixed_dropout)
    model = relation_net(pooling, dropout=0.3)
    assert [module.p for module in model.modules() if isinstance(module, nn.Dropout)] == [0.3]
    assert_judged_alike(model.eval(), mixed_toys(), pooling)
    assert_judged_alike(model.train(), mixed_toys(), pooling, drop)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_judgement_depends_neither_on_padding_nor_on_the_rest_of_the_batch(pooling):
    examples = mixed_toys(seed=4)
    model = relation_net(pooling, seed=5).eval()
    alone = [model(batch_of([example])) for example in examples]
    for batch in (batch_of(examples), batch_of(examples, more_words=3, more_items=2)):
        judgement = model(batch)
        assert_close(judgement.logits, torch.cat([single.logits for single in alone]), **CLOSE)
        assert_close(judgement.scores, torch.cat([single.scores for single in alone]), **CLOSE)
        assert_close(judgement.order, batch.as_they_come)
    again = model(batch_of(examples[::-1]))
    assert_close(again.logits.flip(0), judgement.logits, **CLOSE)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_items_have_no_order_and_boxes_only_where_the_pooling_gives_them_one(pooling):
    examples = mixed_toys(seed=8)
    model = relation_net(pooling, seed=9).eval()
    before = model(batch_of(examples))
    upturned = [replace(example, boxes=[box[::-1] for box in example.boxes]) for example in examples]
    after = model(batch_of(upturned))
    assert_close((after.logits, after.scores), (before.logits, before.scores), **CLOSE)
    turn = [2, 0, 1]
    after = model(batch_of([replace(example, boxes=[example.boxes[box] for box in turn]) for example in examples]))
    assert_close(after.scores, before.scores[:, turn], **CLOSE)
    if pooling in SEES_BOX_ORDER:
        assert (after.logits - before.logits).abs().max() > 1e-2
    else:
        assert_close(after.logits, before.logits, **CLOSE)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_boxs_score_is_the_logit_of_a_scene_of_three_such_boxes(pooling):
    examples = mixed_toys(seed=10)
    model = relation_net(pooling, seed=11).eval()
    scores = model(batch_of(examples)).scores
    for box in range(3):
        alike = [replace(example, boxes=[example.boxes[box]] * 3) for example in examples]
        assert_close(model(batch_of(alike)).logits, scores[:, box], **CLOSE)


def gradients(model: nn.Module, examples: Sequence[Toy], **padding: int) -> dict[str, torch.Tensor]:
    model.zero_grad()
    batch = batch_of(examples, **padding)
    objective(model(batch), batch.labels).surrogate.mean().backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_reach_every_parameter_and_none_comes_from_padding(pooling):
    examples = mixed_toys(seed=6)
    model = relation_net(pooling, seed=7)
    together = gradients(model, examples, more_words=2, more_items=2)
    singles = [gradients(model, [example]) for example in examples]
    for name, gradient in together.items():
        assert gradient.any(), name
        assert_close(gradient, torch.stack([single[name] for single in singles]).mean(dim=0), **CLOSE)
    assert not together["embed_words.weight"][0].any()


def test_nothing_is_asked_of_the_numbers_while_judging():
    """A tensor on the meta device has a shape and no values: what would wait for a GPU, or not be recorded, fails."""
    batch = batch_of(mixed_toys()).to("meta")
    judgement = relation_net("joint").to("meta")(batch)
    assert judgement.logits.shape == (5,) and judgement.scores.shape == (5, 3)


def test_the_sizes_are_those_of_the_appendix():
    model = RelationNet(vocabulary=50)
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters() if name.endswith("weight")}
    assert shapes == {
        "embed_words.weight": (50, 128),
        "g1.weight": (256, 9 + 9 + 256),
        "g2.weight": (256, 256),
        "g3.weight": (256, 256),
        "pool.scorer.first.weight": (256, 256),
        "pool.scorer.second.weight": (256, 256),
        "pool.scorer.last.weight": (1, 256),
    }
    with pytest.raises(InputError, match="sum"):
        RelationNet(vocabulary=50, pooling="sum")


def test_it_learns_32_examples_by_heart():
    """Each statement is told of a true and of a false scene, so that words alone decide nothing."""
    rng = np.random.default_rng(0)
    examples = toys(0, counts=rng.integers(1, 5, (32, 3)).tolist(), lengths=rng.integers(2, 7, 32).tolist())
    batch = batch_of([replace(e, words=examples[n // 2].words, label=n % 2 == 0) for n, e in enumerate(examples)])
    torch.manual_seed(0)
    model = RelationNet(vocabulary=VOCABULARY, embedding=8, hidden=8, joint=16, mlp=16, dropout=0.1).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(120):
        loss = objective(model(batch), batch.labels).surrogate.mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 0.6
    assert min(losses[-10:]) < 0.1
    assert ((model.eval()(batch).logits > 0) == (batch.labels > 0.5)).all()
