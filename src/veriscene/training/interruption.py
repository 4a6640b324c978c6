"""Turns Ctrl-C and other requests to stop into an event that a training loop checks between steps."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Windows has no SIGHUP.
SIGNALS = tuple(number for number in signal.Signals if number.name in ("SIGINT", "SIGTERM", "SIGHUP"))
SECONDS_TO_SECOND_INTERRUPT = 1.0  # torchrun repeats a Ctrl-C that its processes have already received


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
