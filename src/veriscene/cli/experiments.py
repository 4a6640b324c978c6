"""`veriscene reproduce` and `veriscene tune`: many runs with one purpose."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED, AsJson, Changes, Seed, Shard, Teacher, argument, option
from veriscene.errors import InputError
from veriscene.output import counted


def reproduce(
    plan: Annotated[
        str,
        argument(
            "paper: Table 1, ablations and figures. table1, ablations: a part of it."
            " orders: does a learned order help a model that the grammar teaches?"
            " beyond: the most accurate models. spatial: what each part of them adds. recipe: the paper's recipe, and"
            " the steps from it to ours. pointers: orders that depend on the statement. nmn, imagenet: leads of rows."
        ),
    ],
    data: Annotated[Path, option("The NLVR corpus: train, dev and public test.")],
    out: Annotated[Path, option("Folder of all runs; plans may share it.")] = Path("runs"),
    rows: Annotated[list[str] | None, option("Only this row; may be repeated.", "--row")] = None,
    seeds: Annotated[int, option("Seeds per row; rows trained with fewer get the missing ones.", min=3)] = 3,
    teacher: Teacher = None,
    changes: Changes = None,
    dry_run: Annotated[bool, option("Only print the commands of the rows to train.", "--dry-run")] = False,
    shard: Shard = None,
    as_json: AsJson = False,
) -> None:
    """Train and score the rows of a plan with several seeds each, and print them next to the published figures.

    Repeating the command continues where it stopped. The test split is scored once per row, when its seeds are trained;
    not in the plans spatial, nmn and imagenet, which are for choices. After every row the table is written as PLAN.md
    and PLAN.json, the figures to figures/, and all of it to one page, PLAN.html: the paper's tables and figures next to
    ours. With --shard the parts are seeds of rows; the shard that finishes last writes the table.

    Examples: veriscene reproduce table1 --data nlvr --row BiATT-Pointer, or veriscene reproduce paper --data nlvr
    """
    from veriscene.lab.plans import PLANS
    from veriscene.lab.reproduce import Reproduction
    from veriscene.lab.seeds import time_of_a_seed

    if dry_run and as_json:
        raise typer.BadParameter("--json prints the table, which --dry-run does not make")
    if plan not in PLANS:
        raise InputError(f"unknown plan {plan!r}", allowed=f"choose from {', '.join(PLANS)}")
    taught = [name for name, each in PLANS.items() if any(row.programs for row in each.rows)]
    if teacher and plan not in taught:
        allowed = f"programs teach rows of the plan {', '.join(taught)}"
        raise InputError(f"--teacher has no effect on {plan}", allowed=allowed)
    work = Reproduction(PLANS[plan], changes or [], data, out, output.make_machine(), teacher or [])
    todo = work.trainable(rows or [], seeds=seeds, sharded=shard is not None)
    work.check(todo)
    unfinished = {work.own(row): row for row in todo if not work.is_done(row)}  # rows may share their runs
    for own, row in unfinished.items():
        output.say(f"{row.name}: {work.command(row, here=dry_run)}")
        if dry_run and (known := time_of_a_seed(own)):
            output.say(f"{row.name}: {known}")
    what = f"{counted(len(unfinished), 'row')} to train, {counted(work.seeds_left(todo), 'seed')}"
    output.say(f"{what}, in {out}; the page: {out / f'{plan}.html'}")
    if dry_run:
        return
    command, left = shlex.join(["veriscene", *sys.argv[1:]]), None
    with suppress(KeyboardInterrupt):  # while nothing is trained
        if shard is None:
            left = 0 if work.run(todo, plan, command=command) else None
        else:
            left = work.run_shard(todo, plan, output.parse_shard(shard), command=command)
    if left is None:
        output.say(f"interrupted and saved; to continue: {command}")
        raise typer.Exit(INTERRUPTED)
    if left:
        output.say(
            f"shard {shard} is done; {counted(left, 'seed')} left to other shards, the last of which writes the table"
        )
        output.result(json.dumps({"out": str(out), "seeds_left": left}) if as_json else str(out))
        return
    table = work.table()
    made = {"page": str(out / f"{plan}.html"), "figures": [str(path) for path in work.figure_files()]}
    output.result(json.dumps({**table.to_json(), **made}) if as_json else table.markdown().rstrip("\n"))


def tune(
    preset: Annotated[str, argument("biatt-pointer, …; `veriscene models` lists all.")],
    data: Annotated[Path, option("Corpus folder with train/train.json and dev/dev.json.")],
    trials: Annotated[int, option("Finished trials in total, with earlier ones.", min=1)] = 20,
    minutes: Annotated[float | None, option("Time limit of a trial. Default: the preset's.", min=0)] = None,
    changes: Changes = None,
    space: Annotated[
        list[str] | None,
        option(
            "Search this setting; may be repeated. Form: section.key=low:high, section.key=low:high:log or"
            " section.key=a,b,c. Default: learning rate, batch, dropout, weight decay and other settings that the paper"
            " does not report, except for those that --set fixes.",
            metavar="SECTION.KEY=VALUES",
        ),
    ] = None,
    out: Annotated[Path | None, option("Study folder. Default: runs/tune-PRESET.")] = None,
    seed: Seed = None,
    teacher: Teacher = None,
    as_json: AsJson = False,
) -> None:
    """Search for settings with optuna by dev accuracy, and print the command that trains with the best ones.

    The same command continues an earlier search until it has --trials finished trials; started several times at once,
    it trains several trials at once. A trial past its first half is stopped if it is worse than the median of the
    others at that point.

    Example: veriscene tune biatt-pointer --data nlvr --trials 40 --space training.learning_rate=1e-4:1e-2:log
    """
    from veriscene.lab.tune import Search
    from veriscene.lab.tune import tune as run_study
    from veriscene.models.settings import key_of
    from veriscene.training.spec import Spec

    output.require_one_process("tune")
    fixed = output.all_changes(changes, seed) + ([] if minutes is None else [f"training.minutes={minutes}"])
    spec = Spec.of(preset, data=data, changes=fixed, programs=teacher or [])
    search = Search.of(spec, space or [], fixed=set(map(key_of, fixed)))
    folder = out or Path("runs") / f"tune-{preset}"
    output.say(f"{counted(trials, 'trial')} in {folder}, of {', '.join(search.space)}")
    try:
        best = run_study(search, folder=folder, trials=trials, machine=output.make_machine())
    except KeyboardInterrupt:
        output.say(f"interrupted; to continue: {shlex.join(['veriscene', *sys.argv[1:]])}")
        raise typer.Exit(INTERRUPTED) from None
    output.say(f"best dev accuracy {best['dev_accuracy']:.1%}, in trial {best['trial']}")
    print(json.dumps(best) if as_json else best["command"])
