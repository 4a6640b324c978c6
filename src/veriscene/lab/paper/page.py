"""The page: what the paper published next to what was measured here, whatever there is of it so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from veriscene.lab.paper import published
from veriscene.lab.paper.published import PublishedFigure
from veriscene.lab.plans import MEASURED_AS, Row
from veriscene.lab.summary import Summary
from veriscene.lab.table import Compared, Result, Table
from veriscene.metrics.comparison import Difference
from veriscene.report.document import document, facts

_INPUTS = {"structured": "Structured representations", "pixels": "Raw images"}
_SPLITS = {"dev": "dev", "test": "Test-P", "both": "both"}
# Heat maps need the whole width. On small screens they scroll, and so do tables, whose first column stays.
_STYLE = """
.pair{display:grid;grid-template-columns:1fr 1.4fr;gap:1.25rem;align-items:start}
.pair.attention{grid-template-columns:1fr}
.figure{overflow-x:auto;margin:.75rem 0}.figure svg{max-width:26rem;border-radius:.5rem}
.figure.attention svg{min-width:40rem;max-width:none}
.rows th{overflow-wrap:normal}.rows th[scope=row]{font-weight:500}
blockquote{margin:.5rem 0;padding-left:.75rem;border-left:3px solid var(--line)}
@media(max-width:46rem){.pair{grid-template-columns:1fr}.rows{font-size:.875rem}
.rows th[scope=row]{position:sticky;left:0;min-width:7rem;background:var(--page)}}
"""
_HEAD = """<tr><th scope="col" rowspan="2">row</th><th scope="colgroup" colspan="2" class="n">dev</th>
<th scope="colgroup" colspan="2" class="n">Test-P</th><th scope="col" class="n">Test-U</th>
<th scope="colgroup" colspan="2" class="n">consistency, here</th></tr>
<tr><th scope="col" class="n">paper</th><th scope="col" class="n">here</th><th scope="col" class="n">paper</th>
<th scope="col" class="n">here</th><th scope="col" class="n">paper</th><th scope="col" class="n">dev</th>
<th scope="col" class="n">Test-P</th></tr>"""


@dataclass(frozen=True)
class Shown:
    """What there is of a reproduction."""

    table1: Table
    ablations: Table
    absent: Mapping[str, str]  # why rows have no result, by name
    figures: Mapping[str, str]  # SVG elements by name
    undrawn: Mapping[str, str]  # why figures are missing, by name
    origin: Sequence[tuple[str, str]]  # command, commit, machine, …
    runs: Sequence[tuple[str, str]]  # how each row was trained


def page(shown: Shown) -> str:
    """HTML that is also well-formed XML, and loads nothing."""
    both = (shown.table1, shown.ablations)
    measured, rows = sum(len(table.results) for table in both), sum(len(table.plan.rows) for table in both)
    drawn, figures = len(shown.figures), len(shown.figures) + len(shown.undrawn)
    sections = [
        ("Table 1", _note(published.TABLE1_CAPTION) + _rows(shown.table1, shown) + _note(published.BACKBONES)),
        ("Differences between rows", _note(published.CLAIMS) + _differences(shown.table1, shown)),
        (
            "Ablations",
            _note(published.ABLATIONS) + _rows(shown.ablations, shown) + _differences(shown.ablations, shown),
        ),
        *((each.heading, _figure(each, shown)) for each in published.FIGURES),
        ("How it was made", _origin(shown)),
    ]
    body = "".join(f"<h2>{escape(heading)}</h2>{content}\n" for heading, content in sections)
    title = f"{published.TITLE}: the paper and this reproduction"
    content = f"""<h1>{escape(title)}</h1><p class="quiet">{escape(published.SOURCE)}. Here: {measured} of {rows} rows
