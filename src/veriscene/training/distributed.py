"""The device, the processes and the output of a command, in one handle; and requests to stop it.

With a single process nothing is communicated.
"""

from __future__ import annotations

import platform
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object
from torch import Tensor

from veriscene import files
from veriscene.errors import InputError, message
from veriscene.output import Output, counted

T = TypeVar("T")
# Windows has no SIGHUP.
SIGNALS = tuple(number for number in signal.Signals if number.name in ("SIGINT", "SIGTERM", "SIGHUP"))
SECONDS_TO_SECOND_INTERRUPT = 1.0  # torchrun repeats a Ctrl-C that its processes have already received


class Machine:
    """Carries what a command runs on and whom it tells. Every process has one; only the main one's output is shown."""

    def __init__(self, output: Output | None = None, accelerator: Accelerator | None = None) -> None:
        """Takes the device and processes that this program was started on, unless an `accelerator` is given."""
        # Several processes without a GPU are only recognised if the CPU is requested explicitly.
        self.accelerator = accelerator or Accelerator(cpu=not torch.cuda.is_available())
        self.device: torch.device = self.accelerator.device
        self.rank, self.processes = int(self.accelerator.process_index), int(self.accelerator.num_processes)
        self.is_main: bool = self.accelerator.is_main_process
        self.output = output if output is not None and self.is_main else Output()

    @property
    def has_gpu(self) -> bool:
        return self.device.type == "cuda"

    def __str__(self) -> str:
        device = torch.cuda.get_device_name() if self.has_gpu else platform.machine()
        processes = counted(self.processes, "process", "processes")
        return f"{device}, {processes}, torch {torch.__version__}, Python {platform.python_version()}"

    # ------------------------------------------------------------ one process acts, the others wait

    def on_main(self, work: Callable[[], T]) -> T | None:
        """Runs `work` on rank 0 while the others wait and get None. Errors on rank 0 are raised on every rank."""
        result, failure = None, ""
        if self.is_main:
            try:
                result = work()
            except (InputError, OSError) as error:
                if self.processes == 1:
                    raise
                failure = message(error)
        if failure := self.from_main(failure):
            raise InputError(failure)
        return result

    def from_main(self, value: str) -> str:
        """Returns rank 0's value on every rank."""
        shared = [value]
        if self.processes > 1:
            broadcast_object_list(shared)
        return shared[0]

    def wait(self) -> None:
        """Waits until every process is here."""
        self.accelerator.wait_for_everyone()

    # ------------------------------------------------------------ all processes exchange something

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Returns which flags any process has set: all must leave a loop at the same step."""
        if self.processes == 1:
            return flags
        votes = torch.tensor([float(flag) for flag in flags], device=self.device)
        return tuple(count > 0 for count in self.accelerator.reduce(votes).tolist())  # waits for the device once

    def sum(self, value: float) -> float:
        """Returns the sum over processes."""
        if self.processes == 1:
            return value
        return float(self.accelerator.reduce(torch.tensor(value, dtype=torch.float64, device=self.device)))

    def gather(self, values: list[T]) -> list[T]:
        """Joins the lists of all processes, in the order of their ranks."""
        joined: list[T] = gather_object(values) if self.processes > 1 else values
        return joined

    def broadcast(self, tensors: Iterable[Tensor]) -> None:
        """Gives the tensors of every process rank 0's values, in place."""
        if self.processes > 1:
            for tensor in tensors:
                torch.distributed.broadcast(tensor, src=0)

    # ------------------------------------------------------------ folders

    def locked(self, folder: Path, *, wait: bool = False) -> AbstractContextManager[None]:
        """Keeps the folder locked by rank 0 on behalf of all processes; with `wait`, as soon as nobody uses it."""
        return self._on_main_during(files.locked(folder, on_wait=self.waits_for(folder) if wait else None))

    def waits_for(self, folder: Path) -> Callable[[], None]:
        """Returns a function that says that a folder is in use, and waited for."""
        return lambda: self.output.say(f"{folder}: waiting for another command, which uses it")

    def created(self, folder: Path, *, fill: Collection[str], hint: str) -> AbstractContextManager[None]:
        """Makes a new folder, locked by rank 0. On failure the names in `fill` are removed, unless there is more."""
        return self._on_main_during(files.created(folder, fill=fill, hint=hint))

    @contextmanager
    def _on_main_during(self, context: AbstractContextManager[None]) -> Iterator[None]:
        with ExitStack() as stack:
            self.on_main(lambda: stack.enter_context(context))
            yield


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Sets the event on SIGINT (Ctrl-C), SIGTERM or SIGHUP (the terminal was closed); a second Ctrl-C raises
    KeyboardInterrupt. Outside the main thread, which alone receives signals, the event is never set."""
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested
        return
    first = 0.0

    def request(number: int, frame: FrameType | None) -> None:
        nonlocal first
        if not requested.is_set():
            first = time.monotonic()
            requested.set()
        elif number == signal.SIGINT and time.monotonic() - first > SECONDS_TO_SECOND_INTERRUPT:
            raise KeyboardInterrupt

    # nohup asks for SIGHUP to be ignored, so it stays ignored.
    numbers = [s for s in SIGNALS if s.name != "SIGHUP" or signal.getsignal(s) != signal.SIG_IGN]
    previous = {number: signal.signal(number, request) for number in numbers}
    try:
        yield requested
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
