"""Independent work at the same time, where that is possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

import torch

First = TypeVar("First")
Second = TypeVar("Second")


def concurrently(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Both results. While a CUDA graph is recorded the two become parallel branches of it; else they run in turn.

    A small model keeps few of a GPU's processors busy, and what it waits for is the chain of dependent kernels. Outside
    a graph launching is the bottleneck, and streams would not help.
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


_forks: Counter[int] = Counter()  # how many branches each stream has off at the moment
_taken: set[int] = set()  # streams that have a place among the branches


@cache
def _side_stream_of(stream: int, fork: int) -> torch.cuda.Stream:
    # Branches fork again. A side stream always leaves the same stream, so that memory which it gave back is written
    # anew only after that stream has done with it. Torch has 32 streams, which it hands out in turn, again and again.
    _taken.add(stream)
    candidates: Iterator[torch.cuda.Stream] = (torch.cuda.Stream() for _ in range(32))  # type: ignore[no-untyped-call]
    side = next((candidate for candidate in candidates if candidate.cuda_stream not in _taken), None)
    if side is None:
        raise RuntimeError("a model forks into more branches than torch has streams")
    _taken.add(side.cuda_stream)
    return side
