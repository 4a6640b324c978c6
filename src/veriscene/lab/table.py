"""The results of a plan next to the published ones, and how rows differ: as text, as JSON, and as a page."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from veriscene.lab.plans import Figure, Plan, Row
from veriscene.metrics.accuracy import Difference, Summary
from veriscene.output import counted
from veriscene.report.page import document, facts
from veriscene.world.drawing import escape

SPLITS = {"dev": "dev", "test": "Test-P", "both": "both"}


@dataclass(frozen=True)
class Result:
    """Holds the scores of a row that is trained."""

    row: Row
    dev: Summary
    test: Summary | None  # None where the corpus has no test split
    supervision: str  # labels | synthetic | programs, as the corpus says
    command: str

    def shares(self, figure: str) -> list[str]:
        """Returns a figure of dev and of test in %, empty where there is none."""
        values = [None if each is None else getattr(each, figure) for each in (self.dev, self.test)]
        return ["" if value is None else f"{100 * value:.1f}" for value in values]


def predictions_file(row: Row) -> str:
    """Returns where a row's verdicts are kept, beside the table."""
    return f"predictions/{row.folder}.csv.gz"


@dataclass(frozen=True)
class Compared:
    """Says how two rows differ on each split, and over all statements of both."""

    first: str
    second: str
    differences: dict[str, Difference]  # by "dev" and, where the corpus has a test split, "test" and "both"


@dataclass(frozen=True)
class Table:
    """Holds the finished rows of a plan, in its order, and the pairs of them that it compares."""

    plan: Plan
    results: Sequence[Result]
    compared: Sequence[Compared]

    def markdown(self) -> str:
        """Writes the rows next to the published ones, and how rows differ."""
        lines = [
            f"# {self.plan.title}",
            "",
            "| row | published, dev / Test-P | dev | Test-P | not in train, dev / Test-P | consistency, dev / Test-P"
            " | seeds | best dev |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            *(_line(result) for result in self.results),
        ]
        if self.compared:
            headings = [SPLITS[name] for name in self.compared[0].differences]
            lines += [
                "",
                "Differences, with 95 % intervals (bootstrap over statements and seeds), bold where they exclude zero:",
                "",
                f"| first row minus second | {' | '.join(headings)} |",
                f"| --- |{' --- |' * len(headings)}",
            ]
        for pair in self.compared:
            gaps = " | ".join(_bold(gap) for gap in pair.differences.values())
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
                    "predictions": predictions_file(result.row),
                }
                for result in self.results
            ],
            "differences": [
                {"first": pair.first, "second": pair.second}
                | {name: {"mean": gap.mean, "interval": list(gap.interval)} for name, gap in pair.differences.items()}
                for pair in self.compared
            ],
        }


def _bold(gap: Difference) -> str:
    low, high = gap.interval
    figure = f"{100 * gap.mean:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"**{figure}**" if gap.is_decided else figure


def _line(result: Result) -> str:
    published = " / ".join(f"{figure:.1f}" for figure in result.row.published or ()) or "-"
    spreads = [f" ± {spread}" if spread else "" for spread in result.shares("spread")]
    means = [mean + spread or "-" for mean, spread in zip(result.shares("accuracy"), spreads, strict=True)]
    others = [" / ".join(share or "-" for share in result.shares(figure)) for figure in ("unseen", "consistency")]
    counted = [str(len(result.dev.scores)), f"{100 * result.dev.best.accuracy:.1f}"]
    return f"| {' | '.join([result.row.name, published, *means, *others, *counted])} |"


# ---------------------------------------------------------------- the page


def page(
    table: Table,
    absent: Mapping[str, str],
    drawn: Mapping[str, str],
    undrawn: Mapping[str, str],
    origin: Sequence[tuple[str, str]],
    runs: Sequence[tuple[str, str]],
) -> str:
    """Returns HTML that is also well-formed XML, and loads nothing.

    `absent` and `undrawn` say why rows and figures are missing, by name; `drawn` are the others as SVG files. `origin`
    are facts about the page, `runs` about each row.
    """
    plan = table.plan
    trained = f"<details><summary>How each row was trained</summary>{facts(runs)}</details>" if runs else ""
    sections = [
        ("Rows", "".join(map(_note, plan.notes)) + _rows(table) + _reasons(absent)),
        ("Differences between rows", _differences(table)),
        *((figure.heading, _figure(figure, drawn, undrawn)) for figure in plan.figures),
        ("How it was made", facts(origin) + trained),
    ]
    body = "".join(f"<h2>{escape(heading)}</h2>{content}\n" for heading, content in sections if content)
    figures = f", {len(drawn)} of {counted(len(drawn) + len(undrawn), 'figure')} drawn" if plan.figures else ""
    content = f"""<h1>{escape(plan.title)}: the paper and this reproduction</h1>
<p class="quiet">{len(table.results)} of {len(plan.rows)} rows measured here{figures}.</p>
<p class="quiet">Accuracy in %. Here: the mean over seeds, ± their standard deviation; the weights of each seed are
those with the best dev accuracy; the test split was judged once per row. Not in train: the accuracy on statements that
train does not have. Consistency: the share of presentations of
which every example is right.</p>
{body}"""
    return document(plan.title, content)


