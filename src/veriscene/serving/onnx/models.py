"""The models as ONNX graphs, written node by node from their weights.

Nothing is traced: tracing froze the batch size or the number of words of the example that it was shown, silently.
Written out, the graph can also be cheaper than the eager model. Dropout is gone, both directions of an LSTM are one
node, and what is linear is multiplied together beforehand:

- the embedding of items goes into the input matrices of the LSTMs that read it;
- W [h; c; h - c; h ∘ c] = (W1 + W3) h + (W2 - W3) c + W4 (h ∘ c), and since c = alpha g, the second matrix is applied
  to the few g instead of the many c (likewise with d = beta h);
- bilinear forms are multiplied from the side of the words, in one product with all else that is needed of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import nn

from veriscene.errors import InputError
from veriscene.models.biatt import BiATT
from veriscene.models.biatt_pointer import BiATTPointer, Pointer
from veriscene.models.bienc import BiENC
from veriscene.models.layers.attention import BiLSTM
from veriscene.models.layers.coordinates import AT_A_WALL, MEDIUM, SIZE_STEP
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
from veriscene.scenes.scene import BOXES_PER_SCENE as BOXES
from veriscene.serving.onnx.graph import FLOAT, INT32, INT64, Array, Embedding, Graph, Shapes, array, real, whole
from veriscene.tensors.features import ITEM_FEATURES

FAR = 1e6  # farther than two scores of the pointer can lie apart
_COMBINE = {SCORE_COMBINATIONS["max"]: "ReduceMax", SCORE_COMBINATIONS["mean"]: "ReduceMean"}


def model_graph(model: nn.Module) -> Any:
    """The model in inference as an onnx.ModelProto; batch, word and item are free dimensions.

    In: words (batch, word), lengths (batch,), items (batch, box, item, feature), counts (batch, box).
    Out: logits (batch,), scores (batch, box), order (batch, box, item), and of models that attend alpha
    (batch, box, word, item) and beta (batch, box, item, word), which mean nothing beyond a statement's or box's end.
    """
    if type(model) not in _WRITERS:
        raise InputError(f"{type(model).__name__} cannot be exported; bienc, biatt and biatt-pointer can")
    graph = Graph()
    values = _WRITERS[type(model)](graph, model)
    boxes: list[Any] = ["batch", BOXES]
    inputs: Shapes = {
        "words": (INT64, ["batch", "word"]),
        "lengths": (INT64, ["batch"]),
        "items": (FLOAT, [*boxes, "item", ITEM_FEATURES]),
        "counts": (INT64, boxes),
    }
    outputs: Shapes = {"logits": (FLOAT, ["batch"]), "scores": (FLOAT, boxes), "order": (INT64, [*boxes, "item"])}
    if len(values) > len(outputs):
        outputs |= {"alpha": (FLOAT, [*boxes, "word", "item"]), "beta": (FLOAT, [*boxes, "item", "word"])}
    return graph.model(inputs, outputs, values)


class Inputs:
    """What every model needs of the inputs. A row is a box of an example; sequences are read with the step first."""

    def __init__(self, graph: Graph, coordinates: str) -> None:
        self.items = _placed(graph, coordinates)  # (batch, box, item, feature)
        self.lengths = graph("Cast", "lengths", to=INT32)
        self.counts = graph("Cast", graph("Reshape", "counts", whole(-1)), to=INT32)  # (row,)
        self.fullest = graph("Gather", graph("Shape", "items"), np.array(2))
        longest = graph("Gather", graph("Shape", "words"), np.array(1))
        self.item_numbers = graph("Range", np.array(0), self.fullest, np.array(1))
        word_numbers = graph("Range", np.array(0), longest, np.array(1))
        is_word = graph("Less", word_numbers, graph("Unsqueeze", "lengths", whole(1)))  # (batch, word)
        self.is_item = graph("Less", self.item_numbers, graph("Unsqueeze", "counts", whole(2)))  # (batch, box, item)
        # Bars are added to scores: zero, or beyond the end minus infinity.
        bar = graph("Where", is_word, real(0), real(-np.inf))
        self.word_bar = graph("Unsqueeze", bar, whole(1))  # (batch, 1, word)
        self.item_bar = graph("Where", self.is_item, real(0), real(-np.inf))  # (batch, box, item)

    def read_statement(self, graph: Graph, model: BiENC | BiATT) -> list[str]:
        """LANG-LSTM: outputs (word, direction, batch, hidden) and last outputs (direction, batch, hidden)."""
        table = array(model.embed_words.weight).astype(np.float32)
        words = graph("Gather", table, graph("Transpose", "words", perm=[1, 0]))
        return graph.lstm(words, _both(model.lang_lstm), self.lengths)[:2]

    def as_they_come(self, graph: Graph) -> str:
        """The order (batch, box, item) of a reader who takes the items as they come."""
        return graph("Expand", self.item_numbers, graph("Shape", self.is_item))


def _placed(graph: Graph, coordinates: str) -> str:
    """Items as `places.placed` has them."""
    if coordinates == "corner":
        return "items"
    corner, size, rest = (
        graph("Slice", "items", whole(first), whole(end), whole(3))
        for first, end in ((0, 2), (2, 3), (2, ITEM_FEATURES))
    )
    side = graph("Add", graph("Mul", size, real(SIZE_STEP)), real(MEDIUM))
    if coordinates == "centre":
        place = graph("Add", corner, side)
    else:
        place = graph("Div", graph("Add", corner, real(1)), graph("Sub", real(1), side))
        place = graph("Sub", place, real(1))
        if coordinates == "contact":
            touches = graph("Greater", graph("Abs", place), real(AT_A_WALL))
            place = graph("Where", touches, place, graph("Mul", place, real(0.5)))
    return graph("Concat", place, rest, axis=3)


def _bienc(graph: Graph, model: BiENC) -> list[str]:
    inputs, hidden = Inputs(graph, model.embed_items.coordinates), model.lang_lstm.forwards.hidden_size
    h = inputs.read_statement(graph, model)[1]
    items = graph.steps_first(inputs.items, ITEM_FEATURES)
    g = graph.lstm(items, _both(model.obj_lstm), inputs.counts, embedding=_embedding(model.embed_items))[1]
    h, g = (graph("Transpose", last, perm=[1, 0, 2]) for last in (h, g))
    h = graph.product(graph("Reshape", h, whole(-1, 1, 2 * hidden)), array(model.similarity.weight).T)
    g = graph("Transpose", graph("Reshape", g, whole(-1, BOXES, 2 * hidden)), perm=[0, 2, 1])
    scores = graph("Squeeze", graph("MatMul", h, g), whole(1))
    logits = graph(_COMBINE[model.combine], scores, whole(1), keepdims=0)
    return [logits, scores, inputs.as_they_come(graph)]


def _biatt(graph: Graph, model: BiATT) -> list[str]:
    inputs = Inputs(graph, model.embed_items.coordinates)
    h = graph.batch_first(inputs.read_statement(graph, model)[0], 1, model.lang_lstm.forwards.hidden_size)
    items = graph.steps_first(inputs.items, ITEM_FEATURES)
    matched = _match(graph, inputs, model, h, items, _embedding(model.embed_items))
    return [*matched[:2], inputs.as_they_come(graph), *matched[2:]]


def _biatt_pointer(graph: Graph, model: BiATTPointer) -> list[str]:
    biatt = model.comprehension
    inputs = Inputs(graph, biatt.embed_items.coordinates)
    h = graph.batch_first(inputs.read_statement(graph, biatt)[0], 1, biatt.lang_lstm.forwards.hidden_size)
    # One more feature than items have stands for the decoder's first input, which is no item.
    matrix, bias = _embedding(biatt.embed_items)
    embedding = np.concatenate([matrix, (array(model.pointer.start) - bias)[:, None]], axis=1), bias
    order, items = _point(graph, inputs, model.pointer, h, embedding)
    matched = _match(graph, inputs, biatt, h, items, embedding)
    return [*matched[:2], order, *matched[2:]]


_WRITERS: dict[type[nn.Module], Callable[[Graph, Any], list[str]]] = {
    BiENC: _bienc,
    BiATT: _biatt,
    BiATTPointer: _biatt_pointer,
}


def _point(graph: Graph, inputs: Inputs, pointer: Pointer, h: str, embedding: Embedding) -> tuple[str, str]:
    """Section 3.2, greedily: order (batch, box, place), and the features as they are read (place, row, feature)."""
    hidden, features = pointer.encoder.hidden_size, embedding[0].shape[1]
    items = graph("Pad", inputs.items, whole(0, 0, 0, 0, 0, 0, 0, features - ITEM_FEATURES))
    item_rows = graph.steps_first(items, features)
    memory, *last = graph.lstm(item_rows, [pointer.encoder], inputs.counts, embedding=embedding)
    keys = graph.product(graph.batch_first(memory, BOXES, hidden), array(pointer.point.weight).T)
    keys = graph("Transpose", keys, perm=[0, 1, 3, 2])
    no_item = np.eye(features, dtype=np.float32)[None, -1:]
    start = graph("Expand", no_item, graph("Concat", whole(1), graph("Shape", inputs.counts), whole(1), axis=0))
    # No padding is chosen before the last item, and then, by its distance, at each place the padding that is there.
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
    words belong to the graph around the loop: they do not change with the place."""
    w_context, w_state = np.split(array(pointer.attentional.weight), [pointer.attend.out_features], axis=1)
    words = graph.products(h, array(pointer.attend.weight), w_context.T)
    keys, values = (graph("Squeeze", part, whole(1)) for part in words)  # (batch, word, hidden)
    keys = graph("Transpose", keys, perm=[0, 2, 1])
    s = place("Reshape", s, whole(-1, BOXES, pointer.encoder.hidden_size))
    weights = place("Softmax", place("Add", place("MatMul", s, keys), inputs.word_bar), axis=-1)
    return place("Tanh", place("Add", place("MatMul", weights, values), place.product(s, w_state.T)))


