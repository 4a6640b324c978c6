"""The processes of a teacher."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from veriscene.errors import InputError

SECONDS_TO_END = 5.0


def usable_cores() -> int:
    """Of this machine, for each of the training processes on it."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return int(cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


Block = TypeVar("Block")
MadeBlock = TypeVar("MadeBlock", covariant=True)


class Maker(Protocol[MadeBlock]):
    """What a process runs: deterministic, and pickled without what it remembers."""

    @property
    def blocks(self) -> int: ...

    def make(self, epoch: int, block: int) -> MadeBlock: ...


class Workers(Generic[Block]):
    """Processes that make blocks of an epoch. Each one always makes the same blocks, so that it can remember things."""

    def __init__(self, maker: Maker[Block], count: int) -> None:
        self.maker, self.count = maker, max(1, min(count, maker.blocks))
        self.closed, self._lock = False, threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._informed: set[int] = set()  # processes that have the maker
        self.made = 0  # blocks of the epoch that is being made

    def make(self, epoch: int) -> list[Block]:
        """All blocks of an epoch, in order; raises InputError if a process failed."""
        processes = self._start()
        introduction = pickle.dumps(self.maker, protocol=5) if len(self._informed) < len(processes) else b""
        answers: list[Block | InputError | None] = [None] * self.maker.blocks
        failed = threading.Event()
        self.made = 0
        threads = [
            threading.Thread(
                target=self._ask, args=(process, number, epoch, introduction, answers, failed), daemon=True
            )
            for number, process in enumerate(processes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self._complete(answers)

    def _start(self) -> list[subprocess.Popen[bytes]]:
        """At the first epoch, so that a run that is refused has started nothing."""
        with self._lock:
            if self.closed:
                raise InputError("the teacher was closed")
            while len(self._processes) < self.count:
                self._processes.append(_start_process())
            return list(self._processes)

    def _ask(
        self,
        process: subprocess.Popen[bytes],
        number: int,
        epoch: int,
        introduction: bytes,
        answers: list[Block | InputError | None],
        failed: threading.Event,
    ) -> None:
        """Fills in the blocks of one process; all stop as soon as one has failed."""
        assert process.stdin is not None and process.stdout is not None
        for block in range(number, len(answers), self.count):
            if failed.is_set():
                return
            try:
                if number not in self._informed:
                    process.stdin.write(introduction)
                    self._informed.add(number)
                pickle.dump((epoch, block), process.stdin)
                process.stdin.flush()
                answers[block] = pickle.load(process.stdout)
                self.made = sum(answer is not None for answer in answers)
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                failed.set()  # the process has ended: `_complete` says so
            if isinstance(answers[block], InputError):
                failed.set()

    def _complete(self, answers: Sequence[Block | InputError | None]) -> list[Block]:
        for answer in answers:
            if isinstance(answer, InputError):
                raise answer
        found = [answer for answer in answers if answer is not None and not isinstance(answer, InputError)]
        if len(found) < len(answers):
            if self.closed:
                raise InputError("the teacher was closed")
            failed = self._processes[next(block for block, made in enumerate(answers) if made is None) % self.count]
            try:
                status = str(failed.wait(SECONDS_TO_END))
            except subprocess.TimeoutExpired:
                status = "unknown"
            what = f"a process of the teacher ended unexpectedly (exit status {status})"
            raise InputError(what, allowed="if memory ran out, lower teacher.workers or teacher.scenes")
        return found

    def close(self) -> None:
        """Ends the processes, whatever they are doing."""
        with self._lock:
            self.closed = True
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):  # what was still to be sent cannot be
                        stream.close()


def _start_process() -> subprocess.Popen[bytes]:
    paths = [str(Path(__file__).resolve().parents[3]), *filter(None, sys.path)]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "veriscene.data.teacher.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        start_new_session=True,  # it does not get the Ctrl-C that is meant for the training loop
    )
