"""The Triton kernels compute what `Chain` does: in Triton's interpreter without a GPU, and in bf16 on one."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor, nn

from veriscene.models.captured import tf32
from veriscene.models.layers import kernels, recurrence
from veriscene.models.layers.recurrence import CLOSED, Chain

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton reads it when it is imported
if HAS_TRITON := find_spec("triton") is not None:
    from veriscene.models.layers import fused_lstm
    from veriscene.models.layers.fused_lstm import FusedChain, Tiles


@pytest.fixture(autouse=True)
def kernels_are_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "enabled", True)


# A few of those that fused_lstm.py may choose: rows, units, share (0: all), depth.
TILINGS = [(16, 32, 32, 32), (32, 32, 32, 32), (16, 32, 0, 32), (32, 16, 0, 16)]
Arguments = list[Tensor]


def use_tiles(monkeypatch: pytest.MonkeyPatch, rows: int, units: int, share: int, depth: int) -> None:
    def tiles(_rows: int, hidden: int) -> Tiles:
        return Tiles(rows, units, share or hidden, depth, warps=4, stages=2)

    monkeypatch.setattr(fused_lstm, "forward_tiles", tiles)
    monkeypatch.setattr(fused_lstm, "backward_tiles", tiles)


def drawn(rows: int, steps: int, hidden: int, device: str, seed: int = 0) -> tuple[Arguments, Arguments]:
    """Arguments of a chain and gradients of its results; some input gates are closed."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(torch.bfloat16).double().to(device)

    gates, weights = normal(steps, rows, 4 * hidden), (normal(4 * hidden, hidden) / hidden**0.5).bfloat16().double()
    gates[: steps // 2, : rows // 2, :hidden] = torch.tensor(CLOSED).bfloat16()
    arguments = [gates, weights, normal(4 * hidden), normal(4 * hidden), normal(rows, hidden), normal(rows, hidden)]
    return arguments, [normal(steps, rows, hidden), normal(rows, hidden)]


def results_of(chain: type[torch.autograd.Function], arguments: Arguments, gradients: Arguments) -> list[Tensor]:
    """Outputs, the last cell, and the gradients of all arguments."""
    leaves = [argument.detach().clone().requires_grad_() for argument in arguments]
    results = chain.apply(*leaves)
    torch.autograd.backward(results, gradients)
    return [*(result.detach() for result in results), *(leaf.grad for leaf in leaves)]


def largest_error(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest of ‖found - expected‖ / ‖expected‖; NaN stays NaN."""
    errors = [
        (one.double() - other.double()).norm() / other.double().norm()
        for one, other in zip(found, expected, strict=True)
    ]
    return float(torch.stack(errors).max())


def of_type(tensors: Arguments, dtype: torch.dtype) -> Arguments:
    return [tensor.to(dtype) for tensor in tensors]


# ---------------------------------------------------------------- in the interpreter


@pytest.fixture
def interpreted() -> None:
    if not HAS_TRITON:
        pytest.skip("Triton is not installed")
    if torch.cuda.is_available() or hasattr(fused_lstm._forward, "device_caches"):
        pytest.skip("Triton compiles kernels in this process and does not interpret them")
    try:
        results_of(FusedChain, *(of_type(tensors, torch.float32) for tensors in drawn(1, 1, 32, "cpu")))
    except Exception as error:
        if "0-dimensional" not in str(error):
            raise
        pytest.skip("this version of Triton interprets loops with numpy before 2.4 only")


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize(("rows", "steps", "hidden"), [(21, 4, 64), (33, 1, 32), (5, 3, 96)])
@pytest.mark.usefixtures("interpreted")
def test_kernels_equal_the_reference(
    rows: int, steps: int, hidden: int, tiling: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_tiles(monkeypatch, *tiling)
    arguments, gradients = drawn(rows, steps, hidden, "cpu")
    poison = torch.nan  # of memory that kernels must write
    monkeypatch.setattr(Tensor, "new_empty", lambda self, *shape, **kind: self.new_full(shape, poison, **kind))
    monkeypatch.setattr(torch, "empty_like", lambda tensor, **kind: torch.full_like(tensor, poison, **kind))
    expected = results_of(Chain, arguments, gradients)
    # The interpreter's matrix products in bf16 are wrong: it multiplies the bits as integers.
    found = results_of(FusedChain, of_type(arguments, torch.float32), of_type(gradients, torch.float32))
    assert largest_error(found, expected) < 1e-5


@pytest.mark.usefixtures("interpreted")
def test_arguments_need_not_be_contiguous_and_gradients_are_not_modified(monkeypatch: pytest.MonkeyPatch) -> None:
    use_tiles(monkeypatch, *TILINGS[0])
    arguments, gradients = (of_type(tensors, torch.float32) for tensors in drawn(5, 3, 32, "cpu"))
    expected = results_of(FusedChain, arguments, gradients)
    strided = [tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor for tensor in (*arguments, *gradients)]
    before = [tensor.clone() for tensor in strided]
    leaves = [tensor.requires_grad_() for tensor in strided[:6]]
    results = FusedChain.apply(*leaves)
    torch.autograd.backward(results, strided[6:])
    assert largest_error([*(one.detach() for one in results), *(leaf.grad for leaf in leaves)], expected) < 1e-6
    assert all(torch.equal(one, other) for one, other in zip(strided, before, strict=True))


@pytest.mark.usefixtures("interpreted")
def test_a_closed_input_gate_leaves_a_zero_cell_exactly_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    use_tiles(monkeypatch, *TILINGS[0])
    arguments, gradients = (of_type(tensors, torch.float32) for tensors in drawn(5, 3, 32, "cpu"))
    arguments[0][..., :32] = CLOSED
    arguments[4:] = [torch.zeros_like(state) for state in arguments[4:]]
    outputs, last, d_gates, *others = results_of(FusedChain, arguments, gradients)
    assert not outputs.any() and not last.any() and not d_gates[..., :32].any()
    assert all(gradient.isfinite().all() for gradient in (d_gates, *others))


# ---------------------------------------------------------------- the choice


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")
@pytest.mark.parametrize(
    ("hidden", "dtype", "fits"),
    [
        (256, torch.bfloat16, True),
        (192, torch.bfloat16, True),
        (16, torch.bfloat16, False),
        (100, torch.bfloat16, False),
        (2048, torch.bfloat16, False),
        (256, torch.float32, False),
        (256, torch.float16, False),
    ],
)
def test_only_bf16_of_some_sizes_fits(hidden: int, dtype: torch.dtype, fits: bool) -> None:
    assert fused_lstm.fits(torch.empty(2, 3, 4 * hidden, dtype=dtype, device="meta"), hidden) is fits
    too_large = torch.empty(2**10, 2**18, 4 * hidden, dtype=dtype, device="meta")
    assert not fused_lstm.fits(too_large, hidden)


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")
def test_single_precision_fits_where_tf32_is_allowed() -> None:
    gates = torch.empty(2, 3, 4 * 64, device="meta")
    assert not fused_lstm.fits(gates, 64)
    with tf32():
        assert fused_lstm.fits(gates, 64) and not fused_lstm.fits(gates.double(), 64)


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")
@pytest.mark.parametrize("hidden", range(32, 1025, 32))
def test_tiles_divide_every_size_that_fits(hidden: int) -> None:
    for rows in (1, 100, 512, 1024, 1536, 10_000):
        for tiles, depth in (
            (fused_lstm.forward_tiles(rows, hidden), hidden),
            (fused_lstm.backward_tiles(rows, hidden), 4 * hidden),
        ):
            assert hidden % tiles.share == 0 and tiles.share % tiles.units == 0 and depth % tiles.depth == 0
            for size in (tiles.rows, tiles.units, tiles.depth):
                assert size >= 16 and size & (size - 1) == 0


def test_on_a_cpu_the_chain_is_plain() -> None:
    assert recurrence._implementation(torch.zeros(2, 3, 4 * 32, dtype=torch.bfloat16), 32) is Chain


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")
def test_half_precision_is_fused_where_kernels_work_and_sizes_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "load", lambda name, _device: fused_lstm if name == "fused_lstm" else None)
    gates = torch.zeros(2, 3, 4 * 64, dtype=torch.bfloat16)
    assert recurrence._implementation(gates, 64) is FusedChain
    assert recurrence._implementation(gates.float(), 64) is Chain
    assert recurrence._implementation(gates[..., :40], 10) is Chain
    monkeypatch.setattr(kernels, "load", lambda _name, _device: None)
    assert recurrence._implementation(gates, 64) is Chain


@pytest.mark.gpu
def test_bf16_on_a_gpu_is_fused_and_other_types_and_sizes_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    gates = torch.zeros(2, 3, 4 * 64, dtype=torch.bfloat16, device="cuda")
    assert recurrence._implementation(gates, 64) is FusedChain
    assert recurrence._implementation(gates.float(), 64) is Chain
    assert recurrence._implementation(gates[..., :40], 10) is Chain
    monkeypatch.setattr(kernels, "enabled", False)
    assert recurrence._implementation(gates, 64) is Chain


# ---------------------------------------------------------------- on a GPU

SIZES = [(512, 12, 256), (1536, 8, 256), (100, 5, 128), (70, 3, 192), (1, 1, 32)]


def poison_free_memory() -> None:
    """Leaves NaN in memory that the next tensors get."""
    blocks = [torch.full((2**size,), torch.nan, device="cuda") for size in range(8, 25)]
    del blocks


@pytest.mark.gpu
@pytest.mark.parametrize("whole", [False, True], ids=["a launch for each step", "one launch"])
@pytest.mark.parametrize(("rows", "steps", "hidden"), SIZES)
def test_bf16_is_near_double_precision(
    rows: int, steps: int, hidden: int, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if whole:
        use_tiles(monkeypatch, 32, 32, 0, 32)
    for seed in range(2):
        arguments, gradients = drawn(rows, steps, hidden, "cuda", seed)
        expected = results_of(Chain, arguments, gradients)
        poison_free_memory()
        found = results_of(FusedChain, of_type(arguments, torch.bfloat16), of_type(gradients, torch.bfloat16))
        assert largest_error(found, expected) < 1e-2


@pytest.mark.gpu
@pytest.mark.parametrize(("rows", "steps", "hidden"), SIZES)
def test_tf32_is_near_double_precision(rows: int, steps: int, hidden: int) -> None:
    arguments, gradients = drawn(rows, steps, hidden, "cuda")
    expected = results_of(Chain, arguments, gradients)
    poison_free_memory()
    with tf32():
        found = results_of(FusedChain, of_type(arguments, torch.float32), of_type(gradients, torch.float32))
    assert largest_error(found, expected) < 3e-3


@pytest.mark.gpu
@pytest.mark.parametrize(("rows", "steps", "hidden"), SIZES[:3])
def test_a_captured_graph_computes_anew_for_other_inputs(rows: int, steps: int, hidden: int) -> None:
    arguments, gradients = (of_type(tensors, torch.bfloat16) for tensors in drawn(rows, steps, hidden, "cuda"))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            results_of(FusedChain, arguments, gradients)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = results_of(FusedChain, arguments, gradients)
    for seed in (1, 2):
        others = drawn(rows, steps, hidden, "cuda", seed)
        expected = results_of(Chain, *others)
        for own, new in zip((*arguments, *gradients), (*others[0], *others[1]), strict=True):
            own.copy_(new)
        for tensor in found:
            tensor.fill_(torch.nan)
        graph.replay()
        assert largest_error(found, expected) < 1e-2


@pytest.mark.gpu
def test_both_directions_in_bf16_are_near_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(6)
    lstms = [nn.LSTM(48, 64, batch_first=True, device="cuda") for _ in range(2)]
    sequence, lengths = torch.randn(40, 7, 48, device="cuda"), torch.arange(40, device="cuda") % 7 + 1
    parameters = [*lstms[0].parameters(), *lstms[1].parameters()]
    results = []
    for half in (False, True):
        with torch.autocast("cuda", torch.bfloat16, enabled=half, cache_enabled=False):
            outputs = recurrence.chained_bilstm(*lstms, sequence, lengths)
        assert outputs.dtype == (torch.bfloat16 if half else torch.float32)
        learned = torch.autograd.grad(outputs.float().pow(2).sum(), parameters)
        results.append([outputs.detach(), torch.cat([gradient.flatten() for gradient in learned])])
    assert largest_error(results[1], results[0]) < 0.03
