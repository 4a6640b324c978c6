"""BiENC, BiATT and BiATT-Pointer as ONNX graphs, written node by node: faster than what torch's exporter gives.

The pointer's loop cannot be traced. Both directions of an LSTM are one node, and products of weights are computed in
advance:

- the embedding of items is multiplied into the input matrices of the LSTMs that read it;
- W [h; c; h - c; h ∘ c] = (W1 + W3) h + (W2 - W3) c + W4 (h ∘ c), and since c = alpha g, the second matrix is applied
  to the few g instead of the many c (likewise with d = beta h);
- bilinear forms are multiplied from the side of the words, in one product with the other projections of the words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor, nn

from veriscene.data.items import ITEM_FEATURES
from veriscene.judge.onnx.graph import FLOAT, INT64, Array, Embedding, Graph, Shapes, array, real, whole
from veriscene.judge.onnx.inputs import Inputs
from veriscene.models import Model
from veriscene.models.biatt import BiATT
from veriscene.models.biatt_pointer import BiATTPointer, Pointer
from veriscene.models.bienc import BiENC
from veriscene.models.layers.bilstm import BiLSTM
from veriscene.models.layers.pooling import (
    SCORE_COMBINATIONS,
    Concatenate,
    EarlyMax,
    LastOfLSTM,
    MaxMeanMin,
    ScorePooling,
    Scorer,
    VectorPooling,
)
from veriscene.world.scene import BOXES_PER_SCENE as BOXES

FAR = 1e6  # more than the greatest difference of two pointing scores
_COMBINE: dict[Callable[[Tensor], Tensor], str] = {
    SCORE_COMBINATIONS["max"]: "ReduceMax",
    SCORE_COMBINATIONS["mean"]: "ReduceMean",
}


Values = dict[str, str]  # a Judgement's field -> the name of its value in the graph


def written_graph(model: Model) -> Any:
    """A model with an entry in WRITERS, in inference, as an onnx.ModelProto with dynamic batch, word and item.

    In: words (batch, word), lengths (batch,), features (batch, box, item, feature), counts (batch, box).
    Out: the fields of its Judgement; alpha and beta are undefined beyond the end of a statement or box.
    """
    graph = Graph()
    values = WRITERS[type(model)](graph, model)
    boxes: list[Any] = ["batch", BOXES]
    inputs: Shapes = {
        "words": (INT64, ["batch", "word"]),
        "lengths": (INT64, ["batch"]),
        "features": (FLOAT, [*boxes, "item", ITEM_FEATURES]),
        "counts": (INT64, boxes),
    }
    outputs: Shapes = {
        "logits": (FLOAT, ["batch"]),
        "scores": (FLOAT, boxes),
        "order": (INT64, [*boxes, "item"]),
        "alpha": (FLOAT, [*boxes, "word", "item"]),
        "beta": (FLOAT, [*boxes, "item", "word"]),
    }
    given = {name: outputs[name] for name in values}
    return graph.model(inputs, given, list(values.values()))


def _bienc(graph: Graph, model: BiENC) -> Values:
    inputs, hidden = Inputs(graph, model.embed_items.coordinates), model.lang_lstm.forwards.hidden_size
    h = _read_statement(graph, inputs, model)[1]
    items = graph.steps_first(inputs.items, ITEM_FEATURES)
    g = graph.lstm(items, _both(model.obj_lstm), inputs.counts, embedding=_embedding(model.embed_items))[1]
    h, g = (graph("Transpose", last, perm=[1, 0, 2]) for last in (h, g))
    h = graph.product(graph("Reshape", h, whole(-1, 1, 2 * hidden)), array(model.similarity.weight).T)
    g = graph("Transpose", graph("Reshape", g, whole(-1, BOXES, 2 * hidden)), perm=[0, 2, 1])
    scores = graph("Squeeze", graph("MatMul", h, g), whole(1))
    logits = graph(_COMBINE[model.combine], scores, whole(1), keepdims=0)
    return {"logits": logits, "scores": scores, "order": inputs.given_order(graph)}


def _biatt(graph: Graph, model: BiATT) -> Values:
    inputs = Inputs(graph, model.embed_items.coordinates)
    h = graph.batch_first(_read_statement(graph, inputs, model)[0], 1, model.lang_lstm.forwards.hidden_size)
    items = graph.steps_first(inputs.items, ITEM_FEATURES)
    order = inputs.given_order(graph)
    return {"order": order, **_match(graph, inputs, model, h, items, _embedding(model.embed_items))}


def _biatt_pointer(graph: Graph, model: BiATTPointer) -> Values:
    biatt = model.comprehension
    inputs = Inputs(graph, biatt.embed_items.coordinates)
    h = graph.batch_first(_read_statement(graph, inputs, biatt)[0], 1, biatt.lang_lstm.forwards.hidden_size)
    # An additional feature marks the decoder's first input, which is not an item.
    matrix, bias = _embedding(biatt.embed_items)
    embedding = np.concatenate([matrix, (array(model.pointer.start) - bias)[:, None]], axis=1), bias
    order, items = _point(graph, inputs, model.pointer, h, embedding)
    return {"order": order, **_match(graph, inputs, biatt, h, items, embedding)}


WRITERS: dict[type[nn.Module], Callable[[Graph, Any], Values]] = {
    BiENC: _bienc,
    BiATT: _biatt,
    BiATTPointer: _biatt_pointer,
}


def _read_statement(graph: Graph, inputs: Inputs, model: BiENC | BiATT) -> list[str]:
    """LANG-LSTM: outputs (word, direction, batch, hidden) and last outputs (direction, batch, hidden)."""
    table = array(model.embed_words.weight).astype(np.float32)
    words = graph("Gather", table, graph("Transpose", "words", perm=[1, 0]))
    return graph.lstm(words, _both(model.lang_lstm), inputs.lengths)[:2]


def _point(graph: Graph, inputs: Inputs, pointer: Pointer, h: str, embedding: Embedding) -> tuple[str, str]:
    """Section 3.2, greedily: order (batch, box, place), and the features in that order (place, row, feature)."""
    hidden, features = pointer.encoder.hidden_size, embedding[0].shape[1]
    items = graph("Pad", inputs.items, whole(0, 0, 0, 0, 0, 0, 0, features - ITEM_FEATURES))
    item_rows = graph.steps_first(items, features)
    memory, *last = graph.lstm(item_rows, [pointer.encoder], inputs.counts, embedding=embedding)
    keys = graph.product(graph.batch_first(memory, BOXES, hidden), array(pointer.point.weight).T)
    keys = graph("Transpose", keys, perm=[0, 1, 3, 2])
    no_item = np.eye(features, dtype=np.float32)[None, -1:]
    start = graph("Expand", no_item, graph("Concat", whole(1), graph("Shape", inputs.counts), whole(1), axis=0))
    # Padding is chosen only after the last item, and then, because of its distance, in place.
    distance = graph("Mul", graph("Cast", inputs.item_numbers, to=FLOAT), real(-FAR))
    bar = graph("Where", inputs.is_item, real(0), distance)

    place = Graph(graph)
    _, s, cells = place.lstm("item", [pointer.decoder], "", "s", "cells", embedding=embedding)
    attentional = _attentional_state(graph, place, inputs, pointer, h, s)
    pointing = place("Squeeze", place("MatMul", place("Unsqueeze", attentional, whole(2)), keys), whole(2))
    chosen = place("ArgMax", place("Add", pointing, "bar"), axis=2, keepdims=1)  # (batch, box, 1)
    next_bar = place("Where", place("Equal", chosen, inputs.item_numbers), real(-np.inf), "bar")
    item = place("Reshape", place("GatherND", items, chosen, batch_dims=2), whole(1, -1, features))

    feature, unit = (FLOAT, [1, None, features]), (FLOAT, [1, None, hidden])
    bars, choice = (FLOAT, [None, BOXES, None]), (INT64, [None, BOXES, 1])
    given: Shapes = {"item": feature, "s": unit, "cells": unit, "bar": bars}
    made: Shapes = {item: feature, s: unit, cells: unit, next_bar: bars}
    made |= {chosen: choice, place("Identity", item): feature}
    *_, order, as_read = graph.loop(inputs.fullest, place, [start, *last, bar], given, made)
    return graph("Transpose", graph("Squeeze", order, whole(3)), perm=[1, 2, 0]), graph("Squeeze", as_read, whole(1))


def _attentional_state(graph: Graph, place: Graph, inputs: Inputs, pointer: Pointer, h: str, s: str) -> str:
    """s̃ (batch, box, hidden) at a place. W [c; s] = W1 c + W2 s, and c is a mean of the h, so the products with the
    words are computed once, outside the loop."""
    w_context, w_state = np.split(array(pointer.attentional.weight), [pointer.attend.out_features], axis=1)
    words = graph.products(h, array(pointer.attend.weight), w_context.T)
    keys, values = (graph("Squeeze", part, whole(1)) for part in words)  # (batch, word, hidden)
    keys = graph("Transpose", keys, perm=[0, 2, 1])
    s = place("Reshape", s, whole(-1, BOXES, pointer.encoder.hidden_size))
    weights = place("Softmax", place("Add", place("MatMul", s, keys), inputs.word_bar), axis=-1)
    return place("Tanh", place("Add", place("MatMul", weights, values), place.product(s, w_state.T)))


def _match(graph: Graph, inputs: Inputs, model: BiATT, h: str, items: str, embedding: Embedding) -> Values:
    """Words h (batch, 1, word, 2 hidden) against items (place, row, feature): equations 3 to 15."""
    matching, hidden = model.matching, model.obj_lstm.forwards.hidden_size
    g = graph.lstm(items, _both(model.obj_lstm), inputs.counts, embedding=embedding)[0]
    g = graph.batch_first(g, BOXES, hidden)  # 3: (batch, box, place, 2 hidden)
    h_of_h, h_of_c, h_of_both = _parts(matching.w_lang)
    g_of_g, g_of_d, g_of_both = _parts(matching.w_obj)
    b1, b2 = array(matching.b1.weight), array(matching.b2.weight)
    b1_h, b2_h, h_own, d_side = graph.products(h, b1.T, b2, h_of_h, g_of_d)
    g_own, c_side = graph.products(g, g_of_g, h_of_c)

    scores = graph("MatMul", b1_h, graph("Transpose", g, perm=[0, 1, 3, 2]))
    alpha = graph("Softmax", graph("Add", scores, graph("Unsqueeze", inputs.item_bar, whole(2))), axis=-1)  # 4
    scores = graph("MatMul", g, graph("Transpose", b2_h, perm=[0, 1, 3, 2]))
    beta = graph("Softmax", graph("Add", scores, graph("Unsqueeze", inputs.word_bar, whole(1))), axis=-1)  # 7
    h_hat = _mixed(graph, h, h_own, alpha, g, c_side, h_of_both)  # 5, 6
    g_hat = _mixed(graph, g, g_own, beta, h, d_side, g_of_both)  # 8, 9

    three = graph("Expand", graph("Unsqueeze", inputs.lengths, whole(1)), whole(1, BOXES))
    word_bar = graph("Expand", inputs.word_bar, whole(1, BOXES, 1))
    lengths = graph("Reshape", three, whole(-1))
    h_bar = _read_max(graph, h_hat, matching.word_lstm, lengths, word_bar)  # 10, 12
    g_bar = _read_max(graph, g_hat, matching.item_lstm, inputs.counts, inputs.item_bar)  # 11, 13
    vectors = graph("Reshape", graph("Concat", h_bar, g_bar, axis=1), whole(-1, BOXES, 4 * hidden))
    return {**_pool(graph, model.pool, vectors, 4 * hidden), "alpha": alpha, "beta": beta}


def _mixed(graph: Graph, x: str, own: str, weights: str, others: str, side: str, of_both: Array) -> str:
    """relu(W [x; m; x - m; x ∘ m]), where m is the weighted mean of the others."""
    both = graph.product(graph("Mul", x, graph("MatMul", weights, others)), of_both)
    return graph("Relu", graph("Add", graph("Add", both, graph("MatMul", weights, side)), own))


def _parts(linear: nn.Linear) -> list[Array]:
    """W [x; m; x - m; x ∘ m] as matrices of x, of m and of x ∘ m, (in, out) each."""
    x, m, difference, both = np.split(array(linear.weight), 4, axis=1)
    return [(x + difference).T, (m - difference).T, both.T]


def _read_max(graph: Graph, sequences: str, lstm: BiLSTM, lengths: str, bar: str) -> str:
    """ele max of a BiLSTM's outputs over sequences (batch, box, step, in): (row, direction, hidden)."""
    outputs = graph.lstm(graph.steps_first(sequences, lstm.forwards.input_size), _both(lstm), lengths)[0]
    bar = graph("Unsqueeze", graph.steps_first(graph("Unsqueeze", bar, whole(3)), 1), whole(1))
    return graph("Transpose", graph("ReduceMax", graph("Add", outputs, bar), whole(0), keepdims=0), perm=[1, 0, 2])


