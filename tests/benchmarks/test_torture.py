"""A few seconds of `make torture`: faults and kills lose nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TORTURE = Path(__file__).parents[2] / "benchmarks" / "torture"


@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library, and forks")
def test_a_few_faults_and_kills_lose_nothing(tmp_path: Path) -> None:
    record = tmp_path / "kills.json"
    options = ["--minutes", "0.2", "--parts", "faults", "kills", "--seed", "7", "--records", tmp_path]
    done = subprocess.run([sys.executable, TORTURE, *options], capture_output=True, text=True, timeout=300)
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["failures"] == [] and done.returncode == 0
    assert json.loads(record.read_text())["7"]["kills"] == report["kills"]["kills"] >= 20
    assert all(report["kills"][f"kills: {kind}"] > 0 for kind in ("corpus", "teacher", "two processes"))
    if shutil.which("cc"):
        assert all(report["faults"][f"{each} tries"] > 0 for each in ("run", "judge", "report", "import"))
