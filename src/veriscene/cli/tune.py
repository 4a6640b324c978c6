"""`veriscene tune`: hyperparameter search."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED, Changes, Seed
from veriscene.errors import InputError
from veriscene.experiments.tuning.space import DEFAULT, FORMS


def tune(
    preset: Annotated[str, typer.Argument(help="biatt-pointer, …; `veriscene models` lists all.")],
    data: Annotated[
        Path, typer.Option("--data", readable=False, help="Corpus folder with train/train.json and dev/dev.json.")
    ],
    trials: Annotated[int, typer.Option("--trials", min=1, help="Finished trials in total, with earlier ones.")] = 20,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Time limit of a trial. Default: the preset's.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Trials at the same time.")] = 1,
    changes: Changes = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space",
            metavar="SECTION.KEY=VALUES",
            help=f"Search this setting instead of the default ones; may be repeated. Form: {FORMS}."
            f" Default, without what --set fixes and what has no effect on the model: {' '.join(DEFAULT)}",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", readable=False, help="Folder of the study. Default: runs/tune-PRESET.")
    ] = None,
    seed: Seed = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object on standard output and nothing else there.")
    ] = False,
) -> None:
    """Search for settings with optuna by dev accuracy, and print the command that trains with the best ones.

    The same command continues an earlier search until it has --trials finished trials. A trial past its first half is
    stopped if it is worse than the median of the others at that point. Ctrl-C stops all trials; finished ones count.
    """
    from veriscene.experiments.tuning import tune as tuning
    from veriscene.experiments.tuning.study import plan_search
    from veriscene.training.settings import check_changes

    output.require_one_process("tune")
    fixed = [
        *(changes or []),
        *([] if minutes is None else [f"training.minutes={minutes}"]),
        *([] if seed is None else [f"training.seed={seed}"]),
    ]
    search = plan_search(preset, data=data, changes=fixed, space=space or [])
    check_changes(changes or [], search.config.model, corpus_given=True)
    folder = out or Path("runs") / f"tune-{preset}"
    output.say(f"{trials} trials, {jobs} at a time; logs: {folder / 'trial-NNN.txt'}")
    outcome = tuning.tune(
        search, folder=folder, trials=trials, jobs=jobs, accelerator=output.accelerator, say=output.say
    )
    if outcome.best is None and not outcome.interrupted:
        raise InputError("no trial completed", where=folder, allowed="see the logs of its trials")
    if outcome.best is not None:
        output.say(f"best dev accuracy {outcome.best['dev_accuracy']:.1%}, in trial {outcome.best['trial']}")
        print(json.dumps(outcome.best) if as_json else outcome.best["command"])
    if outcome.interrupted:
        output.say(f"interrupted; to continue: {shlex.join(['veriscene', *sys.argv[1:]])}")
        raise typer.Exit(INTERRUPTED)