def _pool(graph: Graph, pool: ScorePooling | VectorPooling, vectors: str, size: int) -> Values:
    """Box vectors (batch, box, size) -> logits and, where the model has them, scores."""
    if isinstance(pool, ScorePooling):
        scores = _score(graph, pool.scorer, vectors)
        return {"logits": graph(_COMBINE[pool.combine], scores, whole(1), keepdims=0), "scores": scores}
    return {"logits": _score(graph, pool.scorer, _MERGES[type(pool.merge)](graph, pool.merge, vectors, size))}


def _score(graph: Graph, scorer: Scorer, vectors: str) -> str:
    first = graph("Add", graph.product(vectors, array(scorer.first.weight).T), array(scorer.first.bias).astype("f"))
    return graph("Squeeze", graph.product(graph("Tanh", first), array(scorer.last.weight).T), whole(-1))


def _last_of_lstm(graph: Graph, merge: LastOfLSTM, vectors: str, _size: int) -> str:
    return graph("Squeeze", graph.lstm(graph("Transpose", vectors, perm=[1, 0, 2]), [merge.lstm])[1], whole(0))


def _max_mean_min(graph: Graph, _merge: MaxMeanMin, vectors: str, _size: int) -> str:
    reduced = (graph(f"Reduce{kind}", vectors, whole(1), keepdims=0) for kind in ("Max", "Mean", "Min"))
    return graph("Concat", *reduced, axis=1)


_MERGES: dict[type[nn.Module], Callable[[Graph, Any, str, int], str]] = {
    Concatenate: lambda graph, _merge, vectors, size: graph("Reshape", vectors, whole(-1, BOXES * size)),
    LastOfLSTM: _last_of_lstm,
    EarlyMax: lambda graph, _merge, vectors, _size: graph("ReduceMax", vectors, whole(1), keepdims=0),
    MaxMeanMin: _max_mean_min,
}


def _both(lstm: BiLSTM) -> list[nn.Module]:
    return [lstm.forwards, lstm.backwards]


def _embedding(linear: nn.Linear) -> Embedding:
    return array(linear.weight), array(linear.bias)
