"""`veriscene reproduce paper`: everything in the paper, as one page."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from veriscene.cli import output


def reproduce_paper(
    data: Path,
    folder: Path,
    rows: Sequence[str],
    seeds: int,
    changes: Sequence[str],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Prints the plan with its expected time, then does what is missing of it; the result is the page."""
    from veriscene.lab.paper import Paper
    from veriscene.lab.paper.work import PAGE

    command, machine = shlex.join(["veriscene", *sys.argv[1:]]), output.make_machine()
    paper = Paper(rows, seeds=seeds, changes=changes, data=data, folder=folder, machine=machine, command=command)
    paper.check()
    for name, reason in paper.lacking.items() if not rows else ():
        output.say(f"{name}: left out: {reason}")
    left = paper.left()
    output.say(f"{len(left)} part{'' if len(left) == 1 else 's'} to do in {folder}; the page: {folder / PAGE}")
    if dry_run:
        return
    try:
        is_finished = paper.run()
    except KeyboardInterrupt:
        is_finished = False
    if not is_finished:
        output.say(f"interrupted and saved; to continue: {command}")
        raise typer.Exit(output.INTERRUPTED)
    output.result(json.dumps(paper.to_json()) if as_json else str(folder / PAGE))
