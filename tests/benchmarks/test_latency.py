"""The benchmark of latency measures both ways of judging, and refuses in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from samples import fresh_checkpoint, yellow_circle_examples
from veriscene.judge import checkpoint as checkpoints
from veriscene.world.examples import write
from veriscene.worlds.nlvr.looks import WORLD

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "latency.py"


def latency(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_both_ways_are_measured_one_at_a_time_and_in_batches(tmp_path: Path) -> None:
    examples = yellow_circle_examples(8)
    checkpoints.save(tmp_path / "model", fresh_checkpoint("bienc", examples))
    write(tmp_path / "some.json", examples, WORLD)
    done = latency(tmp_path / "model", tmp_path / "some.json", "--json")
    found = json.loads(done.stdout)
    assert found.keys() == {"torch", "onnx"}
    assert all(times.keys() == {"one_at_a_time", "in_batches"} and min(times.values()) > 0 for times in found.values())
    refused = latency(tmp_path / "model", tmp_path / "none.json")
    assert refused.returncode == 1 and "none.json" in refused.stderr and refused.stderr.count("\n") == 1
