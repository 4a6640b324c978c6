"""The main job: make a corpus, train on it, judge unseen statements, write the report."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

from veriscene import files
from veriscene.report.run import REPORT, report_run
from veriscene.training.distributed import Machine
from veriscene.training.spec import SPEC, Spec, resume_command
from veriscene.training.train import train


def quickstart(spec: Spec, folder: Path | None, *, machine: Machine) -> dict[str, Any] | None:
    """Returns what the main job prints last: accuracy, examples, seconds, report; None if it was interrupted."""
    if folder is not None:
        was_cut_off = (folder / SPEC).exists() and not (folder / REPORT).exists()
        resume = f"continue with: {_rest_command(folder)}; or " if was_cut_off else ""
        files.check_empty(folder, hint=f"{resume}name another folder with --out")
    started, say = time.monotonic(), machine.output.say
    say(f"1. data: {spec.corpus or 'a synthetic corpus, made now'}")
    say(f"2. training {spec.config.model.name} (Ctrl-C stops and saves)")
    result = train(spec, folder, machine=machine)
    if result.interrupted:
        say(f"interrupted and saved; continue with: {_rest_command(result.folder)}")
        return None
    unseen = "statements that it has never seen"
    say(f"3. judging {'the dev split, on which the best step was chosen' if spec.corpus else unseen}, and reporting")
    try:
        judged = report_run(result.folder, machine.accelerator)
    except KeyboardInterrupt:
        say(f"interrupted; continue with: {_report_command(result.folder)}")
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
    """Returns the command that completes the job if training was interrupted."""
    return f"{resume_command(folder)} && {_report_command(folder)}"


def _report_command(folder: Path) -> str:
    return f"veriscene report {shlex.quote(str(folder))}"
