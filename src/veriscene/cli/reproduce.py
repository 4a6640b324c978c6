"""`veriscene reproduce`: a table of results, from nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED


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
        int,
        typer.Option(
            "--seeds", min=3, help="So many seeds a row, to be chosen beforehand; rows that have fewer get the rest."
        ),
    ] = 3,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting of every row; may be repeated."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how long it would take.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The table as one JSON object on standard output.")] = False,
) -> None:
    """Train and score the rows of a table, three seeds each or more, and write it beside the published figures.

    The same command again goes on where the last one stopped. The test split is looked at once a row, at its end.
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
    output.say(f"{len(left)} of {len(todo)} rows to train, about {clock(sum(left.values()))} in all, in {folder}")
    if dry_run:
        return
    for row in todo:
        result = work.carry_out(row, settings, data=data, folder=folder, accelerator=accelerator, say=output.say)
        if result is None:
            output.say("interrupted and saved; the same command goes on")
            raise typer.Exit(INTERRUPTED)
        output.say(f"{row.name}: dev {result.dev}")
        if row.name in left or row is todo[-1]:  # the intervals take a while, and rows that were done change none
            table = work.table_of(chosen, data=data, folder=folder, accelerator=accelerator)
            if accelerator.is_main_process:
                table.write(folder, plan)
    if accelerator.is_main_process:
        print(json.dumps(table.to_json()) + "\n" if as_json else table.markdown(), end="")
