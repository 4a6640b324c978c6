"""LSTMs as chains of few kernels: the machinery behind `BiLSTM` and the pointer network.

On a GPU a small LSTM waits for launches. Here both directions are one batch of matrices, all input gates are one
product ahead of the chain, and a link of the chain is one product and one fused kernel, forwards and backwards.
Elsewhere torch's own LSTM is the faster one. Both give the same numbers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

SHUT = -1e4  # an input gate at this value lets nothing in


def bilstm(forwards: nn.LSTM, backwards: nn.LSTM, sequence: Tensor, lengths: Tensor) -> Tensor:
    """Both directions over padded sequences (row, step, size), the second one reversed within each row's length."""
    read = chained_bilstm if sequence.is_cuda else torch_bilstm
    return read(forwards, backwards, sequence, lengths)


def torch_bilstm(forwards: nn.LSTM, backwards: nn.LSTM, sequence: Tensor, lengths: Tensor) -> Tensor:
    reversal = reverse_within(lengths, sequence.size(1))
    ahead, _ = forwards(sequence)
    back, _ = backwards(take_steps(sequence, reversal))
    return torch.cat([ahead, take_steps(back, reversal)], dim=-1)


def chained_bilstm(forwards: nn.LSTM, backwards: nn.LSTM, sequence: Tensor, lengths: Tensor) -> Tensor:
    reversal = reverse_within(lengths, sequence.size(1))
    weights = [[getattr(lstm, f"{name}_l0") for name in _PARTS] for lstm in (forwards, backwards)]
    gates = _input_gates(torch.stack([sequence, take_steps(sequence, reversal)]), weights)
    outputs, _ = _chain(gates, torch.stack([recurrent.T for _, recurrent, _, _ in weights]))
    ahead, back = outputs.permute(1, 2, 0, 3).unbind(0)
    return torch.cat([ahead, take_steps(back, reversal)], dim=-1)


