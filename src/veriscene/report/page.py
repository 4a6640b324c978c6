"""A run, or two side by side, as one self-contained HTML page: scores, comparison, curves, mistakes, origin."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from veriscene import worlds
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import Scores, difference, mcnemar
from veriscene.metrics.judged import (
    BINS,
    Bin,
    Fault,
    Judged,
    Programs,
    WrongStatement,
    expected_calibration_error,
    reliability,
    wrong_statements,
)
from veriscene.output import counted
from veriscene.training.log import LogLine
from veriscene.world.drawing import escape, svg
from veriscene.world.examples import Example

STYLE = Path(__file__).with_name("style.css")
_FAULTS = {
    Fault.LABEL: "Label or program suspicious: the program contradicts the label",
    Fault.MODEL: "Model at fault: the program confirms the label",
    Fault.UNKNOWN: "No program given",
}


@dataclass(frozen=True)
class ReportedRun:
    """Holds what a page shows of a run."""

    name: str
    facts: Sequence[tuple[str, str]]  # where the run came from: command, commit, …
    settings: Mapping[str, object]  # by section.key
    log: Sequence[LogLine]
    judged: Sequence[Judged]  # all scored examples
    mistakes: Sequence[Judged]  # the most confident ones, with order and box scores
    typical: Sequence[Judged]  # some that are right, with order and box scores
    seen: frozenset[str] | None = None  # `train_statements`, where the corpus has a train split
    box_caption: str | None = None  # how the verdict follows from the box scores

    @property
    def verdicts(self) -> dict[str, bool]:
        return {each.example.identifier: each.verdict for each in self.judged}


def page(title: str, subtitle: str, runs: Sequence[ReportedRun], programs: Programs | None = None) -> str:
    """Writes one run or two as HTML that is also well-formed XML.

    The runs must have judged the same labelled examples, in the same order. With programs, each mistake is attributed
    to the model, or to label or program.
    """
    examples = [each.example for each in runs[0].judged]
    wrong = wrong_statements([run.judged for run in runs], programs or {})
    sections = [
        ("Comparison", _comparison(examples, runs) if len(runs) == 2 else ""),
        *_charts(runs, majority(examples)),
        ("Scores by kind of example", _breakdown(examples, runs)),
        *((f"Most confident mistakes{_of(run, runs)}", _cards(run.mistakes, run.box_caption)) for run in runs),
        ("Every mistake", _faults(wrong, runs, programs) + _every_mistake(wrong, [run.name for run in runs])),
        *((f"Examples judged right{_of(run, runs)}", _cards(run.typical, run.box_caption)) for run in runs),
        ("How it was made", _origin(runs)),
    ]
    body = "".join(f"<h2>{escape(heading)}</h2>{content}\n" for heading, content in sections if content)
    content = f"""<h1>{escape(title)}</h1><p class="quiet">{escape(subtitle)}</p>
{_each(runs, lambda run: _scores(metrics.score(examples, run.verdicts)))}
<p class="quiet">Always giving the more frequent label: {majority(examples):.1%}. Intervals are clustered by statement,
since the examples of a statement tend to be right or wrong together.</p>
{body}"""
    return document(title, content)


def majority(examples: Sequence[Example]) -> float:
    """Returns the accuracy of always giving the more frequent label."""
    true = sum(example.label is True for example in examples) / len(examples)
    return max(true, 1 - true)


def document(title: str, body: str) -> str:
    """Writes a page that loads nothing, as HTML that is also well-formed XML if `body` is."""
    style = STYLE.read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width,initial-scale=1"/>
<title>{escape(title)}</title><style>{style}</style></head><body><main>{body}</main></body></html>
"""


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """Writes names and values as a table, which small screens show as a list."""
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f'<div class="wide"><table class="facts">{cells}</table></div>'


# ---------------------------------------------------------------- sections