measured, {drawn} of {figures} figures drawn.</p>
<p class="quiet">Accuracy in %. Here: the mean over seeds, ± their standard deviation; the weights of each seed are
those with the best dev accuracy; the test split was judged once per row. Consistency: the share of presentations of
which every example is right.</p>
{body}"""
    return document(title, content, style=_STYLE)


# ---------------------------------------------------------------- tables


def _rows(table: Table, shown: Shown) -> str:
    """All rows of a plan; below the table, why some have no result."""
    results = {result.row.name: result for result in table.results}
    lines = _HEAD
    for kind, rows in groupby(table.plan.rows, key=lambda row: row.input):
        lines += f'<tr class="group"><th scope="colgroup" colspan="8">{_INPUTS[kind]}</th></tr>'
        lines += "".join(_row(row, results.get(row.name), _published(row, shown)) for row in rows)
    absent = [(row.name, shown.absent[row.name]) for row in table.plan.rows if row.name not in results]
    return _scrollable(table.plan.title, lines) + _reasons(absent)


def _row(row: Row, result: Result | None, paper: Row) -> str:
    dev, test = (None, None) if result is None else (result.dev, result.test)
    theirs = paper.published or (None, None)
    consistency = [None if summary is None else 100 * summary.consistency for summary in (dev, test)]
    cells = [theirs[0], dev, theirs[1], test, paper.unreleased, *consistency]
    told = "not measured here"
    if result is not None:
        count = len(result.dev.scores)
        told = f"{count} seed{'s' if count > 1 else ''}, {result.supervision}"
    figures = "".join(f'<td class="n">{_figure_of(cell)}</td>' for cell in cells)
    return f'<tr><th scope="row">{escape(row.name)}<small>{escape(told)}</small></th>{figures}</tr>'


def _figure_of(value: Summary | float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, Summary):
        spread = "" if value.spread is None else f"<small>± {100 * value.spread:.1f}</small>"
        return f"<strong>{100 * value.accuracy:.1f}</strong>{spread}"
    return f"{value:.1f}"


def _published(row: Row, shown: Shown) -> Row:
    """The row of Table 1 that has the published figures."""
    name = MEASURED_AS.get(row.name, row.name)
    return next((each for each in shown.table1.plan.rows if each.name == name), row)


def _differences(table: Table, shown: Shown) -> str:
    if not table.compared:
        return "<p>Compared as soon as two rows to compare are measured.</p>"
    names = list(table.compared[0].differences)
    splits = [name for name in names if name != "both"]
    first = "".join(f'<th scope="colgroup" colspan="2" class="n">{_SPLITS[name]}</th>' for name in splits)
    first += '<th scope="col" class="n">both</th>' if "both" in names else ""
    second = '<th scope="col" class="n">paper</th><th scope="col" class="n">here</th>' * len(splits)
    second += '<th scope="col" class="n">here</th>' if "both" in names else ""
    head = f'<tr><th scope="col" rowspan="2">first minus second</th>{first}</tr><tr>{second}</tr>'
    lines = "".join(_difference(pair, shown) for pair in table.compared)
    note = (
        "In points. Small: 95 % intervals, by a bootstrap over statements and seeds. Bold: the interval excludes zero."
    )
    return _scrollable(f"Differences between rows: {table.plan.title}", head + lines) + _note(note)


def _difference(pair: Compared, shown: Shown) -> str:
    rows = {row.name: row for table in (shown.table1, shown.ablations) for row in table.plan.rows}
    first, second = (_published(rows[name], shown).published for name in (pair.first, pair.second))
    theirs = ["–", "–"]
    if first is not None and second is not None:
        theirs = [f"{one - other:+.1f}" for one, other in zip(first, second, strict=True)]
    cells = ""
    for name, gap in pair.differences.items():
        cells += "" if name == "both" else f'<td class="n">{theirs.pop(0)}</td>'
        cells += f'<td class="n">{_gap(gap)}</td>'
    return f'<tr><th scope="row">{escape(pair.first)} minus {escape(pair.second)}</th>{cells}</tr>'


def _gap(gap: Difference) -> str:
    low, high = (100 * bound for bound in gap.interval)
    mean = f"{100 * gap.mean:+.1f}"
    return f"{f'<strong>{mean}</strong>' if gap.is_decided else mean}<small>{low:+.1f} to {high:+.1f}</small>"


def _scrollable(label: str, lines: str) -> str:
    """A table that is scrolled by itself, also with the keyboard."""
    region = f'class="wide" role="region" tabindex="0" aria-label="{escape(label)}"'
    return f'<div {region}><table class="rows">{lines}</table></div>'


def _reasons(absent: Iterable[tuple[str, str]]) -> str:
    """Rows with the same reason are one line."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in absent:
        by_reason.setdefault(reason, []).append(name)
    items = "".join(
        f"<li><strong>{escape('; '.join(names))}</strong>: {_commands(reason)}</li>"
        for reason, names in by_reason.items()
    )
    return f"<p>Not measured here:</p><ul>{items}</ul>" if items else ""


# ---------------------------------------------------------------- figures and origin


def _figure(figure: PublishedFigure, shown: Shown) -> str:
    caption = "" if figure.caption is None else f"<blockquote>{escape(figure.caption)}</blockquote>"
    theirs = f'<div class="card"><h3>In the paper</h3>{caption}<p>{escape(figure.shows)}</p></div>'
    drawn = ""
    for name in figure.ours:
        if name in shown.figures:
            drawn += f'<div class="figure {name}" tabindex="0">{shown.figures[name]}</div>'
        else:
            drawn += f"<p><strong>{escape(name)}</strong>: {_commands(shown.undrawn[name])}</p>"
    ours = f'<div class="card"><h3>Here</h3><p>{escape(figure.here)}</p>{drawn}</div>'
    return f'<div class="pair {figure.ours[0] if figure.ours else ""}">{theirs}{ours}</div>'


def _origin(shown: Shown) -> str:
    folded = f"<details><summary>How each row was trained</summary>{facts(shown.runs)}</details>" if shown.runs else ""
    return facts(shown.origin) + folded


def _note(text: str) -> str:
    return f'<p class="quiet">{escape(text)}</p>'


def _commands(text: str) -> str:
    """Plain text in which `commands` are set as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