def lstm_to_the_end(cell: nn.LSTMCell, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """One direction over padded sequences: hidden outputs (row, step, hidden), and each row's state after its last."""
    read = chained_to_the_end if sequence.is_cuda else stepped_to_the_end
    return read(cell, sequence, lengths)


def stepped_to_the_end(cell: nn.LSTMCell, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    state = (sequence.new_zeros(len(sequence), cell.hidden_size),) * 2
    outputs = []
    for step in range(sequence.size(1)):
        new = cell(sequence[:, step], state)
        there = (step < lengths)[:, None]
        state = (torch.where(there, new[0], state[0]), torch.where(there, new[1], state[1]))
        outputs.append(state[0])
    return torch.stack(outputs, dim=1), state


def chained_to_the_end(cell: nn.LSTMCell, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The rows are moved so that all end at the last step. Before its beginning a row's input gate is shut, and so its
    state stays zero."""
    steps, hidden = sequence.size(1), cell.hidden_size
    step = torch.arange(steps, device=sequence.device)
    start = (steps - lengths)[:, None]
    weights = [getattr(cell, name) for name in _PARTS]
    gates = _input_gates(take_steps(sequence, (step - start).clamp_min(0))[None], [weights])
    before = (step < start).T[:, None, :, None]
    gates = torch.cat([gates[..., :hidden].masked_fill(before, SHUT), gates[..., hidden:]], dim=-1)
    outputs, last = _chain(gates, weights[1].T[None])
    moved = outputs[:, 0].transpose(0, 1)
    in_place = take_steps(moved, (step + start).clamp_max(steps - 1))
    return in_place, (moved[:, -1], last[0])


def lstm_from(cell: nn.LSTMCell, gates: Tensor, state: tuple[Tensor, Tensor]) -> Tensor:
    """One direction from a given state on: gates (row, step, 4 hidden) by `gates_of` -> outputs (row, step, hidden)."""
    read = chained_from if gates.is_cuda else stepped_from
    return read(cell, gates, state)


def stepped_from(cell: nn.LSTMCell, gates: Tensor, state: tuple[Tensor, Tensor]) -> Tensor:
    outputs = []
    for gate in gates.unbind(1):
        state = lstm_step(gate, cell, state)
        outputs.append(state[0])
    return torch.stack(outputs, dim=1)


def chained_from(cell: nn.LSTMCell, gates: Tensor, state: tuple[Tensor, Tensor]) -> Tensor:
    steps_first = gates.transpose(0, 1)[:, None].contiguous()
    outputs, _ = _chain(steps_first, cell.weight_hh.T[None], state)
    return outputs[:, 0].transpose(0, 1)


def lstm_step(from_input: Tensor, cell: nn.LSTMCell, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """One step of `cell` whose input gates were computed ahead, by `gates_of`."""
    hidden, memory, _ = cell_forward(from_input, state[0] @ cell.weight_hh.T, state[1])
    return hidden, memory


def gates_of(inputs: Tensor, cell: nn.LSTMCell) -> Tensor:
    """What inputs (…, size) add to the gates of `cell`, (…, 4 hidden)."""
    return nn.functional.linear(inputs, cell.weight_ih, cell.bias_ih + cell.bias_hh)


_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _input_gates(inputs: Tensor, weights: list[list[Tensor]]) -> Tensor:
    """(direction, row, step, size) -> what the inputs add to the gates, (step, direction, row, 4 hidden)."""
    products = torch.stack([from_input.T for from_input, _, _, _ in weights])
    biases = torch.stack([one + other for _, _, one, other in weights])[:, None]
    directions, rows, steps, size = inputs.shape
    flat = inputs.transpose(1, 2).reshape(directions, steps * rows, size)
    gates = torch.baddbmm(biases, flat, products).view(directions, steps, rows, -1)
    return gates.transpose(0, 1).contiguous()


class Chain(torch.autograd.Function):
    """gates (step, direction, row, 4 hidden), weights (direction, hidden, 4 hidden) -> hidden outputs, last cell.

    Outputs are (step, direction, row, hidden) and (direction, row, hidden), as the hidden output and the cell before
    the first step are. Steps come first, so that the slice of a step is in one piece and is nowhere copied.
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, weights: Tensor, start: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        steps, directions, rows, width = gates.shape
        flat = (directions * rows, width)
        hidden, cells = start, [cell.reshape(directions * rows, width // 4)]
        outputs, activations = [], []
        for step in range(steps):
            recurrent = torch.bmm(hidden, weights)
            new, cell, activated = cell_forward(gates[step].view(flat), recurrent.view(flat), cells[-1])
            hidden = new.view_as(hidden)
            outputs.append(hidden)
            cells.append(cell)
            activations.append(activated)
        stacked = torch.stack(outputs)
        ctx.save_for_backward(stacked, weights, start, *cells, *activations)
        return stacked, cells[-1].view_as(hidden).clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_outputs: Tensor, d_cell: Tensor) -> tuple[Tensor | None, ...]:
        outputs, weights, start, *saved = ctx.saved_tensors
        steps, directions, rows, hidden = outputs.shape
        cells, activations = saved[: steps + 1], saved[steps + 1 :]
        transposed = weights.transpose(1, 2).contiguous()
        d_outputs = d_outputs.contiguous()
        d_hidden, d_cell = d_outputs[-1], d_cell.reshape(-1, hidden)
        d_gates = []
        for step in reversed(range(steps)):
            d_gate, d_cell = cell_backward(
                d_hidden.view(-1, hidden), d_cell, cells[step], cells[step + 1], activations[step]
            )
            d_gates.append(d_gate.view(directions, rows, -1))
            if step:
                d_hidden = torch.baddbmm(d_outputs[step - 1], d_gates[-1], transposed)
        d_start = torch.bmm(d_gates[-1], transposed) if ctx.needs_input_grad[2] else None
        stacked = torch.stack(d_gates[::-1])
        before = torch.cat([start[None], outputs[:-1]])
        by_direction = (part.transpose(0, 1).flatten(1, 2) for part in (before, stacked))
        d_weights = torch.bmm(next(by_direction).transpose(1, 2), next(by_direction))
        return stacked, d_weights, d_start, d_cell.view(directions, rows, hidden)


def _chain(gates: Tensor, weights: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """From the given state (row, hidden) of one direction on; else from zero. All in the gates' precision."""
    _, directions, rows, width = gates.shape
    before = state or (gates.new_zeros(rows, width // 4),) * 2
    start, cell = (part.to(gates.dtype).expand(directions, rows, -1) for part in before)
    results: tuple[Tensor, Tensor] = Chain.apply(gates, weights.to(gates.dtype), start, cell)  # type: ignore[no-untyped-call]
    return results


def cell_forward(from_input: Tensor, from_hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One step of an LSTM from its two halves of the gates: new hidden, new cell, activated gates (i, f, g, o)."""
    if cell.is_cuda:
        fused: tuple[Tensor, Tensor, Tensor] = torch.ops.aten._thnn_fused_lstm_cell(from_input, from_hidden, cell)
        return fused
    i, f, g, o = (from_input + from_hidden).chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new = f * cell + i * g
    return o * new.tanh(), new, torch.cat([i, f, g, o], dim=-1)


def cell_backward(
    d_hidden: Tensor, d_cell: Tensor, before: Tensor, after: Tensor, activated: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of the gates (before activation) and of the cell before this step."""
    if before.is_cuda:
        d_gates, d_before, _ = torch.ops.aten._thnn_fused_lstm_cell_backward_impl(
            d_hidden, d_cell, before, after, activated, False
        )
        return d_gates, d_before
    i, f, g, o = activated.chunk(4, dim=-1)
    squashed = after.tanh()
    d_cell = d_cell + d_hidden * o * (1 - squashed**2)
    d_gates = [
        d_cell * g * i * (1 - i),
        d_cell * before * f * (1 - f),
        d_cell * i * (1 - g**2),
        d_hidden * squashed * o * (1 - o),
    ]
    return torch.cat(d_gates, dim=-1), d_cell * f


def reverse_within(lengths: Tensor, steps: int) -> Tensor:
    """(row, step): the step that mirrors each one within its row's length; padding stays where it is."""
    step = torch.arange(steps, device=lengths.device)
    return torch.where(step < lengths[:, None], lengths[:, None] - 1 - step, step)


def take_steps(sequence: Tensor, index: Tensor) -> Tensor:
    return sequence.gather(1, index[..., None].expand(-1, -1, sequence.size(-1)))