def _scores(scores: Scores) -> str:
    low, high = scores.interval
    examples, presentations = counted(scores.examples, "example"), counted(scores.presentations, "presentation")
    return f"""<p><span class="big">{scores.accuracy:.1%}</span> accuracy on {examples}
<span class="quiet">(95 % interval {low:.1%} to {high:.1%})</span></p>
<p>Consistency: {scores.consistency:.1%} of {presentations} with every example right.</p>"""


def _comparison(examples: Sequence[Example], runs: Sequence[ReportedRun]) -> str:
    one, other = (escape(run.name) for run in runs)
    found = difference(examples, [runs[0].verdicts], [runs[1].verdicts])
    test = mcnemar(examples, runs[0].verdicts, runs[1].verdicts)
    low, high = found.interval
    decided = "which excludes" if found.is_decided else "which includes"
    return f"""<p>{one} minus {other}: <strong>{100 * found.mean:+.1f} points</strong> of accuracy, 95 % interval
{100 * low:+.1f} to {100 * high:+.1f} (bootstrap over statements), {decided} zero.</p>
<div class="wide"><table><tr><th></th><th class="n">{other} right</th><th class="n">{other} wrong</th></tr>
<tr><th>{one} right</th><td class="n">{test.both:,}</td><td class="n">{test.only_first:,}</td></tr>
<tr><th>{one} wrong</th><td class="n">{test.only_second:,}</td><td class="n">{test.neither:,}</td></tr></table></div>
<p>McNemar's exact test: p = {_p_value(test.p)}. <span class="quiet">It takes all examples as independent; those of one
statement are not, so this p tends to be too small: prefer the interval above. Both are about these two runs, not about
other seeds.</span></p>"""


def _p_value(p: float) -> str:
    return f"{p:.2g}" if p >= 0.0001 else f"{p:.1e}"


def _charts(runs: Sequence[ReportedRun], majority: float) -> list[tuple[str, str]]:
    """Learning curve and calibration: of one run side by side, of two runs in two sections."""
    curves = [learning_curve(run.log, majority) for run in runs]
    every = [reliability(run.judged) for run in runs]
    floor = min(0.5, *(math.floor(10 * each.interval[0]) / 10 for bins in every for each in bins))
    diagrams = [
        f"{reliability_diagram(bins, floor)}"
        f"<p>Expected calibration error: <strong>{expected_calibration_error(bins):.1%}</strong></p>"
        for bins in every
    ]
    note = f"""<p class="quiet">A dot is one of {BINS} ranges of confidence; its area grows with its examples, and its
whisker is the 95 % interval of its accuracy. The error is the distance from the dotted diagonal, averaged over
examples.</p>"""
    if len(runs) == 1:
        both = f'<div class="card">{curves[0]}</div><div class="card">{diagrams[0]}{note}</div>'
        return [("Learning curve and calibration", f'<div class="grid">{both}</div>')]
    calibration = _side_by_side([*zip(runs, diagrams, strict=True)]) + note
    return [("Learning curve", _side_by_side([*zip(runs, curves, strict=True)])), ("Calibration", calibration)]


def _breakdown(examples: Sequence[Example], runs: Sequence[ReportedRun]) -> str:
    slices = zip(*(metrics.breakdown(examples, run.verdicts, run.seen) for run in runs), strict=True)
    heads = "".join(f'<th class="n">{"accuracy" if len(runs) == 1 else escape(run.name)}</th>' for run in runs)
    tables = ""
    for group, members in groupby(slices, key=lambda each: each[0].group):
        rows = f'<tr><th>by {escape(group)}</th><th class="n">examples</th>{heads}</tr>'
        for each in members:
            rows += f'<tr><td>{escape(each[0].name)}</td><td class="n">{each[0].scores.examples:,}</td>'
            for low, high, accuracy in ((*part.scores.interval, part.scores.accuracy) for part in each):
                rows += f'<td class="n">{accuracy:.1%}<small>{100 * low:.1f} – {100 * high:.1f}</small></td>'
            rows += "</tr>"
        tables += f'<div class="wide"><table>{rows}</table></div>'
    return f'<div class="columns">{tables}</div><p class="quiet">Small: 95 % intervals.</p>'


