"""A study is a folder: study.json (what is searched), optuna's journal, a run and a log for each trial, the results.

One command at a time works on it. Whatever ended the last one, the next one finds a sound study.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veriscene import files
from veriscene.errors import InputError
from veriscene.experiments.tuning.pruning import Marks, pruner
from veriscene.experiments.tuning.search import Search, check_same
from veriscene.experiments.tuning.space import Settings
from veriscene.training.checkpoint import BEST
from veriscene.training.trainer import LAST

if TYPE_CHECKING:
    import optuna

STUDY, JOURNAL, TRIALS, BEST_TRIAL = "study.json", "journal.log", "trials.json", "best.json"
RUNNING, COMPLETE, PRUNED, FAILED, CUT_OFF = "running", "complete", "pruned", "failed", "cut off"


@dataclass(frozen=True)
class Trial:
    number: int
    state: str
    settings: Settings
    dev_accuracy: float | None  # the best; None where there was no score
    seconds: float | None
    error: str  # why it failed


@contextmanager
def opened(folder: Path, search: Search) -> Iterator[Study]:
    """The study in that folder, a new one if there is none; InputError if it is of another search, or at work."""
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise InputError(f'tuning needs optuna ({error}); get it with: pip install "veriscene[tune]"') from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if not (folder / STUDY).exists():
        with files.created(
            folder, fill=[STUDY], hint="it is no study to go on with, so name another folder with --out"
        ):
            files.write_text(folder / STUDY, json.dumps(search.to_json(), indent=1) + "\n")
    with files.locked(folder):
        check_same(folder / STUDY, search)
        yield Study(folder, search)


class Study:
    def __init__(self, folder: Path, search: Search) -> None:
        """Trials that were running when the last command ended are cut off."""
        self.folder, self.search = folder, search
        self._study = _load(folder / JOURNAL)
        self._check_journal()
        self._under_way: dict[int, tuple[optuna.Trial, Marks]] = {}
        for trial in self.trials():
            if trial.state == RUNNING:
                self._cut_off(trial.number)
        self._tidy()

    def trials(self) -> list[Trial]:
        """All there ever were, by number."""
        return [self._read(trial) for trial in self._study.get_trials(deepcopy=False)]

    def finished(self) -> list[Trial]:
        """Those that count: neither under way nor cut off."""
        return [trial for trial in self.trials() if trial.state in (COMPLETE, PRUNED, FAILED)]

    def best(self) -> Trial | None:
        """A pruned trial is never the best: when it was stopped, others were better."""
        complete = [trial for trial in self.trials() if trial.state == COMPLETE]
        return max(complete, key=lambda trial: trial.dev_accuracy or 0.0, default=None)

    def run_folder(self, number: int) -> Path:
        return self.folder / f"trial-{number:03}"

    def log_file(self, number: int) -> Path:
        return self.folder / f"trial-{number:03}.txt"

    def ask(self) -> Trial:
        """A new trial. With one job its settings follow from the seed, however often the study was broken off."""
        from optuna.samplers import TPESampler

        # One generator for the whole study would begin anew with each command, and give the first settings again.
        place = sum(trial.state != CUT_OFF for trial in self.trials())
        self._study.sampler = TPESampler(
            seed=(self.search.config.training.seed * 1_000_003 + place) % 2**32,
            multivariate=True,
            constant_liar=True,  # keeps away from what is being tried at the same time
        )
        distributions = {key: values.distribution() for key, values in self.search.space.items()}
        asked = self._study.ask(fixed_distributions=distributions)
        self._under_way[asked.number] = asked, Marks(asked)
        return self.trials()[asked.number]

    def score(self, number: int, *, share: float, accuracy: float) -> bool:
        """Notes a dev score when that share of the trial is over; True if the trial is hopeless."""
        return self._under_way[number][1].score(share, accuracy)

    def finish(
        self, number: int, state: str, *, accuracy: float | None = None, seconds: float | None = None, error: str = ""
    ) -> Trial:
        """Ends a trial. Of one that was cut off nothing is left; of the others their logs, of the best its weights."""
        from optuna.trial import TrialState

        trial, marks = self._under_way.pop(number)
        if state == CUT_OFF:
            self._cut_off(number)
        else:
            trial.set_user_attr("seconds", seconds)
            trial.set_user_attr("error", error)
            if state == COMPLETE:
                marks.complete()
            self._study.tell(
                trial,
                accuracy if state == COMPLETE else None,
                state={COMPLETE: TrialState.COMPLETE, PRUNED: TrialState.PRUNED, FAILED: TrialState.FAIL}[state],
            )
        self._tidy()
        return self.trials()[number]

    def best_to_json(self) -> dict[str, Any] | None:
        """What best.json holds."""
        best = self.best()
        if best is None:
            return None
        return {
            "dev_accuracy": best.dev_accuracy,
            "trial": best.number,
            "settings": best.settings,
            "command": self.search.command(best.settings),
            "run": str(self.run_folder(best.number)),
        }

    def _read(self, trial: optuna.trial.FrozenTrial) -> Trial:
        error = trial.user_attrs.get("error", "")
        failed = FAILED if error else CUT_OFF
        return Trial(
            trial.number,
            {"COMPLETE": COMPLETE, "PRUNED": PRUNED, "FAIL": failed}.get(trial.state.name, RUNNING),
            {key: self.search.space[key].setting(value) for key, value in trial.params.items()},
            trial.value,
            trial.user_attrs.get("seconds"),
            error,
        )

    def _check_journal(self) -> None:
        """InputError if it has lost something: numbers, and so folders, would be given again, and results dropped.

        All is written there first, so whatever else tells of a trial that ended, the journal of a sound study does.
        """
        known = {trial.number: trial.state for trial in self.trials()}
        ended = _numbers_told(self.folder / TRIALS)
        names = (re.fullmatch(r"trial-(\d+)", path.stem) for path in self.folder.iterdir())
        begun = {int(name[1]) for name in names if name}
        lost = {number for number in ended if known.get(number, RUNNING) == RUNNING} | (begun - known.keys())
        if lost:
            raise InputError(
                f"{self.folder / JOURNAL}: has lost trial {min(lost)};"
                " put the old one back in its place, or start anew in another folder with --out"
            )

    def _cut_off(self, number: int) -> None:
        from optuna.trial import TrialState

        self._study.tell(number, state=TrialState.FAIL)
        shutil.rmtree(self.run_folder(number), ignore_errors=True)

    def _tidy(self) -> None:
        """Drops all weights but the best trial's, and writes the results."""
        trials, best = self.trials(), self.best()
        for trial in trials:
            if trial.state != RUNNING and trial != best:
                for name in (BEST, LAST):
                    for weights in self.run_folder(trial.number).glob(f"{name}*"):  # half-written ones too
                        shutil.rmtree(weights, ignore_errors=True)
        records = [asdict(trial) for trial in trials if trial.state != RUNNING]
        files.write_text(self.folder / TRIALS, json.dumps(records, indent=1) + "\n")
        if best is not None:
            files.write_text(self.folder / BEST_TRIAL, json.dumps(self.best_to_json(), indent=1) + "\n")


def _numbers_told(results: Path) -> set[int]:
    """The trials that ended; none if the file is damaged, for it is only written from the journal."""
    try:
        return {int(record["number"]) for record in json.loads(files.read_text(results))}
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def _load(journal: Path) -> optuna.Study:
    import optuna
    from optuna.storages.journal import JournalFileBackend

    # A crash may have cut the last line, to which optuna would then append, and may have left optuna's own lock.
    journal.touch()
    whole = journal.read_bytes().rfind(b"\n") + 1
    os.truncate(journal, whole)
    journal.with_name(f"{journal.name}.lock").unlink(missing_ok=True)
    try:
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(journal)))
        return optuna.create_study(
            storage=storage, study_name="tune", direction="maximize", load_if_exists=True, pruner=pruner()
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{journal}: damaged ({error}); start anew in another folder with --out") from None
