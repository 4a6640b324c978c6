"""Draws learning curves: dev accuracy by step, the mean of a row's seeds as a line and their range as a band.

python benchmarks/curves.py OUT.svg FOLDER[=NAME] …

FOLDER is what `veriscene train --seeds` or `veriscene reproduce` wrote, with seed1, seed2, …; steps that not all seeds
have scored are left out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

plt.rcParams.update({"svg.hashsalt": "veriscene", "svg.fonttype": "none", "font.size": 9})  # the same file every time


def curves_of(folder: Path) -> tuple[list[int], np.ndarray]:
    """The steps that all seeds have scored, and each seed's dev accuracy at them, in %: (seed, step)."""
    logs = sorted(folder.glob("seed*/log.jsonl"))
    if not logs:
        raise SystemExit(f"{folder}: has no seed*/log.jsonl; give a folder of seeds")
    seeds = []
    for log in logs:
        entries = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
        seeds.append({each["step"]: 100 * each["dev_accuracy"] for each in entries if "dev_accuracy" in each})
    steps = sorted(set(seeds[0]).intersection(*seeds[1:]))
    return steps, np.array([[seed[step] for step in steps] for seed in seeds])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", nargs="+", metavar="FOLDER[=NAME]")
    options = parser.parse_args()
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for given in options.folders:
        folder, _, name = given.partition("=")
        steps, scores = curves_of(Path(folder))
        (line,) = axes.plot(steps, scores.mean(axis=0), lw=1.2, label=f"{name or folder} ({len(scores)} seeds)")
        axes.fill_between(steps, scores.min(axis=0), scores.max(axis=0), color=line.get_color(), alpha=0.15, lw=0)
    axes.set(xlabel="step", ylabel="dev accuracy, %", xlim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(options.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
