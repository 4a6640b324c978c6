"""Training without gradient steps, for models with `is_fitted`: their `fit` finds the optimum."""

from __future__ import annotations

import time
from pathlib import Path

from accelerate import Accelerator

from veriscene import files, models
from veriscene.config import Config
from veriscene.data.batch import required
from veriscene.data.source import Source
from veriscene.judge.checkpoint import BEST, Checkpoint
from veriscene.models.base import Model, judge_in_batches
from veriscene.training.base import Outcome, StopAfter, Trainer
from veriscene.training.objective import objective
from veriscene.training.progress import Display, LogLine, RunLog
from veriscene.training.scoring import accuracy
from veriscene.training.state import Position


class FittedTrainer(Trainer):
    """A run is completed in one piece or not at all."""

    def __init__(
        self, config: Config, folder: Path, source: Source, *, accelerator: Accelerator, quiet: bool = False
    ) -> None:
        super().__init__(config, folder, source, accelerator=accelerator, quiet=quiet)
        self._position = Position(finished=files.present(folder / BEST) is not None)

    @property
    def position(self) -> Position:
        return self._position

    def resume(self) -> None:
        """There is no intermediate state."""

    def fit(self, stop_after: StopAfter = lambda line: False) -> Outcome:
        self._check_unfinished()
        started = time.monotonic()
        display = Display(1, 0, quiet=self.quiet or not self.accelerator.is_main_process)
        model, corpus = models.build(self.config.model, vocabulary=self.source.encoder.vocabulary), self.source.train
        display.note(f"extracting the features of {len(corpus):,} examples")
        model.prepare(corpus)
        display.note("fitting their weights, which takes a little longer")
        model.fit(corpus)
        score, seconds = accuracy(self.accelerator, model, self.source.dev), time.monotonic() - started
        line = LogLine(1, 1.0, self._loss(model), score, 0.0, len(corpus) / seconds, seconds)
        if self.accelerator.is_main_process:
            self._save_best(Checkpoint(model, self.config, self.source.encoder, {}), line)
            log = RunLog(self.folder, up_to_step=0)
            log.write(line)
            log.close()
            display.scored(line, seconds_left=0.0, best=True)
        self.accelerator.wait_for_everyone()  # the checkpoint must be complete before another process looks for it
        stop_after(line)
        self._position = Position(step=1, best_accuracy=score, best_step=1, seconds=seconds, finished=True)
        return Outcome(self._position, interrupted=False, steps_planned=1)

    def _loss(self, model: Model) -> float:
        total = 0.0
        for _, batch, judgement in judge_in_batches(model, self.source.train):
            total += float(objective(judgement, required(batch.labels)).comprehension.sum())
        return total / len(self.source.train)
