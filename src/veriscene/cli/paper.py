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
    from veriscene.training.distributed import make_accelerator
    from veriscene.training.progress import clock

    command, accelerator = shlex.join(["veriscene", *sys.argv[1:]]), make_accelerator()
    paper = Paper(
        rows, seeds=seeds, changes=changes, data=data, folder=folder, accelerator=accelerator, command=command
    )
    paper.check()
    for name, reason in paper.lacking.items() if not rows else ():
        output.say(f"{name}: left out: {reason}")
    for name in sorted(paper.waiting):
        output.say(f"{name}: its time is known when its backbone is trained")
    left = paper.expected_seconds_left(lambda part, seconds: output.say(f"{part:<45} about {clock(seconds)}"))
    total = output.expected_time(sum(left.values()), accelerator)
    output.say(
        f"{len(left)} part{'' if len(left) == 1 else 's'} to do in {folder}, about {total}; the page: {folder / PAGE}"
    )
    if dry_run:
        return
    try:
        is_finished = paper.run(output.say)
    except KeyboardInterrupt:
        is_finished = False
    if not is_finished:
        output.say(f"interrupted and saved; to continue: {command}")
        raise typer.Exit(output.INTERRUPTED)
    output.result(json.dumps(paper.to_json()) if as_json else str(folder / PAGE))
