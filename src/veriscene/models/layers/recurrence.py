"""LSTMs for small sizes: the implementation of `BiLSTM` and of the pointer network.

A small LSTM on a GPU is bound by kernel launches. So the gates of all inputs are computed in one matrix product; each
step then needs one product and one fused kernel, in the forward and in the backward pass, and both directions run in
parallel. In bf16 and tf32, fused_lstm.py makes one kernel of the two. On a CPU torch's own LSTM is faster. They all
give the same values, up to rounding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.overrides import handle_torch_function, has_torch_function

from veriscene.models.layers import kernels

CLOSED = -1e4  # the input gate is exactly zero at this value
State = tuple[Tensor, Tensor]  # hidden output and cell, (row, hidden) each


def bilstm(forwards: nn.LSTM, backwards: nn.LSTM, sequence: Tensor, lengths: Tensor) -> Tensor:
    """Reads padded sequences (row, step, size) in both directions; the backward one starts at each row's last step."""
    if has_torch_function((sequence,)):  # `veriscene export` replaces it by one node
        return handle_torch_function(bilstm, (sequence,), forwards, backwards, sequence, lengths)
    return (chained_bilstm if sequence.is_cuda else torch_bilstm)(forwards, backwards, sequence, lengths)


def torch_bilstm(forwards: nn.LSTM, backwards: nn.LSTM, sequence: Tensor, lengths: Tensor) -> Tensor:
    reversal = reverse_within(lengths, sequence.size(1))
    ahead, _ = forwards(sequence)
    back, _ = backwards(take_steps(sequence, reversal))
    return torch.cat([ahead, take_steps(back, reversal)], dim=-1)


def chained_bilstm(forwards: nn.LSTM, backwards: nn.LSTM, sequence: Tensor, lengths: Tensor) -> Tensor:
    rows, steps, _ = sequence.shape
    reversal = reverse_within(lengths, steps)

    def read(lstm: nn.LSTM, index: Tensor) -> Tensor:
        """One direction, whose step t reads the input at index[row, t]."""
        to_steps, to_rows = _transposition(index)
        inputs = Rows.apply(sequence.reshape(rows * steps, -1), to_steps, to_rows).view(steps, rows, -1)  # type: ignore[no-untyped-call]
        outputs, _ = _chain(inputs, lstm)
        back: Tensor = Rows.apply(outputs.flatten(0, 1), to_rows, to_steps)  # type: ignore[no-untyped-call]
        return back.view(rows, steps, -1)

    identity = torch.arange(steps, device=lengths.device).expand_as(reversal)
    return torch.cat(concurrently(lambda: read(forwards, identity), lambda: read(backwards, reversal)), dim=-1)


