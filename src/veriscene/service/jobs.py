"""Work that would block the event loop: pictures, explanations, large requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from veriscene.service.limits import Busy

Result = TypeVar("Result")


class Jobs:
    """A few threads and a bounded number of jobs that wait for them."""

    def __init__(self, *, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="job")
        self._free = threading.Semaphore(threads + waiting)

    async def run(self, job: Callable[[], Result]) -> Result:
        """What the job returns or raises; Busy if too many wait. A job that has not begun can be cancelled."""
        if not self._free.acquire(blocking=False):
            raise Busy("too many requests are waiting")
        future = self._pool.submit(job)
        future.add_done_callback(lambda _: self._free.release())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Returns when the accepted jobs are done."""
        self._pool.shutdown()
