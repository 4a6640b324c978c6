"""The training loop: exact to resume, the same in one process and in many."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from veriscene import models
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.tensors.batch import Batch
from veriscene.training import checkpoint as checkpoints
from veriscene.training import processes, state
from veriscene.training.average import Average
from veriscene.training.checkpoint import BEST, Checkpoint
from veriscene.training.epochs import Epochs
from veriscene.training.interruption import interruptible
from veriscene.training.materials import Materials
from veriscene.training.optimizer import make_optimizer
from veriscene.training.progress import Display, RunLog
from veriscene.training.schedule import learning_rate
from veriscene.training.state import Outcome, Position
from veriscene.training.step import CapturedStep, PlainStep, Step

LAST = "last"
SECONDS_BETWEEN_SAVES = 60.0
PROBED_STEPS = 3
SECONDS_BETWEEN_LOOKS = 0.5  # at the loss, for which the device must come to rest


class Trainer:
    def __init__(
        self,
        config: Config,
        run: Path,
        materials: Materials,
        *,
        accelerator: Accelerator,
        quiet: bool = False,
    ) -> None:
        if config.training.threads:
            torch.set_num_threads(config.training.threads)
        self.config, self.run, self.accelerator, self.quiet = config, run, accelerator, quiet
        self.held = ExitStack()  # keeps other commands out of the run until `fit` ends
        self.materials, self.vocabulary = materials, materials.vocabulary
        self.epochs = Epochs(config, self.vocabulary, materials.train, accelerator)
        self.corpus, self.order = self.epochs.corpus, self.epochs.order
        self.dev = materials.dev.to(accelerator.device).in_order(self.order)
        torch.manual_seed(config.training.seed)
        self.model: nn.Module = models.build(config.model, vocabulary=self.vocabulary)
        if isinstance(self.model, models.Prepared):
            self.model.prepare(materials.train)
        self.model.to(accelerator.device)
        if accelerator.num_processes > 1:  # an accelerator keeps what it prepares for as long as it lives itself
            self.model = accelerator.prepare(self.model)
        # Processes must draw different dropout and different orders, or they would learn the same thing twice.
        torch.manual_seed(config.training.seed + 7919 * accelerator.process_index)
        self.captures = accelerator.device.type == "cuda" and accelerator.num_processes == 1
        self.average = Average(self._bare_model(), keep=config.training.average) if config.training.average else None
        self.optimizer = make_optimizer(self._bare_model(), config.training, captured=self.captures)
        self.position = Position()

    @property
    def total_steps(self) -> int:
        return self.config.training.epochs * self.epochs.steps_each

    def expected_seconds(self) -> float:
        """About how long `fit` takes to its end, by some steps and a score: for a trainer to be thrown away."""
        step = self._make_step()
        corpus, numbers, share = next(self.epochs.from_step(self.position.step))
        for _ in range(PROBED_STEPS):  # the first ones are slower: libraries set themselves up, graphs are recorded
            step(corpus, numbers, share, learning_rate=0.0)
        started = time.monotonic()
        for _ in range(PROBED_STEPS):
            float(step(corpus, numbers, share, learning_rate=0.0))
        seconds = (time.monotonic() - started) / PROBED_STEPS * self.total_steps
        started = time.monotonic()
        processes.accuracy(self.accelerator, self._bare_model(), self.dev)
        scores = self.total_steps / (self.config.training.evaluate_every or self.epochs.steps_each)
        seconds += (time.monotonic() - started) * scores
        limit = self.config.training.minutes * 60
        return min(seconds, limit) if limit else seconds

    def resume(self, folder: Path) -> None:
        """Takes up weights, optimiser, generators and position of a state that this run left."""
        average = self.average.weights if self.average else []
        self.position = state.restore(
            folder, self._checkpoint({}), self.materials.digest, self.optimizer, average, self.accelerator
        )

    # ------------------------------------------------------------ the loop

    def fit(self, stop_after: Callable[[dict[str, Any]], bool] = lambda line: False) -> Outcome:
        """Trains to the end, to patience, to the time limit or to Ctrl-C, and leaves `best` and `last` in the run.

        `stop_after` sees the log's line of each dev score, and may end the run there.
        """
        with self.held:
            if self.position.finished:
                raise InputError(f"{self.run}: this run is finished; start a new one to train longer")
            return self._fit(stop_after)

    def _fit(self, stop_after: Callable[[dict[str, Any]], bool]) -> Outcome:
        log = RunLog(self.run, up_to_step=self.position.step) if self.accelerator.is_main_process else None
        display = Display(self.total_steps, self.position.step, quiet=self.quiet or log is None)
        step = self._make_step()
        self.loss_sum = torch.tensor(self.position.loss_sum, dtype=torch.float64, device=self.accelerator.device)
        interrupted = False
        saved = looked = self._clock = time.monotonic()
        with display, interruptible() as asked_to_stop:
            for corpus, numbers, share in self.epochs.from_step(self.position.step):
                self._learn(step, corpus, numbers, share)
                if self._clock - looked > SECONDS_BETWEEN_LOOKS:
                    self._look(display)
                    looked = self._clock
                interrupted, out_of_time, save_due = processes.agree(
                    self.accelerator,
                    asked_to_stop.is_set(),
                    0 < self.config.training.minutes * 60 <= self.position.seconds,
                    self._clock - saved > SECONDS_BETWEEN_SAVES,
                )
                if self._due_for_score() or (out_of_time and not interrupted):
                    self._look(display)
                    out_of_time |= stop_after(self._score(log, display))
                if self._is_over(out_of_time, interrupted):
                    self.position = replace(self.position, finished=True)
                    break
                if interrupted:
                    self._look(display)
                    break
                if save_due:
                    self._look(display)
                    self._save_last()
                    saved = self._clock
            self._save_last()
        if log is not None:
            log.close()
        stopped_early = interrupted and not self.position.finished
        return Outcome(self.position, interrupted=stopped_early, steps_planned=self.total_steps)

    def _make_step(self) -> Step:
        settings = self.config.training
        if self.captures:
            return CapturedStep(self.model, self.optimizer, self.corpus, settings, self.order)
        return PlainStep(self.model, self.optimizer, settings, self.accelerator, self.order)

    def _learn(self, step: Step, corpus: Batch, numbers: Tensor, share: Tensor) -> None:
        position = self.position
        rate = learning_rate(self.config.training, position.step, self.total_steps)
        self.loss_sum += step(corpus, numbers, share, learning_rate=rate)
        if self.average:
            self.average.follow(position.step)
        spent = self._tick()
        self.position = replace(
            position,
            step=position.step + 1,
            seconds=position.seconds + spent,
            training_seconds=position.training_seconds + spent,
            loss_count=position.loss_count + 1,
        )

    def _tick(self) -> float:
        """Seconds since the last call."""
        before, self._clock = self._clock, time.monotonic()
        return self._clock - before

    def _look(self, display: Display) -> None:
        """Waits for the device and reads the loss."""
        loss = float(self.loss_sum)
        if not math.isfinite(loss):
            raise InputError(
                f"the loss is no longer finite at step {self.position.step};"
                f" lower training.learning_rate (it is {self.config.training.learning_rate}) or training.clip"
            )
        spent = self._tick()
        self.position = replace(
            self.position,
            loss_sum=loss,
            seconds=self.position.seconds + spent,
            training_seconds=self.position.training_seconds + spent,
        )
        display.step(
            self.position.step,
            loss=loss / max(1, self.position.loss_count),
            speed=self._examples_per_second(),
            seconds_left=self._seconds_left(),
        )

    # ------------------------------------------------------------ dev scores

    def _score(self, log: RunLog | None, display: Display) -> dict[str, Any]:
        with self.average.in_place() if self.average else nullcontext():
            return self._score_these_weights(log, display)

    def _score_these_weights(self, log: RunLog | None, display: Display) -> dict[str, Any]:
        accuracy = processes.accuracy(self.accelerator, self._bare_model(), self.dev)
        position = self.position
        best = accuracy > position.best_accuracy
        line = {
            "step": position.step,
            "epoch": position.step / self.epochs.steps_each,
            "loss": processes.mean(self.accelerator, position.loss_sum / max(1, position.loss_count)),
            "dev_accuracy": accuracy,
            "learning_rate": learning_rate(self.config.training, position.step - 1, self.total_steps),
            "examples_per_second": self._examples_per_second(),
            "seconds": position.seconds,
        }
        self.loss_sum.zero_()
        self.position = replace(
            position,
            best_accuracy=accuracy if best else position.best_accuracy,
            best_step=position.step if best else position.best_step,
            scores_since_best=0 if best else position.scores_since_best + 1,
            seconds=position.seconds + self._tick(),
            loss_sum=0.0,
            loss_count=0,
            training_seconds=0.0,
        )
        if best and self.accelerator.is_main_process:
            checkpoints.save(self.run / BEST, self._checkpoint({**line, "supervision": self.materials.supervision}))
        if log is not None:
            log.write(line)
        display.scored(line, seconds_left=self._seconds_left(), best=best)
        self._tick()  # writing is nobody's training time
        return line

    def _due_for_score(self) -> bool:
        every = self.config.training.evaluate_every or self.epochs.steps_each
        return self.position.step % every == 0 or self.position.step == self.total_steps

    def _is_over(self, out_of_time: bool, interrupted: bool) -> bool:
        patience_gone = self.position.scores_since_best >= self.config.training.patience
        return self.position.step == self.total_steps or patience_gone or (out_of_time and not interrupted)

    def _examples_per_second(self) -> float:
        steps, seconds = self.position.loss_count, self.position.training_seconds
        return steps * self.config.training.batch / seconds if seconds else 0.0

    def _seconds_left(self) -> float:
        steps_left = self.total_steps - self.position.step
        by_steps = self.position.seconds / max(1, self.position.step) * steps_left
        minutes = self.config.training.minutes
        return min(by_steps, max(0.0, minutes * 60 - self.position.seconds)) if minutes else by_steps

    # ------------------------------------------------------------ saving

    def _bare_model(self) -> nn.Module:
        model: nn.Module = self.accelerator.unwrap_model(self.model)
        return model

    def _checkpoint(self, metrics: dict[str, Any]) -> Checkpoint:
        return Checkpoint(self._bare_model(), self.config, self.vocabulary, metrics)

    def _save_last(self) -> None:
        self.position = replace(self.position, loss_sum=float(self.loss_sum))
        average = self.average.weights if self.average else []
        state.save(
            self.run / LAST,
            self._checkpoint({}),
            self.materials.digest,
            self.position,
            self.optimizer,
            average,
            self.accelerator,
        )
        self._tick()  # saving is nobody's training time
