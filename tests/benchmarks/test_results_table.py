import json
import shutil
import subprocess
import sys
from pathlib import Path

from scripts import BENCHMARKS

ROOT = BENCHMARKS.parent


def test_what_is_taken_over_is_rounded_once(tmp_path: Path) -> None:
    # 68.5522 is 68.6; kept as 68.55 it would be printed as 68.5.
    for name in ("README.md", "docs/results.md", "docs/results.json", "benchmarks/results_table.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    score = {"accuracy": 0.685522, "consistency": 0.328321, "spread": 0.0205522, "scores": [{}, {}, {}]}
    row = {"row": "BiDAF", "input": "structured", "supervision": "labels", "command": "…", "dev": score, "test": score}
    (tmp_path / "table.json").write_text(json.dumps({"rows": [row]}), encoding="utf-8")
    script = [sys.executable, "benchmarks/results_table.py"]
    subprocess.run([*script, "--take", "table.json", "--commit", "1", "--machine", "m"], cwd=tmp_path, check=True)
    line = next(x for x in (tmp_path / "README.md").read_text(encoding="utf-8").splitlines() if "BiDAF |" in x)
    assert "| 68.6 ± 2.1 | 68.6 | 32.8 | 3 |" in line
    assert subprocess.run([*script, "--check"], cwd=tmp_path).returncode == 0
