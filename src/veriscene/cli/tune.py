"""`veriscene tune`: settings that suit a model and a corpus."""

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
    preset: Annotated[str, typer.Argument(help="biatt-pointer, …: `veriscene models` has all.")],
    data: Annotated[
        Path, typer.Option("--data", readable=False, help="Corpus folder with train/train.json and dev/dev.json.")
    ],
    trials: Annotated[int, typer.Option("--trials", min=1, help="Finished trials in all, earlier ones included.")] = 20,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="That a trial may take. Default: the preset's.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Trials at the same time.")] = 1,
    changes: Changes = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space",
            metavar="SECTION.KEY=VALUES",
            help=f"Search this setting instead of the default ones; may be repeated. Write it as {FORMS}."
            f" Default, less what --set fixes and what the model does not read: {' '.join(DEFAULT)}",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", readable=False, help="Folder of the study. Default: runs/tune-PRESET.")
    ] = None,
    seed: Seed = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output and nothing else there.")
    ] = False,
) -> None:
    """Search for settings with optuna, by the best dev accuracy, and print the command that trains with them.

    The same command again goes on until so many trials are there. A trial that after half of its length is worse than
    half of the others were by then is stopped. Ctrl-C stops all, and what is finished counts.
    """
    from veriscene.experiments.tuning import tune as work
    from veriscene.experiments.tuning.search import plan_search
    from veriscene.training.effect import check_changes

    output.require_one_process("tune")
    fixed = [
        *(changes or []),
        *([] if minutes is None else [f"training.minutes={minutes}"]),
        *([] if seed is None else [f"training.seed={seed}"]),
    ]
    search = plan_search(preset, data=data, changes=fixed, space=space or [])
    check_changes(changes or [], search.config.model, corpus_given=True)
    folder = out or Path("runs") / f"tune-{preset}"
    output.say(f"{trials} trials, {jobs} at a time; each one's own log is {folder / 'trial-NNN.txt'}")
    outcome = work.tune(search, folder=folder, trials=trials, jobs=jobs, accelerator=output.accelerator, say=output.say)
    if outcome.best is None and not outcome.interrupted:
        raise InputError(f"{folder}: no trial came to its end; see the logs of the trials there")
    if outcome.best is not None:
        output.say(f"best dev accuracy {outcome.best['dev_accuracy']:.1%}, in trial {outcome.best['trial']}")
        print(json.dumps(outcome.best) if as_json else outcome.best["command"])
    if outcome.interrupted:
        output.say(f"interrupted; go on with: {shlex.join(['veriscene', *sys.argv[1:]])}")
        raise typer.Exit(INTERRUPTED)
