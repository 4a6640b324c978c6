"""What several processes do together. With a single process, nothing is communicated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object
from torch import Tensor

from veriscene.errors import InputError, message

T = TypeVar("T")


def make_accelerator() -> Accelerator:
    """The device and processes that this program was started on."""
    # Several processes without a GPU are only recognised if the CPU is requested explicitly.
    return Accelerator(cpu=not torch.cuda.is_available())


def on_main_process(accelerator: Accelerator, work: Callable[[], T]) -> T | None:
    """Runs `work` on rank 0 while the others wait and get None. Errors on rank 0 are raised on every rank."""
    result, failure = None, ""
    if accelerator.is_main_process:
        try:
            result = work()
        except (InputError, OSError) as error:
            if accelerator.num_processes == 1:
                raise
            failure = message(error)
    if accelerator.num_processes > 1:
        shared = [failure]
        broadcast_object_list(shared)
        if shared[0]:
            raise InputError(shared[0])
    return result


def from_main_process(accelerator: Accelerator, value: str) -> str:
    """The value of rank 0, on every rank."""
    shared = [value]
    if accelerator.num_processes > 1:
        broadcast_object_list(shared)
    return shared[0]


def any_process(accelerator: Accelerator, *flags: bool) -> tuple[bool, ...]:
    """Which flags any process has set: all must leave a loop at the same step."""
    if accelerator.num_processes == 1:
        return flags
    votes = torch.tensor([float(flag) for flag in flags], device=accelerator.device)
    return tuple(count > 0 for count in accelerator.reduce(votes).tolist())  # waits for the device once


def summed(accelerator: Accelerator, value: float) -> float:
    """The sum over processes."""
    if accelerator.num_processes == 1:
        return value
    return float(accelerator.reduce(torch.tensor(value, dtype=torch.float64, device=accelerator.device)))


def gathered(accelerator: Accelerator, values: list[T]) -> list[T]:
    """The lists of all processes, joined in the order of their ranks."""
    joined: list[T] = gather_object(values) if accelerator.num_processes > 1 else values
    return joined


def broadcast(accelerator: Accelerator, tensors: Iterable[Tensor]) -> None:
    """Gives the tensors of every process rank 0's values, in place."""
    if accelerator.num_processes > 1:
        for tensor in tensors:
            torch.distributed.broadcast(tensor, src=0)
