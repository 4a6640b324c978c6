"""Any model that reads items as an ONNX graph, through torch's exporter.

The exporter unrolls an LSTM, or any loop over a dynamic dimension, to the length of the example that it traces. So,
while tracing, LSTMs become ONNX's LSTM node, and a few operations without a dynamic translation are replaced.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.overrides import TorchFunctionMode

from veriscene.data.batch import Batch, Statement, required
from veriscene.data.items import Items
from veriscene.judge.judge import FIELDS
from veriscene.judge.onnx.graph import OPSET
from veriscene.models import Model
from veriscene.models.layers import recurrence
from veriscene.world.scene import MOST_ITEMS
from veriscene.worlds.nlvr.corpus import MAX_WORDS

State = Sequence[Tensor]  # hidden output and cell


def traced_graph(model: Model, example: Batch) -> Any:
    """The model, on the CPU and in inference mode, as an onnx.ModelProto with dynamic batch, word and item dimensions.

    Every dimension of the example must be at least 2: the exporter takes 1 for a constant.
    """
    items, characters, adapter = required(example.items), example.statement.characters, _Adapter(model)
    with torch.no_grad():
        judged = vars(model(example))
    inputs = [example.statement.words, example.statement.lengths, items.features, items.counts]
    batch, word, item = Dim("batch"), Dim("word", max=MAX_WORDS), Dim("item", max=MOST_ITEMS)
    shapes = [{0: batch, 1: word}, {0: batch}, {0: batch, 2: item}, {0: batch}]
    names = ["words", "lengths", "features", "counts"]
    if characters is not None:
        inputs, shapes, names = [*inputs, characters], [*shapes, {0: batch, 1: word}], [*names, "characters"]
    with _quiet(), _lstm_node_for_loops(), torch.no_grad():
        program = torch.export.export(adapter, tuple(inputs), dynamic_shapes=tuple(shapes), strict=False)
        exported = torch.onnx.export(
            program,
            dynamo=True,
            opset_version=OPSET,
            input_names=names,
            output_names=[name for name in FIELDS if judged[name] is not None],
            verbose=False,
        )
    assert exported is not None
    proto = exported.model_proto
    for described in (*proto.graph.node, *proto.graph.value_info, *proto.functions):  # stack traces with local paths
        del described.metadata_props[:]
    return proto


class _Adapter(nn.Module):
    """Tensors in, tensors out."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, words: Tensor, lengths: Tensor, features: Tensor, counts: Tensor, characters: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        positions = torch.arange(features.size(2)).expand(features.shape[:3])
        with _Replacements():
            judged = vars(self.model(Batch(Statement(words, lengths, characters), Items(features, counts, positions))))
        return tuple(judged[name] for name in FIELDS if judged[name] is not None)


def _lstm_node(
    sequence: Tensor, weights: Sequence[Tensor], *, lengths: Tensor | None = None, state: State = ()
) -> tuple[Tensor, Tensor, Tensor]:
    """sequence (step, row, in) -> outputs (step, row, hidden), last outputs and cells (1, row, hidden)."""
    steps, rows, hidden = *sequence.shape[:2], weights[1].size(1)
    i, f, c, o = torch.arange(4 * hidden).chunk(4)
    ours = torch.cat([i, o, f, c])  # torch stacks input, forget, cell, output; ONNX input, output, forget, cell
    w, r, w_bias, r_bias = (weight[ours] for weight in weights)
    biases, ends = torch.cat([w_bias, r_bias]), None if lengths is None else lengths.int()
    outputs, last, cells = torch.onnx.ops.symbolic_multi_out(
        "LSTM",
        [sequence, w[None], r[None], biases[None], ends, *state],
        {"hidden_size": hidden},
        dtypes=[sequence.dtype] * 3,
        shapes=[(steps, 1, rows, hidden), (1, rows, hidden), (1, rows, hidden)],
        version=OPSET,
    )
    return outputs[:, 0], last, cells


def _lstm(
    x: Tensor, state: State, weights: Sequence[Tensor], has_bias: bool, layers: int, _dropout: float, _training: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if layers > 1 or bidirectional or not has_bias:
        raise NotImplementedError("an LSTM with several layers, both directions in one, or without biases")
    outputs, last, cells = _lstm_node(x.transpose(0, 1) if batch_first else x, weights, state=state)
    return (outputs.transpose(0, 1) if batch_first else outputs), last, cells


def _to_final_state(cell: nn.LSTMCell, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    weights = (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    outputs, last, cells = _lstm_node(sequence.transpose(0, 1), weights, lengths=lengths)
    return outputs.transpose(0, 1), (last[0], cells[0])


def _unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """The exporter derives a bound on x's size from the overlapping strides of torch's own."""
    count = x.size(dimension) - size + 1
    windows = torch.stack([x.narrow(dimension, start, count) for start in range(size)], dim=-1)
    return windows[(slice(None),) * dimension + (slice(None, None, step),)]


def _searchsorted(rising: Tensor, values: Tensor) -> Tensor:
    """Binary search; ONNX has no such operator. The table is a constant, so the number of steps is too."""
    size = len(rising)
    below, step = torch.zeros_like(values), 1 << (size.bit_length() - 1)
    while step:
        probe = below + step
        is_below = (probe <= size) & (rising[(probe - 1).clamp(max=size - 1)] < values)
        below, step = torch.where(is_below, probe, below), step // 2
    return below


def _embedding_bag(numbers: Tensor, vectors: Tensor, *, mode: str, padding_idx: int, **others: Any) -> Tensor:
    if mode != "mean" or any(others[name] is not None for name in ("offsets", "max_norm", "per_sample_weights")):
        raise NotImplementedError("embedding_bag other than a plain mean")
    present = (numbers != padding_idx)[..., None]
    total = (vectors[numbers.long()] * present).sum(dim=1)
    return total / present.sum(dim=1).clamp(min=1)


def _sum(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """ONNX Runtime sums int64 in floating point, which changes hashes; chained additions are exact."""
    dim = kwargs.get("dim")
    if x.dtype is torch.int64 and type(dim) is int and type(x.size(dim)) is int and len(kwargs) == 1:
        return reduce(torch.add, x.unbind(dim))
    total: Tensor = Tensor.sum(x, *args, **kwargs)
    return total


def _getitem(x: Tensor, index: Any) -> Tensor:
    """ONNX indexes by int64 only."""
    return x[index.long() if isinstance(index, Tensor) and index.dtype is torch.int32 else index]


_REPLACED: dict[Callable[..., Any], Callable[..., Any]] = {
    torch._VF.lstm: _lstm,
    Tensor.unfold: _unfold,
    torch.searchsorted: _searchsorted,
    nn.functional.embedding_bag: _embedding_bag,
    Tensor.__getitem__: _getitem,
    Tensor.sum: _sum,
}


class _Replacements(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _REPLACED.get(function, function)(*args, **(kwargs or {}))


@contextmanager
def _lstm_node_for_loops() -> Iterator[None]:
    """Replaces the loop over an LSTMCell, which the exporter would unroll."""
    stepped = recurrence.stepped_to_final_state
    recurrence.stepped_to_final_state = _to_final_state
    try:
        yield
    finally:
        recurrence.stepped_to_final_state = stepped


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter logs its progress; stdout and stderr belong to the command."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
