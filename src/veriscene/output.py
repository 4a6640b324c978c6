"""What a command tells its user: messages, progress, and the state of what is running. Imports nothing slow."""

from __future__ import annotations

import io
import math
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO, cast

from veriscene.errors import printable

Progress = Callable[[int, int], None]  # done, total
Say = Callable[[str], None]
LINE_SECONDS = 5.0  # between two lines of progress where there is no bar
PREPARING = "preparing examples"


class Output:
    """Tells the user nothing. Functions that take long get one of these, and never need to know who listens."""

    def say(self, text: str) -> None:
        """Shows one line."""

    def progress(self, done: int, total: int, text: str = PREPARING, *, every: float = LINE_SECONDS) -> None:
        """Shows how much is done, and `text`. Where there is no bar this is a line, at most one in `every` seconds."""

    def finish(self) -> None:
        """Ends the bar, if there is one; the next call of `progress` begins another."""


class Terminal(Output):
    """Writes to standard error: a bar on a terminal, otherwise plain lines. Never raises if it cannot be written."""

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.console import Console

        stream = sys.stderr if isinstance(sys.stderr, LossyStream) else LossyStream(sys.stderr)
        self.console = Console(file=cast(TextIO, stream), quiet=quiet, highlight=False, soft_wrap=True)
        self._bar: Any = None
        self._last_line = time.monotonic()

    def say(self, text: str) -> None:
        self.console.print(printable(text), markup=False)
        self._last_line = time.monotonic()

    def progress(self, done: int, total: int, text: str = PREPARING, *, every: float = LINE_SECONDS) -> None:
        if not self.console.is_terminal:
            if done < total and time.monotonic() - self._last_line > every:
                self.say(f"{text}: {done:,} of {total:,}")
            return
        if self._bar is None:
            self._bar = self._new_bar()
            self._bar.start()
            self._task = self._bar.add_task(text, total=total)
        self._bar.update(self._task, completed=done, total=total, description=text)
        if done >= total:
            self.finish()

    def finish(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _new_bar(self) -> Any:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # rich would print what the command writes to standard output on standard error instead.
        redirect = sys.stdout is not None and sys.stdout.isatty()
        return Progress(*columns, console=self.console, transient=True, redirect_stdout=redirect)


class LossyStream(io.TextIOBase):
    """Is a text stream that drops what cannot be written: a closed pipe or terminal must not end training."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding if self._stream is not None else "utf-8"

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def write(self, text: str) -> int:
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        self._try("flush")

    def _try(self, operation: str, *arguments: str) -> None:
        if self._stream is not None:
            try:
                getattr(self._stream, operation)(*arguments)
            except (OSError, ValueError):  # ValueError: the stream was closed
                self._stream = None


def silent(*_: object) -> None:
    """Tells the user nothing."""


def clock(seconds: float) -> str:
    """Writes a duration as h:mm:ss, or m:ss below an hour."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Writes a number with its noun: 1 statement, 2,000 statements. The plural ends with s unless one is given."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"
