"""Hyperparameter search: a thin layer over optuna, whose study (study.db) is the only state of a search.

Every trial is an ordinary run, in trial-NNN of the search's folder. Several commands may work on one folder at the same
time; optuna's storage keeps their trials apart.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from veriscene import files, models
from veriscene.config import apply_change, flat, parse_change, train_command
from veriscene.errors import InputError, first_line, located
from veriscene.judge.card import changes_with_effect
from veriscene.judge.folders import BEST
from veriscene.models.settings import check_changes, key_of, with_effect
from veriscene.training.distributed import Machine
from veriscene.training.log import LogLine
from veriscene.training.spec import Spec
from veriscene.training.train import LAST, train

# The settings that the paper does not report and that accuracy depends on most.
DEFAULT_SPACE = (
    "training.learning_rate=3e-4:4e-3:log",
    "training.batch=64,128,256,512",
    "training.label_smoothing=0:0.2",
    "training.weight_decay=1e-2:1:log",
    "training.r_drop=0,1,2,4",
    "model.dropout=0:0.6",
    "model.forget_bias=0,1",
    "model.coordinates=corner,contact",
    "model.penalty=1:100.0:log",
    "data.order=random,file,sorted",
    "data.word_dropout=0:0.2",
)
FORMS = "section.key=low:high, section.key=low:high:log or section.key=a,b,c"
STUDY, BEST_TRIAL = "study.db", "best.json"
SEARCH = "digest"  # a user attribute of the study
MAX_FAILURES = 3  # in a row: then the settings are not the cause
# Trials are compared at this many evenly spaced marks, since batch sizes differ and so do the steps of dev scores. Some
# of these models leave their initial plateau late, so none is pruned in its first half.
MARKS, FIRST_PRUNED_MARK, TRIALS_BEFORE_PRUNING = 20, 10, 4
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)

Distribution = CategoricalDistribution | FloatDistribution | IntDistribution


@dataclass(frozen=True)
class Search:
    """Says what the trials of a search have in common, and which values differ between them."""

    base: Spec
    space: Mapping[str, Distribution]  # by section.key

    @classmethod
    def of(cls, base: Spec, lines: Sequence[str], *, fixed: Collection[str]) -> Search:
        """Reads `lines`, or else the default space without settings that are `fixed` or have no effect.

        Raises InputError unless every bound and every choice gives a configuration that can be trained.
        """
        config, space = base.config, dict[str, Distribution]()
        taught = base.is_taught or "teacher.statements" in map(key_of, lines)
        for line in lines or DEFAULT_SPACE:
            key = key_of(line)
            is_idle = key not in flat(config) or not with_effect([line], config.model, taught=taught)
            if not lines and (is_idle or key in fixed):
                continue
            with located(f"--space {line}"):
                if key in fixed or key in space:
                    raise InputError(f"{key} is given twice", allowed="search it or fix it, once")
                check_changes([line], config.model, corpus_given=True, taught=taught)
                space[key] = _distribution(line, base)
        if not space:
            raise InputError("every setting of the default space is fixed", where="--space", allowed=f"use {FORMS}")
        # Scores at a fixed number of steps would give small batches more of them, and a better best one by chance.
        return cls(changed(base, {"training.evaluate_every": 0}) if "training.batch" in space else base, space)

    def command(self, values: Mapping[str, Any]) -> str:
        """Writes the command that trains the same model as a trial with these values."""
        spec = changed(self.base, values)
        options = [part for path in spec.programs for part in ("--teacher", str(path))]
        changes = changes_with_effect(spec.preset, spec.config, taught=spec.is_taught)
        return train_command(spec.preset, changes, data=str(spec.corpus), options=options)

    def digest(self) -> str:
        """Changes with all that must be the same for trials to be comparable."""
        return hashlib.sha256(f"{self.base.digest()} {sorted(self.space.items())}".encode()).hexdigest()


def changed(spec: Spec, values: Mapping[str, Any]) -> Spec:
    """Returns the spec with other settings; raises InputError unless such a model can be trained."""
    tree = spec.config.to_json()
    for key, value in values.items():
        apply_change(tree, key, value)
    config = models.read_config(tree, where=spec.preset)
    models.check(config.model, spec.world)
    return replace(spec, config=config)


def _distribution(line: str, base: Spec) -> Distribution:
    key, _, values = (part.strip() for part in line.partition("="))

    def read(text: str) -> Any:
        """Lets the configuration check the value, and convert it to its setting's type."""
        return flat(changed(base, dict([parse_change(f"{key}={text}")])).config)[key]

    if ":" not in values:
        choices = [read(text) for text in values.split(",")]
        if len(choices) < 2:
            raise InputError("only one value", allowed=f"fix it with --set, or use {FORMS}")
        return CategoricalDistribution(choices)
    low, high, *rest = values.split(":")
    low, high = read(low), read(high)
    if type(low) not in (int, float) or rest not in ([], ["log"]):
        raise InputError("not a range of numbers", allowed=f"use {FORMS}")
    try:
        return (IntDistribution if isinstance(low, int) else FloatDistribution)(low, high, log=bool(rest))
    except ValueError as error:  # for example, the lower end is above the upper one
        raise InputError(first_line(error)) from None


