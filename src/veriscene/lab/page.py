"""The page of a plan: what the paper published next to what was measured here, whatever there is of it so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from xml.etree import ElementTree

from veriscene.lab.plans import Figure, Row
from veriscene.lab.table import Compared, Result, Table
from veriscene.metrics.accuracy import Summary
from veriscene.metrics.comparison import Difference
from veriscene.report.page import document, facts

_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
# What matplotlib asks for in a style sheet, which would hold for the whole page.
_LINES = "stroke-linejoin:round;stroke-linecap:butt"
# The axes fill the figure, so that clipping at their border does nothing.
_DROPPED_ELEMENTS = {"metadata", "style", "title", "clipPath"}
_DROPPED_ATTRIBUTES = {"clip-path", "version"}
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
        ("Rows", "".join(map(_note, plan.notes)) + _rows(table, absent)),
        ("Differences between rows", _differences(table)),
        *((figure.heading, _figure(figure, drawn, undrawn)) for figure in plan.figures),
        ("How it was made", facts(origin) + trained),
    ]
    body = "".join(f"<h2>{escape(heading)}</h2>{content}\n" for heading, content in sections if content)
    figures = f", {len(drawn)} of {len(drawn) + len(undrawn)} figures drawn" if plan.figures else ""
    content = f"""<h1>{escape(plan.title)}: the paper and this reproduction</h1>
<p class="quiet">{len(table.results)} of {len(plan.rows)} rows measured here{figures}.</p>
<p class="quiet">Accuracy in %. Here: the mean over seeds, ± their standard deviation; the weights of each seed are
those with the best dev accuracy; the test split was judged once per row. Consistency: the share of presentations of
which every example is right.</p>
{body}"""
    return document(plan.title, content, style=_STYLE)


# ---------------------------------------------------------------- tables


def _rows(table: Table, absent: Mapping[str, str]) -> str:
    """All rows of the plan; below the table, why some have no result."""
    results = {result.row.name: result for result in table.results}
    lines = _HEAD
    for heading, rows in groupby(table.plan.rows, key=lambda row: row.heading):
        lines += f'<tr class="group"><th scope="colgroup" colspan="8">{heading}</th></tr>'
        lines += "".join(_row(row, results.get(row.name)) for row in rows)
    return _scrollable(table.plan.title, lines) + _reasons(absent.items())


def _row(row: Row, result: Result | None) -> str:
    dev, test = (None, None) if result is None else (result.dev, result.test)
    theirs = row.published or (None, None)
    consistency = [None if summary is None else 100 * summary.consistency for summary in (dev, test)]
    cells = [theirs[0], dev, theirs[1], test, row.unreleased, *consistency]
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


def _differences(table: Table) -> str:
    if not table.compared:
        return "<p>Compared as soon as two rows to compare are measured.</p>" if table.plan.compared else ""
    names = list(table.compared[0].differences)
    splits = [name for name in names if name != "both"]
    first = "".join(f'<th scope="colgroup" colspan="2" class="n">{_SPLITS[name]}</th>' for name in splits)
    first += '<th scope="col" class="n">both</th>' if "both" in names else ""
    second = '<th scope="col" class="n">paper</th><th scope="col" class="n">here</th>' * len(splits)
    second += '<th scope="col" class="n">here</th>' if "both" in names else ""
    head = f'<tr><th scope="col" rowspan="2">first minus second</th>{first}</tr><tr>{second}</tr>'
    rows = {row.name: row for row in table.plan.rows}
    lines = "".join(_difference(pair, rows) for pair in table.compared)
    note = (
        "In points. Small: 95 % intervals, by a bootstrap over statements and seeds. Bold: the interval excludes zero."
    )
    return _scrollable(f"Differences between rows: {table.plan.title}", head + lines) + _note(note)


def _difference(pair: Compared, rows: Mapping[str, Row]) -> str:
    first, second = rows[pair.first].published, rows[pair.second].published
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


# ---------------------------------------------------------------- figures


def _figure(figure: Figure, drawn: Mapping[str, str], undrawn: Mapping[str, str]) -> str:
    caption = "" if figure.caption is None else f"<blockquote>{escape(figure.caption)}</blockquote>"
    theirs = f'<div class="card"><h3>In the paper</h3>{caption}<p>{escape(figure.shows)}</p></div>'
    pictures = ""
    for name, _ in figure.ours:
        if name in drawn:
            pictures += f'<div class="figure {name}" tabindex="0">{inlined(drawn[name], name=name)}</div>'
        else:
            pictures += f"<p><strong>{escape(name)}</strong>: {_commands(undrawn[name])}</p>"
    ours = f'<div class="card"><h3>Here</h3><p>{escape(figure.here)}</p>{pictures}</div>'
    return f'<div class="pair {figure.ours[0][0] if figure.ours else ""}">{theirs}{ours}</div>'


def _note(text: str) -> str:
    return f'<p class="quiet">{escape(text)}</p>'


def _commands(text: str) -> str:
    """Plain text in which `commands` are set as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


def inlined(svg: str, *, name: str) -> str:
    """Turns a figure's SVG file into an element of a page: it fills its place, is read out with its title and
    statements, and its ids, of which only those in use are kept, start with `name`."""
    root = ElementTree.fromstring(svg)
    told = (root.find(f".//{_DUBLIN_CORE}{part}") for part in ("title", "description"))
    label = ". ".join(" ".join((each.text or "").split()) for each in told if each is not None)
    used = {value[1:] for each in root.iter() for key, value in each.items() if _local(key) == "href"}
    for element in list(root.iter()):
        for child in [child for child in element if _local(child.tag) in _DROPPED_ELEMENTS]:
            element.remove(child)
        attributes = {_local(key): " ".join(value.split()) for key, value in element.items()}
        if attributes.get("id") not in used:
            attributes.pop("id", None)
        if "id" in attributes:
            attributes["id"] = f"{name}-{attributes['id']}"
        if "href" in attributes:
            attributes["href"] = f"#{name}-{attributes['href'][1:]}"
        element.tag = _local(element.tag)
        element.attrib.clear()
        element.attrib.update({key: value for key, value in attributes.items() if key not in _DROPPED_ATTRIBUTES})
        element.text = element.tail = None
    for key in ("width", "height"):
        del root.attrib[key]
    root.attrib.update({"role": "img", "aria-label": label, "style": _LINES})
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    """Without its namespace."""
    return name.rpartition("}")[2]
