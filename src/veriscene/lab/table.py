"""The results of a plan: its rows next to the published ones, and how rows differ, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from veriscene.lab.plans import Plan, Row
from veriscene.metrics.accuracy import Summary
from veriscene.metrics.comparison import Difference


@dataclass(frozen=True)
class Result:
    """A row that is trained and scored."""

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
    """The finished rows of a plan, in its order, and the pairs of them that it compares."""

    plan: Plan
    results: Sequence[Result]
    compared: Sequence[Compared]

    def markdown(self) -> str:
        """Writes the rows next to the published ones, and how rows differ."""
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
        """Returns the same as one JSON object, with every seed's scores and the command of each row."""
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
