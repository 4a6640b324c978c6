"""Processes that share work, as a teacher's do: each makes blocks of an epoch, which it is asked for through its
standard input."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from veriscene.errors import InputError

SECONDS_TO_END = 5.0


def usable_cores() -> int:
    """Counts the cores of this machine for each of the training processes on it."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return int(cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


Block = TypeVar("Block")
MadeBlock = TypeVar("MadeBlock", covariant=True)


class Maker(Protocol[MadeBlock]):
    """Says what a process runs. It is deterministic, and pickled without what it remembers."""

    @property
    def blocks(self) -> int: ...

    def make(self, epoch: int, block: int) -> MadeBlock: ...


class Workers(Generic[Block]):
    """Processes that make blocks of an epoch. Each one always makes the same blocks, so that it can remember things."""

    hint = "lower teacher.workers or teacher.scenes"  # if memory ran out

    def __init__(self, maker: Maker[Block], count: int) -> None:
        self.maker, self.count = maker, max(1, min(count, maker.blocks))
        self.closed, self._lock = False, threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._informed: set[int] = set()  # processes that have the maker
        self.made = 0  # blocks of the epoch that is being made

    def make(self, epoch: int, on_block: Callable[[int], None] = lambda made: None) -> list[Block]:
        """Makes all blocks of an epoch, in order; raises InputError if a process failed. `on_block` is told how many
        are made."""
        processes = self._start()
        introduction = pickle.dumps(self.maker, protocol=5) if len(self._informed) < len(processes) else b""
        answers: dict[int, Block] = {}
        errors: list[InputError] = []  # all processes stop as soon as there is one
        self.made = 0

        def ask(number: int, process: subprocess.Popen[bytes]) -> None:
            assert process.stdin is not None and process.stdout is not None
            for block in range(number, self.maker.blocks, self.count):
                if errors:
                    return
                try:
                    if number not in self._informed:
                        process.stdin.write(introduction)
                        self._informed.add(number)
                    pickle.dump((epoch, block), process.stdin)
                    process.stdin.flush()
                    answer = pickle.load(process.stdout)
                except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                    answer = self._cause_of_end(process)
                if isinstance(answer, InputError):
                    errors.append(answer)
                    return
                answers[block] = answer
                with self._lock:
                    self.made = len(answers)
                    on_block(self.made)

        threads = [threading.Thread(target=ask, args=each, daemon=True) for each in enumerate(processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return [answers[block] for block in range(self.maker.blocks)]

    def _start(self) -> list[subprocess.Popen[bytes]]:
        """Starts the processes at the first epoch, so that a run that is refused has started nothing."""
        with self._lock:
            if self.closed:
                raise InputError("the teacher was closed")
            while len(self._processes) < self.count:
                self._processes.append(_start_process())
            return list(self._processes)

    def _cause_of_end(self, process: subprocess.Popen[bytes]) -> InputError:
        if self.closed:
            return InputError("the teacher was closed")
        try:
            status = str(process.wait(SECONDS_TO_END))
        except subprocess.TimeoutExpired:
            status = "unknown"
        what = f"a worker process ended unexpectedly (exit status {status})"
        return InputError(what, allowed=f"if memory ran out, {self.hint}")

    def close(self) -> None:
        """Ends the processes, whatever they are doing."""
        with self._lock:
            self.closed = True
        for process in self._processes:
            process.kill()
        for process in self._processes:
            with suppress(OSError), process:  # closes its streams: what was still to be sent cannot be
                process.wait()


def _start_process() -> subprocess.Popen[bytes]:
    paths = [str(Path(__file__).resolve().parents[3]), *filter(None, sys.path)]
    return subprocess.Popen(
        [sys.executable, "-P", "-c", f"from {__name__} import answer_requests; answer_requests()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        start_new_session=True,  # it does not get the Ctrl-C that is meant for the training loop
    )


def answer_requests() -> None:
    """Runs in a worker process: reads a maker, then numbers of blocks, and writes the blocks to standard output.

    It ends when its input is closed, so it never outlives the process that started it.
    """
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr  # what a library prints must not end up among the answers
    try:
        maker = pickle.load(requests)
        while True:
            epoch, block = pickle.load(requests)
            try:
                answer = maker.make(epoch, block)
            except InputError as error:
                answer = error
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                what = f"{type(error).__name__} {str(error)!r:.200} at {place.filename}:{place.lineno}"
                answer = InputError(f"a worker process failed: {what}")
            pickle.dump(answer, answers, protocol=5)
            answers.flush()
    except (EOFError, BrokenPipeError):
        os._exit(0)
