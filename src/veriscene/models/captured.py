"""Inference as CUDA graphs: a function of tensors is captured once for each shape, and replayed from then on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor

MAX_GRAPHS = 64  # of one function; further shapes run without a graph,
MIN_FREE = 0.25  # as they do unless so much of the device's memory is free: each graph has its own arguments
MIN_ROWS, STEP = 128, 4  # rows of the smallest graph, and how many times more the next one has

Tensors = tuple[Tensor, ...]
Graph = tuple[Tensors, Any, Tensors]  # where the graph reads, the graph, and where it writes


@contextmanager
def tf32() -> Iterator[None]:
    """Allows tf32 in matrix products on a GPU: about three decimal digits, and several times faster than fp32."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@dataclass(eq=False)
class Captured:
    """Calls a function of tensors without side effects, whose kernels depend only on the shapes of its arguments.

    Arguments may be on the CPU; results are on the device, until the next call of any, which may overwrite them. Calls
    of any two must not overlap. Only CUDA has graphs; elsewhere the function itself is called.
    """

    function: Callable[..., Tensors]
    device: torch.device
    graphs: dict[Any, Graph | None] = field(default_factory=dict)  # None: the shape could not be captured

    @torch.inference_mode()
    @tf32()
    def __call__(self, *given: Tensor) -> Tensors:
        if self.device.type != "cuda":
            return self.function(*given)
        with torch.cuda.device(self.device):
            return self._run(tuple(tensor if tensor.is_cuda else tensor.pin_memory() for tensor in given))

    def _run(self, given: Tensors) -> Tensors:
        shape = tuple((tensor.shape, tensor.dtype) for tensor in given)
        if shape not in self.graphs and len(self.graphs) < MAX_GRAPHS:
            free, total = torch.cuda.mem_get_info()
            if free >= MIN_FREE * total:
                self.graphs[shape] = self._capture(given)
        if (found := self.graphs.get(shape)) is None:
            return self.function(*(tensor.to(self.device, non_blocking=True) for tensor in given))
        arguments, graph, results = found
        for own, new in zip(arguments, given, strict=True):
            own.copy_(new, non_blocking=True)
        graph.replay()
        return results

    def _capture(self, given: Tensors) -> Graph | None:
        arguments = tuple(tensor.to(self.device, copy=True) for tensor in given)
        side: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries initialise in their first calls, which cannot be captured
            for _ in range(2):
                self.function(*arguments)
        here = torch.cuda.current_stream()
        here.wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        try:
            # Other threads may talk to the device meanwhile.
            with torch.cuda.graph(graph, pool=_pool(), capture_error_mode="thread_local"):
                results = self.function(*arguments)
        except RuntimeError as error:
            torch.cuda.set_stream(here)  # a failure may leave that of the capture,
            _pool.cache_clear()  # and the pool in use
            warnings.warn(f"not captured, so slower: {error}", stacklevel=2)
            return None
        return arguments, graph, results

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "graphs": {}}  # they are of this process


@cache
def _pool() -> Any:
    """The memory of all graphs: they never run at the same time. It would end with its last graph, so one stays."""
    pool, graph = torch.cuda.graph_pool_handle(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        torch.zeros(1, device="cuda")
    _kept.append(graph)
    return pool


_kept: list[torch.cuda.CUDAGraph] = []


def padded_count(count: int) -> int:
    """Returns how many rows a graph for so many has; there are few sizes, since capturing one takes a while."""
    rows = MIN_ROWS
    while rows < count:
        rows *= STEP
    return rows


def multiple(count: int, step: int) -> int:
    """Returns the smallest multiple of `step`, at least one, that is not below."""
    return max(1, -(-count // step)) * step