def _faults(wrong: Sequence[WrongStatement], runs: Sequence[ReportedRun], programs: Programs | None) -> str:
    """How many mistakes of each run are whose fault."""
    total = [sum(each.is_right is False for each in run.judged) for run in runs]
    if programs is None:
        parts = [f"{escape(run.name)}: {n:,} of {len(run.judged):,}" for run, n in zip(runs, total, strict=True)]
        counted = "; ".join(parts)
        return f"<p>Examples judged wrong, by statement, the most confident mistake first. {counted}.</p>"
    heads = "".join(f'<th class="n">{escape(run.name)}</th>' for run in runs)
    rows = f"<tr><th>at fault</th>{heads}</tr>"
    for fault in Fault:
        cells = ""
        for number in range(len(runs)):
            verdicts = (v[number] for each in wrong for found, v in each.examples if found is fault)
            cells += f'<td class="n">{sum(each.is_right is False for each in verdicts):,}</td>'
        rows += f"<tr><td>{fault.value}</td>{cells}</tr>"
    cells = "".join(f'<td class="n">{count:,}</td>' for count in total)
    return f'<div class="wide"><table>{rows}<tr><th>all mistakes</th>{cells}</tr></table></div>'


def _origin(runs: Sequence[ReportedRun]) -> str:
    parts = []
    for run in runs:
        settings = f"<details><summary>Configuration</summary>{facts(run.settings.items())}</details>"
        parts.append((run, facts(run.facts) + settings))
    if len(runs) == 1:
        return parts[0][1]
    one, other = (run.settings for run in runs)
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    changed = [(key, f"{one.get(key, '–')} / {other.get(key, '–')}") for key in keys]
    same = "<p>Their configurations are the same.</p>"
    return _side_by_side(parts) + (f"<h3>Settings that differ</h3>{facts(changed)}" if changed else same)


# ---------------------------------------------------------------- parts


def _each(runs: Sequence[ReportedRun], content: Callable[[ReportedRun], str]) -> str:
    return _side_by_side([(run, content(run)) for run in runs])


def _side_by_side(parts: Sequence[tuple[ReportedRun, str]]) -> str:
    """One part as it is; two under the names of their runs."""
    if len(parts) == 1:
        return parts[0][1]
    named = "".join(f'<div class="card"><h3>{escape(run.name)}</h3>{content}</div>' for run, content in parts)
    return f'<div class="grid">{named}</div>'


def _of(run: ReportedRun, runs: Sequence[ReportedRun]) -> str:
    return f" of {run.name}" if len(runs) > 1 else ""


# ---------------------------------------------------------------- judged examples as pictures


def _cards(shown: Sequence[Judged], box_caption: str | None) -> str:
    """A card per example, with the order in which the model read the items, if it chose one."""
    if not shown:
        return ""
    notes = []
    if any(each.order is not None for each in shown):
        notes.append(
            "The dot marks the item read first; the arrows follow the order in which the model read the items."
        )
    if box_caption is not None and any(each.per_box is not None for each in shown):
        notes.append(f"Box scores: {escape(box_caption)}.")
    cards = "".join(_card(each) for each in shown)
    return f'<p class="quiet">{" ".join(notes)}</p><div class="grid">{cards}</div>'


def _picture(example: Example, order: Sequence[Sequence[int]] | None = None) -> str:
    return svg(worlds.of_example(example), example.scene, order)


def _card(judged: Judged) -> str:
    boxes = "" if judged.per_box is None else f"; box scores: {', '.join(f'{p:.2f}' for p in judged.per_box)}"
    return (
        f'<div class="card"><strong>{escape(judged.example.statement)}</strong>'
        f"{_picture(judged.example, judged.order)}"
        f'<p>{_verdict(judged, "the model")}</p><p class="quiet">{escape(judged.example.identifier)}, label'
        f" {_truth(judged.example.label)}{boxes}</p></div>"
    )


