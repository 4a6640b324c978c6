"""Judged examples as pictures on a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from veriscene.metrics.faults import Fault, WrongStatement
from veriscene.metrics.judged import Judged
from veriscene.world.drawing import short_svg

_FAULTS = {
    Fault.LABEL: "Label or program suspicious: the program contradicts the label",
    Fault.MODEL: "Model at fault: the program confirms the label",
    Fault.UNKNOWN: "No program given",
}


def examples(shown: Sequence[Judged], box_caption: str | None) -> str:
    """A card per example, with the order in which the model read the items, if it chose one."""
    notes = []
    if any(each.order is not None for each in shown):
        notes.append(
            "The dot marks the item read first; the arrows follow the order in which the model read the items."
        )
    if box_caption is not None and any(each.per_box is not None for each in shown):
        notes.append(f"Box scores: {escape(box_caption)}.")
    cards = "".join(_card(each) for each in shown)
    return f'<p class="quiet">{" ".join(notes)}</p><div class="grid">{cards}</div>'


def _card(judged: Judged) -> str:
    boxes = "" if judged.per_box is None else f"; box scores: {', '.join(f'{p:.2f}' for p in judged.per_box)}"
    return (
        f'<div class="card"><strong>{escape(judged.example.statement)}</strong>'
        f"{short_svg(judged.example.scene, judged.order)}"
        f'<p>{_said(judged, "the model")}</p><p class="quiet">{escape(judged.example.identifier)}, label'
        f" {_truth(judged.example.label)}{boxes}</p></div>"
    )


def every_mistake(wrong: Sequence[WrongStatement], names: Sequence[str]) -> str:
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
                f"<details><summary>{title} ({counts[fault]:,} examples)</summary>"
                f'<div class="grid">{cards}</div></details>'
            )
    return "".join(parts)


def _statement(wrong: WrongStatement, fault: Fault, names: Sequence[str]) -> str:
    shown = [verdicts for found, verdicts in wrong.examples if found is fault]
    if not shown:
        return ""
    pictures = "".join(
        f'{short_svg(verdicts[0].example.scene)}<p class="quiet">{escape(verdicts[0].example.identifier)}, label'
        f" {_truth(verdicts[0].example.label)}; "
        f"{'; '.join(_said(each, name) for each, name in zip(verdicts, names, strict=True))}</p>"
        for verdicts in shown
    )
    tags = "".join(f"<span>{escape(name)}</span>" for name in wrong.phenomena)
    program = "" if wrong.program is None else f"<p><code>{escape(wrong.program.text)}</code></p>"
    return (
        f'<div class="card"><strong>{escape(wrong.statement)}</strong><p class="tags">{tags}</p>'
        f"{program}{pictures}</div>"
    )


def _said(judged: Judged, name: str) -> str:
    how = "right" if judged.is_right else "wrong"
    said = f"{escape(name)} says {_truth(judged.verdict)} (p = {judged.probability:.2f})"
    return f'<span class="{how}">{how}: {said}</span>'


def _truth(value: bool | None) -> str:
    return str(value).lower()
