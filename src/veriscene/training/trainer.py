"""The training loop: exact to resume, the same in one process and in many."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import Tensor

from veriscene import files, models
from veriscene.config import Config
from veriscene.data.batch import Batch
from veriscene.data.source import Source
from veriscene.errors import InputError
from veriscene.judge.checkpoint import BEST, Checkpoint
from veriscene.models.base import Model
from veriscene.training.base import Outcome, StopAfter, Trainer
from veriscene.training.distributed import any_process, broadcast, on_main_process, summed
from veriscene.training.initial import copy_weights
from veriscene.training.interruption import interruptible
from veriscene.training.optimization import learning_rate, tf32
from veriscene.training.progress import Display, LogLine, RunLog, read_log
from veriscene.training.scoring import accuracy
from veriscene.training.state import Position, TrainingState
from veriscene.training.step import CapturedStep, PlainStep, Step

LAST = "last"
SECONDS_BETWEEN_SAVES = 60.0
SECONDS_BETWEEN_REFRESHES = 0.5  # at the loss, for which the device must be synchronised
SECONDS_BETWEEN_LOOKS = 0.1  # at an epoch that is being made
STEPS_BETWEEN_VOTES = 16  # of several processes on GPUs, which must wait for the device to agree on stopping


class StepTrainer(Trainer):
    """Training by gradient steps."""

    def __init__(
        self,
        config: Config,
        folder: Path,
        source: Source,
        *,
        accelerator: Accelerator,
        initial: Checkpoint | None = None,
        quiet: bool = False,
    ) -> None:
        super().__init__(config, folder, source, accelerator=accelerator, quiet=quiet)
        settings = config.training
        if settings.threads:
            torch.set_num_threads(settings.threads)
        torch.manual_seed(settings.seed)
        model = models.build(config.model, vocabulary=source.encoder.vocabulary)
        if initial is None:
            model.prepare(source.train)
        else:
            copy_weights(initial, model)
        source.to(accelerator.device)
        model.to(accelerator.device)
        broadcast(accelerator, model.state_dict().values())
        self._extract(model)
        # Processes must draw different dropout masks and orders.
        torch.manual_seed(settings.seed + 7919 * accelerator.process_index)
        checkpoint = Checkpoint(model, config, source.encoder, {})
        self.state = TrainingState(checkpoint, settings, accelerator, source.fingerprint)

    def _extract(self, model: Model) -> None:
        """The main process goes first and stores the result, which the others then read."""
        display = Display(1, 0, quiet=self.quiet or not self.accelerator.is_main_process)
        extract = partial(model.extract, store=True, say=display.note, progress=display.count)
        with self.accelerator.main_process_first():
            self.source.transform(extract)

    @property
    def position(self) -> Position:
        return self.state.position

    @property
    def total_steps(self) -> int:
        return self.config.training.epochs * self.source.steps_per_epoch

    def resume(self) -> None:
        """Continues from the state that this run saved last; without one, from the beginning.

        A finished run whose state was deleted, to save space, stays finished: its best weights must not be replaced.
        """
        last = files.present(self.folder / LAST)
        if last is not None:
            self.state.restore(last, total_steps=self.total_steps)
        elif files.present(self.folder / BEST) is not None and self._log_is_complete(read_log(self.folder)):
            self._move(finished=True)

    def _log_is_complete(self, log: Sequence[LogLine]) -> bool:
        """Whether the log says that the run reached its last step, its time limit or the end of its patience."""
        if not log:
            return False
        scores, limit = [line.dev_accuracy for line in log], self.config.training.minutes * 60
        scores_since_best = len(scores) - 1 - scores.index(max(scores))
        out_of_patience = scores_since_best >= self.config.training.patience
        return log[-1].step == self.total_steps or out_of_patience or 0 < limit <= log[-1].seconds

    def fit(self, stop_after: StopAfter = lambda line: False) -> Outcome:
        """Trains to the end, out of patience, to the time limit or to Ctrl-C; leaves `best` and `last` there."""
        self._check_unfinished()
        log = RunLog(self.folder, up_to_step=self.position.step) if self.accelerator.is_main_process else None
        self.display = Display(self.total_steps, self.position.step, quiet=self.quiet or log is None)
        self.loss_sum = torch.tensor(self.position.loss_sum, dtype=torch.float64, device=self.accelerator.device)
        with closing(log) if log else nullcontext(), self.display, interruptible() as asked_to_stop, tf32():
            interrupted = self._loop(asked_to_stop.is_set, log, stop_after)
        stopped_early = interrupted and not self.position.finished
        return Outcome(self.position, stopped_early, self.total_steps, asked_to_stop=interrupted)

    # ------------------------------------------------------------ the loop

    def _loop(self, asked_to_stop: Callable[[], bool], log: RunLog | None, stop_after: StopAfter) -> bool:
        """Whether it was interrupted."""
        step, limit = self._make_step(), self.config.training.minutes * 60
        interrupted = False
        saved = refreshed = self._clock = time.monotonic()
        for corpus, numbers, share in self._remaining_steps(asked_to_stop):
            self._learn(step, corpus, numbers, share)
            if self._clock - refreshed > SECONDS_BETWEEN_REFRESHES:
                self._refresh()
                refreshed = self._clock
            interrupted, out_of_time, save_due = self._vote(
                asked_to_stop(), 0 < limit <= self.position.seconds, self._clock - saved > SECONDS_BETWEEN_SAVES
            )
            if self._due_for_score() or (out_of_time and not interrupted):
                self._refresh()
                # A run that is killed before its first regular save must not start over.
                save_due |= self.position.best_step == 0
                out_of_time |= stop_after(self._score(log))
            if self._is_over(out_of_time, interrupted):
                self._move(finished=True)
                break
            if interrupted:
                break
            if save_due:
                self._save()
                saved = self._clock
        else:
            interrupted = True  # while an epoch was being made
        self._save()
        return interrupted

    def _vote(self, *flags: bool) -> tuple[bool, ...]:
        is_due = not self.state.captured or self._due_for_score() or self.position.step % STEPS_BETWEEN_VOTES == 0
        if self.accelerator.num_processes > 1 and not is_due:
            return (False,) * len(flags)
        return any_process(self.accelerator, *flags)

    def _make_step(self) -> Step:
        settings, state, order = self.config.training, self.state, self.source.encoder.order
        model, processes = state.checkpoint.model, self.accelerator.num_processes
        kind = CapturedStep if state.captured else PlainStep
        return kind(model, state.optimizer, settings, order, processes=processes)

    def _remaining_steps(self, asked_to_stop: Callable[[], bool]) -> Iterator[tuple[Batch, Tensor, Tensor]]:
        """For each step: the corpus, the indices of this process's examples, each one's share in the batch's mean.

        Ends before the last step if it is asked to stop while an epoch is being made.
        """
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        first_epoch, first_step = divmod(self.position.step, self.source.steps_per_epoch)
        for number in range(first_epoch, self.config.training.epochs):
            if not self._wait_for(number, asked_to_stop):
                return
            epoch = self.source.epoch(number)
            for whole in epoch.steps[first_step:]:
                mine = whole[rank::world]
                share = torch.full((len(mine),), 1 / len(whole))
                if not len(mine):  # fewer examples than processes: one without a share keeps all in step
                    mine, share = whole[:1], torch.zeros(1)
                yield epoch.corpus, mine, share
            first_step = 0

    def _wait_for(self, epoch: int, asked_to_stop: Callable[[], bool]) -> bool:
        """Whether the epoch can be had. Several processes stop only between steps, where they can agree on it."""
        while pending := self.source.pending(epoch):
            self.display.waiting(pending)
            if asked_to_stop() and self.accelerator.num_processes == 1:
                return False
            time.sleep(SECONDS_BETWEEN_LOOKS)
        self._tick()  # waiting is no training: neither speed nor time limit depends on who made the examples, and when
        return True

    def _learn(self, step: Step, corpus: Batch, numbers: Tensor, share: Tensor) -> None:
        position = self.position
        rate = learning_rate(self.config.training, position.step, self.total_steps)
        self.loss_sum += step(corpus, numbers, share, learning_rate=rate)
        if self.state.ema:
            self.state.ema.update(position.step)
        spent = self._tick()
        self._move(
            step=position.step + 1,
            seconds=position.seconds + spent,
            training_seconds=position.training_seconds + spent,
            loss_count=position.loss_count + 1,
        )

    def _read_loss(self) -> float:
        """Waits for the device. Raises InputError if the loss is not finite: such a state is not saved either."""
        loss = float(self.loss_sum)
        if not math.isfinite(loss):
            rate, clip = self.config.training.learning_rate, self.config.training.clip
            raise InputError(
                f"the loss is no longer finite at step {self.position.step}",
                where=self.folder,
                allowed=f"lower training.learning_rate (it is {rate}) or training.clip (it is {clip})",
            )
        return loss

    def _refresh(self) -> None:
        """Reads the loss and shows it."""
        position, loss = self.position, self._read_loss()
        spent = self._tick()
        self._move(loss_sum=loss, seconds=position.seconds + spent, training_seconds=position.training_seconds + spent)
        self.display.step(
            self.position.step,
            loss=loss / max(1, position.loss_count),
            speed=self._examples_per_second(),
            seconds_left=self._seconds_left(),
        )

    # ------------------------------------------------------------ dev scores

    def _score(self, log: RunLog | None) -> LogLine:
        model, ema = self.state.checkpoint.model, self.state.ema
        # Running statistics differ between processes.
        broadcast(self.accelerator, [*model.state_dict().values(), *(ema.weights if ema else [])])
        with ema.applied() if ema else nullcontext():
            score = accuracy(self.accelerator, model, self.source.dev)
            position, best = self.position, score > self.position.best_accuracy
            line = LogLine(
                step=position.step,
                epoch=position.step / self.source.steps_per_epoch,
                loss=summed(self.accelerator, position.loss_sum / max(1, position.loss_count)),
                dev_accuracy=score,
                learning_rate=learning_rate(self.config.training, position.step - 1, self.total_steps),
                examples_per_second=self._examples_per_second(),
                seconds=position.seconds,
            )
            if best:
                on_main_process(self.accelerator, lambda: self._save_best(self.state.checkpoint, line))
        self.loss_sum.zero_()
        self._move(
            best_accuracy=score if best else position.best_accuracy,
            best_step=position.step if best else position.best_step,
            scores_since_best=0 if best else position.scores_since_best + 1,
            seconds=position.seconds + self._tick(),
            loss_sum=0.0,
            loss_count=0,
            training_seconds=0.0,
        )
        if log is not None:
            log.write(line)
        self.display.scored(line, seconds_left=self._seconds_left(), best=best)
        return line

    def _due_for_score(self) -> bool:
        every = self.config.training.evaluate_every or self.source.steps_per_epoch
        return self.position.step % every == 0 or self.position.step == self.total_steps

    def _is_over(self, out_of_time: bool, interrupted: bool) -> bool:
        out_of_patience = self.position.scores_since_best >= self.config.training.patience
        return self.position.step == self.total_steps or out_of_patience or (out_of_time and not interrupted)

    # ------------------------------------------------------------ time and position

    def _move(self, **changes: object) -> None:
        self.state.position = replace(self.state.position, **changes)  # type: ignore[arg-type]

    def _tick(self) -> float:
        """Seconds since the last call."""
        before, self._clock = self._clock, time.monotonic()
        return self._clock - before

    def _save(self) -> None:
        self._move(loss_sum=self._read_loss())
        self.state.save(self.folder / LAST)
        self._tick()  # saving is excluded from throughput

    def _examples_per_second(self) -> float:
        steps, seconds = self.position.loss_count, self.position.training_seconds
        return steps * self.config.training.batch / seconds if seconds else 0.0

    def _seconds_left(self) -> float:
        steps_left = self.total_steps - self.position.step
        by_steps = self.position.seconds / max(1, self.position.step) * steps_left
        minutes = self.config.training.minutes
        return min(by_steps, max(0.0, minutes * 60 - self.position.seconds)) if minutes else by_steps
