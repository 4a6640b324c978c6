"""The coverage of other people's phrasings by the grammar."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from scripts import BENCHMARKS, script

sys.path.insert(0, str(BENCHMARKS))  # for its own imports of the other benchmarks
phrasing_coverage = script("phrasing_coverage")


def test_kinds_boxes_and_numbers_count_as_one_word() -> None:
    words = phrasing_coverage.masked("Two small blue circles in the left box")
    assert words == ("NUMBER", "ITEM", "in", "the", "left", "BOX")
    assert phrasing_coverage.masked("2 shapes in the left panel") == words


def test_coverage_lists_nothing_of_held_out_styles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for style, text in (("casual", "there's {a item} in zanzibar"), ("everyday", "there's {a item} in timbuktu")):
        (tmp_path / f"{style}.jsonl").write_text(json.dumps({"id": "scene-exists", "text": text}) + "\n")
    options = ["--statements", "50", "--missing", "20", "--styles", "casual", "everyday"]
    phrasing_coverage.main([str(tmp_path), *options])
    printed = capsys.readouterr().out
    assert "zanzibar" in printed and "timbuktu" not in printed
