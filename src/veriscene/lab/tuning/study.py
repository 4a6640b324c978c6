"""A study folder: optuna's journal (its only state), a run folder and a log for each trial, and best.json."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from veriscene import files
from veriscene.errors import InputError
from veriscene.judge.checkpoint import BEST
from veriscene.lab.tuning.space import CHANGED, FINGERPRINT, Search
from veriscene.training.train import LAST

JOURNAL, BEST_TRIAL = "journal.log", "best.json"
SEARCH, ERROR, SECONDS = "search", "error", "seconds"  # user attributes of the study, and of its trials
TRIALS_BEFORE_PRUNING = 4
# Trials are compared at this many evenly spaced marks, since batch sizes differ and so do the steps of dev scores.
# Some of these models leave their initial plateau late, so none is pruned in its first half.
MARKS, FIRST_PRUNED_MARK = 20, 10


@contextmanager
def opened(folder: Path, search: Search) -> Iterator[Study]:
    """Locks the study folder, creating it if needed. Raises InputError if it is locked or holds another search."""
    if not (folder / JOURNAL).exists():
        with files.created(folder, fill=[JOURNAL], hint="it is not a study, so choose another folder with --out"):
            (folder / JOURNAL).touch()
    with files.locked(folder):
        yield Study(folder, search)


class Study:
    """The study in a locked folder. Trials that were running when the last command ended are cut off."""

    def __init__(self, folder: Path, search: Search) -> None:
        self.folder, self.search = folder, search
        journal = folder / JOURNAL
        content = journal.read_bytes()
        if content and not content.startswith(b'{"op_code":'):
            raise InputError("damaged (not a study's journal)", where=journal, allowed="start again in another --out")
        # A crash may have truncated the last line, and may have left optuna's lock behind.
        os.truncate(journal, content.rfind(b"\n") + 1)
        journal.with_name(f"{journal.name}.lock").unlink(missing_ok=True)
        try:
            self._study = load(folder)
            trials = self.trials()
            if self.run_folder(len(trials)).exists():
                raise ValueError(f"trial {len(trials)} is missing")  # and its number would be used again
            self._check_same()
            if unknown := {key for trial in trials for key in trial.params.keys() - search.space.keys()}:
                raise ValueError(f"unknown setting {min(unknown)}")
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
            raise InputError(f"damaged ({error})", where=journal, allowed="start again in another --out") from None
        for trial in trials:
            if not trial.state.is_finished():
                self.close(trial.number)
        self._clean_up()

    def _check_same(self) -> None:
        now = json.loads(json.dumps(self.search.to_json()))
        before = self._study.user_attrs.get(SEARCH)
        if before is None:
            self._study.set_user_attr(SEARCH, now)
            return
        for key in {**before, **now}:
            if before.get(key) != now.get(key):
                if key == FINGERPRINT:
                    what = f"{CHANGED} since this study was started"
                else:
                    what = f"this study was started with {key}={before.get(key)}, not {now.get(key)}"
                allowed = "continue with the same, or choose another folder with --out"
                raise InputError(what, where=self.folder, allowed=allowed)

    def trials(self) -> list[FrozenTrial]:
        return self._study.get_trials(deepcopy=False)

    def run_folder(self, number: int) -> Path:
        return self.folder / f"trial-{number:03}"

    def finished(self) -> list[FrozenTrial]:
        """The trials that count: complete, pruned or failed, but neither running nor cut off."""
        return [trial for trial in self.trials() if trial.state.is_finished() and not is_cut_off(trial)]

    def best(self) -> FrozenTrial | None:
        """The best complete trial. A pruned one is never the best: others were better at the same mark."""
        complete = [trial for trial in self.trials() if trial.state is TrialState.COMPLETE]
        return max(complete, key=lambda trial: trial.value or 0.0, default=None)

    def best_to_json(self) -> dict[str, Any] | None:
        """The content of best.json."""
        if (best := self.best()) is None:
            return None
        return {
            "dev_accuracy": best.value,
            "trial": best.number,
            "settings": self.search.rounded(best.params),
            "command": self.search.command(best.params),
            "run": str(self.run_folder(best.number)),
        }

    def ask(self) -> int:
        """Starts a trial and returns its number. With one job, interruptions do not change the sequence of settings."""
        # A generator for the whole study would restart with each command, and repeat its first settings.
        started = sum(not is_cut_off(trial) for trial in self.trials())
        seed = (self.search.config.training.seed * 1_000_003 + started) % 2**32
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            # constant_liar avoids the settings of trials that are still running.
            self._study.sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
        return self._study.ask(fixed_distributions=dict(self.search.space)).number

    def close(self, number: int, *, error: str | None = None) -> FrozenTrial:
        """To be called when a trial's worker has ended. Without a result it failed or, without `error`, is cut off."""
        if not self.trials()[number].state.is_finished():
            if error is not None:
                optuna.Trial(self._study, number).set_user_attr(ERROR, error)
            self._study.tell(number, state=TrialState.FAIL)
        self._clean_up()
        return self.trials()[number]

    def _clean_up(self) -> None:
        """Keeps only the best trial's weights, and nothing of a run that was cut off; writes best.json."""
        best = self.best()
        for trial in self.trials():
            run = self.run_folder(trial.number)
            if is_cut_off(trial):
                shutil.rmtree(run, ignore_errors=True)
            elif trial.state.is_finished() and (best is None or trial.number != best.number):
                for weights in [*run.glob(f"{BEST}*"), *run.glob(f"{LAST}*")]:  # partial ones too
                    shutil.rmtree(weights, ignore_errors=True)
        if best is not None:
            files.write_text(self.folder / BEST_TRIAL, json.dumps(self.best_to_json(), indent=1) + "\n")


def load(folder: Path) -> optuna.Study:
    """Opens the journal, in the command or in a worker. It holds one study, so a trial's id is its number."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(
        n_startup_trials=TRIALS_BEFORE_PRUNING, n_warmup_steps=FIRST_PRUNED_MARK, n_min_trials=TRIALS_BEFORE_PRUNING
    )
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
    return optuna.create_study(
        storage=storage, study_name="tune", direction="maximize", load_if_exists=True, pruner=pruner
    )


def is_cut_off(trial: FrozenTrial) -> bool:
    return trial.state is TrialState.FAIL and ERROR not in trial.user_attrs