def _match(graph: Graph, inputs: Inputs, model: BiATT, h: str, items: str, embedding: Embedding) -> list[str]:
    """Words h (batch, 1, word, 2 hidden) against items (place, row, feature) -> logits, scores, alpha, beta."""
    hidden = model.obj_lstm.forwards.hidden_size
    g = graph.lstm(items, _both(model.obj_lstm), inputs.counts, embedding=embedding)[0]
    g = graph.batch_first(g, BOXES, hidden)  # 3: (batch, box, place, 2 hidden)
    h_of_h, h_of_c, h_of_both = _matching(model.w_lang)
    g_of_g, g_of_d, g_of_both = _matching(model.w_obj)
    b1_h, b2_h, h_own, d_side = graph.products(h, array(model.b1.weight).T, array(model.b2.weight), h_of_h, g_of_d)
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
    h_bar = _read_max(graph, h_hat, model.word_lstm, lengths, word_bar)  # 10, 12
    g_bar = _read_max(graph, g_hat, model.item_lstm, inputs.counts, inputs.item_bar)  # 11, 13
    vectors = graph("Reshape", graph("Concat", h_bar, g_bar, axis=1), whole(-1, BOXES, 4 * hidden))
    return [*_pool(graph, model.pool, vectors, 4 * hidden), alpha, beta]