def _rows(table: Table) -> str:
    """Writes all rows of the plan, those without a result included."""
    results = {result.row.name: result for result in table.results}
    groups = {"dev": ("paper", "here"), "Test-P": ("paper", "here"), "Test-U": ("paper",)}
    here = dict.fromkeys(("not in train, here", "consistency, here"), ("dev", "Test-P"))
    lines = _head("row", {**groups, **here})
    for heading, rows in groupby(table.plan.rows, key=lambda row: row.heading):
        lines += f'<tr class="group"><th scope="colgroup" colspan="10">{heading}</th></tr>'
        lines += "".join(_row(row, results.get(row.name)) for row in rows)
    return _scrollable(table.plan.title, lines)


def _row(row: Row, result: Result | None) -> str:
    published = [*(row.published or (None, None)), row.unreleased]
    dev, test, unreleased = ("" if figure is None else f"{figure:.1f}" for figure in published)
    cells, told = [dev, "", test, "", unreleased, *[""] * 4], "not measured here"
    if result is not None:
        spreads = [f"<small>± {spread}</small>" if spread else "" for spread in result.shares("spread")]
        means = [f"<strong>{mean}</strong>" if mean else "" for mean in result.shares("accuracy")]
        cells[1:4:2] = [mean + spread for mean, spread in zip(means, spreads, strict=True)]
        cells[5:] = result.shares("unseen") + result.shares("consistency")
        told = f"{counted(len(result.dev.scores), 'seed')}, {result.supervision}"
    return _cells(f"{escape(row.name)}<small>{escape(told)}</small>", [cell or "–" for cell in cells])


def _differences(table: Table) -> str:
    if not table.compared:
        return "<p>Compared as soon as two rows to compare are measured.</p>" if table.plan.compared else ""
    groups = {
        SPLITS[name]: ("here",) if name == "both" else ("paper", "here") for name in table.compared[0].differences
    }
    published = {row.name: row.published for row in table.plan.rows}
    lines = _head("first minus second", groups)
    for pair in table.compared:
        first, second = published[pair.first], published[pair.second]
        theirs = ["–", "–"]
        if first is not None and second is not None:
            theirs = [f"{one - other:+.1f}" for one, other in zip(first, second, strict=True)]
        cells = []
        for name, gap in pair.differences.items():
            low, high = (100 * bound for bound in gap.interval)
            mean = f"{100 * gap.mean:+.1f}"
            ours = f"{f'<strong>{mean}</strong>' if gap.is_decided else mean}<small>{low:+.1f} to {high:+.1f}</small>"
            cells += [ours] if name == "both" else [theirs.pop(0), ours]
        lines += _cells(f"{escape(pair.first)} minus {escape(pair.second)}", cells)
    note = "In points. Small: 95 % intervals, by a bootstrap over statements and seeds. Bold: it excludes zero."
    return _scrollable(f"Differences between rows: {table.plan.title}", lines) + _note(note)


def _head(name: str, groups: Mapping[str, Sequence[str]]) -> str:
    """Writes two header lines: groups of columns, and the columns of each."""
    first = "".join(
        f'<th scope="colgroup" colspan="{len(columns)}" class="n">{group}</th>' for group, columns in groups.items()
    )
    second = "".join(f'<th scope="col" class="n">{column}</th>' for columns in groups.values() for column in columns)
    return f'<tr><th scope="col" rowspan="2">{name}</th>{first}</tr><tr>{second}</tr>'


def _cells(name: str, cells: Sequence[str]) -> str:
    figures = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    return f'<tr><th scope="row">{name}</th>{figures}</tr>'


def _scrollable(label: str, lines: str) -> str:
    """Writes a table that is scrolled by itself, also with the keyboard."""
    region = f'class="wide" role="region" tabindex="0" aria-label="{escape(label)}"'
    return f'<div {region}><table class="rows">{lines}</table></div>'


def _reasons(absent: Mapping[str, str]) -> str:
    """Writes why rows have no result; those with the same reason are one line."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in absent.items():
        by_reason.setdefault(reason, []).append(name)
    items = "".join(
        f"<li><strong>{escape('; '.join(names))}</strong>: {_commands(reason)}</li>"
        for reason, names in by_reason.items()
    )
    return f"<p>Not measured here:</p><ul>{items}</ul>" if items else ""


def _figure(figure: Figure, drawn: Mapping[str, str], undrawn: Mapping[str, str]) -> str:
    caption = "" if figure.caption is None else f"<blockquote>{escape(figure.caption)}</blockquote>"
    theirs = f'<div class="card"><h3>In the paper</h3>{caption}<p>{escape(figure.shows)}</p></div>'
    pictures = ""
    for name in figure.ours:
        if name in drawn:
            statements = ElementTree.fromstring(drawn[name]).findtext(
                ".//{http://purl.org/dc/elements/1.1/}description"
            )
            source = f"data:image/svg+xml;base64,{base64.b64encode(drawn[name].encode()).decode()}"
            picture = f'<img alt="{escape(statements or name)}" src="{source}"/>'
            pictures += f'<div class="figure {name}" tabindex="0">{picture}</div>'
        else:
            pictures += f"<p><strong>{escape(name)}</strong>: {_commands(undrawn[name])}</p>"
    ours = f'<div class="card"><h3>Here</h3><p>{escape(figure.here)}</p>{pictures}</div>'
    return f'<div class="pair {next(iter(figure.ours), "")}">{theirs}{ours}</div>'


def _note(text: str) -> str:
    return f'<p class="quiet">{escape(text)}</p>'


def _commands(text: str) -> str:
    """Escapes plain text in which `commands` are set as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
