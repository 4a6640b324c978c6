"""Where the figures on the page come from: command, commit, machine, environment."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from veriscene import __version__
from veriscene.lab import seeds
from veriscene.lab.reproduce import Reproduction
from veriscene.lab.table import Table
from veriscene.training.distributed import Machine
from veriscene.training.spec import Record, commit

LIBRARIES = ("torch", "accelerate", "numpy", "scikit-learn", "matplotlib")


def of_page(command: str, data: Path, machine: Machine) -> list[tuple[str, str]]:
    """Of the command that writes the page."""
    return [
        ("command", command),
        ("corpus", str(data)),
        ("commit", commit() or "unknown"),
        ("machine", f"{machine}; {len(os.sched_getaffinity(0))} cores, {platform.platform()}"),
        ("environment", ", ".join([f"veriscene {__version__}", *map(_version, LIBRARIES)])),
        ("page written", time.strftime("%Y-%m-%d %H:%M:%S %z")),
    ]


def of_rows(work: Reproduction, table: Table) -> list[tuple[str, str]]:
    """Of the runs of each row that has a result and was trained in this plan."""
    told = []
    for result in table.results:
        if result.row.name not in work.elsewhere:
            own = work.own(result.row)
            records = [Record.read(own / f"seed{seed}") for seed in seeds.read(own).seeds]
            commits = _each(record.commit or "unknown" for record in records)
            machines = _each(record.machine for record in records)
            text = f"{result.command}; commit {commits}; {machines}; first seed started {records[0].started}"
            told.append((result.row.name, text))
    return told


def _each(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def _version(name: str) -> str:
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return f"no {name}"
