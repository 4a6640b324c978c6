"""The results of a plan: its rows next to the published ones, and how rows differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veriscene import files
from veriscene.lab.plans import Plan, Row
from veriscene.lab.summary import Summary
from veriscene.metrics.comparison import Difference


@dataclass(frozen=True)
class Result:
    row: Row
    dev: Summary
    test: Summary | None  # None where the corpus has no test split
    supervision: str  # labels | synthetic | programs, as the corpus says
    command: str


@dataclass(frozen=True)
class Compared:
    """Two rows, and how they differ on each split, and over all statements of both."""

    first: str
    second: str
    differences: dict[str, Difference]  # by "dev" and, where the corpus has a test split, "test" and "both"


@dataclass(frozen=True)
class Table:
    plan: Plan
    results: Sequence[Result]
    compared: Sequence[Compared]

    def markdown(self) -> str:
        lines = [
            f"# {self.plan.title}",
            "",
            "| row | published, dev / Test-P | dev | Test-P | consistency, dev / Test-P | seeds | best dev |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *(_line(result) for result in self.results),
        ]
        if self.compared:
            headings = [{"dev": "dev", "test": "Test-P", "both": "both"}[name] for name in self.compared[0].differences]
            lines += [
                "",
                "Differences, with 95 % intervals (bootstrap over statements and seeds), bold where they exclude zero:",
                "",
                f"| first row minus second | {' | '.join(headings)} |",
                f"| --- |{' --- |' * len(headings)}",
            ]
        for pair in self.compared:
            gaps = " | ".join(_gap(gap) for gap in pair.differences.values())
            lines.append(f"| {pair.first} minus {pair.second} | {gaps} |")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        return {
            "plan": self.plan.title,
            "rows": [
                {
                    "row": result.row.name,
                    "input": result.row.input,
                    "supervision": result.supervision,
                    "published": result.row.published,
                    "dev": result.dev.to_json(),
                    "test": None if result.test is None else result.test.to_json(),
                    "command": result.command,
                }
                for result in self.results
            ],
            "differences": [
                {"first": pair.first, "second": pair.second}
                | {name: {"mean": gap.mean, "interval": list(gap.interval)} for name, gap in pair.differences.items()}
                for pair in self.compared
            ],
        }

    def write(self, folder: Path, name: str) -> None:
        """Writes NAME.md and NAME.json."""
        files.write_text(folder / f"{name}.json", json.dumps(self.to_json(), indent=1) + "\n")
        files.write_text(folder / f"{name}.md", self.markdown())


def _gap(gap: Difference) -> str:
    low, high = gap.interval
    figure = f"{100 * gap.mean:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"**{figure}**" if gap.is_decided else figure


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
