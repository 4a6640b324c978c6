"""What a run tells while it goes: a bar on a terminal, else plain lines; JSON lines always; tensorboard if there."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from veriscene import files

LOG = "log.jsonl"
SECONDS_BETWEEN_LINES = 30.0  # where there is no bar: between dev scores a run shall not look dead


class RunLog:
    """The run's own record. `read(path)` gives its lines back; the report draws its curve from them."""

    def __init__(self, run: Path, *, up_to_step: int) -> None:
        """After a crash the log may be ahead of the state that is resumed, so it is cut back to `up_to_step`."""
        self.path = run / LOG
        kept = [line for line in read_log(run) if line["step"] <= up_to_step] if up_to_step else []
        files.write_text(self.path, "".join(json.dumps(line) + "\n" for line in kept))
        self._board = _tensorboard(run)

    def write(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        if self._board is not None:
            for name, value in line.items():
                if isinstance(value, float) and name != "seconds":
                    self._board.add_scalar(name, value, line["step"])

    def close(self) -> None:
        if self._board is not None:
            self._board.close()


def read_log(run: Path) -> list[dict[str, Any]]:
    """Its lines, up to the first that is none: a crash may have cut the last one."""
    path = run / LOG
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    whole: list[dict[str, Any]] = []
    for text in lines:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            break
        if not _is_score(line):
            break
        whole.append(line)
    return whole


def _is_score(line: object) -> bool:
    """Whether it has what a report draws and a run goes on by."""
    if not isinstance(line, dict):
        return False
    return all(isinstance(line.get(key), int | float) for key in ("step", "loss", "dev_accuracy")) and line["step"] > 0


class Display:
    """Progress for a person, on standard error."""

    def __init__(self, total_steps: int, done_steps: int, *, quiet: bool) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=total_steps, completed=done_steps, state="")
        self._total_steps, self._told = total_steps, time.monotonic()

    def __enter__(self) -> Display:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def note(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False)
        self._told = time.monotonic()

    def step(self, step: int, *, loss: float, speed: float, seconds_left: float) -> None:
        state = f"loss {loss:.3f}  {speed:,.0f} examples/s  {clock(seconds_left)} left"
        self._bar.update(self._task, completed=step, state=state)
        if not self._console.is_terminal and time.monotonic() - self._told > SECONDS_BETWEEN_LINES:
            self.note(f"step {step:>6}/{self._total_steps}  {state}")

    def scored(self, line: dict[str, Any], *, seconds_left: float, best: bool) -> None:
        self.note(
            f"step {line['step']:>6}/{self._total_steps}  epoch {line['epoch']:>5.1f}  loss {line['loss']:.3f}"
            f"  dev {line['dev_accuracy']:.1%}{' *' if best else '  '}  {line['examples_per_second']:,.0f} examples/s"
            f"  {clock(line['seconds'])} gone, {clock(seconds_left)} left"
        )


def clock(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _tensorboard(run: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    make: Callable[..., Any] = SummaryWriter
    return make(log_dir=str(run / "tensorboard"))
