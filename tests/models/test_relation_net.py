"""RelationNet against Santoro's formula written out pair by pair, and what must not move its judgement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from reference import Answer, Drop, Vector, Weights, keep, lstm, merged, under, weights_of
from torch import nn
from toy import VOCABULARY, Toy, batch_of, make_dropout_show, mixed_toys

from veriscene.errors import InputError
from veriscene.models.layers.pooling import POOLINGS
from veriscene.models.relation_net import RelationNet

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
    q = drop(lstm(under(weights, "lang_lstm"), embedded)[0][-1])
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
def test_dropout_acts_on_the_question_and_the_second_layer_of_f_and_only_in_training(pooling, monkeypatch):
    drop = make_dropout_show(monkeypatch)
    model = relation_net(pooling, dropout=0.3)
    assert [module.p for module in model.modules() if isinstance(module, nn.Dropout)] == [0.3, 0.3]
    assert_judged_alike(model.eval(), mixed_toys(), pooling)
    assert_judged_alike(model.train(), mixed_toys(), pooling, drop)


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
