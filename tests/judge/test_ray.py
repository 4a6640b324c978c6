"""The recipe of docs/bulk.md, on two nodes of Ray, one worker of which is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from samples import yellow_circle_examples
from veriscene.judge.bulk import Bulk
from veriscene.world.examples import write
from veriscene.worlds.nlvr.looks import WORLD

pytest.importorskip("ray", reason="needs Ray: pip install -c constraints.txt 'ray[data]'")
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "bulk.md"
PART = 16  # KiB


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    limits = {"num_cpus": 1, "object_store_memory": 80 << 20}  # so each node has room for one actor
    found = Cluster(initialize_head=True, head_node_args={**limits, "include_dashboard": False})
    try:
        found.add_node(**limits)
        yield found
    finally:
        found.shutdown()


def actors(node: Any) -> list[int]:
    """The processes on a node that judge parts."""
    (raylet,), found = node.all_processes["raylet"], []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == raylet.process.pid and b"JudgePart" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:  # it has ended
            continue
    return found


def test_a_killed_worker_of_two_nodes_costs_no_answer_and_doubles_none(cluster: Any, tmp_path: Path) -> None:
    examples = [
        replace(example, identifier=f"{copy}-{number}")
        for copy in range(20)
        for number, example in enumerate(yellow_circle_examples(40))
    ]
    write(tmp_path / "questions.jsonl", examples, WORLD)
    (code,) = re.findall(
        r"^```python\n(import ray.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    (tmp_path / "recipe.py").write_text(code.replace(".absolute())\n\n", f".absolute(), part={PART})\n\n", 1))
    environment = {**os.environ, "RAY_ADDRESS": cluster.address, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[2] / "src")
    out, log = tmp_path / "answers", (tmp_path / "log").open("w+")
    count = len(Bulk("best", tmp_path / "questions.jsonl", out, part=PART).parts)
    assert count > 20
    command = [sys.executable, "recipe.py"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT) as running:
        nodes, deadline, killed = [cluster.head_node, *cluster.worker_nodes], time.monotonic() + 300, 0
        while running.poll() is None and time.monotonic() < deadline:
            judging = [actors(node) for node in nodes]
            if not killed and len([*out.glob("part-*.jsonl")]) >= 2 and all(judging):
                killed = judging[1][0]
                os.kill(killed, signal.SIGKILL)
            time.sleep(0.05)
        running.kill()
    text = (tmp_path / "log").read_text()
    assert killed and running.returncode == 0, text[-3000:]
    files = sorted(out.glob("part-*.jsonl"))
    assert [int(path.name[5:11]) for path in files] == list(range(count))
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert [row["identifier"] for row in rows] == [example.identifier for example in examples]
    assert all(row["error"] is None and row["probability"] is not None for row in rows)
    before = {path: path.stat().st_mtime_ns for path in files}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)
    assert {path: path.stat().st_mtime_ns for path in files} == before
