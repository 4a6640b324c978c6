"""`veriscene reproduce` and `veriscene tune`: many runs with one purpose."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED, AsJson, Changes, Seed, Teacher
from veriscene.cli.paper import reproduce_paper
from veriscene.errors import InputError
from veriscene.lab.tuning import DEFAULT_SPACE, SPACE_FORMS

if TYPE_CHECKING:
    from veriscene.lab.plans import Row
    from veriscene.lab.reproduce import Reproduction
    from veriscene.lab.table import Table


def reproduce(
    plan: Annotated[
        str,
        typer.Argument(
            help="table1: the rows of Table 1. ablations: poolings, orders. paper: both, and figures."
            " orders: does a learned order help a model that the grammar teaches?"
            " beyond: the most accurate models. spatial: what each part of them adds."
        ),
    ],
    data: Annotated[Path, typer.Option(readable=False, help="The NLVR corpus: train, dev and public test.")],
    out: Annotated[
        Path | None, typer.Option(readable=False, help="Folder of all runs. Default: runs/PLAN; for paper: runs.")
    ] = None,
    rows: Annotated[list[str] | None, typer.Option("--row", help="Only this row; may be repeated.")] = None,
    seeds: Annotated[int, typer.Option(min=3, help="Seeds per row; rows trained with fewer get the missing ones.")] = 3,
    teacher: Teacher = None,
    changes: Changes = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be trained.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train and score the rows of a table with several seeds each, and print it next to the published figures.

    Repeating the command continues where it stopped. The test split is scored once per row, when its seeds are trained;
    not in the plan spatial, which is for choices.
    The plan paper uses what the others have trained in the same place, draws the figures, and writes one page,
    paper.html, anew after every row: the paper's tables and figures next to ours.

    Examples: veriscene reproduce table1 --data nlvr --row BiATT-Pointer, or veriscene reproduce paper --data nlvr
    """
    from veriscene.lab.plans import PLANS
    from veriscene.lab.reproduce import Reproduction, planned

    if plan not in (*PLANS, "paper"):
        raise InputError(f"unknown plan {plan!r}", allowed=f"choose from {', '.join([*PLANS, 'paper'])}")
    taught = [name for name, each in PLANS.items() if any(row.programs for row in each.rows)]
    if teacher and plan not in taught:
        allowed = f"programs teach rows of the plan {', '.join(taught)}"
        raise InputError(f"--teacher has no effect on {plan}", allowed=allowed)
    if plan == "paper":
        reproduce_paper(data, out or Path("runs"), rows or [], seeds, changes or [], dry_run=dry_run, as_json=as_json)
        return
    todo = planned(PLANS[plan], rows or [], seeds=seeds)
    folder = out or Path("runs") / plan
    work = Reproduction(PLANS[plan], changes or [], data, folder, output.make_machine(), teacher or [])
    if not rows:
        todo = _trainable(work, todo)
    work.check(todo)
    left = [row.name for row in todo if not work.is_done(row)]
    output.say(f"{len(left)} of {len(todo)} rows to train in {folder}")
    if dry_run:
        return
    work.check_test_split()
    table = _train_rows(work, todo, plan, unfinished=left)
    output.result(json.dumps(table.to_json()) if as_json else table.markdown().rstrip("\n"))


def _trainable(work: Reproduction, rows: Sequence[Row]) -> list[Row]:
    """Says which rows lack something that is not here, and returns the others; InputError if there are none."""
    lacking = work.lacking(rows)
    if len(lacking) == len(rows):
        raise next(iter(lacking.values()))
    for name, reason in lacking.items():
        output.say(f"{name}: left out: {reason}")
    return [row for row in rows if row.name not in lacking]


def _train_rows(work: Reproduction, rows: Sequence[Row], plan: str, *, unfinished: Collection[str]) -> Table:
    """The table with all rows, which is also written after each."""
    for row in rows:
        result = work.run_row(row)
        if result is None:
            output.say("interrupted and saved; repeat the command to continue")
            raise typer.Exit(INTERRUPTED)
        output.say(f"{row.name}: dev {result.dev}")
        if row.name in unfinished or row is rows[-1]:  # intervals take a while, and finished rows change none
            table = work.table()
            if output.IS_MAIN:
                table.write(work.folder, plan)
    return table


def tune(
    preset: Annotated[str, typer.Argument(help="biatt-pointer, …; `veriscene models` lists all.")],
    data: Annotated[Path, typer.Option(readable=False, help="Corpus folder with train/train.json and dev/dev.json.")],
    trials: Annotated[int, typer.Option(min=1, help="Finished trials in total, with earlier ones.")] = 20,
    minutes: Annotated[float | None, typer.Option(min=0, help="Time limit of a trial. Default: the preset's.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Trials at the same time.")] = 1,
    changes: Changes = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SECTION.KEY=VALUES",
            help=f"Search this setting instead of the default ones; may be repeated. Form: {SPACE_FORMS}."
            f" Default, without what --set fixes and what has no effect on the model: {' '.join(DEFAULT_SPACE)}",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(readable=False, help="Study folder. Default: runs/tune-PRESET.")] = None,
    seed: Seed = None,
    teacher: Teacher = None,
    as_json: AsJson = False,
) -> None:
    """Search for settings with optuna by dev accuracy, and print the command that trains with the best ones.

    The same command continues an earlier search until it has --trials finished trials. A trial past its first half is
    stopped if it is worse than the median of the others at that point. Ctrl-C stops all trials; finished ones count.

    Example: veriscene tune biatt-pointer --data nlvr --trials 40 --space training.learning_rate=1e-4:1e-2:log
    """
    try:
        import optuna  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(f"optuna is missing ({error})", allowed="pip install 'veriscene[tune]'") from None
    from veriscene.data.teacher.statements import check_files
    from veriscene.lab.settings import configure
    from veriscene.lab.tuning.space import Search
    from veriscene.lab.tuning.tune import tune as run_study
    from veriscene.models.settings import check_changes

    output.require_one_process("tune")
    fixed = output.all_changes(changes, seed) + ([] if minutes is None else [f"training.minutes={minutes}"])
    config, programs = configure(preset, fixed), teacher or []
    taught = bool(programs or config.teacher.statements)
    check_changes(changes or [], config.model, corpus_given=True, taught=taught)
    check_files(programs)
    terminal = output.terminal()
    search = Search.plan(preset, data=data, changes=fixed, space=space or [], programs=programs, output=terminal)
    terminal.finish()
    folder = out or Path("runs") / f"tune-{preset}"
    output.say(f"{trials} trials, {jobs} at a time; logs: {folder / 'trial-NNN.txt'}")
    best, interrupted = run_study(search, folder=folder, trials=trials, jobs=jobs, say=output.say)
    if best is None and not interrupted:
        raise InputError("no trial completed", where=folder, allowed="see the logs of its trials")
    if best is not None:
        output.say(f"best dev accuracy {best['dev_accuracy']:.1%}, in trial {best['trial']}")
        print(json.dumps(best) if as_json else best["command"])
    if interrupted:
        output.say(f"interrupted; to continue: {shlex.join(['veriscene', *sys.argv[1:]])}")
        raise typer.Exit(INTERRUPTED)
