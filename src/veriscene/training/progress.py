"""The log of a run (log.jsonl, and tensorboard if installed) and its progress display on standard error."""

from __future__ import annotations

import io
import json
import math
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from veriscene import files

LOG = "log.jsonl"
TENSORBOARD = "tensorboard"
SECONDS_BETWEEN_LINES = 30.0  # without a bar, so that a run does not seem to hang between two evaluations
SECONDS_BETWEEN_WAITS = 5.0  # likewise, while an epoch is being made


@dataclass(frozen=True)
class LogLine:
    """One dev evaluation: a line of log.jsonl, a point of the learning curve."""

    step: int
    epoch: float
    loss: float  # mean training loss since the previous line
    dev_accuracy: float
    learning_rate: float
    examples_per_second: float
    seconds: float  # since the run started, summed over all its parts, without waiting for a teacher


class RunLog:
    """Writes log.jsonl, which `read_log` reads."""

    def __init__(self, run: Path, *, up_to_step: int) -> None:
        """Drops lines after `up_to_step`: after a crash the log may be ahead of the state that is resumed."""
        self.path = run / LOG
        kept = [line for line in read_log(run) if line.step <= up_to_step]
        files.write_text(self.path, "".join(json.dumps(asdict(line)) + "\n" for line in kept))
        self._board = _tensorboard(run)

    def write(self, line: LogLine) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(line)) + "\n")
        if self._board is not None:
            for name in ("loss", "dev_accuracy", "learning_rate", "examples_per_second"):
                self._board.add_scalar(name, asdict(line)[name], line.step)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()


def read_log(run: Path) -> list[LogLine]:
    """The lines of a run's log up to the first damaged one: a crash may have cut the last line off."""
    path = run / LOG
    lines: list[LogLine] = []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []:
        line = _parse(text)
        if line is None:
            break
        lines.append(line)
    return lines


def _parse(text: str) -> LogLine | None:
    try:
        record = json.loads(text)
        values = {field.name: record[field.name] for field in fields(LogLine)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not all(type(value) in (int, float) and math.isfinite(value) for value in values.values()):
        return None
    return LogLine(**values) if type(values["step"]) is int and values["step"] > 0 else None


class LossyStream(io.TextIOBase):
    """A text stream that drops what cannot be written: a closed pipe or terminal must not end training."""

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
        if self._stream is not None:
            try:
                self._stream.write(text)
            except (OSError, ValueError):  # ValueError: the stream was closed
                self._stream = None
        return len(text)

    def flush(self) -> None:
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._stream = None


class Display:
    """Progress on standard error: a bar on a terminal, otherwise plain lines. Never raises if it cannot be written."""

    def __init__(self, total_steps: int, done_steps: int, *, quiet: bool) -> None:
        self._console = Console(file=cast(TextIO, LossyStream(sys.stderr)), quiet=quiet, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=total_steps, completed=done_steps, state="")
        self._total_steps, self._last_line = total_steps, time.monotonic()

    def __enter__(self) -> Display:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def note(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False)
        self._last_line = time.monotonic()

    def count(self, done: int, total: int) -> None:
        """The progress of what was noted last, as a line every few seconds."""
        if time.monotonic() - self._last_line > SECONDS_BETWEEN_LINES:
            self.note(f"  {done:,} of {total:,}")

    def waiting(self, text: str) -> None:
        """What training waits for; a line every few seconds."""
        self._bar.update(self._task, state=text)
        if not self._console.is_terminal and time.monotonic() - self._last_line > SECONDS_BETWEEN_WAITS:
            self.note(text)

    def step(self, step: int, *, loss: float, speed: float, seconds_left: float) -> None:
        state = f"loss {loss:.3f}  {speed:,.0f} examples/s  {clock(seconds_left)} left"
        self._bar.update(self._task, completed=step, state=state)
        if not self._console.is_terminal and time.monotonic() - self._last_line > SECONDS_BETWEEN_LINES:
            self.note(f"step {step:>6}/{self._total_steps}  {state}")

    def scored(self, line: LogLine, *, seconds_left: float, best: bool) -> None:
        self.note(
            f"step {line.step:>6}/{self._total_steps}  epoch {line.epoch:>5.1f}  loss {line.loss:.3f}"
            f"  dev {line.dev_accuracy:.1%}{' *' if best else '  '}  {line.examples_per_second:,.0f} examples/s"
            f"  {clock(line.seconds)} elapsed, {clock(seconds_left)} left"
        )


def clock(seconds: float) -> str:
    """h:mm:ss, or m:ss below an hour."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _tensorboard(run: Path) -> Any:
    with suppress(ImportError):
        from torch.utils.tensorboard import SummaryWriter

        writer: Any = SummaryWriter
        return writer(log_dir=str(run / TENSORBOARD))
    return None
