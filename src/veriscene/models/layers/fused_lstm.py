"""`Chain` of recurrence.py as two Triton kernels, for bf16 and tf32 on a GPU: one for each direction of time.

A step is one matrix product and the cell's arithmetic. Both are in one kernel, which writes a step's hidden outputs
once, and reads its gates once. A program owns some rows. If it also owns all hidden units, nothing that it reads is
written by another program, and one launch computes the whole sequence: `Tiles.share` is `hidden`. Each of its
processors then reads all recurrent weights at every step, 512 KB for 256 units, at about 100 KB in a microsecond. If a
program owns some units only, it reads their weights only, and each step is a launch of its own, which waits for the
previous one. Programs never wait for one another.

Importing this file needs Triton, which comes with torch for CUDA on Linux.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

UNIT = 32  # hidden sizes are multiples of it
MAX_HIDDEN = 1024  # beyond it a matrix product takes longer than its launch, and torch's are faster
MAX_INDEX = 2**31  # kernels count in 32 bits


class Tiles(NamedTuple):
    """Says how a kernel divides its work. Sizes are powers of two, but for `share`."""

    rows: int  # of a program
    units: int  # that a program computes at a time
    share: int  # units of a program, a multiple of `units`; all: the whole sequence is one launch
    depth: int  # of a matrix product's step
    warps: int
    stages: int  # steps of a matrix product whose operands are loaded at a time


def forward_tiles(rows: int, hidden: int) -> Tiles:
    """Chooses tiles for the forward kernel: about as many programs as an H200 has processors, 132."""
    depth = 64 if hidden % 64 == 0 else 32
    return Tiles(rows=32 if rows <= 768 else 64, units=32, share=32, depth=depth, warps=4, stages=4)


def backward_tiles(rows: int, hidden: int) -> Tiles:
    """Chooses tiles for the backward kernel, whose products are four times as deep."""
    return Tiles(rows=32 if rows <= 768 else 64, units=32, share=32, depth=128, warps=4, stages=4)


def fits(gates: Tensor, hidden: int) -> bool:
    """Returns whether the kernels can read gates (step, row, 4 hidden) of this type and shape."""
    is_size = hidden % UNIT == 0 and hidden <= MAX_HIDDEN
    is_tf32 = gates.dtype == torch.float32 and torch.backends.cuda.matmul.allow_tf32  # as the kernels' products are
    # Cells and outputs have a step more; offsets of rows that are not there are computed as well.
    return is_size and (is_tf32 or gates.dtype == torch.bfloat16) and 0 < 2 * gates.numel() < MAX_INDEX


# ---------------------------------------------------------------- kernels

# Rows of all steps are counted on: row r of step t is t * rows + r. A barrier ends each step, since its outputs are
# read by other threads of the same program in the next one; compilers move no load across it.


@triton.jit(do_not_specialize=["rows", "first", "end"])  # type: ignore[untyped-decorator]
def _forward(  # type: ignore[no-untyped-def]
    gates,  # (step, row, 4 hidden), without biases
    weights,  # (4 hidden, hidden)
    one,  # biases (4 hidden,)
    other,
    outputs,  # (1 + step, row, hidden); the first ones are given
    cells,  # likewise, in single precision
    activations,  # (step, row, 4 hidden): i, f, g, o
    rows,
    first,  # step
    end,
    HIDDEN: tl.constexpr,
    ROWS: tl.constexpr,
    UNITS: tl.constexpr,
    SHARE: tl.constexpr,
    DEPTH: tl.constexpr,
):
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    present = (row < rows)[:, None]
    begin = tl.program_id(0) * SHARE
    depth = tl.arange(0, DEPTH)
    for step in range(first, end):
        at = (step * rows + row)[:, None]
        for block in range(0, SHARE, UNITS):
            unit = begin + block + tl.arange(0, UNITS)
            # Loaded before the products, which hide how long it takes.
            gate = gates + at * (4 * HIDDEN) + unit[None, :]
            in_i = tl.load(gate, mask=present, other=0.0)
            in_f = tl.load(gate + HIDDEN, mask=present, other=0.0)
            in_g = tl.load(gate + 2 * HIDDEN, mask=present, other=0.0)
            in_o = tl.load(gate + 3 * HIDDEN, mask=present, other=0.0)
            before = tl.load(cells + at * HIDDEN + unit[None, :], mask=present, other=0.0)
            bias_i = tl.load(one + unit).to(tl.float32) + tl.load(other + unit).to(tl.float32)
            bias_f = tl.load(one + HIDDEN + unit).to(tl.float32) + tl.load(other + HIDDEN + unit).to(tl.float32)
            bias_g = tl.load(one + 2 * HIDDEN + unit).to(tl.float32) + tl.load(other + 2 * HIDDEN + unit).to(tl.float32)
            bias_o = tl.load(one + 3 * HIDDEN + unit).to(tl.float32) + tl.load(other + 3 * HIDDEN + unit).to(tl.float32)
            i = tl.zeros((ROWS, UNITS), dtype=tl.float32)
            f = tl.zeros((ROWS, UNITS), dtype=tl.float32)
            g = tl.zeros((ROWS, UNITS), dtype=tl.float32)
            o = tl.zeros((ROWS, UNITS), dtype=tl.float32)
            for k in range(0, HIDDEN, DEPTH):
                column = k + depth
                hidden = tl.load(outputs + at * HIDDEN + column[None, :], mask=present, other=0.0)
                weight = weights + unit[None, :] * HIDDEN + column[:, None]
                i = tl.dot(hidden, tl.load(weight), i)
                f = tl.dot(hidden, tl.load(weight + HIDDEN * HIDDEN), f)
                g = tl.dot(hidden, tl.load(weight + 2 * HIDDEN * HIDDEN), g)
                o = tl.dot(hidden, tl.load(weight + 3 * HIDDEN * HIDDEN), o)
            i = tl.sigmoid(i + in_i.to(tl.float32) + bias_i[None, :])
            f = tl.sigmoid(f + in_f.to(tl.float32) + bias_f[None, :])
            g = 2 * tl.sigmoid(2 * (g + in_g.to(tl.float32) + bias_g[None, :])) - 1
            o = tl.sigmoid(o + in_o.to(tl.float32) + bias_o[None, :])
            cell = f * before + i * g
            new = (at + rows) * HIDDEN + unit[None, :]
            tl.store(outputs + new, (o * (2 * tl.sigmoid(2 * cell) - 1)).to(outputs.dtype.element_ty), mask=present)
            tl.store(cells + new, cell, mask=present)
            activated = activations + at * (4 * HIDDEN) + unit[None, :]
            tl.store(activated, i.to(activations.dtype.element_ty), mask=present)
            tl.store(activated + HIDDEN, f.to(activations.dtype.element_ty), mask=present)
            tl.store(activated + 2 * HIDDEN, g.to(activations.dtype.element_ty), mask=present)
            tl.store(activated + 3 * HIDDEN, o.to(activations.dtype.element_ty), mask=present)
        tl.debug_barrier()


@triton.jit(do_not_specialize=["rows", "steps", "first", "end"])  # type: ignore[untyped-decorator]
def _backward(  # type: ignore[no-untyped-def]
    d_outputs,  # (step, row, hidden)
    d_cells,  # (row, hidden), in single precision: of the last cell, and in the end of the first one
    cells,  # (1 + step, row, hidden)
    activations,  # (step, row, 4 hidden)
    weights,  # (4 hidden, hidden)
    d_gates,  # (step, row, 4 hidden)
    rows,
    steps,
    first,  # counted from the last step
    end,
    HIDDEN: tl.constexpr,
    ROWS: tl.constexpr,
    UNITS: tl.constexpr,
    SHARE: tl.constexpr,
    DEPTH: tl.constexpr,
):
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    present = (row < rows)[:, None]
    begin = tl.program_id(0) * SHARE
    depth = tl.arange(0, DEPTH)
    for back in range(first, end):
        at = ((steps - 1 - back) * rows + row)[:, None]
        following = tl.where(back > 0, 4 * HIDDEN, 0)  # gates of the next step; nothing follows the last one
        for block in range(0, SHARE, UNITS):
            unit = begin + block + tl.arange(0, UNITS)
            d_output = tl.load(d_outputs + at * HIDDEN + unit[None, :], mask=present, other=0.0)
            activated = activations + at * (4 * HIDDEN) + unit[None, :]
            in_i = tl.load(activated, mask=present, other=0.0)
            in_f = tl.load(activated + HIDDEN, mask=present, other=0.0)
            in_g = tl.load(activated + 2 * HIDDEN, mask=present, other=0.0)
            in_o = tl.load(activated + 3 * HIDDEN, mask=present, other=0.0)
            before = tl.load(cells + at * HIDDEN + unit[None, :], mask=present, other=0.0)
            after = tl.load(cells + (at + rows) * HIDDEN + unit[None, :], mask=present, other=0.0)
            d_last = d_cells + row[:, None] * HIDDEN + unit[None, :]
            d_cell = tl.load(d_last, mask=present, other=0.0)
            d_hidden = tl.zeros((ROWS, UNITS), dtype=tl.float32)
            for k in range(0, following, DEPTH):
                column = k + depth
                d_gate = tl.load(d_gates + (at + rows) * (4 * HIDDEN) + column[None, :], mask=present, other=0.0)
                d_hidden = tl.dot(d_gate, tl.load(weights + column[:, None] * HIDDEN + unit[None, :]), d_hidden)
            d_hidden += d_output.to(tl.float32)
            i = in_i.to(tl.float32)
            f = in_f.to(tl.float32)
            g = in_g.to(tl.float32)
            o = in_o.to(tl.float32)
            squashed = 2 * tl.sigmoid(2 * after) - 1
            d_cell += d_hidden * o * (1 - squashed * squashed)
            d_gate = d_gates + at * (4 * HIDDEN) + unit[None, :]
            tl.store(d_gate, (d_cell * g * i * (1 - i)).to(d_gates.dtype.element_ty), mask=present)
            tl.store(d_gate + HIDDEN, (d_cell * before * f * (1 - f)).to(d_gates.dtype.element_ty), mask=present)
            tl.store(d_gate + 2 * HIDDEN, (d_cell * i * (1 - g * g)).to(d_gates.dtype.element_ty), mask=present)
            tl.store(
                d_gate + 3 * HIDDEN, (d_hidden * squashed * o * (1 - o)).to(d_gates.dtype.element_ty), mask=present
            )
            tl.store(d_last, d_cell * f, mask=present)
        tl.debug_barrier()


def _launch(kernel: Any, tiles: Tiles, rows: int, steps: int, hidden: int, *arguments: Tensor | int) -> None:
    """Launches a kernel once for all steps, or once for each if a step needs what several programs computed."""
    grid = (triton.cdiv(hidden, tiles.share), triton.cdiv(rows, tiles.rows))
    at_a_time = steps if tiles.share == hidden else 1
    for first in range(0, steps, at_a_time):
        kernel[grid](
            *arguments,
            first,
            first + at_a_time,
            HIDDEN=hidden,
            ROWS=tiles.rows,
            UNITS=tiles.units,
            SHARE=tiles.share,
            DEPTH=tiles.depth,
            num_warps=tiles.warps,
            num_stages=tiles.stages,
        )


# ---------------------------------------------------------------- chain


class FusedChain(torch.autograd.Function):
    """Computes what `Chain` does, with the same arguments and results. Cells are in single precision between steps."""

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, weights: Tensor, one: Tensor, other: Tensor, start: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Returns hidden outputs (step, row, hidden) and the last cell (row, hidden)."""
        (steps, rows, _), hidden = gates.shape, weights.size(1)
        gates, weights = gates.contiguous(), weights.contiguous()
        outputs = gates.new_empty(steps + 1, rows, hidden)
        cells = gates.new_empty(steps + 1, rows, hidden, dtype=torch.float32)
        outputs[0], cells[0] = start, cell
        activations = torch.empty_like(gates)
        arguments = gates, weights, one.contiguous(), other.contiguous(), outputs, cells, activations
        with torch.cuda.device_of(gates):  # type: ignore[no-untyped-call]
            _launch(_forward, forward_tiles(rows, hidden), rows, steps, hidden, *arguments, rows)
        ctx.save_for_backward(outputs, weights, cells, activations)
        return outputs[1:], cells[-1].to(gates.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_outputs: Tensor, d_cell: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of all arguments. Those of weights and biases are computed for all steps at once."""
        outputs, weights, cells, activations = ctx.saved_tensors
        steps, rows, hidden = d_outputs.shape
        d_cells = d_cell.to(torch.float32, memory_format=torch.contiguous_format, copy=True)
        d_gates = torch.empty_like(activations)
        arguments = d_outputs.contiguous(), d_cells, cells, activations, weights, d_gates
        with torch.cuda.device_of(d_gates):  # type: ignore[no-untyped-call]
            _launch(_backward, backward_tiles(rows, hidden), rows, steps, hidden, *arguments, rows, steps)
        d_weights = d_gates.flatten(0, 1).T @ outputs[:-1].flatten(0, 1)
        d_bias = d_gates.sum(dim=(0, 1))
        d_start = d_gates[0] @ weights if ctx.needs_input_grad[4] else None
        return d_gates, d_weights, d_bias, d_bias, d_start, d_cells.to(d_cell.dtype)
