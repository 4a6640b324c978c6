"""`veriscene models`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from veriscene.cli.output import AsJson
from veriscene.errors import InputError
from veriscene.files import read_text


def models(as_json: AsJson = False) -> None:
    """List models and presets that can be trained, and shipped checkpoints and runs with dev accuracy and size."""
    from veriscene.config import presets
    from veriscene.models import MODELS
    from veriscene.training.checkpoint import shipped_checkpoints

    listing: dict[str, Any] = {
        "models": {name: {"summary": kind.summary} for name, kind in MODELS.items()},
        "presets": sorted(presets()),
        "checkpoints": _describe(shipped_checkpoints().items()),
        "runs": _describe((str(path), path) for path in sorted(Path("runs").glob("*"))),
    }
    if as_json:
        print(json.dumps(listing))
    else:
        _print_listing(**listing)


def _describe(paths: Iterable[tuple[str, Path]]) -> dict[str, dict[str, Any]]:
    """What the files of each checkpoint say about it; folders without a checkpoint are left out."""
    from veriscene.training.checkpoint import CONFIG, METRICS, WEIGHTS, find

    described = {}
    for name, path in paths:
        try:
            folder = find(path)
            config = json.loads(read_text(folder / CONFIG))
            metrics = json.loads(read_text(folder / METRICS)) if (folder / METRICS).exists() else {}
            described[name] = {
                "path": str(path),
                "model": config["model"]["name"],
                "dev_accuracy": metrics.get("dev_accuracy"),
                "test_accuracy": metrics.get("test_accuracy"),
                "supervision": metrics.get("supervision"),
                "bytes": (folder / WEIGHTS).stat().st_size,
            }
        except (InputError, ValueError, KeyError, TypeError, AttributeError):
            continue  # not a run, or a damaged one: commands that load it say what is wrong
    return described


def _print_listing(
    models: dict[str, Any], presets: list[str], checkpoints: dict[str, Any], runs: dict[str, Any]
) -> None:
    console = Console(highlight=False, soft_wrap=True)
    table = Table("model", "summary", box=None)
    for name, model in models.items():
        table.add_row(name, model["summary"])
    console.print(table)
    console.print(f"\n presets: {', '.join(presets)}\n")
    table = Table("checkpoint or run", "model", "supervision", box=None)
    for column in ("dev", "test", "MB"):
        table.add_column(column, justify="right")
    for name, found in {**checkpoints, **runs}.items():
        shares = ("-" if found[key] is None else f"{found[key]:.1%}" for key in ("dev_accuracy", "test_accuracy"))
        table.add_row(name, found["model"], found["supervision"] or "-", *shares, f"{found['bytes'] / 1e6:.1f}")
    console.print(table)