def tune(search: Search, *, folder: Path, trials: int, machine: Machine) -> dict[str, Any]:
    """Continues the study in `folder` until it has `trials` finished trials; returns the content of best.json.

    Failed and interrupted trials do not count. Ctrl-C raises KeyboardInterrupt, and the third failure in a row its own
    exception. Raises InputError if the folder holds another search.
    """
    study, failures, say = open_study(folder, search), 0, machine.output.say
    best = _keep_best(study, search, folder)
    while len(study.get_trials(states=FINISHED)) < trials:
        trial = study.ask(fixed_distributions=dict(search.space))
        own = folder / f"trial-{trial.number:03}"
        say(f"{own.name}: {search.command(trial.params)}")
        try:
            accuracy = _train_trial(trial, changed(search.base, trial.params), own, machine)
            study.tell(trial, accuracy)
            failures, how = 0, f"dev {accuracy:.1%}"
        except optuna.TrialPruned:
            study.tell(trial, state=TrialState.PRUNED)
            failures, how = 0, "pruned"
        except BaseException as error:  # out of memory, a full disk: this trial failed, the search continues
            study.tell(trial, state=TrialState.FAIL)
            shutil.rmtree(own, ignore_errors=True)
            failures += 1
            if not isinstance(error, Exception) or failures == MAX_FAILURES:
                raise
            how = f"failed: {type(error).__name__}: {error}".partition("\n")[0]
        say(f"{own.name}: {how}; {len(study.get_trials(states=FINISHED))} of {trials}")
        best = _keep_best(study, search, folder)
    if best is None:
        raise InputError("no trial was trained to its end", where=folder, allowed="try more trials, or other values")
    return best


def open_study(folder: Path, search: Search) -> optuna.Study:
    """Opens or creates the study; raises InputError if it is damaged or belongs to another search."""
    if not (folder / STUDY).exists():
        files.check_empty(folder, hint="it is not a study, so choose another folder with --out")
        folder.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(TRIALS_BEFORE_PRUNING, FIRST_PRUNED_MARK, n_min_trials=TRIALS_BEFORE_PRUNING)
    storage = f"sqlite:///{folder / STUDY}"
    try:
        study = optuna.create_study(
            storage=storage, study_name="tune", direction="maximize", load_if_exists=True, pruner=pruner
        )
        trials = len(study.trials)
    except (SQLAlchemyError, RuntimeError) as error:
        what, allowed = f"damaged ({first_line(error)})", "start again in another --out"
        raise InputError(what, where=folder / STUDY, allowed=allowed) from None
    if study.user_attrs.get(SEARCH, search.digest()) != search.digest():
        what = "this study was started with other settings, another space or other data"
        allowed = "continue with the same, or choose another folder with --out"
        raise InputError(what, where=folder, allowed=allowed)
    study.set_user_attr(SEARCH, search.digest())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        # A generator with one seed for the whole study would repeat its first settings with each command.
        seed = (search.base.config.training.seed * 1_000_003 + trials) % 2**32
        study.sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    return study


def _train_trial(trial: Trial, spec: Spec, folder: Path, machine: Machine) -> float:
    """Trains one run and returns its best dev accuracy. Raises TrialPruned if it is not worth going on, and
    KeyboardInterrupt for Ctrl-C."""
    epochs, limit, marks = spec.config.training.epochs, 60 * spec.config.training.minutes or math.inf, set[int]()

    def prune(line: LogLine) -> bool:
        mark = int(MARKS * max(line.epoch / epochs, line.seconds / limit))
        if mark not in marks and mark < MARKS:
            marks.add(mark)
            trial.report(line.dev_accuracy, mark)
            if trial.should_prune():
                raise optuna.TrialPruned
        return False

    outcome = train(spec, folder, stop_after=prune, machine=machine)
    if outcome.interrupted or outcome.asked_to_stop:
        raise KeyboardInterrupt
    return outcome.best_accuracy


def _keep_best(study: optuna.Study, search: Search, folder: Path) -> dict[str, Any] | None:
    """Removes the weights of all finished trials but the best complete one, and writes best.json."""
    complete = study.get_trials(states=[TrialState.COMPLETE])
    best = max(complete, key=lambda trial: trial.value or 0.0, default=None)
    for trial in study.get_trials(states=FINISHED):
        if best is None or trial.number != best.number:
            for weights in (BEST, LAST):
                shutil.rmtree(folder / f"trial-{trial.number:03}" / weights, ignore_errors=True)
    if best is None:
        return None
    found = {
        "dev_accuracy": best.value,
        "trial": best.number,
        "settings": best.params,
        "command": search.command(best.params),
        "run": str(folder / f"trial-{best.number:03}"),
    }
    files.write_text(folder / BEST_TRIAL, json.dumps(found, indent=1) + "\n")
    return found
