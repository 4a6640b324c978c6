"""The benchmark of bulk judging measures both ways, on different statements."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from samples import yellow_circle_examples
from veriscene.world.examples import write
from veriscene.worlds.nlvr.looks import WORLD


def test_both_ways_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    sys.modules.pop("judge", None)
    measured = importlib.import_module("judge")
    examples = measured.drawn(WORLD, 30)
    assert len({example.statement for example in examples}) == 30
    write(tmp_path / "some.jsonl", yellow_circle_examples(20), WORLD)
    found = measured.bench_judge("best", tmp_path / "some.jsonl", questions=0, workers=2, rounds=1)
    assert found["questions"] == 20 and min(found["ratio"], found["cpu_ratio"]) > 0
    for side in ("stream", "bulk"):
        assert found[side]["per_second"] > 0 and found[side]["per_cpu_second"] > 0
    assert "20 questions" in measured.describe(found)


def test_the_stages_of_judging_on_a_device_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    sys.modules.pop("judge", None)
    measured = importlib.import_module("judge")
    write(tmp_path / "some.jsonl", yellow_circle_examples(20), WORLD)
    found = measured.bench_device("best", tmp_path / "some.jsonl", device="cpu:0", questions=0, workers=2)
    assert found["questions"] == 20 and found["same_verdicts_as_cpu"] == 1
    assert {"parse", "encode", "network", "reader", "programs", "answer", "write"} == found["microseconds"].keys()
    assert "20 questions" in measured.describe_device(found)
