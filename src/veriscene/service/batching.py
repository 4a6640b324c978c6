"""Dynamic batching: questions of different clients that wait at the same time are judged together."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.service.limits import Busy

_Asked = tuple[Question, Future[Verdict]]


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
        """The number of questions that wait."""
        return len(self._waiting)

    @property
    def is_ready(self) -> bool:
        return not self._closed and all(worker.is_alive() for worker in self._workers)

    def start(self, workers: int) -> None:
        """Adds so many threads."""
        for _ in range(workers):
            self._workers.append(threading.Thread(target=self._work, daemon=True))
            self._workers[-1].start()

    def submit(self, questions: Sequence[Question]) -> list[Future[Verdict]]:
        """The verdicts to come on questions that `judge.prepare` returned. All are accepted, or none: Busy."""
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
        """Answers what was accepted, and nothing more."""
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
        """The question that has waited longest, and those most similar to it in length, which saves padding."""
        first = self._waiting.popleft()
        length = len(first[0].statement)
        similar = sorted(self._waiting, key=lambda asked: abs(len(asked[0].statement) - length))[: self._batch - 1]
        chosen = {id(future) for _, future in similar}
        self._waiting = deque(asked for asked in self._waiting if id(asked[1]) not in chosen)
        return [first, *similar]

    def _answer(self, asked: list[_Asked]) -> None:
        try:
            answers: Sequence[Verdict | Exception] = self.judge([question for question, _ in asked])
        except Exception as error:  # the workers go on; the clients learn of it
            answers = [error] * len(asked)
        for (_, future), answer in zip(asked, answers, strict=True):
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
