"""`veriscene bench`: the measurements in the repository's benchmarks folder, which is no part of the package."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import typer

import veriscene
from veriscene.errors import InputError

COMMANDS = Path(veriscene.__file__).resolve().parents[2] / "benchmarks" / "commands.py"
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_bench(app: typer.Typer) -> None:
    """Adds the repository's commands; elsewhere, one that says where they are."""
    spec = spec_from_file_location("benchmarks", COMMANDS) if COMMANDS.is_file() else None
    if spec is None or spec.loader is None:
        app.command(context_settings=ANYTHING)(bench)
        return
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    app.add_typer(found.bench, name="bench")


def bench() -> None:
    """Measure speed against a plain PyTorch implementation, in the repository.

    Example: veriscene bench train --json
    """
    raise InputError("`veriscene bench` needs the repository", allowed="clone it and run `pip install -e .` there")