def _mixed(graph: Graph, x: str, own: str, weights: str, others: str, side: str, of_both: Array) -> str:
    """relu(W [x; m; x - m; x ∘ m]), m the mean of the others under the weights."""
    both = graph.product(graph("Mul", x, graph("MatMul", weights, others)), of_both)
    return graph("Relu", graph("Add", graph("Add", both, graph("MatMul", weights, side)), own))


def _matching(linear: nn.Linear) -> list[Array]:
    """W [x; m; x - m; x ∘ m] as matrices of x, of m and of x ∘ m, (in, out) each."""
    x, m, difference, both = np.split(array(linear.weight), 4, axis=1)
    return [(x + difference).T, (m - difference).T, both.T]


def _read_max(graph: Graph, sequences: str, lstm: BiLSTM, lengths: str, bar: str) -> str:
    """ele max of a BiLSTM's outputs over sequences (batch, box, step, in): (row, direction, hidden)."""
    outputs = graph.lstm(graph.steps_first(sequences, lstm.forwards.input_size), _both(lstm), lengths)[0]
    bar = graph("Unsqueeze", graph.steps_first(graph("Unsqueeze", bar, whole(3)), 1), whole(1))
    return graph("Transpose", graph("ReduceMax", graph("Add", outputs, bar), whole(0), keepdims=0), perm=[1, 0, 2])


def _pool(graph: Graph, pool: nn.Module, vectors: str, size: int) -> list[str]:
    """Box vectors (batch, box, size) -> logits, scores."""
    if isinstance(pool, ScorePooling):
        scores = _score(graph, pool.scorer, vectors)
        return [graph(_COMBINE[pool.combine], scores, whole(1), keepdims=0), scores]
    assert isinstance(pool, VectorPooling)
    # The scene itself, and after it the three of equal boxes.
    alike = graph("Expand", graph("Unsqueeze", vectors, whole(2)), whole(1, 1, BOXES, 1))
    scenes = graph("Concat", graph("Unsqueeze", vectors, whole(1)), alike, axis=1)
    merged = _MERGES[type(pool.merge)](graph, pool.merge, graph("Reshape", scenes, whole(-1, BOXES, size)), size)
    scores = graph("Reshape", _score(graph, pool.scorer, merged), whole(-1, 1 + BOXES))
    logits, scores = graph.several(2, "Split", scores, whole(1, BOXES), axis=1)
    return [graph("Squeeze", logits, whole(1)), scores]


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
