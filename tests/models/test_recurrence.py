"""The chain of few kernels gives what torch's own LSTM gives, gradients included."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from veriscene.models.layers import recurrence
from veriscene.models.layers.recurrence import Chain

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]
LENGTHS = [7, 1, 4, 6]


def gradients(loss: Tensor, parameters: Iterable[Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(parameters)))


@pytest.mark.parametrize("device", DEVICES)
def test_two_directions_read_as_torch_reads_them(device: str) -> None:
    torch.manual_seed(3)
    lstms = [nn.LSTM(3, 4, batch_first=True, dtype=torch.float64, device=device) for _ in range(2)]
    sequence = torch.randn(4, 7, 3, dtype=torch.float64, device=device, requires_grad=True)
    lengths = torch.tensor(LENGTHS, device=device)
    real = torch.arange(7, device=device) < lengths[:, None]
    parameters = [sequence, *lstms[0].parameters(), *lstms[1].parameters()]
    results = []
    for read in (recurrence.torch_bilstm, recurrence.chained_bilstm):
        outputs = read(*lstms, sequence, lengths)[real]
        results.append((outputs, gradients(outputs.pow(3).sum(), parameters)))
    assert_close(results[1][0], results[0][0])
    for ours, theirs in zip(results[1][1], results[0][1], strict=True):
        assert_close(ours, theirs)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("read", [recurrence.stepped_to_the_end, recurrence.chained_to_the_end])
def test_the_state_at_the_end_is_that_of_each_row_alone(read, device: str) -> None:  # type: ignore[no-untyped-def]
    torch.manual_seed(2)
    cell = nn.LSTMCell(3, 5, dtype=torch.float64, device=device)
    sequence = torch.randn(4, 7, 3, dtype=torch.float64, device=device, requires_grad=True)
    outputs, (hidden, memory) = read(cell, sequence, torch.tensor(LENGTHS, device=device))
    ours, theirs = torch.zeros((), device=device), torch.zeros((), device=device)
    for row, length in enumerate(LENGTHS):
        state = (sequence.new_zeros(1, 5), sequence.new_zeros(1, 5))
        for step in range(length):
            state = cell(sequence[row : row + 1, step], state)
            assert_close(outputs[row, step], state[0][0])
            theirs = theirs + state[0].pow(2).sum()
        assert_close((hidden[row], memory[row]), (state[0][0], state[1][0]))
        ours = ours + outputs[row, :length].pow(2).sum() + hidden[row].sum() + memory[row].pow(3).sum()
        theirs = theirs + state[0].sum() + state[1].pow(3).sum()
    parameters = [sequence, *cell.parameters()]
    for one, other in zip(gradients(ours, parameters), gradients(theirs, parameters), strict=True):
        assert_close(one, other)


def test_finite_differences_agree_with_the_chain() -> None:
    torch.manual_seed(1)
    shapes = [(8, 2), (8,), (8,), (4, 2), (4, 2)]  # weights, biases, hidden output and cell before
    for steps in (1, 3):
        given = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((steps, 4, 8), *shapes)]
        assert torch.autograd.gradcheck(Chain.apply, given)


def test_the_gradient_that_comes_in_stays_as_it_is() -> None:
    given = [torch.randn(shape, requires_grad=True) for shape in ((3, 4, 8), (8, 2), (8,), (8,), (4, 2), (4, 2))]
    outputs, cell = Chain.apply(*given)
    gradients_in = [torch.ones_like(outputs), torch.ones_like(cell)]
    torch.autograd.backward([outputs, cell], gradients_in)
    assert all((gradient == 1).all() for gradient in gradients_in)


@pytest.mark.parametrize("device", DEVICES)
def test_from_a_state_on_the_chain_reads_as_the_cell_does(device: str) -> None:
    torch.manual_seed(5)
    cell = nn.LSTMCell(3, 5, dtype=torch.float64, device=device)
    inputs = torch.randn(4, 6, 3, dtype=torch.float64, device=device, requires_grad=True)
    start = [torch.randn(4, 5, dtype=torch.float64, device=device, requires_grad=True) for _ in range(2)]
    state, outputs = (start[0], start[1]), []
    for step in range(6):
        state = cell(inputs[:, step], state)
        outputs.append(state[0])
    parameters = [inputs, *start, *cell.parameters()]
    theirs = torch.stack(outputs, dim=1)
    for read in (recurrence.stepped_from, recurrence.chained_from):
        ours = read(cell, inputs, (start[0], start[1]))
        assert_close(ours, theirs)
        expected = torch.autograd.grad(theirs.pow(3).sum(), parameters, retain_graph=True)
        for one, other in zip(gradients(ours.pow(3).sum(), parameters), expected, strict=True):
            assert_close(one, other)


@pytest.mark.parametrize("device", DEVICES)
def test_a_step_with_gates_computed_ahead_is_a_step(device: str) -> None:
    torch.manual_seed(4)
    cell = nn.LSTMCell(3, 5, dtype=torch.float64, device=device)
    inputs, hidden, memory = (torch.randn(2, size, dtype=torch.float64, device=device) for size in (3, 5, 5))
    assert_close(
        recurrence.lstm_step(recurrence.gates_of(inputs, cell), cell, (hidden, memory)), cell(inputs, (hidden, memory))
    )


@pytest.mark.parametrize("device", DEVICES)
def test_in_half_precision_the_chain_says_and_learns_nearly_the_same(device: str) -> None:
    torch.manual_seed(6)
    lstms = [nn.LSTM(8, 16, batch_first=True, device=device) for _ in range(2)]
    sequence = torch.randn(4, 7, 8, device=device)
    parameters = [*lstms[0].parameters(), *lstms[1].parameters()]
    results = []
    for half in (False, True):
        with torch.autocast(device, torch.bfloat16, enabled=half, cache_enabled=False):
            outputs = recurrence.chained_bilstm(lstms[0], lstms[1], sequence, torch.tensor(LENGTHS, device=device))
        assert outputs.dtype == (torch.bfloat16 if half else torch.float32)
        learnt = gradients(outputs.float().pow(2).sum(), parameters)
        assert all(gradient.dtype == torch.float32 for gradient in learnt)
        results.append((outputs.float(), torch.cat([gradient.flatten() for gradient in learnt])))
    (outputs, gradient), (halved, rough) = results
    assert_close(halved, outputs, atol=0.02, rtol=0)
    assert 0 < (rough - gradient).norm() < 0.03 * gradient.norm()
