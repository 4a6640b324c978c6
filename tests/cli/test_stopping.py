"""Training saves when it is asked to stop, and does not stop because nobody reads its output."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import VERISCENE, settings

from samples import yellow_circle_examples
from veriscene.cli.output import lost_connection
from veriscene.training.distributed import interruptible
from veriscene.training.log import LOG, read_log
from veriscene.world.examples import to_record
from veriscene.worlds.nlvr.looks import WORLD

ENDLESS = settings(
    *("model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=5", "training.evaluate_every=2"),
    *("training.epochs=100000", "training.patience=100000", "training.learning_rate=1e-9"),
)


def wait_for(condition: Callable[[], bool], running: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "errors"), [(signal.SIGHUP, "closed"), (signal.SIGTERM, "/dev/full")])
def test_training_outlives_its_output_and_saves_when_asked_to_stop(
    number: int, errors: str, place: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    command = [*VERISCENE, "train", "bienc", "--data", str(place / "corpus"), "--out", str(folder), *ENDLESS]
    if errors == "closed":
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert running.stderr is not None
        start = running.stderr.readline().decode()
        assert all(text in start for text in ("bienc", "10 examples", "labels", "words", "%", "cpu", str(folder)))
        running.stderr.close()  # as `2>&1 >/dev/null | head -1` does
    else:
        with Path(errors).open("wb") as full:
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=full)
    try:
        wait_for(lambda: len(read_log(folder)) > 3, running)
        before = read_log(folder)[-1].step
        wait_for(lambda: read_log(folder)[-1].step > before, running)
        running.send_signal(number)
        assert running.wait(timeout=60) == 130
    finally:
        running.kill()
    assert (folder / "last").is_dir()


def test_a_process_that_loses_the_other_one_ends_with_one_line(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [*VERISCENE, "train", "bienc", "--data", str(place / "corpus"), "--out", str(folder), *ENDLESS]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    group |= {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    first, second = (
        subprocess.Popen(
            command,
            env={**os.environ, **group, "RANK": rank, "LOCAL_RANK": rank},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    )
    try:
        wait_for(lambda: len(read_log(folder)) > 3, first)
        second.kill()
        _, errors = first.communicate(timeout=60)
    finally:
        for process in (first, second):
            process.kill()
            process.communicate()
    assert first.returncode == 1
    assert "Traceback" not in errors and lost_connection() in errors.splitlines()[-1]


# What compiled modules make of Ctrl-C while they are imported.
INTERRUPTED_IMPORT = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
except KeyboardInterrupt as error:
    raise {error}("initialization failed") from error
"""


@pytest.mark.parametrize(
    ("library", "command", "lines", "error"),
    [
        ("onnxruntime", ["export", "model", "model.onnx"], 1, "ImportError"),
        ("uvicorn", ["serve", "model", "--port", "0"], 0, "ImportError"),
        ("uvicorn", ["serve", "model", "--port", "0"], 0, "RecursionError"),
    ],
)
def test_control_c_while_libraries_are_loaded_is_silent(
    library: str, command: list[str], lines: int, error: str, place: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("uvicorn")
    (tmp_path / f"{library}.py").write_text(INTERRUPTED_IMPORT.replace("{error}", error))
    (tmp_path / "model").symlink_to(place / "model")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([*VERISCENE, *command], cwd=tmp_path, env=environment, capture_output=True, timeout=120)
    assert done.returncode == 130 and done.stderr.count(b"\n") == lines and not (tmp_path / "model.onnx").exists()


def test_sigterm_leaves_no_half_filled_folder(tmp_path: Path) -> None:
    lines = [json.dumps(to_record(each, WORLD)) for each in yellow_circle_examples(2000)]
    (tmp_path / "many.json").write_text("\n".join(lines))
    command = [*VERISCENE, "data", "render", "many.json", "images", "--permutations", "6"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as running:
        wait_for(lambda: len(list(tmp_path.rglob("*.png"))) > 20, running)
        running.terminate()
    assert running.returncode == 143 and [path.name for path in tmp_path.iterdir()] == ["many.json"]


@pytest.mark.parametrize(("value", "status"), [("", 0), ("abc", 1), ("-1", 1)])
def test_variables_of_torchrun_are_read_with_care(value: str, status: int, tmp_path: Path) -> None:
    environment = {**os.environ, "WORLD_SIZE": value}
    command = [*VERISCENE, "world", "show", "nlvr", "--out", str(tmp_path / "nlvr.svg")]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120)
    assert done.returncode == status and done.stderr.count(b"\n") == status and b"Traceback" not in done.stderr


def test_nohup_is_respected_and_only_a_second_control_c_interrupts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible() as requested:
            signal.raise_signal(signal.SIGHUP)
            assert not requested.is_set()
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)  # torchrun passes on what a process has already received
            signal.raise_signal(signal.SIGTERM)
            assert requested.is_set()
            monkeypatch.setattr("veriscene.training.distributed.SECONDS_TO_SECOND_INTERRUPT", -1.0)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGHUP, previous)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    seen: list[bool] = []

    def elsewhere() -> None:
        with interruptible() as requested:
            seen.append(requested.is_set())

    thread = threading.Thread(target=elsewhere)  # which may not set handlers
    thread.start()
    thread.join()
    assert seen == [False]


def test_a_damaged_log_is_read_up_to_the_damage(tmp_path: Path) -> None:
    line = (
        '{"step": %s, "epoch": 1, "loss": %s, "dev_accuracy": 0.5, "learning_rate": 0, '
        '"examples_per_second": 1, "seconds": 2.5}'
    )
    good = [line % (1, 0.5), line % (2, 0.25)]
    damaged = [line % (3, "NaN"), line % (2.5, 1), line % ('"a"', 1), line % (0, 1), line % (True, 1), "[]", "{}", "{"]
    for bad in [*damaged, "[" * 100_000, ""]:
        (tmp_path / LOG).write_text("\n".join([*good, bad.replace("True", "true"), line % (4, 1)]))
        assert [(read.step, read.loss) for read in read_log(tmp_path)] == [(1, 0.5), (2, 0.25)]


def test_a_shard_that_was_killed_is_finished_by_the_same_command_and_nothing_is_done_twice(
    place: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "seeds"
    small = settings("model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=5", "training.epochs=3")
    command = [*VERISCENE, "train", "bienc", "--data", str(place / "corpus"), "--out", str(folder), *small]

    def start(shard: str, **variables: str) -> subprocess.Popen[str]:
        arguments = [*command, "--seeds", "4", "--shard", shard]
        environment = {**os.environ, **variables}
        return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def written() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}

    both = [start("0/2"), start("1/2")]  # at once: one of them makes the folder
    try:
        wait_for(lambda: (folder / "seed2" / "spec.json").exists(), both[1])
        both[1].kill()
        assert both[0].wait(timeout=90) == 0
    finally:
        for shard in both:
            shard.kill()
            shard.communicate()
    assert not (folder / "summary.json").exists() and not (folder / "seed4").exists()
    before = written()
    again = start("1/2")
    output, errors = again.communicate(timeout=90)
    assert again.returncode == 0 and output == f"{folder}\n", errors
    assert len(json.loads((folder / "summary.json").read_text())["dev"]["scores"]) == 4
    after = written()
    for seed in ("seed1", "seed3"):
        assert all(after[path] == time for path, time in before.items() if path.parent.name == seed)
