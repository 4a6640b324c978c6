"""A teacher's processes: training on what they make, resuming, and ending."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import torch
from teacher_toys import config, corpus, programs, teacher

from veriscene.data.teacher.maker import Maker
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.training.log import Event, Step, read_log
from veriscene.training.spec import Record, Spec, scored_split
from veriscene.training.train import train
from waiting import wait_until


@pytest.fixture(autouse=True)
def nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path / "cache"))


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_resumed_run_equals_an_uninterrupted_one_and_its_spec_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, file = corpus(tmp_path / "corpus"), programs(tmp_path / "programs.jsonl")
    settings = config("training.epochs=3", "teacher.statements=4", "teacher.labels=0.2", "data.word_dropout=0.1")
    spec = Spec(settings, corpus=data, programs=(file,))
    monkeypatch.setattr("veriscene.training.train.REFRESH_SECONDS", -1.0)

    def interrupt(event: Event) -> None:
        if isinstance(event, Step) and event.step == 11:  # of 24, within the second epoch
            signal.raise_signal(signal.SIGINT)

    train(spec, tmp_path / "whole")
    assert train(spec, tmp_path / "broken", on_event=interrupt).position.step == 11
    assert read_log(tmp_path / "broken")[-1].step < 11
    assert train(spec, tmp_path / "broken", resume=True).position.finished
    one, other = (checkpoints.load(tmp_path / name / "last").model.state_dict() for name in ("whole", "broken"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    record = Record.read(tmp_path / "whole")
    assert record.supervision == "programs" and record.spec == spec
    assert scored_split(tmp_path / "whole") == ("dev", data / "dev" / "dev.json")


def test_a_run_without_a_corpus_teaches_the_grammar_on_a_synthetic_one(tmp_path: Path) -> None:
    settings = config("training.epochs=1", "teacher.statements=4", "data.statements=20", "data.level=simple")
    assert train(Spec(settings), tmp_path / "run").position.finished
    assert Record.read(tmp_path / "run").supervision == "synthetic"
    assert scored_split(tmp_path / "run")[0] == "test"


def test_a_changed_program_is_noticed_when_a_run_is_resumed(tmp_path: Path) -> None:
    data, file = corpus(tmp_path / "corpus"), programs(tmp_path / "programs.jsonl")
    spec = Spec(config(), corpus=data, programs=(file,))
    train(spec, tmp_path / "run", stop_after=lambda line: True)
    file.write_text(file.read_text().replace("is_black", "is_blue"))
    with pytest.raises(InputError) as error:
        train(spec, tmp_path / "run", resume=True)
    assert error.value.where == tmp_path / "run"


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
        (victim, other) = source.workers._processes
        os.kill(victim.pid, signal.SIGKILL)
        with pytest.raises(InputError, match="ended unexpectedly") as error:
            for number in (1, 2):
                source.epoch(number)
        assert "\n" not in str(error.value) and "(exit status -9); if memory ran out, lower" in str(error.value)
    assert not is_running(other.pid)

    def damaged(self: Maker) -> tuple[object, ...]:
        return Maker, (self.world, [], self.pools, None, 1, 0.5, 0.5)

    monkeypatch.setattr(Maker, "__reduce__", damaged)
    with closing(teacher(tmp_path)) as source:
        with pytest.raises(InputError, match="a teacher's process failed: ") as error:
            source.epoch(0)
        assert "\n" not in str(error.value)
