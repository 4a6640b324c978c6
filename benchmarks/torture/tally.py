"""Counts by seed in a JSON file, to which several processes and later calls may add."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path


def of_seed(path: Path, seed: int) -> dict[str, int]:
    """Returns the counts of one seed so far."""
    return _read(path).get(str(seed), {})


def add(path: Path, seed: int, counts: Mapping[str, int]) -> None:
    """Adds to the counts of one seed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        seeds = _read(path)
        mine = seeds.setdefault(str(seed), {})
        for name, count in counts.items():
            mine[name] = mine.get(name, 0) + count
        path.write_text(json.dumps(seeds, indent=1) + "\n")


def total(path: Path, name: str) -> int:
    """Returns one count, of all seeds together."""
    return sum(each.get(name, 0) for each in _read(path).values())


def _read(path: Path) -> dict[str, dict[str, int]]:
    seeds: dict[str, dict[str, int]] = json.loads(path.read_text()) if path.exists() else {}
    return seeds
