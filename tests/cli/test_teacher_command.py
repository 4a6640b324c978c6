"""`veriscene train --teacher`, `--set teacher.…` and `bench teacher`."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from shell import VERISCENE, settings, veriscene

from samples import write_corpus, yellow_circle_examples
from veriscene.training.log import read_log
from veriscene.training.spec import Record

SMALL = settings(
    *("model.embedding=4", "model.hidden=4", "model.item=4", "data.minimum_count=1", "training.batch=16"),
    *("teacher.scenes=8", "teacher.grammar_scenes=4", "teacher.workers=2", "training.threads=1"),
)
LINE = {"statement": "There is a circle.", "program": "exist(filter_obj(all_items, is_circle))"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "own.jsonl").write_text(json.dumps(LINE) + "\n")
    return write_corpus(tmp_path / "corpus", yellow_circle_examples(24), yellow_circle_examples(8, seed=1))


def workers_of(process: int) -> list[int]:
    """The processes of a teacher, which a process has started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(c) for c in children if b"teacher.worker" in Path(f"/proc/{c}/cmdline").read_bytes()]


def train(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ("train", "bienc", "--data", "corpus", "--out", "run", *arguments)
    return veriscene(*command, cwd=data.parent)


def test_a_users_own_file_and_the_grammar_are_taught(data: Path) -> None:
    taught = train(data, "--teacher", "own.jsonl", *SMALL, *settings("teacher.statements=9", "training.epochs=2"))
    assert taught.returncode == 0, taught.stderr
    assert "44 examples" in taught.stderr and "programs" in taught.stderr
    spec = Record.read(data.parent / "run").spec
    assert spec.programs == (data.parent / "own.jsonl",) and spec.config.teacher.statements == 9


@pytest.mark.parametrize(
    ("line", "arguments", "named"),
    [
        (None, ["--teacher", "none.jsonl"], "none.jsonl: "),
        ('{"statement": "A box"}', ["--teacher", "own.jsonl"], "own.jsonl:1: program "),
        ("{}", ["--teacher", "own.jsonl"], "own.jsonl:1: sentence "),
        (None, settings("teacher.scenes=4"), "teacher.statements"),
        (None, settings("teacher.near_misses=2", "teacher.statements=5"), "teacher.near_misses=2"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    data: Path, line: str | None, arguments: list[str], named: str
) -> None:
    if line is not None:
        (data.parent / "own.jsonl").write_text(line + "\n")
    refused = train(data, *arguments)
    assert refused.returncode == 1
    last = refused.stderr.strip().splitlines()[-1]
    assert last.startswith("veriscene: ") and named in last
    assert "Traceback" not in refused.stderr and not (data.parent / "run").exists()


def test_control_c_saves_and_ends_all_processes(data: Path) -> None:
    endless = settings("training.epochs=100000", "training.patience=100000", "teacher.statements=40")
    command = [*VERISCENE, "train", "bienc", "--data", str(data), "--out", str(data.parent / "run"), *SMALL, *endless]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 90
        while not (data.parent / "run" / "log.jsonl").exists() or len(read_log(data.parent / "run")) < 3:
            assert running.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        started = workers_of(running.pid)
        assert len(started) == 2
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        assert running.returncode == 130
    finally:
        running.kill()
    assert "Traceback" not in errors and f"veriscene train --resume {data.parent / 'run'}" in errors
    assert not any(Path(f"/proc/{process}").exists() for process in started)


def test_the_benchmark_takes_statements_that_cannot_be_balanced_and_of_any_kind(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text('{"statement": "There is a box.", "program": "exist(all_boxes)"}')
    options = ["--teacher", "own.jsonl", "--statements", "0", "--workers", "1", "--seconds", "1"]
    measured = veriscene("bench", "teacher", *options, cwd=tmp_path)
    assert measured.returncode == 0, measured.stderr


def test_the_benchmark_reports_all_ways(tmp_path: Path) -> None:
    measured = veriscene(
        "bench", "teacher", "--statements", "40", "--workers", "1", "--seconds", "1", "--json", cwd=tmp_path
    )
    assert measured.returncode == 0, measured.stderr
    result = json.loads(measured.stdout)["teacher"]
    assert result["examples_per_epoch"] == 40 * 96 and result["workers"] == 1
    assert min(result[name] for name in ("one_core", "with_workers", "bulk_evaluations")) > 0
