"""How work is queued: questions in batches, other work in a few threads, and limits on all that waits.

Questions of different clients that wait at the same time are judged together (Batcher). Pictures, explanations and
large requests would block the event loop and run in threads (Jobs).
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from veriscene.errors import InputError
from veriscene.judge.judge import Judge, Question, Verdict

Result = TypeVar("Result")
_Asked = tuple[Question, Future[Verdict]]


@dataclass(frozen=True)
class Limits:
    """Bounds on everything that a client could make large or slow."""

    body: int = 4 << 20  # bytes of a request
    arriving: int = 256 << 20  # bytes of all requests that are being received; small ones are let in beyond that
    questions: int = 256  # of one request
    letters: int = 4096  # of a statement; a statement has at most 256 words besides
    batch: int = 16  # questions judged together; larger batches need more padding and are no faster
    queue: int = 512  # questions that wait for a model
    workers: int = 2  # threads per model, and for other work
    jobs: int = 32  # pictures and explanations that wait
    judgements: int = 500  # to explain a verdict
    seconds: float = 10.0  # until a request has arrived, and then until it is answered


class Busy(Exception):
    """Too much is waiting: the client should try again a little later."""


class Jobs:
    """Runs jobs in a few threads; a bounded number of jobs waits for them."""

    def __init__(self, *, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="job")
        self._free = threading.Semaphore(threads + waiting)

    async def run(self, job: Callable[[], Result]) -> Result:
        """Returns what the job returns; raises Busy if too many wait. A job that has not begun can be cancelled."""
        if not self._free.acquire(blocking=False):
            raise Busy("too many requests are waiting")
        future = self._pool.submit(job)
        future.add_done_callback(lambda _: self._free.release())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Returns when the accepted jobs are done."""
        self._pool.shutdown()


class Batcher:
    """Judges questions in threads of its own, up to `batch` of those that wait at once.

    There is no waiting for a batch to fill: a free worker takes what is there. While it judges, the next batch
    gathers, so batches are as large as the load requires and a single client never waits.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        batch: int,
        queue: int,
        workers: int = 1,
        observe: Callable[[int], None] = lambda size: None,
    ) -> None:
        """`observe` is called with the size of each batch."""
        self.judge, self._batch, self._queue, self._observe = judge, batch, queue, observe
        self._waiting: deque[_Asked] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._workers: list[threading.Thread] = []
        self.start(workers)

    def __len__(self) -> int:
        """Returns the number of questions that wait."""
        return len(self._waiting)

    @property
    def is_ready(self) -> bool:
        return not self._closed and all(worker.is_alive() for worker in self._workers)

    def start(self, workers: int) -> None:
        """Adds this many threads."""
        for _ in range(workers):
            self._workers.append(threading.Thread(target=self._work, daemon=True))
            self._workers[-1].start()

    def submit(self, questions: Sequence[Question]) -> list[Future[Verdict]]:
        """Returns futures of the verdicts on questions that `judge.prepare` returned.

        Raises Busy, and accepts none of them, if not all can wait. A question that cannot be judged fails alone, with
        InputError.
        """
        futures: list[Future[Verdict]] = [Future() for _ in questions]
        with self._changed:
            if self._closed:
                raise Busy("the service is shutting down")
            if len(self._waiting) + len(questions) > self._queue:
                raise Busy("too many questions are waiting")
            self._waiting.extend(zip(questions, futures, strict=True))
            self._changed.notify()
        return futures

    def close(self) -> None:
        """Refuses further questions, and returns when the accepted ones are answered."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                taken = self._take()
                if self._waiting:
                    self._changed.notify()
            # A client that has gone has cancelled its question.
            asked = [(question, future) for question, future in taken if future.set_running_or_notify_cancel()]
            if asked:
                self._observe(len(asked))
                self._answer(asked)

    def _take(self) -> list[_Asked]:
        """Removes and returns the oldest question and those most similar to it in length, which saves padding."""
        first = self._waiting.popleft()
        length = len(first[0].statement)
        similar = sorted(self._waiting, key=lambda asked: abs(len(asked[0].statement) - length))[: self._batch - 1]
        chosen = {id(future) for _, future in similar}
        self._waiting = deque(asked for asked in self._waiting if id(asked[1]) not in chosen)
        return [first, *similar]

    def _answer(self, asked: list[_Asked]) -> None:
        try:
            results = self.judge([question for question, _ in asked])
        except Exception as error:
            for _, future in asked:
                future.set_exception(error)
            return
        for (_, future), result in zip(asked, results, strict=True):
            if isinstance(result, InputError):
                future.set_exception(result)
            else:
                future.set_result(result)
