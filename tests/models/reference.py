"""A slow reference of the paper's equations: one example, box, word, item and gate at a time.

Nothing is padded, masked or batched, and only the weights are taken from the model under test. `drop` is applied where
the paper (appendix A.3.1) applies dropout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import nn
from toy import Toy

Vector = np.ndarray
Weights = dict[str, np.ndarray]
Drop = Callable[[Vector], Vector]
Score = Callable[[Weights, Vector, Drop], float]


@dataclass(frozen=True)
class Answer:
    logit: float
    scores: list[float] | None  # None: the logit is not a combination of box scores
    alpha: list[np.ndarray] | None = None  # per box (word, place)
    beta: list[np.ndarray] | None = None  # per box (place, word)
    order: list[list[int]] | None = None
    log_probability: float | None = None


def weights_of(model: nn.Module) -> Weights:
    return {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}


def under(weights: Weights, prefix: str) -> Weights:
    return {name[len(prefix) + 1 :]: value for name, value in weights.items() if name.startswith(prefix + ".")}


def keep(vector: Vector) -> Vector:
    return vector


def sigmoid(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def softmax(values: Sequence[float]) -> list[float]:
    total = sum(np.exp(value) for value in values)
    return [float(np.exp(value) / total) for value in values]


def elementwise_max(vectors: Sequence[Vector]) -> Vector:
    return np.array([max(vector[unit] for vector in vectors) for unit in range(len(vectors[0]))])


# ---------------------------------------------------------------- LSTM


def lstm_step(weights: Weights, x: Vector, hidden: Vector, cell: Vector) -> tuple[Vector, Vector]:
    """One step of an LSTM; the rows of the weights hold the gates i, f, g, o, one after the other."""
    names = {name.removesuffix("_l0"): value for name, value in weights.items()}
    size = len(hidden)
    new_hidden, new_cell = np.zeros(size), np.zeros(size)
    for unit in range(size):
        gate = {}
        for number, letter in enumerate("ifgo"):
            row = number * size + unit
            from_input = names["weight_ih"][row] @ x + names["bias_ih"][row]
            from_state = names["weight_hh"][row] @ hidden + names["bias_hh"][row]
            gate[letter] = from_input + from_state
        new_cell[unit] = sigmoid(gate["f"]) * cell[unit] + sigmoid(gate["i"]) * np.tanh(gate["g"])
        new_hidden[unit] = sigmoid(gate["o"]) * np.tanh(new_cell[unit])
    return new_hidden, new_cell


def lstm(weights: Weights, inputs: Sequence[Vector]) -> tuple[list[Vector], tuple[Vector, Vector]]:
    """The hidden outputs, and the last state."""
    size = next(value.shape[1] for name, value in weights.items() if name.startswith("weight_hh"))
    state = (np.zeros(size), np.zeros(size))
    outputs = []
    for x in inputs:
        state = lstm_step(weights, x, *state)
        outputs.append(state[0])
    return outputs, state


def bilstm(weights: Weights, inputs: Sequence[Vector], drop: Drop) -> list[Vector]:
    ahead, _ = lstm(under(weights, "forwards"), inputs)
    back, _ = lstm(under(weights, "backwards"), inputs[::-1])
    return [drop(np.concatenate(pair)) for pair in zip(ahead, back[::-1], strict=True)]


# ---------------------------------------------------------------- section 3.1


def read_statement(weights: Weights, example: Toy, drop: Drop) -> list[Vector]:
    embedded = [weights["embed_words.weight"][word] for word in example.words]
    return bilstm(under(weights, "lang_lstm"), embedded, drop)  # equation 1


def embed_items(weights: Weights, box: np.ndarray) -> list[Vector]:
    return [weights["embed_items.weight"] @ o + weights["embed_items.bias"] for o in box]  # equation 2


def attend(own: Vector, bilinear: np.ndarray, others: Sequence[Vector]) -> tuple[list[float], Vector]:
    """softmax_k(own' B other_k), and the others' sum under it."""
    weights = softmax([own @ bilinear @ other for other in others])
    return weights, sum(weight * other for weight, other in zip(weights, others, strict=True))


def joint(own: Vector, context: Vector, matrix: np.ndarray) -> Vector:
    joined = np.concatenate([own, context, own - context, own * context])
    return np.array([max(0.0, row @ joined) for row in matrix])


def box_vector(weights: Weights, h: list[Vector], e: list[Vector], drop: Drop) -> tuple[Vector, np.ndarray, np.ndarray]:
    """[h̄; ḡ] of one box, alpha and beta. A linear layer multiplies from the left, so B is its matrix transposed."""
    g = bilstm(under(weights, "obj_lstm"), e, drop)  # equation 3
    weights = under(weights, "matching")
    alpha, beta, h_hat, g_hat = [], [], [], []
    for h_i in h:
        alpha_i, c_i = attend(h_i, weights["b1.weight"].T, g)  # equations 4, 5
        alpha.append(alpha_i)
        h_hat.append(joint(h_i, c_i, weights["w_lang.weight"]))  # equation 6
    for g_k in g:
        beta_k, d_k = attend(g_k, weights["b2.weight"].T, h)  # equations 7, 8
        beta.append(beta_k)
        g_hat.append(joint(g_k, d_k, weights["w_obj.weight"]))  # equation 9
    h_bar = bilstm(under(weights, "word_lstm"), h_hat, drop)  # equation 10
    g_bar = bilstm(under(weights, "item_lstm"), g_hat, drop)  # equation 11
    pooled = np.concatenate([elementwise_max(h_bar), elementwise_max(g_bar)])  # equations 12, 13
    return pooled, np.array(alpha), np.array(beta)


def score(weights: Weights, vector: Vector, drop: Drop) -> float:
    first = weights["pool.scorer.first.weight"] @ vector + weights["pool.scorer.first.bias"]
    return float(weights["pool.scorer.last.weight"][0] @ drop(np.tanh(first)))  # equation 14


def merged(weights: Weights, vectors: list[Vector], pooling: str, drop: Drop) -> Vector:
    """The vector of three boxes, for poolings that merge before they score."""
    if pooling == "concatenate":
        return np.concatenate(vectors)
    if pooling == "lstm":
        return drop(lstm(under(weights, "pool.merge.lstm"), vectors)[0][-1])
    highest = elementwise_max(vectors)
    if pooling == "early":
        return highest
    if pooling == "joint":
        return np.concatenate([highest, sum(vectors) / 3, -elementwise_max([-vector for vector in vectors])])
    raise ValueError(pooling)


def combined(weights: Weights, vectors: list[Vector], pooling: str, drop: Drop, score: Score) -> Answer:
    """Logit and box scores."""
    if pooling in ("max", "mean"):
        scores = [score(weights, vector, drop) for vector in vectors]
        return Answer(max(scores) if pooling == "max" else sum(scores) / 3, scores)  # equation 15
    return Answer(score(weights, merged(weights, vectors, pooling, drop), drop), None)


def comprehension(weights: Weights, h: list[Vector], e: list[list[Vector]], pooling: str, drop: Drop) -> Answer:
    vectors, alpha, beta = zip(*(box_vector(weights, h, e_j, drop) for e_j in e), strict=True)
    return replace(combined(weights, list(vectors), pooling, drop, score), alpha=list(alpha), beta=list(beta))


def biatt(model: nn.Module, example: Toy, pooling: str = "max", drop: Drop = keep) -> Answer:
    weights = weights_of(model)
    h = read_statement(weights, example, drop)
    return comprehension(weights, h, [embed_items(weights, box) for box in example.boxes], pooling, drop)


# ---------------------------------------------------------------- appendix A.3.3


def bienc(model: nn.Module, example: Toy, pooling: str = "max", drop: Drop = keep) -> Answer:
    """A bilinear form of the last hidden outputs: the forward LSTM's at the end, the backward one's at the start."""
    weights = weights_of(model)

    def last(outputs: list[Vector]) -> Vector:
        half = len(outputs[0]) // 2
        return np.concatenate([outputs[-1][:half], outputs[0][half:]])

    h = last(read_statement(weights, example, drop))
    scores = []
    for box in example.boxes:
        g = last(bilstm(under(weights, "obj_lstm"), embed_items(weights, box), drop))
        scores.append(float(h @ weights["similarity.weight"].T @ g))
    return Answer(max(scores) if pooling == "max" else sum(scores) / 3, scores)


# ---------------------------------------------------------------- section 3.2


def pointer(
    weights: Weights, h: list[Vector], e: list[Vector], wanted: list[int] | None, drop: Drop
) -> tuple[list[int], float]:
    """The order of one box's items, as wanted or greedy, and its log-probability."""
    outputs, state = lstm(under(weights, "encoder"), e)
    memory = [drop(output) for output in outputs]
    x, order, log_probability = weights["start"], [], 0.0
    for place in range(len(e)):
        state = lstm_step(under(weights, "decoder"), x, *state)
        s = drop(state[0])
        _, c = attend(s, weights["attend.weight"].T, h)
        s_tilde = np.tanh(weights["attentional.weight"] @ np.concatenate([c, s]))
        left = [k for k in range(len(e)) if k not in order]
        p = softmax([s_tilde @ weights["point.weight"] @ memory[k] for k in left])
        chosen = left[p.index(max(p))] if wanted is None else wanted[place]
        log_probability += float(np.log(p[left.index(chosen)]))
        order.append(chosen)
        x = e[chosen]
    return order, log_probability


def biatt_pointer(
    model: nn.Module, example: Toy, pooling: str = "max", drop: Drop = keep, wanted: list[list[int]] | None = None
) -> Answer:
    """As in inference, or in the wanted order."""
    weights = weights_of(model)
    comprehend = under(weights, "comprehension")
    h = read_statement(comprehend, example, drop)
    e = [embed_items(comprehend, box) for box in example.boxes]
    orders, log_probability = [], 0.0
    for box in range(3):
        order, log_p = pointer(under(weights, "pointer"), h, e[box], None if wanted is None else wanted[box], drop)
        orders.append(order)
        log_probability += log_p
    read = [[e[box][k] for k in orders[box]] for box in range(3)]
    answer = comprehension(comprehend, h, read, pooling, drop)
    return replace(answer, order=orders, log_probability=log_probability)