def _every_mistake(wrong: Sequence[WrongStatement], names: Sequence[str]) -> str:
    """All examples that a model judged wrong, by what is at fault and by statement; folded."""
    if not wrong:
        return "<p>There are none.</p>"
    counts = Counter(found for each in wrong for found, _ in each.examples)
    parts = []
    for fault, heading in _FAULTS.items():
        cards = "".join(_statement(each, fault, names) for each in wrong)
        if counts[fault]:
            title = heading if len(counts) > 1 or fault is not Fault.UNKNOWN else "Show them"
            parts.append(
                f"<details><summary>{title} ({counted(counts[fault], 'example')})</summary>"
                f'<div class="grid">{cards}</div></details>'
            )
    return "".join(parts)


def _statement(wrong: WrongStatement, fault: Fault, names: Sequence[str]) -> str:
    shown = [verdicts for found, verdicts in wrong.examples if found is fault]
    if not shown:
        return ""
    pictures = "".join(
        f'{_picture(verdicts[0].example)}<p class="quiet">{escape(verdicts[0].example.identifier)}, label'
        f" {_truth(verdicts[0].example.label)}; "
        f"{'; '.join(_verdict(each, name) for each, name in zip(verdicts, names, strict=True))}</p>"
        for verdicts in shown
    )
    tags = "".join(f"<span>{escape(name)}</span>" for name in wrong.phenomena)
    program = "" if wrong.program is None else f"<p><code>{escape(wrong.program.text)}</code></p>"
    return (
        f'<div class="card"><strong>{escape(wrong.statement)}</strong><p class="tags">{tags}</p>'
        f"{program}{pictures}</div>"
    )


def _verdict(judged: Judged, name: str) -> str:
    how = "right" if judged.is_right else "wrong"
    said = f"{escape(name)} says {_truth(judged.verdict)} (p = {judged.probability:.2f})"
    return f'<span class="{how}">{how}: {said}</span>'


def _truth(value: bool | None) -> str:
    return str(value).lower()


# ---------------------------------------------------------------- charts, which take their colours from the page


