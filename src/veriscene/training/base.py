"""The contract of every trainer: it trains one model on one source, in one run folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from accelerate import Accelerator

from veriscene.config import Config
from veriscene.data.source import Source
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import BEST, Checkpoint
from veriscene.training.progress import LogLine
from veriscene.training.state import Position

StopAfter = Callable[[LogLine], bool]


@dataclass(frozen=True)
class Outcome:
    position: Position
    interrupted: bool  # before its end
    steps_planned: int
    asked_to_stop: bool = False  # perhaps in its last step: nothing more should be trained


class Trainer(ABC):
    """Does not lock its folder itself (see run.py)."""

    def __init__(
        self, config: Config, folder: Path, source: Source, *, accelerator: Accelerator, quiet: bool = False
    ) -> None:
        self.config, self.folder, self.source, self.accelerator, self.quiet = config, folder, source, accelerator, quiet

    @property
    @abstractmethod
    def position(self) -> Position: ...

    @abstractmethod
    def fit(self, stop_after: StopAfter = lambda line: False) -> Outcome:
        """Trains to the end and leaves `best` in the run folder. `stop_after` sees the log line of each dev score, and
        may end the run there."""

    @abstractmethod
    def resume(self) -> None:
        """Continues from what this run saved last."""

    def _check_unfinished(self) -> None:
        if self.position.finished:
            raise InputError("this run is finished", where=self.folder, allowed="start a new one to train longer")

    def _save_best(self, checkpoint: Checkpoint, line: LogLine) -> None:
        metrics = {**vars(line), "supervision": self.source.supervision}
        checkpoints.save(self.folder / BEST, replace(checkpoint, metrics=metrics))
