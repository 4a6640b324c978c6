"""ONNX graphs of torch modules, whose weights stay where they are: a graph refers to a checkpoint's safetensors file.

Torch's exporter traces a module. It unrolls a loop over a dynamic dimension to the length of the example that it
traces, so LSTMs become ONNX's LSTM node, and a few operations without a dynamic translation are replaced.
"""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.overrides import TorchFunctionMode

from veriscene import __version__
from veriscene.data.reader import SCALE
from veriscene.judge.sessions import weights_header
from veriscene.models.layers import recurrence

OPSET = 18  # supported by every runtime that the package admits
_ROOT = "model."  # where a traced module has the model whose weights are stored
_TYPES = {"F16": "FLOAT16", "F32": "FLOAT", "I64": "INT64", "I32": "INT32", "I8": "INT8", "U8": "UINT8", "BOOL": "BOOL"}


class Traceable(nn.Module):
    """Tensors in, tensors out, around the model whose weights are stored."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model


def trace(
    module: Traceable, inputs: Mapping[str, Tensor], dynamic: Mapping[str, Sequence[Dim | None]], outputs: Sequence[str]
) -> Any:
    """Returns the module as an onnx.ModelProto whose inputs are these and the model's weights, for `attach`.

    `dynamic` names the dimensions of each input that may vary, from the first on.
    """
    shapes = tuple({axis: dim for axis, dim in enumerate(dynamic[name]) if dim is not None} for name in inputs)
    with _quiet(), torch.no_grad():
        program = torch.export.export(module, tuple(inputs.values()), dynamic_shapes=(shapes,), strict=False)
        exported = torch.onnx.export(
            program,
            dynamo=True,
            opset_version=OPSET,
            input_names=list(inputs),
            output_names=list(outputs),
            optimize=False,
            verbose=False,
        )
        assert exported is not None
        graph = exported.model.graph
        # The optimizer folds constants into new ones. Weights that are inputs stay what the checkpoint's file has.
        for name in graph.initializers.keys() & {f"{_ROOT}{name}" for name in module.model.state_dict()}:
            value = graph.initializers.pop(name)
            value.const_value = None
            graph.inputs.append(value)
        exported.optimize()
    proto = exported.model_proto
    for described in (*proto.graph.node, *proto.graph.value_info, *proto.functions):  # stack traces with local paths
        del described.metadata_props[:]
    proto.producer_name, proto.producer_version = "veriscene", __version__
    return proto


def attach(proto: Any, model: nn.Module, stored: Path | None = None) -> None:
    """Gives the graph its weights: a reference to the safetensors file beside it that stores them or, without one, the
    weights themselves. Those that half precision holds exactly are stored in it and cast when the graph is loaded.

    A matrix in whole numbers is multiplied by the scales of its rows. The runtime computes that once, as it does casts.
    """
    from onnx import NodeProto, helper, numpy_helper

    weights = {f"{_ROOT}{name}": tensor for name, tensor in model.state_dict().items()}
    header = {} if stored is None else {f"{_ROOT}{name}": at for name, at in weights_header(stored)[0].items()}
    before: list[NodeProto] = []  # nodes that make weights of what is stored
    for value in [value for value in proto.graph.input if value.name in weights]:
        proto.graph.input.remove(value)
        name, tensor = value.name, weights[value.name].detach().cpu()
        if stored is None:
            halved = tensor.half() if tensor.dtype is torch.float32 else tensor
            kept = halved if torch.equal(halved.to(tensor.dtype), tensor) else tensor
            initializer = numpy_helper.from_array(kept.contiguous().numpy(), name)
        else:
            initializer = _external(name, header[name], stored.name)
        dtype, made = value.type.tensor_type.elem_type, name
        if name + SCALE in header and stored is not None:
            scale, made = _external(f"{name}{SCALE}.stored", header[name + SCALE], stored.name), f"{name}.whole"
            proto.graph.initializer.append(scale)
            before.append(helper.make_node("Cast", [scale.name], [name + SCALE], to=dtype))
        if initializer.data_type != dtype:
            initializer.name = f"{name}.stored"
            before.append(helper.make_node("Cast", [initializer.name], [made], to=dtype))
        if made != name:
            before.append(helper.make_node("Mul", [made, name + SCALE], [name]))
        proto.graph.initializer.append(initializer)
    nodes = [*before, *proto.graph.node]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)


def _external(name: str, at: Mapping[str, Any], location: str) -> Any:
    """Returns a tensor of the graph whose values are in another file."""
    from onnx import TensorProto

    tensor = TensorProto(name=name, dims=at["shape"], data_type=TensorProto.DataType.Value(_TYPES[at["dtype"]]))
    tensor.data_location = TensorProto.EXTERNAL
    begin, end = at["data_offsets"]
    for key, value in (("location", location), ("offset", begin), ("length", end - begin)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def describe(proto: Any, metadata: Mapping[str, object]) -> None:
    """Stores what a graph's user must know besides the graph; what is not text, as JSON."""
    from onnx import helper

    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in metadata.items()}
    helper.set_model_props(proto, texts)


