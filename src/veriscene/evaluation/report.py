"""A run as one self-contained HTML page: learning curve, scores, and judged examples with the learned order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from veriscene.evaluation.metrics import Scores, Slice
from veriscene.scenes.nlvr import Example
from veriscene.scenes.render import svg

_STYLE = """
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#667;--line:#ccd;--good:#18794e;--bad:#c62a2f}
@media(prefers-color-scheme:dark){:root{--ink:#eee;--paper:#161618;--soft:#99a;--line:#334;--good:#4cc38a;--bad:#ff6369}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;
padding:0 1rem}h1,h2{line-height:1.2}table{border-collapse:collapse}td,th{padding:.25rem .8rem;text-align:left;
border-bottom:1px solid var(--line)}td.n{text-align:right;font-variant-numeric:tabular-nums}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(25rem,1fr));gap:1.5rem}
.card{border:1px solid var(--line);border-radius:.5rem;padding:1rem}.card svg{max-width:100%;height:auto}
.big{font-size:2.5rem;font-weight:600}.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}
"""


@dataclass(frozen=True)
class Shown:
    """A judged example for the page."""

    example: Example
    probability: float
    per_box: Sequence[float]
    order: Sequence[Sequence[int]] | None  # None where the model does not choose one


def choose_examples(examples: Sequence[Example], probabilities: Mapping[str, float], count: int = 8) -> list[Example]:
    """Up to `count` examples of different statements, spread evenly: mostly right ones, a quarter wrong."""
    once = list({example.statement: example for example in examples}.values())

    def is_right(example: Example) -> bool:
        return (probabilities[example.identifier] > 0.5) == example.label

    wrong = _spread([e for e in once if not is_right(e)], count // 4)
    return _spread([e for e in once if is_right(e)], count - len(wrong)) + wrong


def page(
    *,
    title: str,
    subtitle: str,
    log: Sequence[Mapping[str, Any]],
    scores: Scores,
    slices: Sequence[Slice],
    shown: Sequence[Shown],
) -> str:
    low, high = scores.interval
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1><p class="soft">{escape(subtitle)}</p>
<p><span class="big">{scores.accuracy:.1%}</span> accuracy on {scores.examples:,} examples
(95 % interval {low:.1%} to {high:.1%});
{scores.consistency:.1%} of {scores.presentations:,} presentations all right.</p>
<h2>Learning curve</h2>{curve(log)}
<h2>Scores</h2>{_table(slices)}
<h2>Judged examples</h2>
<p class="soft">The dot is the item read first; arrows follow the order in which the model read the items of a box.
"Per box" is the probability if all three boxes looked like that one.</p>
<div class="cards">{"".join(_card(s) for s in shown)}</div>
</body></html>
"""


def curve(log: Sequence[Mapping[str, Any]]) -> str:
    """Dev accuracy (solid) and training loss (dashed) over steps, as SVG."""
    if not log:
        return "<p>Nothing was scored.</p>"
    width, height, left, bottom = 640, 240, 48, 28
    across, down = width - 2 * left, height - 8 - bottom
    last = max(line["step"] for line in log)
    top_loss = max(0.7, *(line["loss"] for line in log))

    def path(values: Sequence[float], floor: float, ceiling: float) -> str:
        points = (
            (left + across * line["step"] / last, 8 + down * (ceiling - value) / (ceiling - floor))
            for line, value in zip(log, values, strict=True)
        )
        # The last point again: a run with a single score shall show it as a dot.
        places = [f"{x:.1f} {y:.1f}" for x, y in points]
        return "M" + "L".join([*places, places[-1]])

    accuracies = [line["dev_accuracy"] for line in log]
    floor = min(0.5, *accuracies)
    text = 'font-size="12" fill="currentColor"'
    return f"""<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" style="max-width:100%;height:auto">
<path d="M{left} 8V{height - bottom}H{width - left}" fill="none" stroke="currentColor" opacity=".4"/>
<path d="{path(accuracies, floor, 1.0)}" fill="none" stroke="#0077cc" stroke-width="2.5" stroke-linecap="round"/>
<path d="{path([line["loss"] for line in log], 0.0, top_loss)}" fill="none" stroke="#c60" stroke-width="2"
 stroke-dasharray="5 4"/>
<text x="{left - 6}" y="16" text-anchor="end" {text}>100 %</text>
<text x="{left - 6}" y="{height - bottom}" text-anchor="end" {text}>{floor:.0%}</text>
<text x="{width - left + 6}" y="16" {text}>{top_loss:.1f}</text>
<text x="{width - left + 6}" y="{height - bottom}" {text}>0</text>
<text x="{left}" y="{height - 8}" {text}>step 0</text>
<text x="{width - left}" y="{height - 8}" text-anchor="end" {text}>step {last:,}</text>
<text x="{width / 2}" y="{height - 8}" text-anchor="middle" {text}>
dev accuracy (solid, left) and train loss (dashed, right)</text>
</svg>"""


def _card(shown: Shown) -> str:
    said = shown.probability > 0.5
    right = said == shown.example.label
    boxes = ", ".join(f"{p:.2f}" for p in shown.per_box)
    return (
        f'<div class="card">{svg(shown.example.scene, shown.order)}'
        f"<p><strong>{escape(shown.example.statement)}</strong></p>"
        f'<p class="{"good" if right else "bad"}">says {str(said).lower()} (p = {shown.probability:.2f}),'
        f" it is {str(shown.example.label).lower()}</p>"
        f'<p class="soft">per box: {boxes}; {escape(shown.example.identifier)}</p></div>'
    )


def _table(slices: Sequence[Slice]) -> str:
    rows = "".join(
        f"<tr><td>{escape(s.group)}</td><td>{escape(s.name)}</td><td class=n>{s.scores.examples:,}</td>"
        f"<td class=n>{s.scores.accuracy:.1%}</td>"
        f"<td class=n>{s.scores.interval[0]:.1%} – {s.scores.interval[1]:.1%}</td></tr>"
        for s in slices
    )
    return f"<table><tr><th>by<th><th>examples<th>accuracy<th>95 % interval</tr>{rows}</table>"


def _spread(examples: Sequence[Example], count: int) -> list[Example]:
    if len(examples) <= count:
        return list(examples)
    return [examples[number * len(examples) // count] for number in range(count)]
