"""`veriscene models`."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from veriscene.cli.output import AsJson


def models(as_json: AsJson = False) -> None:
    """List the models that can be trained, and shipped checkpoints and runs with dev accuracy and size."""
    from veriscene.serving.listing import list_checkpoints, list_models

    kinds, checkpoints = list_models(), list_checkpoints()
    if as_json:
        print(json.dumps({"models": [asdict(k) for k in kinds], "checkpoints": [asdict(c) for c in checkpoints]}))
        return
    table = Table("model", "presets", "summary", box=None)
    for kind in kinds:
        table.add_row(kind.name, ", ".join(kind.presets), kind.summary)
    trained = Table("checkpoint or run", "model", "supervision", box=None)
    for column in ("dev accuracy", "MB"):
        trained.add_column(column, justify="right")
    for found in checkpoints:
        accuracy = "-" if found.dev_accuracy is None else f"{found.dev_accuracy:.1%}"
        trained.add_row(found.name, found.model, found.supervision or "-", accuracy, f"{found.megabytes:.1f}")
    Console(highlight=False, soft_wrap=True).print(table, "", trained, sep="\n")