class Replacements(TorchFunctionMode):
    """Within it, operations without a dynamic translation are made of others."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _REPLACED.get(function, function)(*args, **(kwargs or {}))


def _lstm_node(
    sequence: Tensor,
    directions: Sequence[Sequence[Tensor]],
    *,
    lengths: Tensor | None = None,
    state: Sequence[Tensor] = (),
) -> tuple[Tensor, Tensor, Tensor]:
    """sequence (step, row, in) and the weights of one direction or both -> outputs (step, direction, row, hidden), last
    outputs and cells (direction, row, hidden)."""
    steps, rows, hidden, count = *sequence.shape[:2], directions[0][1].size(1), len(directions)
    i, f, c, o = torch.arange(4 * hidden).chunk(4)
    ours = torch.cat([i, o, f, c])  # torch stacks input, forget, cell, output; ONNX input, output, forget, cell
    w, r, w_bias, r_bias = (torch.stack(weights)[:, ours] for weights in zip(*directions, strict=True))
    ends = None if lengths is None else lengths.int()
    outputs, last, cells = torch.onnx.ops.symbolic_multi_out(
        "LSTM",
        [sequence, w, r, torch.cat([w_bias, r_bias], dim=1), ends, *state],
        {"hidden_size": hidden, "direction": "forward" if count == 1 else "bidirectional"},
        dtypes=[sequence.dtype] * 3,
        shapes=[(steps, count, rows, hidden), (count, rows, hidden), (count, rows, hidden)],
        version=OPSET,
    )
    return outputs, last, cells


def _lstm(
    x: Tensor, state: Sequence[Tensor], weights: Sequence[Tensor], has_bias: bool, layers: int, _dropout: float,
    _training: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if layers > 1 or bidirectional or not has_bias:
        raise NotImplementedError("an LSTM with several layers, both directions in one, or without biases")
    outputs, last, cells = _lstm_node(x.transpose(0, 1) if batch_first else x, [weights], state=state)
    return (outputs[:, 0].transpose(0, 1) if batch_first else outputs[:, 0]), last, cells


def _bilstm(forwards: nn.LSTM, backwards: nn.LSTM, sequence: Tensor, lengths: Tensor) -> Tensor:
    directions = [list(forwards.parameters()), list(backwards.parameters())]
    outputs, _, _ = _lstm_node(sequence.transpose(0, 1), directions, lengths=lengths)
    return outputs.permute(2, 0, 1, 3).flatten(2)


def _to_final_state(cell: nn.LSTMCell, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    outputs, last, cells = _lstm_node(sequence.transpose(0, 1), [list(cell.parameters())], lengths=lengths)
    return outputs[:, 0].transpose(0, 1), (last[0], cells[0])


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


def _embedding_bag(
    numbers: Tensor, vectors: Tensor, *, mode: str, padding_idx: int | None = None, **others: Any
) -> Tensor:
    if any(others.get(name) is not None for name in ("offsets", "max_norm", "per_sample_weights")):
        raise NotImplementedError("embedding_bag other than a plain mean or sum")
    present = torch.ones_like(numbers[..., None]) if padding_idx is None else (numbers != padding_idx)[..., None]
    total = (vectors[numbers.long()] * present).sum(dim=1)
    return total if mode == "sum" else total / present.sum(dim=1).clamp(min=1)


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
    recurrence.bilstm: _bilstm,
    recurrence.lstm_to_final_state: _to_final_state,
    torch._VF.lstm: _lstm,
    Tensor.unfold: _unfold,
    torch.searchsorted: _searchsorted,
    nn.functional.embedding_bag: _embedding_bag,
    Tensor.__getitem__: _getitem,
    Tensor.sum: _sum,
}


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
