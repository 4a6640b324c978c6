import json
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest

from scripts import BENCHMARKS
from veriscene import worlds
from veriscene.config import presets
from veriscene.errors import MissingRequirement
from veriscene.lab.plans import PLANS
from veriscene.lab.seeds import read_kept
from veriscene.metrics import accuracy as metrics
from veriscene.models import load_preset
from veriscene.models.settings import check_changes
from veriscene.world.corpus import split_file

ROOT = BENCHMARKS.parent


def test_importing_a_row_updates_all_pages_and_rounds_once(tmp_path: Path) -> None:
    # 68.5522 is printed as 68.6; stored as 68.55 it would be printed as 68.5.
    pages = [str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "results").glob("*.md")]
    for name in ("docs/results.md", "docs/results.json", "benchmarks/results_table.py", *pages):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    score = {"accuracy": 0.685522, "consistency": 0.328321, "spread": 0.0205522, "scores": [{}, {}, {}]}
    score["unseen"] = 0.61449
    row = {"row": "BiDAF", "input": "structured", "supervision": "labels", "command": "…", "dev": score, "test": score}
    row["predictions"] = "predictions/bidaf.csv.gz"
    (tmp_path / "predictions").mkdir()
    (tmp_path / "predictions" / "bidaf.csv.gz").write_bytes(b"kept")
    (tmp_path / "table.json").write_text(json.dumps({"rows": [row]}), encoding="utf-8")
    script = [sys.executable, "benchmarks/results_table.py"]
    subprocess.run([*script, "--take", "table.json", "--commit", "1", "--machine", "m"], cwd=tmp_path, check=True)
    results = (tmp_path / "docs/results.md").read_text(encoding="utf-8")
    assert "| BiDAF | 66.5 / 68.4 | 68.6 ± 2.1 | 68.6 | 61.4 / 61.4 | 32.8 / 32.8 | 3 | labels |" in results
    assert (tmp_path / "docs" / "results" / "predictions" / "bidaf.csv.gz").read_bytes() == b"kept"
    assert subprocess.run([*script, "--check"], cwd=tmp_path).returncode == 0
    (tmp_path / "docs/results.md").write_text(results.replace("2.1 | 68.6", "2.1 | 68.7"), encoding="utf-8")
    assert subprocess.run([*script, "--check"], cwd=tmp_path).returncode == 1


def test_kept_verdicts_have_the_recorded_scores(nlvr_folder: Path) -> None:
    records = json.loads((ROOT / "docs" / "results.json").read_text(encoding="utf-8"))
    with_verdicts = [record for record in records if "predictions" in record]
    seen = metrics.train_statements(nlvr_folder)
    for split in ("dev", "test"):
        examples = worlds.read(split_file(nlvr_folder, split))
        for record in with_verdicts:
            by_seed = read_kept((ROOT / record["predictions"]).read_bytes())[split]
            scores = [metrics.score(examples, own) for own in by_seed]
            unseen = [metrics.unseen_accuracy(examples, own, seen) or 0 for own in by_seed]
            assert 100 * mean(each.accuracy for each in scores) == pytest.approx(record[split], abs=1e-3)
            assert 100 * mean(each.consistency for each in scores) == pytest.approx(
                record[f"{split}_consistency"], abs=1e-3
            )
            assert 100 * mean(unseen) == pytest.approx(record[f"{split}_unseen"], abs=1e-3)


def test_every_record_has_its_provenance() -> None:
    scores = "dev test dev_unseen test_unseen dev_consistency test_consistency spread"
    fields = f"row input supervision {scores} seeds command commit machine"
    planned = {row.name for plan in PLANS.values() for row in plan.rows}
    for record in json.loads((ROOT / "docs" / "results.json").read_text(encoding="utf-8")):
        assert [name for name in record if name not in ("world", "set", "predictions", "grammar")] == fields.split()
        if "predictions" in record:
            kept = read_kept((ROOT / record["predictions"]).read_bytes())
            assert kept.keys() == {"dev", "test"} and all(len(own) == record["seeds"] for own in kept.values())
        assert record["input"] in ("structured", "pixels")
        assert record["supervision"] in ("labels", "labels+rendered", "synthetic", "programs")
        assert record["command"] and record["commit"] and record["machine"]
        _, command, preset, *options = shlex.split(record["command"])
        sees_rendered = preset in presets() and 'backbone = "resnet50-rendered"' in presets()[preset]
        assert (record["supervision"] == "labels+rendered") == sees_rendered
        if command == "evaluate" or record["row"] not in planned:  # a removed setting: it runs at the record's commit
            continue
        changes = [value for name, value in pairwise(options) if name == "--set"]
        taught = record["supervision"] != "labels"
        with suppress(MissingRequirement):  # of weights that are not on this machine
            check_changes(changes, load_preset(preset, changes).model, corpus_given=True, taught=taught)
