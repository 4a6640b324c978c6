"""A teacher's processes: training on what they make, resuming, and ending."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from teacher_toys import config, corpus, programs, teacher

from veriscene.data.teacher.maker import Maker
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.training import run
from veriscene.training.progress import read_log
from veriscene.training.trainer import StepTrainer
from waiting import wait_until


@pytest.fixture(autouse=True)
def nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path / "cache"))


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_resumed_run_equals_an_uninterrupted_one_and_run_json_records_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, file = corpus(tmp_path / "corpus"), programs(tmp_path / "programs.jsonl")
    settings = config("training.epochs=3", "teacher.statements=4", "teacher.labels=0.2", "data.word_dropout=0.1")

    def start(name: str) -> None:
        common = {"preset": "biatt", "data": data, "folder": tmp_path / name, "quiet": True}
        with run.start(settings, programs=[file], accelerator=Accelerator(cpu=True), **common) as trainer:
            trainer.fit()

    start("whole")
    learn = StepTrainer._learn

    def interrupted(self: StepTrainer, *arguments: object) -> None:
        learn(self, *arguments)
        if self.position.step == 11:  # of 24, within the second epoch
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as context:
        context.setattr(StepTrainer, "_learn", interrupted)
        start("broken")
    assert read_log(tmp_path / "broken")[-1].step < 11
    with run.resume(tmp_path / "broken", accelerator=Accelerator(cpu=True), quiet=True) as trainer:
        assert trainer.position.step == 11
        assert trainer.fit().position.finished
    one, other = (checkpoints.load(tmp_path / name / "last").model.state_dict() for name in ("whole", "broken"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    record = json.loads((tmp_path / "whole" / "run.json").read_text())
    assert record["supervision"] == "programs"
    folder = {"kind": "corpus", "folder": str(data)}
    assert record["source"] == {"kind": "teacher", "programs": [str(file)], "corpus": folder}
    assert record["config"]["teacher"]["statements"] == 4
    assert run.scored_split(tmp_path / "whole") == ("dev", data / "dev" / "dev.json")


def test_a_run_without_a_corpus_teaches_the_grammar_on_a_synthetic_one(tmp_path: Path) -> None:
    settings = config("training.epochs=1", "teacher.statements=4", "data.statements=20", "data.level=simple")
    common = {"preset": "biatt", "data": None, "folder": tmp_path / "run", "quiet": True}
    with run.start(settings, accelerator=Accelerator(cpu=True), **common) as trainer:
        assert trainer.source.supervision == "synthetic"
        assert trainer.fit().position.finished
    source = json.loads((tmp_path / "run" / "run.json").read_text())["source"]
    assert source["kind"] == "teacher" and source["corpus"]["kind"] == "synthetic"
    assert run.scored_split(tmp_path / "run")[0] == "test"


def test_a_changed_program_is_noticed_when_a_run_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, file = corpus(tmp_path / "corpus"), programs(tmp_path / "programs.jsonl")
    common = {"preset": "biatt", "data": data, "folder": tmp_path / "run", "quiet": True}
    with run.start(config(), programs=[file], accelerator=Accelerator(cpu=True), **common) as trainer:
        trainer.fit(stop_after=lambda line: True)
    file.write_text(file.read_text().replace("is_black", "is_blue"))
    with (
        pytest.raises(InputError, match="data"),
        run.resume(tmp_path / "run", accelerator=Accelerator(cpu=True), quiet=True),
    ):
        pass


def test_processes_end_with_their_source_or_with_the_program(tmp_path: Path) -> None:
    source = teacher(tmp_path)
    source.epoch(0)
    started = [process.pid for process in source.workers._processes]
    assert len(started) == 2 and all(map(is_running, started))
    source.close()
    assert not any(map(is_running, started))
    script = (
        "import sys, time; from pathlib import Path; sys.path[:0] = sys.argv[2:]; from teacher_toys import teacher\n"
        "source = teacher(Path(sys.argv[1]), 'teacher.seed=2'); source.epoch(0)\n"
        "print(*[process.pid for process in source.workers._processes], flush=True); time.sleep(600)"
    )
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2]), *filter(None, sys.path)]
    command = [sys.executable, "-c", script, str(tmp_path), *paths]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        started = [int(number) for number in running.stdout.readline().split()]
        assert started and all(map(is_running, started))
    finally:
        running.kill()
        running.wait()
    wait_until(lambda: not any(map(is_running, started)))


def test_a_process_that_dies_or_fails_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(teacher(tmp_path, "teacher.statements=70", "teacher.workers=2")) as source:
        source.epoch(0)
        (other, victim) = source.workers._processes
        os.kill(victim.pid, signal.SIGKILL)
        with pytest.raises(InputError) as error:
            for number in (1, 2):
                source.epoch(number)
        # The other process stops, too, and has made the first block that is missing: it must not be blamed.
        assert "-9" in error.value.what and error.value.allowed and is_running(other.pid)
    assert not is_running(other.pid)

    def damaged(self: Maker) -> tuple[object, ...]:
        return Maker, (self.world, [], self.pools, None, 1, 0.5, 0.5)

    monkeypatch.setattr(Maker, "__reduce__", damaged)
    with closing(teacher(tmp_path)) as source:
        with pytest.raises(InputError) as error:
            source.epoch(0)
        assert "\n" not in str(error.value)
