"""Waiting for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

MOST_SECONDS = 90


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + MOST_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
