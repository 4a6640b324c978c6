"""Writes the tables of docs/results.md and README.md from docs/results.json, between their markers.

python benchmarks/results_table.py            writes
python benchmarks/results_table.py --check    exits 1 if a table has drifted
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- results: written by benchmarks/results_table.py -->", "<!-- end of results -->"

# Every row of the paper's Table 1: input, name, and what was published (dev / Test-P).
PUBLISHED = (
    ("structured", "MaxEnt", "68.0 / 67.7"),
    ("structured", "MLP", "67.5 / 66.3"),
    ("structured", "ImageFeat+RNN", "57.7 / 57.6"),
    ("structured", "RelationNet", "65.1 / 62.7"),
    ("structured", "BiDAF", "66.5 / 68.4"),
    ("structured", "BiENC", "65.1 / 63.4"),
    ("structured", "BiATT", "72.6 / 72.3"),
    ("structured", "BiATT-Pointer", "74.6 / 73.9"),
    ("pixels", "CNN+RNN", "56.6 / 58.0"),
    ("pixels", "NMN", "63.1 / 66.1"),
    ("pixels", "CNN-BiENC", "58.7 / 58.7"),
    ("pixels", "CNN-BiATT", "66.9 / 69.7"),
)


def table(rows: list[dict[str, Any]]) -> str:
    measured = {(row["input"], row["row"]): row for row in rows}
    lines = [
        "| input | row | published, dev / Test-P | here, dev | Test-P | consistency, dev | seeds | supervision |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for input_kind, name, published in PUBLISHED:
        row = measured.get((input_kind, name))
        if row is None:
            here = "not measured yet | not measured yet | not measured yet | | "
        else:
            spread = f" ± {row['spread']:.1f}" if row["spread"] is not None else ""
            here = (
                f"{_figure(row['dev'])}{spread} | {_figure(row['test'])} | {_figure(row['dev_consistency'])}"
                f" | {row['seeds']} | {row['supervision']}"
            )
        lines.append(f"| {input_kind} | {name} | {published} | {here} |")
    return "\n".join(lines)


def with_table(text: str, rows: list[dict[str, Any]]) -> str:
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{rest.split(END)[1]}"


def _figure(value: float | None) -> str:
    return "not measured yet" if value is None else f"{value:.1f}"


def main() -> int:
    rows = json.loads((ROOT / "docs" / "results.json").read_text(encoding="utf-8"))
    drifted = False
    for path in (ROOT / "docs" / "results.md", ROOT / "README.md"):
        text = path.read_text(encoding="utf-8")
        right = with_table(text, rows)
        if right != text:
            drifted = True
            if "--check" not in sys.argv:
                path.write_text(right, encoding="utf-8")
    return int(drifted and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
