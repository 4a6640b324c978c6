"""A builder of ONNX graphs: nodes, constants, and torch's layers as nodes.

`onnx` is imported where it is used, because only `veriscene export` needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

OPSET, IR_VERSION = 18, 8  # supported by every runtime that the extra admits
BOOL, FLOAT, INT32, INT64 = 9, 1, 6, 7  # ONNX's codes of the element types

Array = NDArray[Any]
Shapes = dict[str, tuple[int, list[Any]]]  # name -> element type, dimensions: a number, or the name of a dynamic one
Embedding = tuple[Array, Array]  # matrix (out, in) and bias (out,) of a linear layer in front of an LSTM


class Graph:
    """The body of a loop shares the constants and the names of the graph `around` it."""

    def __init__(self, around: Graph | None = None) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = around.constants if around else []
        self._names: list[str] = around._names if around else []

    def __call__(self, operator: str, *inputs: str | Array, **attributes: Any) -> str:
        """The output of a new node; an input is the name of a value, or a constant."""
        return self.several(1, operator, *inputs, **attributes)[0]

    def several(self, outputs: int, operator: str, *inputs: str | Array, **attributes: Any) -> list[str]:
        from onnx import helper

        values = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        names = [self._name(operator) for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, values, names, **attributes))
        return names

    def product(self, x: str, matrix: Array) -> str:
        """x (…, in) times matrix (in, out)."""
        return self("MatMul", x, matrix.astype(np.float32))

    def products(self, x: str, *matrices: Array) -> list[str]:
        """The product with each of the matrices, as one multiplication."""
        sizes = whole(*(matrix.shape[1] for matrix in matrices))
        return self.several(len(matrices), "Split", self.product(x, np.concatenate(matrices, axis=1)), sizes, axis=-1)

    def lstm(self, x: str, cells: Sequence[nn.Module], *more: str, embedding: Embedding | None = None) -> list[str]:
        """x (step, row, in) -> outputs (step, direction, row, hidden), last outputs and cells (direction, row, hidden).

        `more`: lengths (row,) or "", then the initial outputs and cells, unless they are zero. With an `embedding`, x
        is the input of that layer, whose weights are multiplied into the LSTM's input matrices.
        """
        of_cells = zip(*(_gates(cell, embedding) for cell in cells), strict=True)
        weights = [np.stack(of_each).astype(np.float32) for of_each in of_cells]
        directions = {1: "forward", 2: "bidirectional"}[len(cells)]
        return self.several(3, "LSTM", x, *weights, *more, hidden_size=weights[1].shape[2], direction=directions)

    def steps_first(self, sequences: str, size: int) -> str:
        """(batch, box, step, size) -> (step, row, size), as an LSTM reads; a row is a box of an example."""
        return self("Reshape", self("Transpose", sequences, perm=[2, 0, 1, 3]), whole(0, -1, size))

    def batch_first(self, outputs: str, rows: int, hidden: int) -> str:
        """An LSTM's outputs (step, direction, batch x rows, hidden) -> (batch, rows, step, directions x hidden)."""
        apart = self("Reshape", outputs, whole(0, 0, -1, rows, hidden))
        return self("Reshape", self("Transpose", apart, perm=[2, 3, 0, 1, 4]), whole(0, 0, 0, -1))

    def loop(self, times: str, body: Graph, state: Sequence[str], inputs: Shapes, outputs: Shapes) -> list[str]:
        """Runs the body `times` times -> its last state, then its other outputs, stacked over the iterations.

        `inputs` names the state in the body; `outputs` are the new state and the outputs to stack.
        """
        from onnx import helper

        go_on = body("Identity", "go_on")
        given = _declared({"time": (INT64, []), "go_on": (BOOL, []), **inputs})
        made = _declared({go_on: (BOOL, []), **outputs})
        subgraph = helper.make_graph(body.nodes, "body", given, made)
        return self.several(len(outputs), "Loop", times, "", *state, body=subgraph)

    def model(self, inputs: Shapes, outputs: Shapes, values: Sequence[str]) -> Any:
        """The graph as an onnx.ModelProto whose outputs are these values, under the names of `outputs`."""
        from onnx import helper

        named = [helper.make_node("Identity", [v], [name]) for v, name in zip(values, outputs, strict=True)]
        graph = helper.make_graph(
            [*self.nodes, *named], "veriscene", _declared(inputs), _declared(outputs), self.constants
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)

    def _constant(self, value: Array) -> str:
        from onnx import numpy_helper

        name = self._name("constant")
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def _name(self, kind: str) -> str:
        self._names.append(f"{kind.lower()}_{len(self._names)}")
        return self._names[-1]


def whole(*numbers: int) -> Array:
    """An int64 vector: a shape, axes, sizes."""
    return np.array(numbers, dtype=np.int64)


def real(number: float) -> Array:
    return np.array(number, dtype=np.float32)


def array(tensor: Tensor) -> Array:
    """In double precision, so that products of weights are rounded once."""
    weights: Array = tensor.detach().cpu().double().numpy()
    return weights


def _declared(shapes: Shapes) -> list[Any]:
    from onnx import helper

    return [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in shapes.items()]


def _gates(cell: nn.Module, embedding: Embedding | None) -> tuple[Array, Array, Array]:
    """Input matrix, recurrent matrix and both biases of an LSTM or LSTMCell in ONNX's form."""
    suffix = "_l0" if isinstance(cell, nn.LSTM) else ""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    w, r, w_bias, r_bias = (array(getattr(cell, name + suffix)) for name in names)
    if embedding is not None:
        matrix, bias = embedding
        w, w_bias = w @ matrix, w_bias + w @ bias
    return _iofc(w), _iofc(r), np.concatenate([_iofc(w_bias), _iofc(r_bias)])


def _iofc(gates: Array) -> Array:
    """torch stacks input, forget, cell, output; ONNX input, output, forget, cell."""
    i, f, c, o = np.split(gates, 4)
    return np.concatenate([i, o, f, c])
