"""benchmarks/curves.py: what is drawn of the logs of several seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from scripts import script

curves = script("curves")


def test_steps_that_all_seeds_have_scored_are_drawn(tmp_path: Path) -> None:
    for seed, scores in ((1, {100: 0.5, 200: 0.6, 300: 0.7}), (2, {100: 0.7, 300: 0.5})):
        lines = [{"step": 50, "loss": 1.0}, *({"step": at, "dev_accuracy": score} for at, score in scores.items())]
        (tmp_path / f"seed{seed}").mkdir()
        (tmp_path / f"seed{seed}" / "log.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    steps, scores = curves.curves_of(tmp_path)
    assert steps == [100, 300] and scores.tolist() == [[50.0, 70.0], [70.0, 50.0]]
    with pytest.raises(SystemExit, match="seed"):
        curves.curves_of(tmp_path / "seed1")
