"""The charts of a report, as SVG that takes its colours from the page."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from veriscene.metrics.calibration import Bin
from veriscene.training.log import LogLine


def learning_curve(log: Sequence[LogLine], majority: float) -> str:
    """Draws dev accuracy, training loss and the majority baseline over training steps, with a legend."""
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
    return f"""<svg class="chart curve" viewBox="0 0 400 200" role="img" aria-label="Learning curve">
<path d="M{left} {top}V{bottom}H{right}V{top}" fill="none" stroke="currentColor" opacity=".4"/>
<path d="M{left} {y(majority, floor, 1.0):.1f}H{right}" stroke="currentColor" stroke-dasharray="1 3"/>
{_line(steps, accuracies, "first", "none")}{_line(steps, losses, "second", "5 4")}
{_label(left - 4, top + 8, "end", "100 %")}{_label(left - 4, bottom, "end", f"{100 * floor:.0f} %")}
{_label(right + 6, top + 8, "start", f"{ceiling:.1f}")}{_label(right + 6, bottom, "start", "0")}
{_label(left, bottom + 16, "start", "step 0")}{_label(right, bottom + 16, "end", f"step {last_step:,}")}
</svg><p class="quiet"><span class="first">Solid: dev accuracy, last {log[-1].dev_accuracy:.1%} (left axis)</span>;
<span class="second">dashed: training loss, last {log[-1].loss:.3f} (right axis)</span>; dotted: majority
baseline.</p>"""


def reliability_diagram(bins: Sequence[Bin]) -> str:
    """Draws accuracy over confidence, a dot per bin: its area grows with the number of examples, its whisker is the
    95 % interval. Perfect calibration is the dotted diagonal."""
    left, right, top, bottom = 42, 290, 10, 258
    most = max(each.examples for each in bins)

    def x(confidence: float) -> float:
        return left + (right - left) * (2 * confidence - 1)

    def y(accuracy: float) -> float:
        return bottom - (bottom - top) * accuracy

    marks = "".join(
        f'<path d="M{x(each.confidence):.1f} {y(each.interval[0]):.1f}V{y(each.interval[1]):.1f}" stroke="currentColor"'
        f' opacity=".6"/><circle cx="{x(each.confidence):.1f}" cy="{y(each.accuracy):.1f}"'
        f' r="{2 + 6 * sqrt(each.examples / most):.1f}" fill="currentColor"/>'
        for each in bins
    )
    return f"""<svg class="square" viewBox="0 0 300 300" role="img" aria-label="Reliability diagram">
<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="currentColor" opacity=".4"/>
<path d="M{x(0.5):.1f} {y(0.5):.1f}L{x(1):.1f} {y(1):.1f}" stroke="currentColor" stroke-dasharray="1 3"/>
<g class="first">{marks}</g>
{_label(left - 4, top + 8, "end", "100 %")}{_label(left - 4, y(0.5) + 4, "end", "50 %")}
{_label(left - 4, bottom, "end", "0 %")}
{_label(left, bottom + 16, "start", "50 %")}{_label(right, bottom + 16, "end", "100 %")}
{_label((left + right) / 2, bottom + 32, "middle", "confidence in the verdict")}
{_label(left + 6, top + 8, "start", "accuracy")}</svg>"""


def _line(xs: Sequence[float], ys: Sequence[float], kind: str, dash: str) -> str:
    """A line with a marker on its last point: a line through a single point would be invisible."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    return (
        f'<g class="{kind}"><polyline points="{points}" fill="none" stroke="currentColor" stroke-width="2"'
        f' stroke-dasharray="{dash}"/><circle cx="{xs[-1]:.1f}" cy="{ys[-1]:.1f}" r="3.5" fill="currentColor"/></g>'
    )


def _label(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="11" fill="currentColor">{text}</text>'
