"""When a trial is hopeless: when half of the others were better after the same share of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import optuna

# Trials with batches of different sizes score at different steps, so they are compared at so many even marks.
MARKS = 20
# These models sit on a plateau at first, and some leave it late: half of a trial must be over before it is judged,
FIRST_MARK_JUDGED = 10
TRIALS_BEFORE_PRUNING = 4  # and so many others must be complete.


def pruner() -> optuna.pruners.BasePruner:
    from optuna.pruners import MedianPruner

    return MedianPruner(
        n_startup_trials=TRIALS_BEFORE_PRUNING,
        n_warmup_steps=FIRST_MARK_JUDGED,
        n_min_trials=TRIALS_BEFORE_PRUNING,
    )


class Marks:
    """Tells optuna a trial's best score so far at each mark that the trial passes."""

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial = trial
        self._passed = -1
        self._best: float | None = None

    def score(self, share: float, accuracy: float) -> bool:
        """A dev score when that share of the trial is over; True if the trial is hopeless."""
        mark = int(share * MARKS)
        self._pass(mark - 1)  # by then only the earlier scores were known
        self._best = accuracy if self._best is None else max(accuracy, self._best)
        if mark == self._passed:
            return False
        self._pass(mark)
        return mark < MARKS and self._trial.should_prune()

    def complete(self) -> None:
        """One that lost patience early is compared by what it reached."""
        self._pass(MARKS)

    def _pass(self, mark: int) -> None:
        for passed in range(self._passed + 1, mark + 1):
            self._passed = passed
            if self._best is not None:
                self._trial.report(self._best, passed)
