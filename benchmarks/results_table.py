"""Writes the tables of the results pages from docs/results.json, between their markers.

python benchmarks/results_table.py            updates the tables
python benchmarks/results_table.py --check    exits 1 if a table differs from results.json
python benchmarks/results_table.py --take runs/table1.json --commit ID --machine TEXT
                                              first imports the rows written by `veriscene reproduce`,
                                              and keeps their verdicts in docs/results/predictions
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from veriscene.config import presets
from veriscene.lab.plans import PLANS, TABLE1, Plan, Row

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "docs/results.md": ("table1", "beyond", "shipped"),
    "docs/results/spatial-parts.md": ("spatial",),
    "docs/results/order.md": ("orders", "pointers"),
    "docs/results/raw-images.md": ("nmn", "imagenet"),
    "docs/results/table1.md": ("recipe",),
    "docs/results/ablations.md": ("ablations",),
}
END = "<!-- end of results -->"
Record = dict[str, Any]  # one object of results.json
PREDICTIONS = "docs/results/predictions"
# Rows that are no row of a plan: what ships, or was measured on other sets.
SHIPPED = ("best", "best, network alone", "biatt-pointer, as it ships", "shapeworld")
TABLE1_NAMES = {row.folder: row.name for row in TABLE1.rows}


def table(plan: Plan, records: list[Record]) -> str:
    """The measured rows of a plan with all their scores, and those of Table 1 that are not."""
    has_unseen = any(record and record["dev_unseen"] is not None for _, record in _rows(plan, records))
    scores = ["dev", "Test-P", *(["not in train, dev / Test-P"] if has_unseen else []), "consistency, dev / Test-P"]
    heads = ["input", "row", "published, dev / Test-P", *scores, "seeds", "supervision"]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for row, record in _rows(plan, records):
        cells = [row.input, row.name, _published(row)]
        if record is None and plan is not TABLE1:
            continue
        if record is None:
            cells += ["not measured here", *["-"] * (len(heads) - 4)]
        else:
            cells += [f"{_figure(record, 'dev')}{_spread(record)}", _figure(record, "test")]
            cells += [_both(record, "unseen")] if has_unseen else []
            cells += [_both(record, "consistency"), str(record["seeds"]), record["supervision"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def shipped(records: list[Record]) -> str:
    """What ships, on NLVR and other sets; parts of a set are in the page that the text links to."""
    lines = [
        "| checkpoint | set | dev | Test-P | not in train, dev / Test-P | seeds | supervision |",
        "| --- " * 7 + "|",
    ]
    for record in records:
        world, of = record.get("world", "nlvr"), record.get("set", "")
        if record["row"] in SHIPPED and (world == "nlvr" or of.startswith("all")):
            measured_on = ": ".join(filter(None, (world, of)))
            cells = [f"{_figure(record, 'dev')}{_spread(record)}", _figure(record, "test"), _both(record, "unseen")]
            told = [str(record["seeds"]), record["supervision"]]
            lines.append(f"| {' | '.join([record['row'], measured_on, *cells, *told])} |")
    return "\n".join(lines)


def _both(record: Record, kind: str) -> str:
    figures = [_figure(record, f"{split}_{kind}") for split in ("dev", "test")]
    return "-" if figures == ["-", "-"] else " / ".join(figures)


def _rows(plan: Plan, records: list[Record]) -> Iterator[tuple[Row, Record | None]]:
    measured = {_key(record): record for record in records}
    for row in plan.rows:
        # Some ablations are rows of Table 1, under whose name they are recorded.
        yield row, measured.get((row.input, TABLE1_NAMES.get(row.folder, row.name), None, None))


def _key(record: Record) -> tuple[str, str, str | None, str | None]:
    return record["input"], record["row"], record.get("world"), record.get("set")


def _published(row: Row) -> str:
    return " / ".join(f"{figure:.1f}" for figure in row.published or ()) or "-"


def _figure(record: Record, key: str) -> str:
    return "-" if record[key] is None else f"{record[key]:.1f}"


def _spread(record: Record) -> str:
    return "" if record["spread"] is None else f" ± {record['spread']:.1f}"


def with_tables(page: str, names: tuple[str, ...], records: list[Record]) -> str:
    tables = {
        **{name: table(plan, records) for name, plan in PLANS.items()},
        "shipped": shipped(records),
    }
    for name in names:
        begin = f"<!-- results: {name}, written by benchmarks/results_table.py -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n\n{tables[name]}\n\n{END}{rest.split(END, 1)[1]}"
    return page


def with_reproduced(records: list[Record], reproduced: Record, commit: str, machine: str) -> list[Record]:
    """The records, with the rows of a table written by `veriscene reproduce` added or replaced."""
    new = {_key(row): _record(row, commit, machine) for row in reproduced["rows"]}
    merged = {_key(record): record for record in records} | new
    planned = [(row.input, row.name, None, None) for plan in PLANS.values() for row in plan.rows]
    return [merged[key] for key in dict.fromkeys([*planned, *merged]) if key in merged]  # plans share rows


def _record(row: Record, commit: str, machine: str) -> Record:
    dev, test = row["dev"], row["test"]
    # Such a backbone has learned from rendered scenes with annotations, which the corpus does not know of.
    is_rendered = 'backbone = "resnet50-rendered"' in presets().get("".join(shlex.split(row["command"])[2:3]), "")
    record = {
        "row": row["row"],
        "input": row["input"],
        "supervision": "labels+rendered" if is_rendered else row["supervision"],
        "dev": _percent(dev["accuracy"]),
        "test": None if test is None else _percent(test["accuracy"]),
        "dev_unseen": _percent(dev.get("unseen")),
        "test_unseen": None if test is None else _percent(test.get("unseen")),
        "dev_consistency": _percent(dev["consistency"]),
        "test_consistency": None if test is None else _percent(test["consistency"]),
        "spread": _percent(dev["spread"]),
        "seeds": len(dev["scores"]),
        "command": row["command"],
        "commit": commit,
        "machine": machine,
    }
    return record | ({"predictions": f"{PREDICTIONS}/{Path(row['predictions']).name}"} if "predictions" in row else {})


def _percent(share: float | None) -> float | None:
    """Keeps more digits than a table shows: rounding twice can change the last digit."""
    return None if share is None else round(100 * share, 4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--take", type=Path)
    parser.add_argument("--commit")
    parser.add_argument("--machine")
    options = parser.parse_args()
    source = ROOT / "docs" / "results.json"
    records = json.loads(source.read_text(encoding="utf-8"))
    if options.take:
        if not options.commit or not options.machine:
            parser.error("--take needs --commit and --machine: every figure states its provenance")
        reproduced = json.loads(options.take.read_text(encoding="utf-8"))
        records = with_reproduced(records, reproduced, options.commit, options.machine)
        for row in reproduced["rows"]:
            if "predictions" in row:
                target = ROOT / PREDICTIONS / Path(row["predictions"]).name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(options.take.parent / row["predictions"], target)
        source.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    outdated = False
    for name, tables in PAGES.items():
        path = ROOT / name
        old = path.read_text(encoding="utf-8")
        new = with_tables(old, tables, records)
        outdated |= new != old
        if not options.check:
            path.write_text(new, encoding="utf-8")
    return int(outdated and options.check)


if __name__ == "__main__":
    sys.exit(main())
