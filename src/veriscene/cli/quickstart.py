"""`veriscene quickstart`: the whole pipeline in a few minutes."""

from __future__ import annotations

import json

import typer

from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED, Changes, DataFolder, Out, Seed


def quickstart(data: DataFolder = None, changes: Changes = None, seed: Seed = None, out: Out = None) -> None:
    """Generate a corpus, train a small BiATT-Pointer, evaluate it on unseen statements, write a report.

    Takes a few minutes on a CPU. The last line on standard output is a JSON object.
    """
    from veriscene.experiments.quickstart import quickstart as run_quickstart
    from veriscene.models import load_preset

    output.require_one_process("quickstart")
    accelerator = output.accelerator()
    config = load_preset("quick", [*(changes or []), *([] if seed is None else [f"training.seed={seed}"])])
    with output.progress_bar("generating the corpus") as progress:
        result = run_quickstart(
            config, data=data, folder=out, accelerator=accelerator, say=output.say, progress=progress
        )
    if result is None:
        raise typer.Exit(INTERRUPTED)
    print(json.dumps(result))
