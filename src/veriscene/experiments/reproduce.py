"""A plan carried out: every row trained by the protocol and scored, and the table written beside the published one.

Rows that are done are not done again, so the same call goes on where the last one stopped. The test split is looked at
once a row, when all its seeds are trained.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from veriscene.config import Config, load_preset
from veriscene.errors import InputError
from veriscene.evaluation.comparison import Difference, difference
from veriscene.experiments import seeds
from veriscene.experiments.plans import Plan, Row
from veriscene.experiments.seeds import Summary
from veriscene.scenes import nlvr
from veriscene.training import run
from veriscene.training.checkpoint import SUMMARY

Say = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    row: Row
    dev: Summary
    test: Summary | None  # None where the corpus has no test split
    command: str


def planned(plan: Plan, names: Sequence[str]) -> list[Row]:
    """The rows that can be trained, or those of them that are named."""
    rows = [row for row in plan.rows if row.preset is not None]
    known = {row.name.lower(): row for row in rows}
    for name in names:
        if name.lower() not in known:
            raise InputError(f"unknown row {name!r}; choose from {', '.join(row.name for row in rows)}")
    return [known[name.lower()] for name in names] if names else rows


def configuration(row: Row, changes: Sequence[str]) -> Config:
    assert row.preset is not None
    return load_preset(row.preset, [*row.changes, *changes])


def expected_seconds(row: Row, changes: Sequence[str], *, data: Path, accelerator: Accelerator) -> float:
    """At most how long the row's seeds take on this machine, by a few steps."""
    train, dev = (nlvr.read(nlvr.split_file(data, split)) for split in ("train", "dev"))
    kind = run.trainer_of(configuration(row, changes))
    trainer = kind(
        configuration(row, changes),
        data,
        train=train,
        dev=dev,
        accelerator=accelerator,
        supervision="labels",
        quiet=True,
    )
    return trainer.expected_seconds() * row.seeds


def is_done(row: Row, folder: Path) -> bool:
    return (folder / row.folder / SUMMARY).is_file()


def carry_out(
    row: Row, changes: Sequence[str], *, data: Path, folder: Path, accelerator: Accelerator, say: Say
) -> Result | None:
    """The row's result, trained now or before; None if it was interrupted."""
    own = folder / row.folder
    config = configuration(row, changes)
    assert row.preset is not None
    if accelerator.is_main_process and not seeds.is_folder_of_seeds(own):
        seeds.start(config, preset=row.preset, data=data, folder=own, count=row.seeds)
    accelerator.wait_for_everyone()
    seeds.check_same(own, config, data)
    dev = seeds.train(own, accelerator=accelerator, say=say)
    if dev is None:
        return None
    test = seeds.judge(own, "test", accelerator=accelerator) if _has_test(data) else None
    settings = "".join(f" --set {change}" for change in (*row.changes, *changes))
    return Result(row, dev, test, f"veriscene train {row.preset} --data NLVR --seeds {row.seeds}{settings}")


def compare(plan: Plan, results: Sequence[Result], *, data: Path, folder: Path) -> list[tuple[str, str, Difference]]:
    """The plan's pairs of rows, as far as both are there, on dev."""
    examples = nlvr.read(nlvr.split_file(data, "dev"))
    there = {result.row.name: folder / result.row.folder for result in results}
    return [
        (one, other, difference(examples, seeds.verdicts(there[one], "dev"), seeds.verdicts(there[other], "dev")))
        for one, other in plan.compared
        if one in there and other in there
    ]


def markdown(plan: Plan, results: Sequence[Result], differences: Sequence[tuple[str, str, Difference]]) -> str:
    lines = [
        f"# {plan.title}",
        "",
        "| row | published, dev / Test-P | dev | Test-P | consistency, dev / Test-P | seeds | best dev |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(_line(result) for result in results),
    ]
    if differences:
        lines += ["", "Differences on dev, with their 95 % intervals (bootstrap over statements and seeds):", ""]
    for one, other, gap in differences:
        low, high = gap.interval
        lines.append(f"- {one} minus {other}: {100 * gap.mean:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})")
    return "\n".join(lines) + "\n"


def to_json(
    plan: Plan, results: Sequence[Result], differences: Sequence[tuple[str, str, Difference]]
) -> dict[str, Any]:
    return {
        "plan": plan.title,
        "rows": [
            {
                "row": result.row.name,
                "input": result.row.input,
                "supervision": "labels",
                "published": result.row.published,
                "dev": result.dev.to_json(),
                "test": None if result.test is None else result.test.to_json(),
                "command": result.command,
            }
            for result in results
        ],
        "differences": [
            {"first": one, "second": other, "mean": gap.mean, "interval": list(gap.interval)}
            for one, other, gap in differences
        ],
    }


def write(
    folder: Path, name: str, plan: Plan, results: Sequence[Result], differences: Sequence[tuple[str, str, Difference]]
) -> Path:
    """NAME.md and NAME.json in the folder; the former is returned."""
    nlvr.write_text(folder / f"{name}.json", json.dumps(to_json(plan, results, differences), indent=1) + "\n")
    nlvr.write_text(folder / f"{name}.md", markdown(plan, results, differences))
    return folder / f"{name}.md"


def _line(result: Result) -> str:
    published = f"{result.row.published[0]:.1f} / {result.row.published[1]:.1f}" if result.row.published else "-"
    test = result.test
    consistency = f"{100 * result.dev.consistency:.1f} / {'-' if test is None else f'{100 * test.consistency:.1f}'}"
    return (
        f"| {result.row.name} | {published} | {_figure(result.dev)} | {'-' if test is None else _figure(test)}"
        f" | {consistency} | {len(result.dev.scores)} | {100 * result.dev.best.accuracy:.1f} |"
    )


def _figure(summary: Summary) -> str:
    spread = f" ± {100 * summary.spread:.1f}" if summary.spread is not None else ""
    return f"{100 * summary.accuracy:.1f}{spread}"


def _has_test(data: Path) -> bool:
    try:
        nlvr.split_file(data, "test")
    except InputError:
        return False
    return True
