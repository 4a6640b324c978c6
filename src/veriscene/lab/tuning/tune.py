"""Runs a study: one worker process per trial, several at a time. All results go through optuna's journal."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import closing
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import optuna
import torch
from optuna.trial import FrozenTrial, TrialState

from veriscene.errors import InputError
from veriscene.lab.tuning import study as studies
from veriscene.lab.tuning.space import Search
from veriscene.lab.tuning.study import ERROR, MARKS, SECONDS, Study
from veriscene.models.settings import as_changes
from veriscene.output import Terminal, clock
from veriscene.training.distributed import Machine
from veriscene.training.interruption import interruptible
from veriscene.training.log import LogLine
from veriscene.training.train import train

MOST_FAILURES = 3  # in a row: then the settings are not the cause
# All that training imports, including what torch and accelerate import late.
PRELOADED = [__name__, "torch._dynamo", "torch.distributed.tensor", "torch.utils.tensorboard"]

Machines = Callable[[], Machine]


def make_machine() -> Machine:
    """The device of a trial, whose output is its log."""
    return Machine(Terminal())


def tune(
    search: Search,
    *,
    folder: Path,
    trials: int,
    jobs: int,
    say: Callable[[str], None],
    machine: Machines = make_machine,
) -> tuple[dict[str, Any] | None, bool]:
    """Starts or continues the study in `folder`, until it has `trials` finished trials or Ctrl-C is pressed.

    Returns the content of best.json (None if no trial is complete), and whether the study was interrupted.
    `machine` is called in each worker. Raises InputError after three failures in a row.
    """
    failures: list[FrozenTrial] = []  # since the last success
    with studies.opened(folder, search) as study, interruptible() as asked_to_stop:
        started, before = time.monotonic(), len(study.finished())
        ended = _run(
            study, trials, jobs, machine, lambda: asked_to_stop.is_set() or len(failures) >= MOST_FAILURES, say
        )
        with closing(ended):
            for trial in ended:
                if studies.is_cut_off(trial):
                    continue
                failures = [*failures, trial] if ERROR in trial.user_attrs else []
                finished = len(study.finished())
                left = clock((time.monotonic() - started) / (finished - before) * max(0, trials - finished))
                say(f"{_result(study, trial)}  {finished} of {trials}, {left} left")
        if len(failures) >= MOST_FAILURES:
            what = f"{len(failures)} trials in a row failed, the last with: {failures[-1].user_attrs[ERROR]}"
            log = study.run_folder(failures[-1].number).with_suffix(".txt")
            raise InputError(what, where=folder, allowed=f"see {log}")
        return study.best_to_json(), len(study.finished()) < trials


def _run(
    study: Study,
    trials: int,
    jobs: int,
    machine: Machines,
    should_stop: Callable[[], bool],
    say: Callable[[str], None],
) -> Generator[FrozenTrial]:
    """Keeps `jobs` workers busy until `trials` are finished, and yields each trial whose worker has ended."""
    threads = max(1, torch.get_num_threads() // jobs)
    workers: dict[int, BaseProcess] = {}  # by trial number
    stopping = False
    try:
        while True:
            if not stopping and should_stop():
                stopping = True
                for worker in workers.values():
                    worker.terminate()  # it stops after its current step
            while not stopping and len(workers) < min(jobs, trials - len(study.finished())):
                study.search.check_unchanged()
                number = study.ask()
                workers[number] = _start(study.search, study.run_folder(number), number, threads, machine)
                say(f"trial {number}  started: {_settings(study, study.trials()[number])}")
            if not workers:
                return
            wait([worker.sentinel for worker in workers.values()], timeout=0.2)  # seconds, to notice Ctrl-C
            for number in [number for number, worker in workers.items() if not worker.is_alive()]:
                status = workers.pop(number).exitcode
                stopped = stopping or should_stop()  # a closed terminal signals the workers too
                error = None if stopped else f"its process ended without a result (exit status {status})"
                yield study.close(number, error=error)
    finally:
        for worker in workers.values():
            worker.kill()
            worker.join()


def _result(study: Study, trial: FrozenTrial) -> str:
    settings = _settings(study, trial)
    if ERROR in trial.user_attrs:
        return f"trial {trial.number}  failed: {trial.user_attrs[ERROR]}  {settings}"
    result = f"dev {trial.value:.1%}{', pruned' if trial.state is TrialState.PRUNED else ''}"
    if best := study.best():
        result += f"  best {best.value:.1%} (trial {best.number})"
    return f"trial {trial.number}  {result}  {trial.user_attrs[SECONDS]:.0f} s  {settings}"


def _settings(study: Study, trial: FrozenTrial) -> str:
    return " ".join(as_changes(study.search.rounded(trial.params)))


def _start(*arguments: Any) -> BaseProcess:
    context: SpawnContext | ForkServerContext = multiprocessing.get_context("spawn")
    if not torch.cuda.is_available():  # faster, but CUDA does not survive a fork
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
    worker = context.Process(target=_work, args=arguments, daemon=True)
    # A terminal sends Ctrl-C to all its processes, but workers must stop only when this command terminates them.
    resource_tracker.ensure_running()  # started later, it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        worker.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return worker


# ------------------------------------------------------------ in the worker


def _work(search: Search, folder: Path, number: int, threads: int, machine: Machines) -> None:
    """Trains one trial, and writes its scores and its result to the journal."""
    with folder.with_suffix(".txt").open("ab") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    study = studies.load(folder.parent)
    trial = optuna.Trial(study, number)
    try:
        _train(search, folder, study, trial, machine())
    except Exception as error:  # out of memory, a full disk: this trial failed, the study continues
        traceback.print_exc()
        text = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        trial.set_user_attr(ERROR, text.partition("\n")[0])
        study.tell(trial, state=TrialState.FAIL)


def _train(search: Search, folder: Path, study: optuna.Study, trial: optuna.Trial, machine: Machine) -> None:
    spec = search.spec(search.changes_of(trial.params))
    settings = spec.config.training
    marks = Marks(trial, epochs=settings.epochs, minutes=settings.minutes)
    outcome = train(spec, folder, stop_after=marks.should_prune, machine=machine)
    if outcome.interrupted:
        return  # without a result: the command marks this trial as cut off
    trial.set_user_attr(SECONDS, outcome.position.seconds)
    if marks.pruned:
        study.tell(trial, state=TrialState.PRUNED)
    else:
        marks.report(1.0, outcome.position.best_accuracy)  # it may have stopped early, out of patience
        study.tell(trial, outcome.position.best_accuracy)


def _exit_with_parent() -> None:
    """Without its command a worker is useless, and the next command may already be using the study."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


class Marks:
    """Reports the best dev accuracy so far at each mark that a trial passes, so that trials can be compared there."""

    def __init__(self, trial: optuna.Trial, *, epochs: int, minutes: float) -> None:
        self._trial, self._epochs, self._minutes = trial, epochs, minutes
        self._next, self._best = 0, 0.0
        self.pruned = False

    def should_prune(self, line: LogLine) -> bool:
        """The share of the run that is over is measured by epochs or by the time limit, whichever ends it first."""
        by_time = line.seconds / (60 * self._minutes) if self._minutes else 0.0
        return self.report(min(1.0, max(line.epoch / self._epochs, by_time)), line.dev_accuracy)

    def report(self, share: float, accuracy: float) -> bool:
        """Takes a dev score after this share of the trial; returns True if the trial should be pruned."""
        mark = int(share * MARKS)
        for passed in range(self._next, mark):
            self._trial.report(self._best, passed)  # what was known by then
        self._best = max(self._best, accuracy)
        if self._next <= mark:
            self._trial.report(self._best, mark)
            self._next = mark + 1
            self.pruned = mark < MARKS and self._trial.should_prune()
        return self.pruned
