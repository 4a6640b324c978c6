"""The main job: make a corpus, train on it, judge unseen statements, write the report."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from veriscene import files
from veriscene.config import Config
from veriscene.experiments.judged_run import REPORT, judge_run
from veriscene.training import run


def quickstart(
    config: Config,
    *,
    data: Path | None,
    folder: Path | None,
    accelerator: Accelerator,
    say: Callable[[str], None],
    progress: run.Progress,
) -> dict[str, Any] | None:
    """What the main job prints last: accuracy, examples, seconds, report; None if it was interrupted."""
    if folder is not None:
        was_cut_off = (folder / run.RUN).exists() and not (folder / REPORT).exists()
        go_on = f"go on with: {_the_rest(folder)}; or " if was_cut_off else ""
        files.check_empty(folder, hint=f"{go_on}name another folder with --out")
    started = time.monotonic()
    where = "a corpus that the package makes itself" if data is None else str(data)
    say(f"1. data: {where}")
    trainer = run.start(config, preset="quick", data=data, folder=folder, accelerator=accelerator, progress=progress)
    say(f"   {len(trainer.corpus):,} train and {len(trainer.dev):,} dev examples, {len(trainer.vocabulary)} words")
    say(f"2. training {config.model.name} in {trainer.run} (Ctrl-C stops, saves and says how to go on)")
    if trainer.fit().interrupted:
        say(f"interrupted and saved; go on with: {_the_rest(trainer.run)}")
        return None
    unseen = (
        "statements that it has never seen" if data is None else "the dev split, on which the best state was chosen"
    )
    say(f"3. judging {unseen}, and writing the report")
    try:
        judged = judge_run(trainer.run, accelerator)
    except KeyboardInterrupt:
        say(f"interrupted; go on with: {_report(trainer.run)}")
        return None
    low, high = judged.scores.interval
    say(
        f"   accuracy {judged.scores.accuracy:.1%} (95 % interval {low:.1%} to {high:.1%};"
        f" the more frequent answer alone: {judged.majority:.1%})"
    )
    say(f"   open {judged.report} in a browser")
    return {
        "accuracy": round(judged.scores.accuracy, 4),
        "examples": judged.scores.examples,
        "seconds": round(time.monotonic() - started, 1),
        "report": str(judged.report),
    }


def _the_rest(folder: Path) -> str:
    """What does the rest of the job if training was interrupted: training alone is not all of it."""
    return f"{run.resume_command(folder)} && {_report(folder)}"


def _report(folder: Path) -> str:
    return f"veriscene report {shlex.quote(str(folder))}"
