"""A run as one self-contained HTML page: facts, learning curve, scores, and examples with the learned order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from veriscene.evaluation.metrics import Scores, Slice
from veriscene.scenes.nlvr import Example
from veriscene.scenes.render import svg
from veriscene.training.progress import LogLine

# Nothing may be wider than a 400-pixel screen: columns shrink, long words break, and a table that still is too wide
# scrolls by itself.
_STYLE = """
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#667;--line:#ccd;--good:#18794e;--bad:#c62a2f;
--accuracy:#07c;--loss:#c60}
@media(prefers-color-scheme:dark){:root{--ink:#eee;--paper:#161618;--soft:#99a;--line:#334;--good:#4cc38a;--bad:#ff6369;
--accuracy:#4af;--loss:#f93}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;
padding:0 1rem;overflow-wrap:anywhere}
h1,h2{line-height:1.2}h2{margin-top:2rem}svg{max-width:100%;height:auto}.curve{width:32rem}
.wide{overflow-x:auto}table{border-collapse:collapse}
td,th{padding:.25rem .5rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{font-weight:600;padding-top:.75rem}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.facts th{white-space:nowrap;padding:.25rem 1rem .25rem 0;font-weight:400;color:var(--soft)}
summary{cursor:pointer;margin-top:1rem}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(25rem,100%),1fr));gap:1.5rem}
.card{border:1px solid var(--line);border-radius:.5rem;padding:1rem;min-width:0}
.big{font-size:2.5rem;font-weight:600}.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}
.accuracy{color:var(--accuracy)}.loss{color:var(--loss)}
"""


@dataclass(frozen=True)
class Shown:
    """A judged example for the page."""

    example: Example
    probability: float
    per_box: Sequence[float] | None  # None if the model does not score boxes
    order: Sequence[Sequence[int]] | None  # None if the model does not choose one


def choose_examples(examples: Sequence[Example], probabilities: Mapping[str, float], count: int = 8) -> list[Example]:
    """Up to `count` examples of different statements, spread evenly over the file; a quarter of them judged wrong."""
    distinct = list({example.statement: example for example in examples}.values())
    wrong = [example for example in distinct if (probabilities[example.identifier] > 0.5) != example.label]
    some_wrong = _spread(wrong, count // 4)
    right = [example for example in distinct if (probabilities[example.identifier] > 0.5) == example.label]
    return _spread(right, count - len(some_wrong)) + some_wrong


def page(
    *,
    title: str,
    subtitle: str,
    facts: Sequence[tuple[str, str]],
    settings: Mapping[str, object],
    log: Sequence[LogLine],
    scores: Scores,
    majority: float,
    slices: Sequence[Slice],
    shown: Sequence[Shown],
    box_caption: str | None = None,
) -> str:
    """The page as HTML that is also well-formed XML.

    facts: where the run came from (seed, command, commit, ...); settings: by section.key; majority: the accuracy of
    always giving the more frequent label; box_caption: how the verdict follows from the box scores of `shown`.
    """
    low, high = scores.interval
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width,initial-scale=1"/>
<title>{escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1><p class="soft">{escape(subtitle)}</p>
<p><span class="big">{scores.accuracy:.1%}</span> accuracy on {scores.examples:,} examples
(95 % interval {low:.1%} to {high:.1%}, clustered by statement). Always giving the more frequent label: {majority:.1%}.
Consistency: {scores.consistency:.1%} of {scores.presentations:,} presentations have every example right.</p>
<h2>Run</h2>{_facts(facts)}
<details><summary>Configuration</summary>{_facts(settings.items())}</details>
<h2>Learning curve</h2>{curve(log, majority)}
<h2>Scores by kind of example</h2>{_table(slices)}
<h2>Judged examples</h2>{_explanation(shown, box_caption)}
<div class="cards">{"".join(_card(each) for each in shown)}</div>
</body></html>
"""


