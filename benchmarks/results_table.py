"""Writes the tables of docs/results.md and README.md from docs/results.json, between their markers.

python benchmarks/results_table.py            writes
python benchmarks/results_table.py --check    exits 1 if a table has drifted
python benchmarks/results_table.py --take runs/table1/table1.json --commit ID --machine TEXT
                                              first takes over the rows that `veriscene reproduce` wrote
"""

from __future__ import annotations

import argparse
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


def taken(rows: list[dict[str, Any]], table: dict[str, Any], commit: str, machine: str) -> list[dict[str, Any]]:
    """The rows with those of a table that `veriscene reproduce` wrote in the place of their earlier figures."""
    new = {(row["input"], row["row"]): _measured(row, commit, machine) for row in table["rows"]}
    kept = {(row["input"], row["row"]): row for row in rows}
    in_order = [(row.input, row.name) for row in TABLE1.rows]
    merged = kept | new
    others = [key for key in merged if key not in in_order]
    return [merged[key] for key in (*in_order, *others) if key in merged]


def _measured(row: dict[str, Any], commit: str, machine: str) -> dict[str, Any]:
    dev, test = row["dev"], row["test"]
    return {
        "row": row["row"],
        "input": row["input"],
        "supervision": row["supervision"],
        "dev": _percent(dev["accuracy"]),
        "test": None if test is None else _percent(test["accuracy"]),
        "dev_consistency": _percent(dev["consistency"]),
        "test_consistency": None if test is None else _percent(test["consistency"]),
        "spread": None if dev["spread"] is None else _percent(dev["spread"]),
        "seeds": len(dev["scores"]),
        "command": row["command"],
        "commit": commit,
        "machine": machine,
    }


def _percent(share: float) -> float:
    """With more digits than a table shows: what is rounded twice can come out a tenth away from what was measured."""
    return round(100 * share, 4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--take", type=Path)
    parser.add_argument("--commit")
    parser.add_argument("--machine")
    options = parser.parse_args()
    source = ROOT / "docs" / "results.json"
    rows = json.loads(source.read_text(encoding="utf-8"))
    if options.take:
        if not options.commit or not options.machine:
            parser.error("--take needs --commit and --machine: a figure without them is worth nothing")
        rows = taken(rows, json.loads(options.take.read_text(encoding="utf-8")), options.commit, options.machine)
        source.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    drifted = False
    for path in (ROOT / "docs" / "results.md", ROOT / "README.md"):
        text = path.read_text(encoding="utf-8")
        right = with_table(text, rows)
        if right != text:
            drifted = True
            if not options.check:
                path.write_text(right, encoding="utf-8")
    return int(drifted and options.check)


if __name__ == "__main__":
    sys.exit(main())
