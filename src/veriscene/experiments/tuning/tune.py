"""Searches for settings: asks the study for trials, has several trained at a time, and tells what comes of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from veriscene.errors import InputError
from veriscene.experiments.tuning.jobs import Jobs
from veriscene.experiments.tuning.search import Search
from veriscene.experiments.tuning.space import as_changes
from veriscene.experiments.tuning.study import COMPLETE, CUT_OFF, FAILED, PRUNED, Study, Trial, opened
from veriscene.experiments.tuning.trial import Assignment, DevScore, Ended
from veriscene.training.interruption import interruptible
from veriscene.training.progress import clock

FAILURES_IN_A_ROW = 3  # After so many the machine is at fault rather than the settings.
Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    best: dict[str, Any] | None  # dev_accuracy, trial, settings, command, run; None if no trial is complete
    interrupted: bool


def tune(
    search: Search, *, folder: Path, trials: int, jobs: int, accelerator: Callable[[], Accelerator], say: Say
) -> Outcome:
    """Goes on with the study in `folder`, or begins it, until it has `trials` finished trials in all, or until Ctrl-C.

    `accelerator` is called in each trial's own process. InputError if trials fail one after the other.
    """
    threads = max(1, torch.get_num_threads() // jobs)
    with opened(folder, search) as study, interruptible() as asked_to_stop, Jobs() as at_work:
        teller = _Teller(study, trials, say)
        while True:
            if asked_to_stop.is_set() or teller.failures_in_a_row >= FAILURES_IN_A_ROW:
                at_work.stop()
            else:
                while len(at_work) < min(jobs, trials - len(study.finished())):
                    trial = study.ask()
                    at_work.start(trial.number, _assignment(study, trial, threads, accelerator))
            if not at_work:
                break
            for number, message in at_work.messages():
                if isinstance(message, DevScore):
                    at_work.answer(number, study.score(number, share=message.share, accuracy=message.accuracy))
                else:
                    teller.tell(_finish(study, number, message))
        if teller.failures_in_a_row >= FAILURES_IN_A_ROW:
            raise InputError(f"{folder}: {teller.failures_in_a_row} trials in a row failed; {teller.last_failure}")
        return Outcome(study.best_to_json(), interrupted=len(study.finished()) < trials)


def _assignment(study: Study, trial: Trial, threads: int, accelerator: Callable[[], Accelerator]) -> Assignment:
    # Whole paths: a new process begins in the folder in which this one was when it was started.
    return Assignment(
        config=study.search.configuration(trial.settings),
        preset=study.search.preset,
        data=study.search.data.absolute(),
        folder=study.run_folder(trial.number).absolute(),
        log=study.log_file(trial.number).absolute(),
        threads=threads,
        accelerator=accelerator,
    )


def _finish(study: Study, number: int, ended: Ended) -> Trial:
    if ended.interrupted:
        return study.finish(number, CUT_OFF)
    if ended.accuracy is None:
        return study.finish(number, FAILED, error=ended.error)
    state = PRUNED if ended.is_pruned else COMPLETE
    return study.finish(number, state, accuracy=ended.accuracy, seconds=ended.seconds)


class _Teller:
    """A line for each trial that ends."""

    def __init__(self, study: Study, trials: int, say: Say) -> None:
        self._study, self._trials, self._say = study, trials, say
        self._started, self._done_before = time.monotonic(), len(study.finished())
        self.failures_in_a_row = 0
        self.last_failure = ""

    def tell(self, trial: Trial) -> None:
        if trial.state == CUT_OFF:
            return
        if trial.state == FAILED:
            self.failures_in_a_row += 1
            self.last_failure = f"the last one: {trial.error}; see {self._study.log_file(trial.number)}"
        else:
            self.failures_in_a_row = 0
        self._say(f"{self._result(trial)}  {' '.join(as_changes(trial.settings))}  {self._standing()}")

    def _result(self, trial: Trial) -> str:
        if trial.dev_accuracy is None or trial.seconds is None:
            return f"trial {trial.number} failed: {trial.error}"
        pruned = ", stopped as hopeless" if trial.state == PRUNED else ""
        best = self._study.best()
        so_far = f"  best {best.dev_accuracy:.1%} (trial {best.number})" if best else ""
        return f"trial {trial.number}  dev {trial.dev_accuracy:.1%}{pruned}{so_far}  {trial.seconds:.0f} s"

    def _standing(self) -> str:
        done = len(self._study.finished())
        each = (time.monotonic() - self._started) / (done - self._done_before)
        return f"{done} of {self._trials}, {clock(each * (self._trials - done))} left"
