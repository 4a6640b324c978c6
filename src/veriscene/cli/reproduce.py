"""`veriscene reproduce`: a table of results, trained from scratch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED, Changes


def reproduce(
    plan: Annotated[
        str, typer.Argument(help="table1: the structured rows of Table 1. ablations: poolings and orders.")
    ],
    data: Annotated[Path, typer.Option("--data", readable=False, help="The NLVR corpus: train, dev and public test.")],
    out: Annotated[
        Path | None, typer.Option("--out", readable=False, help="Folder of all runs. Default: runs/PLAN.")
    ] = None,
    rows: Annotated[list[str] | None, typer.Option("--row", help="Only this row; may be repeated.")] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=3, help="Seeds per row; rows trained with fewer get the missing ones.")
    ] = 3,
    changes: Changes = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the expected time.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as one JSON object.")] = False,
) -> None:
    """Train and score the rows of a table with several seeds each, and print it beside the published figures.

    Repeating the command continues where it stopped. The test split is scored once per row, when its seeds are trained.
    """
    from veriscene.experiments import plans
    from veriscene.experiments import reproduce as work
    from veriscene.training.progress import clock

    chosen = plans.find(plan)
    accelerator = output.accelerator()
    folder, settings = out or Path("runs") / plan, changes or []
    todo = work.planned(chosen, rows or [], seeds=seeds)
    work.check_test_split(data)
    work.check_begun(chosen, todo, settings, data=data, folder=folder)

    def tell(name: str, seconds: float) -> None:
        output.say(f"{name:<45} about {clock(seconds)}")

    left = work.expected_seconds_left(todo, settings, data=data, folder=folder, accelerator=accelerator, tell=tell)
    total = output.expected_time(sum(left.values()), accelerator)
    output.say(f"{len(left)} of {len(todo)} rows to train in {folder}, about {total}")
    if dry_run:
        return
    for row in todo:
        result = work.carry_out(row, settings, data=data, folder=folder, accelerator=accelerator, say=output.say)
        if result is None:
            output.say("interrupted and saved; repeat the command to continue")
            raise typer.Exit(INTERRUPTED)
        output.say(f"{row.name}: dev {result.dev}")
        if row.name in left or row is todo[-1]:  # computing intervals takes a while, and finished rows change none
            table = work.table_of(chosen, data=data, folder=folder, accelerator=accelerator)
            if output.IS_MAIN:
                table.write(folder, plan)
    if output.IS_MAIN:
        print(json.dumps(table.to_json()) + "\n" if as_json else table.markdown(), end="")
