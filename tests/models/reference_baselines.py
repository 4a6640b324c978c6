"""Slow references of BiDAF (Seo et al.) and RelationNet (Santoro et al.), in the manner of reference.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from reference import (
    Answer,
    Drop,
    Vector,
    Weights,
    biatt,
    biatt_pointer,
    bienc,
    bilstm,
    combined,
    elementwise_max,
    embed_items,
    keep,
    lstm,
    read_statement,
    score,
    softmax,
    under,
    weights_of,
)
from torch import nn
from toy import Toy


def bidaf(model: nn.Module, example: Toy, pooling: str = "max", drop: Drop = keep) -> Answer:
    weights = weights_of(model)
    h = read_statement(weights, example, drop)
    vectors, attention = zip(*(attention_flow(weights, h, box, drop) for box in example.boxes), strict=True)
    return replace(combined(weights, list(vectors), pooling, drop, score), alpha=list(attention))


def attention_flow(weights: Weights, h: list[Vector], box: np.ndarray, drop: Drop) -> tuple[Vector, np.ndarray]:
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


def relation_net(model: nn.Module, example: Toy, pooling: str = "max", drop: Drop = keep) -> Answer:
    """Dropout acts on the question and on the second layer of f."""
    weights = weights_of(model)
    embedded = [weights["embed_words.weight"][word] for word in example.words]
    q = drop(lstm(under(weights, "lang_lstm"), embedded)[0][-1])
    return combined(weights, [sum_over_pairs(weights, box, q) for box in example.boxes], pooling, drop, f_net)


def sum_over_pairs(weights: Weights, box: np.ndarray, q: Vector) -> Vector:
    total = np.zeros(weights["g3.bias"].shape)
    for o_i in box:
        for o_k in box:
            x = np.concatenate([o_i, o_k, q])
            for name in ("g1", "g2", "g3"):
                x = relu_layer(weights, name, x)
            total += x
    return total


def f_net(weights: Weights, vector: Vector, drop: Drop) -> float:
    units = drop(relu_layer(weights, "pool.scorer.second", relu_layer(weights, "pool.scorer.first", vector)))
    return float(weights["pool.scorer.last.weight"][0] @ units)


def relu_layer(weights: Weights, name: str, x: Vector) -> Vector:
    rows = zip(weights[f"{name}.weight"], weights[f"{name}.bias"], strict=True)
    return np.array([max(0.0, float(row @ x + bias)) for row, bias in rows])


REFERENCES = {
    "bienc": bienc,
    "biatt": biatt,
    "biatt-pointer": biatt_pointer,
    "bidaf": bidaf,
    "relation-net": relation_net,
}
