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
from veriscene.models.base import Progress
from veriscene.report.run import REPORT, report_run
from veriscene.training import run
from veriscene.training.run_record import RUN


def quickstart(
    config: Config,
    *,
    data: Path | None,
    folder: Path | None,
    accelerator: Accelerator,
    say: Callable[[str], None],
    progress: Progress,
) -> dict[str, Any] | None:
    """The object that the main job prints last: accuracy, examples, seconds, report; None if it was interrupted."""
    if folder is not None:
        was_cut_off = (folder / RUN).exists() and not (folder / REPORT).exists()
        resume = f"continue with: {_rest_command(folder)}; or " if was_cut_off else ""
        files.check_empty(folder, hint=f"{resume}name another folder with --out")
    started = time.monotonic()
    say(f"1. data: {'a synthetic corpus, made now' if data is None else data}")
    starting = run.start(config, preset="quick", data=data, folder=folder, accelerator=accelerator, progress=progress)
    with starting as trainer:
        source = trainer.source
        words = len(source.encoder.vocabulary)
        say(f"   {len(source.train):,} train and {len(source.dev):,} dev examples, {words} words")
        say(f"2. training {config.model.name} in {trainer.folder} (Ctrl-C stops and saves)")
        if trainer.fit().interrupted:
            say(f"interrupted and saved; continue with: {_rest_command(trainer.folder)}")
            return None
    seen = "statements that it has never seen" if data is None else "the dev split, on which the best step was chosen"
    say(f"3. judging {seen}, and writing the report")
    try:
        judged = report_run(trainer.folder, accelerator)
    except KeyboardInterrupt:
        say(f"interrupted; continue with: {_report_command(trainer.folder)}")
        return None
    low, high = judged.scores.interval
    say(
        f"   accuracy {judged.scores.accuracy:.1%} (95 % interval {low:.1%} to {high:.1%};"
        f" always the more frequent answer: {judged.majority:.1%})"
    )
    say(f"   open {judged.report} in a browser")
    return {
        "accuracy": round(judged.scores.accuracy, 4),
        "examples": judged.scores.examples,
        "seconds": round(time.monotonic() - started, 1),
        "report": str(judged.report),
    }


def _rest_command(folder: Path) -> str:
    """What completes the job if training was interrupted."""
    return f"{run.resume_command(folder)} && {_report_command(folder)}"


def _report_command(folder: Path) -> str:
    return f"veriscene report {shlex.quote(str(folder))}"
