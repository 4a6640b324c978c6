"""benchmarks/counterfactuals.py: which examples it takes, and the table of a whole run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from samples import yellow_circle_examples
from scripts import script
from veriscene.world.examples import write
from veriscene.worlds.nlvr.looks import WORLD

counterfactuals = script("counterfactuals")


def test_examples_are_evenly_spaced() -> None:
    examples = yellow_circle_examples(10)
    assert counterfactuals.evenly_spaced(examples, 5) == examples[::2]
    assert counterfactuals.evenly_spaced(examples, 99) == examples


def test_the_table_counts_flips_and_asks_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = yellow_circle_examples(4)
    write(tmp_path / "dev.json", examples, WORLD)
    program = "exist(filter_obj(all_items, lambda x: is_circle(x)))"
    line = json.dumps({"sentence": examples[0].statement, "kind": "scatter", "program": program})
    (tmp_path / "programs.jsonl").write_text(line + "\n")
    known = sum(example.statement == examples[0].statement for example in examples)
    arguments = ["--programs", str(tmp_path / "programs.jsonl"), "--judgements", "30", "--out", str(tmp_path / "t.md")]
    monkeypatch.setattr(sys, "argv", ["counterfactuals.py", "best", str(tmp_path / "dev.json"), *arguments])
    counterfactuals.main()
    table = (tmp_path / "t.md").read_text()
    assert "| a flip was found | " in table and table.count("| 4 |\n") >= 3
    right = next(row for row in table.splitlines() if "the verdict was right |" in row and "program" in row)
    assert right.endswith(f"| {known} |")
