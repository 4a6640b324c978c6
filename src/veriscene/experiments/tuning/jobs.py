"""Trials at the same time: a process for each, on one GPU or on a share of the CPU's cores."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType

import torch

from veriscene.experiments.tuning.trial import Assignment, DevScore, Ended, work

SECONDS_BETWEEN_LOOKS = 0.2  # so that Ctrl-C is heard while all trials are silent
# What training needs, with what torch and accelerate import only when it begins.
PRELOADED = [work.__module__, "torch._dynamo", "torch.distributed.tensor", "torch.utils.tensorboard"]


class Jobs:
    """The processes under way, by the numbers of their trials. None of them outlives the `with` block."""

    def __init__(self) -> None:
        # Forks of a server that has imported torch begin at once. CUDA does not stand forks, so there each one imports.
        self._context: multiprocessing.context.SpawnContext | multiprocessing.context.ForkServerContext
        if torch.cuda.is_available():
            self._context = multiprocessing.get_context("spawn")
        else:
            self._context = multiprocessing.get_context("forkserver")
            self._context.set_forkserver_preload(PRELOADED)
        self._running: dict[int, tuple[BaseProcess, Connection]] = {}
        self._is_stopping = False

    def __enter__(self) -> Jobs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process, _ in self._running.values():
            process.kill()
        for number in list(self._running):
            self._reap(number)

    def __len__(self) -> int:
        return len(self._running)

    def start(self, number: int, assignment: Assignment) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=work, args=(assignment, theirs), daemon=True)
        # A terminal sends Ctrl-C to all its processes. Trials inherit that they do not hear it: `stop` is their signal.
        resource_tracker.ensure_running()  # else it starts now, and unblocks the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._running[number] = process, ours

    def messages(self) -> Iterator[tuple[int, DevScore | Ended]]:
        """What has come in after a short wait. A DevScore waits for its `answer`; after Ended the job is gone."""
        numbers = {connection: number for number, (_, connection) in self._running.items()}
        for connection in wait(list(numbers), timeout=SECONDS_BETWEEN_LOOKS):
            assert isinstance(connection, Connection)
            number = numbers[connection]
            try:
                message: DevScore | Ended | None = connection.recv()
            except (EOFError, OSError):
                message = None
            if isinstance(message, DevScore):
                yield number, message
            else:
                status = self._reap(number)
                without_a_word = f"its process ended without a word (exit status {status})"
                yield number, message or Ended(interrupted=self._is_stopping, error=without_a_word)

    def answer(self, number: int, stop: bool) -> None:
        with suppress(OSError):  # If it has died since, `messages` tells.
            self._running[number][1].send(stop)

    def stop(self) -> None:
        """Asks all to end after the step that they are at; no more than once, for the second time is an order."""
        if not self._is_stopping:
            self._is_stopping = True
            for process, _ in self._running.values():
                process.terminate()

    def _reap(self, number: int) -> int | None:
        process, connection = self._running.pop(number)
        connection.close()
        process.join()
        status = process.exitcode
        process.close()
        return status