def lstm_to_final_state(cell: nn.LSTMCell, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
    """Reads padded sequences: hidden outputs (row, step, hidden), and the state after each row's end."""
    if has_torch_function((sequence,)):  # `veriscene export` replaces it by one node
        return handle_torch_function(lstm_to_final_state, (sequence,), cell, sequence, lengths)
    return (chained_to_final_state if sequence.is_cuda else stepped_to_final_state)(cell, sequence, lengths)


def stepped_to_final_state(cell: nn.LSTMCell, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
    state = (sequence.new_zeros(len(sequence), cell.hidden_size),) * 2
    outputs = []
    for step in range(sequence.size(1)):
        new = cell(sequence[:, step], state)
        present = (step < lengths)[:, None]
        state = (torch.where(present, new[0], state[0]), torch.where(present, new[1], state[1]))
        outputs.append(state[0])
    return torch.stack(outputs, dim=1), state


def chained_to_final_state(cell: nn.LSTMCell, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
    """Aligns all rows at the last step. Before a row begins its input gate is closed, so that its state stays zero."""
    steps = sequence.size(1)
    step = torch.arange(steps, device=sequence.device)
    start = (steps - lengths)[:, None]
    aligned = take_steps(sequence, (step - start).clamp_min(0)).transpose(0, 1)
    outputs, last = _chain(aligned, cell, closed=(step < start).T[..., None])
    moved_back = take_steps(outputs.transpose(0, 1), (step + start).clamp_max(steps - 1))
    return moved_back, (outputs[-1], last)


def lstm_from(cell: nn.LSTMCell, sequence: Tensor, state: State) -> Tensor:
    """Reads from a given initial state: (row, step, size) -> hidden outputs (row, step, hidden)."""
    return (chained_from if sequence.is_cuda else stepped_from)(cell, sequence, state)


def stepped_from(cell: nn.LSTMCell, sequence: Tensor, state: State) -> Tensor:
    outputs = []
    for gate in gates_of(sequence, cell).unbind(1):
        state = lstm_step(gate, cell, state)
        outputs.append(state[0])
    return torch.stack(outputs, dim=1)


def chained_from(cell: nn.LSTMCell, sequence: Tensor, state: State) -> Tensor:
    outputs, _ = _chain(sequence.transpose(0, 1), cell, state)
    return outputs.transpose(0, 1)


def lstm_step(from_input: Tensor, cell: nn.LSTMCell, state: State) -> State:
    """Makes one step of `cell`; `gates_of` has computed what the input adds to the gates."""
    hidden, memory, _ = cell_forward(from_input, state[0] @ cell.weight_hh.T, state[1])
    return hidden, memory


def gates_of(inputs: Tensor, cell: nn.LSTMCell) -> Tensor:
    """Computes what inputs (…, size) and biases add to the gates of `cell`, (…, 4 hidden)."""
    return nn.functional.linear(inputs, cell.weight_ih, cell.bias_ih + cell.bias_hh)


def _chain(
    sequence: Tensor,
    lstm: nn.LSTM | nn.LSTMCell,
    state: State | None = None,
    *,
    closed: Tensor | None = None,
) -> State:
    """One direction over (step, row, size) from the given initial state (row, hidden), by default zero.

    Returns hidden outputs (step, row, hidden) and the last cell (row, hidden). The input gate is zero where `closed`.
    Under autocast everything is in the lower precision.
    """
    weight_ih, weight_hh, bias_ih, bias_hh = lstm.parameters()
    gates = nn.functional.linear(sequence, weight_ih)
    if closed is not None:
        input_gates, rest = gates.tensor_split([weight_hh.size(1)], dim=-1)
        gates = torch.cat([input_gates.masked_fill(closed, CLOSED), rest], dim=-1)
    initial = state or (gates.new_zeros(gates.size(1), weight_hh.size(1)),) * 2
    converted = (tensor.to(gates.dtype) for tensor in (weight_hh, bias_ih, bias_hh, *initial))
    results: State = _implementation(gates, weight_hh.size(1)).apply(gates, *converted)  # type: ignore[no-untyped-call]
    return results


def _implementation(gates: Tensor, hidden: int) -> type[torch.autograd.Function]:
    """Chooses what computes gates (step, row, 4 hidden)."""
    fused = kernels.load("fused_lstm", gates.device)
    kind: type[torch.autograd.Function] = fused.FusedChain if fused is not None and fused.fits(gates, hidden) else Chain
    return kind


class Chain(torch.autograd.Function):
    """gates (step, row, 4 hidden), weights (4 hidden, hidden), two biases -> outputs (step, row, hidden), last cell.

    The initial hidden output and cell and the last cell are (row, hidden). Step is the first dimension, so that each
    step is contiguous and matrix products read and write it without a copy.
    """

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, weights: Tensor, one: Tensor, other: Tensor, start: Tensor, cell: Tensor
    ) -> State:
        hidden, cells = start, [cell]
        outputs, activations = [], []
        for gate in gates:
            hidden, cell, activated = cell_forward(gate, hidden @ weights.T, cells[-1], (one, other))
            outputs.append(hidden)
            cells.append(cell)
            activations.append(activated)
        stacked = torch.stack(outputs)
        ctx.save_for_backward(stacked, weights, start, *cells, *activations)
        return stacked, cells[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_outputs: Tensor, d_cell: Tensor) -> tuple[Tensor | None, ...]:
        outputs, weights, start, *saved = ctx.saved_tensors
        steps = len(outputs)
        cells, activations = saved[: steps + 1], saved[steps + 1 :]
        d_hidden = d_outputs.clone(memory_format=torch.contiguous_format)  # each step adds to the previous one
        d_gates = []
        for step in reversed(range(steps)):
            d_gate, d_cell = cell_backward(d_hidden[step], d_cell, cells[step], cells[step + 1], activations[step])
            d_gates.append(d_gate)
            if step:
                d_hidden[step - 1].addmm_(d_gate, weights)
        stacked = torch.stack(d_gates[::-1])
        d_weights = stacked[0].T @ start
        if steps > 1:
            d_weights.addmm_(stacked[1:].flatten(0, 1).T, outputs[:-1].flatten(0, 1))
        d_bias = stacked.sum(dim=(0, 1))
        d_start = d_gates[-1] @ weights if ctx.needs_input_grad[4] else None
        return stacked, d_weights, d_bias, d_bias, d_start, d_cell


class Rows(torch.autograd.Function):
    """Takes the rows of a matrix in another order; `inverse` is the inverse permutation.

    The gradient is then an index_select too. The gradient of torch's own index_select adds rows up, one by one, since
    a row might be selected twice.
    """

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(inverse)
        return matrix.index_select(0, order)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_rows: Tensor) -> tuple[Tensor | None, ...]:
        (inverse,) = ctx.saved_tensors
        return d_rows.index_select(0, inverse), None, None


def _transposition(index: Tensor) -> State:
    """From (row x step) to (step x row), where step t of a row comes from index (row, t); and its inverse.

    `index` must be its own inverse in every row.
    """
    rows, steps = index.shape
    row = torch.arange(rows, device=index.device)[:, None]
    return (row * steps + index).T.flatten(), (index * rows + row).flatten()


def cell_forward(
    from_input: Tensor, from_hidden: Tensor, cell: Tensor, biases: tuple[Tensor, ...] = ()
) -> tuple[Tensor, Tensor, Tensor]:
    """One step of an LSTM from the two summands of its gates: new hidden, new cell, activated gates (i, f, g, o)."""
    if cell.is_cuda:
        fused: tuple[Tensor, Tensor, Tensor] = torch.ops.aten._thnn_fused_lstm_cell(
            from_input, from_hidden, cell, *biases
        )
        return fused
    i, f, g, o = sum((from_hidden, *biases), start=from_input).chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new = f * cell + i * g
    return o * new.tanh(), new, torch.cat([i, f, g, o], dim=-1)


def cell_backward(d_hidden: Tensor, d_cell: Tensor, before: Tensor, after: Tensor, activated: Tensor) -> State:
    """Returns the gradients of the gates before activation and of the previous cell."""
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
    """(row, step): the index that reverses each row within its length and leaves padding in place."""
    step = torch.arange(steps, device=lengths.device)
    return torch.where(step < lengths[:, None], lengths[:, None] - 1 - step, step)


def take_steps(sequence: Tensor, index: Tensor) -> Tensor:
    return sequence.gather(1, index[..., None].expand(-1, -1, sequence.size(-1)))


# ---------------------------------------------------------------- streams

# Independent computations in parallel branches of a CUDA graph.

First = TypeVar("First")
Second = TypeVar("Second")


def concurrently(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Returns both results. While a CUDA graph is captured, the two are its parallel branches; else they run in turn.

    A small model occupies few of a GPU's processors, and the chain of dependent kernels determines its time. Outside
    a graph, kernel launches are the bottleneck, and streams would not help.
    """
    if not torch.cuda.is_available() or not torch.cuda.is_current_stream_capturing():
        return first(), second()
    here = torch.cuda.current_stream()
    side = _side_stream_of(here.cuda_stream, _forks[here.cuda_stream])
    side.wait_stream(here)
    with torch.cuda.stream(side):
        second_result = second()
    _forks[here.cuda_stream] += 1
    try:
        first_result = first()
    finally:
        _forks[here.cuda_stream] -= 1
    here.wait_stream(side)
    return first_result, second_result


_forks: Counter[int] = Counter()  # how many open branches each stream has
_used: set[int] = set()  # streams that already are a branch or have one


@cache
def _side_stream_of(stream: int, fork: int) -> torch.cuda.Stream:
    # Branches may fork again. A side stream always forks from the same stream: only then is memory that it freed reused
    # after that stream is done with it. Torch has a pool of 32 streams, which it hands out in turn.
    _used.add(stream)
    candidates: Iterator[torch.cuda.Stream] = (torch.cuda.Stream() for _ in range(32))  # type: ignore[no-untyped-call]
    side = next((candidate for candidate in candidates if candidate.cuda_stream not in _used), None)
    if side is None:
        raise RuntimeError("the model has more parallel branches than torch has streams")
    _used.add(side.cuda_stream)
    return side


# ---------------------------------------------------------------- bilstm

# Bidirectional LSTMs over padded sequences, and the paper's initialisation.


class BiLSTM(nn.Module):
    """Is a bidirectional LSTM with dropout on its hidden outputs.

    The backward direction reads each sequence reversed within its own length, so padding never reaches a real output,
    and no lengths are copied to the host at each step, as packed sequences would need.
    """

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.forwards = nn.LSTM(size, hidden, batch_first=True)
        self.backwards = nn.LSTM(size, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, sequence: Tensor, lengths: Tensor) -> Tensor:
        """sequence (row, step, size), lengths (row,) -> (row, step, 2 hidden); undefined beyond a row's length."""
        outputs: Tensor = self.dropout(self.read(sequence, lengths))
        return outputs

    def read(self, sequence: Tensor, lengths: Tensor) -> Tensor:
        """Returns the hidden outputs before dropout."""
        return bilstm(self.forwards, self.backwards, sequence, lengths)


def last_outputs(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Returns the last hidden output of each direction of a BiLSTM: (row, step, 2 hidden) -> (row, 2 hidden)."""
    ahead, back = outputs.chunk(2, dim=-1)
    rows = torch.arange(outputs.size(0), device=outputs.device)
    return torch.cat([ahead[rows, lengths - 1], back[:, 0]], dim=-1)


def xavier_(module: nn.Module, *, forget_bias: float = 0.0) -> None:
    """Draws all weights as Xavier (appendix A.3.1); biases become zero, those of LSTM forget gates `forget_bias`."""
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)
        if name.rpartition(".")[2].startswith("bias_ih"):
            _, forget, _, _ = parameter.detach().chunk(4)
            forget.fill_(forget_bias)