def learning_curve(log: Sequence[LogLine], majority: float) -> str:
    """Draws dev accuracy, training loss and the majority baseline over training steps, with a legend."""
    if not log:
        return "<p>The training log is empty.</p>"
    # Drawn at the size of a phone's screen, so that the text stays legible there; larger screens scale it up.
    left, right, top, bottom = 42, 368, 10, 176
    last_step = max(line.step for line in log)
    floor = min(0.5, *(line.dev_accuracy for line in log))
    ceiling = max(0.7, *(line.loss for line in log))

    def y(value: float, low: float, high: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    def x(step: float) -> float:
        return left + (right - left) * step / last_step

    steps = [x(line.step) for line in log]
    accuracies = [y(line.dev_accuracy, floor, 1.0) for line in log]
    losses = [y(line.loss, 0.0, ceiling) for line in log]
    marks = _ticks_left(left, [(y(tick, floor, 1.0), f"{100 * tick:.0f} %") for tick in ticks(floor, 1.0)])
    marks += "".join(
        f'<path d="M{right} {y(tick, 0.0, ceiling):.1f}h4" stroke="currentColor" opacity=".6"/>'
        f"{_label(right + 7, round(y(tick, 0.0, ceiling) + 4, 1), 'start', f'{tick:g}')}"
        for tick in ticks(0.0, ceiling)
    )
    marks += _ticks_below(bottom, [(x(tick), f"{tick:,.0f}") for tick in ticks(0, last_step, 4) if tick == int(tick)])
    return f"""<svg class="chart curve" viewBox="0 0 400 214" role="img" aria-label="Learning curve">
<path d="M{left} {top}V{bottom}H{right}V{top}" fill="none" stroke="currentColor" opacity=".4"/>{marks}
<path d="M{left} {y(majority, floor, 1.0):.1f}H{right}" stroke="currentColor" stroke-dasharray="1 3"/>
{_line(steps, accuracies, "first", "none")}{_line(steps, losses, "second", "5 4")}
{_label((left + right) / 2, bottom + 32, "middle", "step")}
</svg><p class="quiet"><span class="first">Solid: dev accuracy, last {log[-1].dev_accuracy:.1%} (left axis)</span>;
<span class="second">dashed: training loss, last {log[-1].loss:.3f} (right axis)</span>; dotted: majority
baseline.</p>"""


def reliability_diagram(bins: Sequence[Bin], floor: float = 0.0) -> str:
    """Draws accuracy, from `floor` up, over confidence, a dot per bin: its area grows with the number of examples, its
    whisker is the 95 % interval. Perfect calibration is the dotted diagonal."""
    left, right, top, bottom = 42, 380, 10, 176
    most = max(each.examples for each in bins)

    def x(confidence: float) -> float:
        return left + (right - left) * (2 * confidence - 1)

    def y(accuracy: float) -> float:
        return bottom - (bottom - top) * (accuracy - floor) / (1 - floor)

    marks = "".join(
        f'<path d="M{x(each.confidence):.1f} {y(each.interval[0]):.1f}V{y(each.interval[1]):.1f}" stroke="currentColor"'
        f' opacity=".6"/><circle cx="{x(each.confidence):.1f}" cy="{y(each.accuracy):.1f}"'
        f' r="{2 + 6 * math.sqrt(each.examples / most):.1f}" fill="currentColor"/>'
        for each in bins
    )
    axes = _ticks_left(left, [(y(tick), f"{100 * tick:.0f} %") for tick in ticks(floor, 1.0)])
    axes += _ticks_below(bottom, [(x(tick), f"{100 * tick:.0f} %") for tick in ticks(0.5, 1.0)])
    return f"""<svg class="chart" viewBox="0 0 400 214" role="img" aria-label="Reliability diagram">
<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="currentColor" opacity=".4"/>{axes}
<path d="M{x(0.5):.1f} {y(0.5):.1f}L{x(1):.1f} {y(1):.1f}" stroke="currentColor" stroke-dasharray="1 3"/>
<g class="first">{marks}</g>
{_label((left + right) / 2, bottom + 32, "middle", "confidence in the verdict")}
{_label(left + 8, top + 8, "start", "accuracy")}</svg>"""


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Returns round numbers from `low` to `high`, evenly spaced, at most `most` steps apart and as many as possible."""
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10, 20) if (high - low) / (unit * factor) <= most + 1e-9)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _ticks_left(left: float, marks: Sequence[tuple[float, str]]) -> str:
    return "".join(
        f'<path d="M{left - 4:g} {y:.1f}h4" stroke="currentColor" opacity=".6"/>'
        f"{_label(left - 7, round(y + 4, 1), 'end', text)}"
        for y, text in marks
    )


def _ticks_below(bottom: float, marks: Sequence[tuple[float, str]]) -> str:
    return "".join(
        f'<path d="M{x:.1f} {bottom}v4" stroke="currentColor" opacity=".6"/>'
        f"{_label(round(x, 1), bottom + 17, 'middle', text)}"
        for x, text in marks
    )


def _line(xs: Sequence[float], ys: Sequence[float], kind: str, dash: str) -> str:
    """A line with a marker on its last point: a line through a single point would be invisible."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    return (
        f'<g class="{kind}"><polyline points="{points}" fill="none" stroke="currentColor" stroke-width="2"'
        f' stroke-dasharray="{dash}"/><circle cx="{xs[-1]:.1f}" cy="{ys[-1]:.1f}" r="3.5" fill="currentColor"/></g>'
    )


def _label(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="11" fill="currentColor">{text}</text>'
