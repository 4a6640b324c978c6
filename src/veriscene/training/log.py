"""What happens in a run: events for any tracker, log.jsonl, and TensorBoard if it is installed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from veriscene import files
from veriscene.errors import InputError
from veriscene.output import Output, clock

LOG = "log.jsonl"
TENSORBOARD = "tensorboard"
STEP_LINE_SECONDS = 30.0  # without a bar, so that a run does not seem to hang between two evaluations


@dataclass(frozen=True)
class LogLine:
    """Records one dev evaluation: a line of log.jsonl, a point of the learning curve."""

    step: int
    epoch: float
    loss: float  # mean training loss since the previous line
    dev_accuracy: float
    learning_rate: float
    examples_per_second: float
    seconds: float  # since the run started, summed over all its parts, without waiting for a teacher


# ---------------------------------------------------------------- events


@dataclass(frozen=True)
class Remark:
    """Says something that the user should know."""

    text: str


@dataclass(frozen=True)
class Waiting:
    """An epoch is being made, and training waits for it."""

    step: int
    total_steps: int
    reason: str


@dataclass(frozen=True)
class Step:
    """A step was made. There is not an event for each step: reading the loss has to wait for the device."""

    step: int
    total_steps: int
    loss: float  # mean since the last dev score
    examples_per_second: float
    seconds_left: float

    def __str__(self) -> str:
        return f"loss {self.loss:.3f}  {self.examples_per_second:,.0f} examples/s  {clock(self.seconds_left)} left"


@dataclass(frozen=True)
class Scored:
    """The model was scored on dev."""

    line: LogLine
    is_best: bool
    total_steps: int
    seconds_left: float

    def __str__(self) -> str:
        line = self.line
        return (
            f"step {line.step:>6}/{self.total_steps}  epoch {line.epoch:>5.1f}  loss {line.loss:.3f}"
            f"  dev {line.dev_accuracy:.1%}{' *' if self.is_best else '  '}  {line.examples_per_second:,.0f} examples/s"
            f"  {clock(line.seconds)} elapsed, {clock(self.seconds_left)} left"
        )


@dataclass(frozen=True)
class Saved:
    """A checkpoint is complete on disk: `best`, or `last` with all that is needed to resume."""

    step: int
    folder: Path


Event = Remark | Waiting | Step | Scored | Saved
OnEvent = Callable[[Event], object]


def show(event: Event, output: Output) -> None:
    """Shows the user what an event says."""
    match event:
        case Remark(text):
            output.say(text)
        case Scored():
            output.say(str(event))
        case Waiting(step, total_steps, reason):
            output.progress(step, total_steps, reason)
        case Step(step, total_steps):
            output.progress(step, total_steps, str(event), every=STEP_LINE_SECONDS)


# ---------------------------------------------------------------- log.jsonl


class RunLog:
    """Writes log.jsonl, which `read_log` reads, and TensorBoard's files."""

    FILES = (LOG, TENSORBOARD)

    def __init__(self, run: Path, *, up_to_step: int) -> None:
        """Drops lines after `up_to_step`: after a crash the log may be ahead of the state that is resumed."""
        self.path = run / LOG
        kept = [line for line in read_log(run) if line.step <= up_to_step]
        # Links are replaced: in a stranger's run they may lead anywhere.
        files.write_text(self.path, "".join(json.dumps(asdict(line)) + "\n" for line in kept), follow=False)
        if (run / TENSORBOARD).is_symlink():
            (run / TENSORBOARD).unlink()
        self._board: Any = None
        with suppress(ImportError):
            from torch.utils.tensorboard import SummaryWriter

            writer: Any = SummaryWriter
            self._board = writer(log_dir=str(run / TENSORBOARD))

    def write(self, line: LogLine) -> None:
        """Adds a line."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(line)) + "\n")
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", where=self.path) from None
        if self._board is not None:
            for name in ("loss", "dev_accuracy", "learning_rate", "examples_per_second"):
                self._board.add_scalar(name, asdict(line)[name], line.step)

    def close(self) -> None:
        """Ends TensorBoard's file."""
        if self._board is not None:
            self._board.close()


def read_log(run: Path) -> list[LogLine]:
    """Reads the lines of a run's log up to the first damaged one: a crash may have cut the last line off."""
    path = run / LOG
    texts = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    lines: list[LogLine] = []
    for line in map(_parse, texts):
        if line is None:
            break
        lines.append(line)
    return lines


def _parse(text: str) -> LogLine | None:
    try:
        record = json.loads(text)
        values = {field.name: record[field.name] for field in fields(LogLine)}
        is_finite = all(type(value) in (int, float) and math.isfinite(value) for value in values.values())
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    if not is_finite:
        return None
    return LogLine(**values) if type(values["step"]) is int and values["step"] > 0 else None
