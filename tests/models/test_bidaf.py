"""BiDAF against Seo's equations written out word by word and item by item, and what must not move its judgement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from reference import (
    Answer,
    Drop,
    Vector,
    Weights,
    bilstm,
    combined,
    elementwise_max,
    embed_items,
    keep,
    read_statement,
    softmax,
    under,
    weights_of,
)
from torch import nn
from torch.testing import assert_close
from toy import SIZES, Toy, batch_of, make_dropout_show, mixed_toys

from veriscene.errors import InputError
from veriscene.models.bidaf import BiDAF
from veriscene.models.layers.pooling import POOLINGS

CLOSE = {"atol": 1e-9, "rtol": 1e-9}
SEES_BOX_ORDER = {"concatenate", "lstm"}


def bidaf(pooling: str = "max", *, dropout: float = 0.0, seed: int = 0) -> BiDAF:
    """In float64, each size unlike the others, every parameter random and large enough to matter."""
    model = BiDAF(**SIZES, mlp=6, dropout=dropout, pooling=pooling).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.7 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def box_vector(weights: Weights, h: list[Vector], box: np.ndarray, drop: Drop) -> tuple[Vector, np.ndarray]:
    """The pooled modelling layer of one box, and each word's attention to the items."""
    u = bilstm(under(weights, "obj_lstm"), embed_items(weights, box), drop)
    w = weights["w_similarity.weight"][0]
    s = [[float(w @ np.concatenate([h_t, u_k, h_t * u_k])) for u_k in u] for h_t in h]
    b = softmax([max(s_t) for s_t in s])
    h_tilde = sum(b_t * h_t for b_t, h_t in zip(b, h, strict=True))
    attention, g = [], []
    for h_t, s_t in zip(h, s, strict=True):
        a_t = softmax(s_t)
        u_tilde = sum(a_tk * u_k for a_tk, u_k in zip(a_t, u, strict=True))
        attention.append(a_t)
        g.append(np.concatenate([h_t, u_tilde, h_t * u_tilde, h_t * h_tilde]))
    m = bilstm(under(weights, "model_lstm2"), bilstm(under(weights, "model_lstm1"), g, drop), drop)
    return elementwise_max(m), np.array(attention)


def judged(model: nn.Module, example: Toy, pooling: str, drop: Drop = keep) -> Answer:
    weights = weights_of(model)
    h = read_statement(weights, example, drop)
    vectors, attention = zip(*(box_vector(weights, h, box, drop) for box in example.boxes), strict=True)
    logit, scores = combined(weights, list(vectors), pooling, drop)
    return Answer(logit, scores, alpha=list(attention))


def assert_judged_alike(model: nn.Module, examples: Sequence[Toy], pooling: str, drop: Drop = keep) -> None:
    judgement = model(batch_of(examples, more_words=1, more_items=1))
    answers = [judged(model, example, pooling, drop) for example in examples]
    assert len({round(answer.logit, 6) for answer in answers}) == len(examples)  # else agreement says little
    for row, (answer, example) in enumerate(zip(answers, examples, strict=True)):
        np.testing.assert_allclose(judgement.logits[row].item(), answer.logit, **CLOSE)
        np.testing.assert_allclose(judgement.scores[row].tolist(), answer.scores, **CLOSE)
        for box, count in enumerate(example.counts):
            alpha = judgement.alpha[row, box, : len(example.words), :count]
            np.testing.assert_allclose(alpha.detach().numpy(), answer.alpha[box], **CLOSE)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("seed", range(2))
def test_a_batch_is_judged_as_the_equations_judge_each_example(pooling, seed):
    assert_judged_alike(bidaf(pooling, seed=seed).eval(), mixed_toys(), pooling)


@pytest.mark.parametrize("pooling", ["max", "joint"])
def test_dropout_acts_on_every_lstm_and_before_the_last_layer_and_only_in_training(pooling, monkeypatch):
    drop = make_dropout_show(monkeypatch)
    model = bidaf(pooling, dropout=0.3)
    assert {module.p for module in model.modules() if isinstance(module, nn.Dropout)} == {0.3}
    assert_judged_alike(model.eval(), mixed_toys(), pooling)
    assert_judged_alike(model.train(), mixed_toys(), pooling, drop)


def test_attention_is_a_distribution_over_the_items_that_gives_padding_exactly_nothing():
    batch = batch_of(mixed_toys(seed=4), more_words=3, more_items=2)
    alpha = bidaf(seed=5).eval()(batch).alpha
    real = batch.item_mask[:, :, None]
    assert (alpha.masked_select(~real) == 0).all()
    assert (alpha.masked_select(real) > 0).all()
    assert_close(alpha.sum(-1), torch.ones_like(alpha[..., 0]))


def test_the_sizes_are_those_of_the_appendix():
    model = BiDAF(vocabulary=50)
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters() if name.endswith("weight")}
    assert shapes == {
        "embed_words.weight": (50, 128),
        "embed_items.weight": (64, 9),
        "w_similarity.weight": (1, 3 * 512),
        "pool.scorer.first.weight": (512, 512),
        "pool.scorer.last.weight": (1, 512),
    }
    inputs = {name.split(".")[0]: m.input_size for name, m in model.named_modules() if isinstance(m, nn.LSTM)}
    assert inputs == {"lang_lstm": 128, "obj_lstm": 64, "model_lstm1": 4 * 512, "model_lstm2": 512}
    assert {m.hidden_size for m in model.modules() if isinstance(m, nn.LSTM)} == {256}
    with pytest.raises(InputError, match="sum"):
        BiDAF(vocabulary=50, pooling="sum")
