"""Writes a checkpoint as one self-contained ONNX file: graph, weights, vocabulary and configuration.

Torch's exporter traces the model. It unrolls a loop over a dynamic dimension to the length of the example that it
traces, so LSTMs become ONNX's LSTM node, a few operations without a dynamic translation are replaced, and a model that
chooses an order item by item is traced with the maximum number of items.
"""

from __future__ import annotations

import io
import json
import logging
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.overrides import TorchFunctionMode

from veriscene import __version__, files
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.encoder import Encoder, Input
from veriscene.data.items import Items
from veriscene.errors import InputError
from veriscene.judge import ONNX
from veriscene.judge.checkpoint import Checkpoint
from veriscene.judge.judge import FIELDS
from veriscene.judge.onnx_judge import FORMAT, FORMAT_KEY, graph_inputs, open_session
from veriscene.models import Model, Order
from veriscene.models.layers import recurrence
from veriscene.output import Say, silent
from veriscene.world.examples import MAX_WORDS, Example
from veriscene.world.random_scenes import random_item
from veriscene.world.scene import Box, Item, Scene
from veriscene.world.schema import World
from veriscene.world.world_file import to_tree

OPSET = 18  # supported by every runtime that the extra admits
TOLERANCE = 1e-4  # of outputs up to 1; relative to the greatest where they are larger, as rounding errors are
_TRACED_SHAPE = (4, 7, 5)  # examples, words, items; none of them 1, which the exporter takes for a constant


def export(checkpoint: Checkpoint, path: Path, *, say: Say = silent) -> None:
    """Writes the file completely or not at all, and only if its outputs equal the model's at several shapes."""
    if not str(path).endswith(ONNX):
        raise InputError(f"must end in {ONNX}", where=path, allowed="`veriscene predict` recognises it by that")
    model, name = deepcopy(checkpoint.model).cpu().eval(), checkpoint.config.model.name
    _check_exportable(model, name)
    say("exporting, and comparing with torch: up to a minute")
    try:
        example = random_batch(*_TRACED_SHAPE, checkpoint.encoder, rng=random.Random(0))
        graph = _traced(model, example, checkpoint.encoder.world)
    except Exception as error:  # the exporter's exceptions have no common base class
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"{name} cannot be exported ({reason:.200})") from error
    _add_metadata(graph, checkpoint)
    contents: bytes = graph.SerializeToString()
    _verify(model, contents, checkpoint.encoder)
    files.write_bytes(path, contents)


def _check_exportable(model: Model, name: str) -> None:
    if Input.ITEMS not in model.inputs or not model.inputs <= {Input.ITEMS, Input.CHARACTERS}:
        raise InputError(f"{name} cannot be exported", allowed="only models that read items can")
    weights: dict[str, Tensor] = model.state_dict()
    for key, tensor in weights.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{name} cannot be exported: {key} holds values that are not finite (NaN or infinity)")
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        install = "install it with: pip install 'veriscene[onnx]'"
        raise InputError(f"{error.name} is not installed", allowed=install) from None


