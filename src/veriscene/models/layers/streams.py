"""Independent computations in parallel branches of a CUDA graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

import torch

First = TypeVar("First")
Second = TypeVar("Second")


def concurrently(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Both results. While a CUDA graph is captured, the two become parallel branches of it; else they run in turn.

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