def curve(log: Sequence[LogLine], majority: float) -> str:
    """Dev accuracy, training loss and the majority baseline over training steps, as SVG with a legend."""
    if not log:
        return "<p>The training log is empty.</p>"
    # Drawn at the size of a phone's screen, so that the text stays legible there; larger screens scale it up.
    left, right, top, bottom = 38, 370, 8, 176
    last_step = max(line.step for line in log)
    floor = min(0.5, *(line.dev_accuracy for line in log))
    ceiling = max(0.7, *(line.loss for line in log))

    def y(value: float, low: float, high: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    steps = [left + (right - left) * line.step / last_step for line in log]
    accuracies = [y(line.dev_accuracy, floor, 1.0) for line in log]
    losses = [y(line.loss, 0.0, ceiling) for line in log]
    return f"""<svg class="curve" viewBox="0 0 400 200" role="img" aria-label="Learning curve">
<path d="M{left} {top}V{bottom}H{right}V{top}" fill="none" stroke="currentColor" opacity=".4"/>
<path d="M{left} {y(majority, floor, 1.0):.1f}H{right}" stroke="currentColor" stroke-dasharray="1 3"/>
{_line(steps, accuracies, "accuracy", "none")}{_line(steps, losses, "loss", "5 4")}
{_label(left - 4, top + 8, "end", "100 %")}{_label(left - 4, bottom, "end", f"{100 * floor:.0f} %")}
{_label(right + 6, top + 8, "start", f"{ceiling:.1f}")}{_label(right + 6, bottom, "start", "0")}
{_label(left, bottom + 16, "start", "step 0")}{_label(right, bottom + 16, "end", f"step {last_step:,}")}
</svg><p class="soft"><span class="accuracy">Solid: dev accuracy, last {log[-1].dev_accuracy:.1%} (left axis)</span>;
<span class="loss">dashed: training loss, last {log[-1].loss:.3f} (right axis)</span>; dotted: majority baseline.</p>"""


def _line(xs: Sequence[float], ys: Sequence[float], kind: str, dash: str) -> str:
    """A line with a marker on its last point: a line through a single point would be invisible."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    return (
        f'<g class="{kind}"><polyline points="{points}" fill="none" stroke="currentColor" stroke-width="2"'
        f' stroke-dasharray="{dash}"/><circle cx="{xs[-1]:.1f}" cy="{ys[-1]:.1f}" r="3.5" fill="currentColor"/></g>'
    )


def _label(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="11" fill="currentColor">{text}</text>'


def _facts(rows: Iterable[tuple[str, object]]) -> str:
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f'<div class="wide"><table class="facts">{cells}</table></div>'


def _table(slices: Sequence[Slice]) -> str:
    rows = ""
    for group, members in groupby(slices, key=lambda each: each.group):
        rows += f'<tr><th>by {escape(group)}</th><th class="n">examples</th><th class="n">accuracy</th>'
        rows += '<th class="n">95 %</th></tr>'
        for name, scores in ((each.name, each.scores) for each in members):
            low, high = scores.interval
            rows += f'<tr><td>{escape(name)}</td><td class="n">{scores.examples:,}</td>'
            rows += f'<td class="n">{scores.accuracy:.1%}</td>'
            rows += f'<td class="n">{100 * low:.1f} – {100 * high:.1f}</td></tr>'
    return f'<div class="wide"><table>{rows}</table></div>'


def _explanation(shown: Sequence[Shown], box_caption: str | None) -> str:
    notes = []
    if any(each.order is not None for each in shown):
        notes.append(
            "The dot marks the item read first; the arrows follow the order in which the model read the items."
        )
    if box_caption is not None and any(each.per_box is not None for each in shown):
        notes.append(f"Box scores: {escape(box_caption)}.")
    return f'<p class="soft">{" ".join(notes)}</p>'


def _card(shown: Shown) -> str:
    verdict = shown.probability > 0.5
    right = verdict == shown.example.label
    boxes = "" if shown.per_box is None else f"box scores: {', '.join(f'{p:.2f}' for p in shown.per_box)}; "
    return (
        f'<div class="card">{svg(shown.example.scene, shown.order)}'
        f"<p><strong>{escape(shown.example.statement)}</strong></p>"
        f'<p class="{"good" if right else "bad"}">{"right" if right else "wrong"}: the model says'
        f" {str(verdict).lower()} (p = {shown.probability:.2f}), the label is {str(shown.example.label).lower()}</p>"
        f'<p class="soft">{boxes}{escape(shown.example.identifier)}</p></div>'
    )


def _spread(examples: Sequence[Example], count: int) -> list[Example]:
    if len(examples) <= count:
        return list(examples)
    return [examples[number * len(examples) // count] for number in range(count)]