def _traced(model: Model, example: Batch, world: World) -> Any:
    """Returns the model as an onnx.ModelProto with dynamic batch, word and item dimensions."""
    with torch.no_grad():
        judged = vars(model(example))
    inputs = {name: torch.from_numpy(array) for name, array in graph_inputs(example).items()}
    batch, word, item = Dim("batch"), Dim("word", max=MAX_WORDS), Dim("item", max=max(2, world.items[1]))
    dynamic = {"words": (batch, word), "lengths": (batch,), "features": (batch, None, item), "counts": (batch,)}
    dynamic |= {"characters": (batch, word), "boxes": (batch,)}
    shapes = tuple({axis: dim for axis, dim in enumerate(dynamic[name]) if dim is not None} for name in inputs)
    with _quiet(), torch.no_grad():
        program = torch.export.export(
            _Adapter(model, world, list(inputs)), tuple(inputs.values()), dynamic_shapes=(shapes,), strict=False
        )
        exported = torch.onnx.export(
            program,
            dynamo=True,
            opset_version=OPSET,
            input_names=list(inputs),
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

    def __init__(self, model: Model, world: World, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.world, self.names = model, world, names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        named = dict(zip(self.names, tensors, strict=True))
        features, counts = named["features"], named["counts"]
        most = self.world.items[1]
        given = torch.arange(features.size(2))
        is_unrolled = self.model.order is Order.CHOSEN
        if is_unrolled:  # its loop over the items
            padding = features.new_zeros(*counts.shape, most, features.size(3))
            features = torch.cat([features, padding], dim=2)[:, :, :most]
        positions = torch.arange(features.size(2)).expand(features.shape[:3])
        with _Replacements():
            statement = Statement(named["words"], named["lengths"], named.get("characters"))
            judged = vars(self.model(Batch(statement, Items(features, counts, positions, named.get("boxes")))))
        if is_unrolled:
            places = {"order": 2, "alpha": 3, "beta": 2}
            judged |= {name: judged[name].index_select(axis, given) for name, axis in places.items()}
        return tuple(judged[name] for name in FIELDS if judged[name] is not None)


class _Replacements(TorchFunctionMode):
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


def _add_metadata(graph: Any, checkpoint: Checkpoint) -> None:
    """Stores all that a judge needs besides the graph."""
    from onnx import helper

    metadata = {
        FORMAT_KEY: FORMAT,
        "veriscene": __version__,
        "config": json.dumps(checkpoint.config.to_json()),
        "vocabulary": json.dumps(checkpoint.encoder.vocabulary.words),
        "world": json.dumps(to_tree(checkpoint.encoder.world)),
        "order": checkpoint.model.order.value,
    }
    helper.set_model_props(graph, metadata)
    graph.producer_name, graph.producer_version = "veriscene", __version__


def _verify(model: Model, contents: bytes, encoder: Encoder) -> None:
    """Raises InputError unless ONNX Runtime computes what torch does, at every shape."""
    session, rng = open_session(contents, threads=1), random.Random(1)
    names = [output.name for output in session.get_outputs()]
    # Exporters silently freeze lengths, so each must vary: examples, words, items in the fullest box.
    most = encoder.world.items[1]
    for shape in product((1, 5), (1, 4, 9, 40), sorted({1, min(3, most), most})):
        batch = random_batch(*shape, encoder, rng=rng)
        with torch.inference_mode():
            judged = {name: tensor for name, tensor in vars(model(batch)).items() if name in FIELDS}
        expected = {name: tensor for name, tensor in judged.items() if tensor is not None}
        found = dict(zip(names, session.run(None, graph_inputs(batch)), strict=True))
        if set(found) != set(expected):
            raise InputError(f"the exported graph has outputs {', '.join(found)}", allowed=f"not {', '.join(expected)}")
        for name, tensor in expected.items():
            # Attention beyond the end of a statement or box is undefined.
            is_real = _is_real(batch, name).expand(tensor.shape).numpy()
            distance = float(np.where(is_real, np.abs(found[name] - tensor.numpy()), 0).max())
            if not distance <= TOLERANCE * max(1.0, float(np.where(is_real, tensor.abs().numpy(), 0).max())):
                what = f"the exported graph's {name} differ from the model's by {distance:.1e} at {shape}"
                raise InputError(what, allowed="nothing was written")


def _is_real(batch: Batch, name: str) -> Tensor:
    items = required(batch.items)
    pairs = batch.statement.mask[:, None, :, None] & items.mask[:, :, None]
    every = torch.tensor(True)
    boxes = every if items.box_mask is None else items.box_mask
    return {"alpha": pairs, "beta": pairs.mT, "scores": boxes, "order": items.mask}.get(name, every)


def random_batch(size: int, words: int, items: int, encoder: Encoder, *, rng: random.Random) -> Batch:
    """Returns random statements about random scenes. The first statement and box have the greatest length, others any;
    some words are unknown, and items may overlap."""
    world, known = encoder.world, [word for word in encoder.vocabulary.words if word.isalpha()]
    items = min(items, world.items[1])

    def item() -> Item:
        drawn = random_item(world, rng)
        room = (world.canvas[0] - drawn.width, world.canvas[1] - drawn.height)
        x, y = (round(rng.uniform(0, side)) for side in room)
        return world.changed(drawn, x=x, y=y)

    examples = []
    for number in range(size):
        length = words if number == 0 else rng.randint(1, words)
        counts = [rng.randint(min(world.items[0], items), items) for _ in range(rng.randint(*world.boxes))]
        counts[0] = items if number == 0 else counts[0]
        statement = " ".join(rng.choice([*known, "qx" * rng.randint(1, 20)]) for _ in range(length))
        boxes = tuple(Box(tuple(item() for _ in range(count))) for count in counts)
        examples.append(Example("0-0", statement, Scene(boxes)))
    return encoder(examples)
