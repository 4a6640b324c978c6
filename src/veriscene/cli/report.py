"""`veriscene report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli import output


def report(
    run: Annotated[Path, typer.Argument(readable=False, help="A folder written by `veriscene train`.")],
    out: Annotated[
        Path | None, typer.Option(readable=False, help="The file to write. Default: RUN/report.html.")
    ] = None,
) -> None:
    """Write one self-contained HTML page about a run: learning curve, scores, judged examples."""
    from veriscene.experiments.reporting import report_run

    output.require_one_process("report")
    print(report_run(run, output.accelerator(), out=out).report)
