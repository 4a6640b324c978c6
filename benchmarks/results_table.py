"""Writes the tables of docs/results.md and README.md from docs/results.json, between their markers.

python benchmarks/results_table.py            writes
python benchmarks/results_table.py --check    exits 1 if a table has drifted
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from veriscene.experiments.plans import TABLE1

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- results: written by benchmarks/results_table.py -->", "<!-- end of results -->"


def table(rows: list[dict[str, Any]]) -> str:
    measured = {(row["input"], row["row"]): row for row in rows}
    lines = [
        "| input | row | published, dev / Test-P | here, dev | Test-P | consistency, dev | seeds | supervision |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for planned in TABLE1.rows:
        row = measured.get((planned.input, planned.name))
        published = " / ".join(f"{figure:.1f}" for figure in planned.published or ())
        if row is None:
            here = "not measured yet | not measured yet | not measured yet | | "
        else:
            spread = f" ± {row['spread']:.1f}" if row["spread"] is not None else ""
            here = (
                f"{_figure(row['dev'])}{spread} | {_figure(row['test'])} | {_figure(row['dev_consistency'])}"
                f" | {row['seeds']} | {row['supervision']}"
            )
        lines.append(f"| {planned.input} | {planned.name} | {published} | {here} |")
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
