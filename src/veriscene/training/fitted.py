"""Training without steps, for models that know the way to their best weights: they have a `fit(corpus)`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from torch import nn

from veriscene import models
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.models.inference import judge_in_batches
from veriscene.tensors.batch import ItemOrder
from veriscene.training import checkpoint as checkpoints
from veriscene.training import processes
from veriscene.training.checkpoint import BEST, Checkpoint
from veriscene.training.materials import Materials
from veriscene.training.objective import objective
from veriscene.training.progress import Display, RunLog
from veriscene.training.state import Outcome, Position


class FittedTrainer:
    """To its users what Trainer is; a run is done in one piece or not at all."""

    def __init__(
        self,
        config: Config,
        run: Path,
        materials: Materials,
        *,
        accelerator: Accelerator,
        quiet: bool = False,
    ) -> None:
        self.config, self.run, self.accelerator, self.quiet = config, run, accelerator, quiet
        self.held = ExitStack()  # keeps other commands out of the run until `fit` ends
        self.supervision, self.vocabulary = materials.supervision, materials.vocabulary
        order = ItemOrder(config.data.order)
        self.corpus, self.dev = materials.train.in_order(order), materials.dev.in_order(order)
        self.position = Position(finished=checkpoints.present(run / BEST) is not None)

    def expected_seconds(self) -> float:
        return 60.0  # of the one such model, on the corpus it is for

    def fit(self, stop_after: Callable[[dict[str, Any]], bool] = lambda line: False) -> Outcome:
        """Finds the weights, scores them on dev, and leaves them as `best` in the run."""
        with self.held:
            if self.position.finished:
                raise InputError(f"{self.run}: this run is finished; start a new one")
            return self._fit(stop_after)

    def _fit(self, stop_after: Callable[[dict[str, Any]], bool]) -> Outcome:
        started = time.monotonic()
        display = Display(1, 0, quiet=self.quiet or not self.accelerator.is_main_process)
        model = models.build(self.config.model, vocabulary=self.vocabulary)
        assert isinstance(model, models.Fitted)
        display.note(f"taking the features of {len(self.corpus):,} examples")
        model.prepare(self.corpus)
        display.note("finding their weights, which takes a little longer")
        model.fit(self.corpus)
        accuracy = processes.accuracy(self.accelerator, model, self.dev)
        seconds = time.monotonic() - started
        line: dict[str, Any] = {
            "step": 1,
            "epoch": 1.0,
            "loss": self._loss(model),
            "dev_accuracy": accuracy,
            "learning_rate": 0.0,
            "examples_per_second": len(self.corpus) / seconds,
            "seconds": seconds,
        }
        if self.accelerator.is_main_process:
            metrics = {**line, "supervision": self.supervision}
            checkpoints.save(self.run / BEST, Checkpoint(model, self.config, self.vocabulary, metrics))
            log = RunLog(self.run, up_to_step=0)
            log.write(line)
            log.close()
            display.scored(line, seconds_left=0.0, best=True)
        self.accelerator.wait_for_everyone()  # nobody shall look for what is still being written
        stop_after(line)
        self.position = Position(step=1, best_accuracy=accuracy, best_step=1, seconds=seconds, finished=True)
        return Outcome(self.position, interrupted=False, steps_planned=1)

    def _loss(self, model: nn.Module) -> float:
        total = 0.0
        for _, batch, judgement in judge_in_batches(model, self.corpus):
            assert batch.labels is not None
            total += float(objective(judgement, batch.labels).comprehension.sum())
        return total / len(self.corpus)
