"""A teacher's processes: training on what they make, resuming, and ending."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from teacher_toys import config, corpus, programs, teacher

from some_worlds import NLVR, SHELF
from veriscene import worlds
from veriscene.data.teacher.maker import Maker, label
from veriscene.data.teacher.statements import draw_statements
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.training.log import Event, Step, read_log
from veriscene.training.source import DEV_SCENES, TeacherSource
from veriscene.training.spec import CORPUS, Record, Spec, scored_split
from veriscene.training.train import train
from veriscene.world.examples import normalized
from veriscene.world.schema import World
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
    settings = config("training.epochs=3", "teacher.statements=4", "data.word_dropout=0.1")
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


@pytest.mark.parametrize("world", [NLVR, SHELF], ids=lambda world: world.name)
def test_a_teacher_needs_no_corpus_and_its_run_resumes_exactly(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = Spec(config("training.epochs=3", "teacher.statements=8", "teacher.plain=0.5"), world)
    monkeypatch.setattr("veriscene.training.train.REFRESH_SECONDS", -1.0)

    def interrupt(event: Event) -> None:
        if isinstance(event, Step) and event.step == 4:  # of 9, within the second epoch
            signal.raise_signal(signal.SIGINT)

    assert train(spec, tmp_path / "whole").position.finished
    assert train(spec, tmp_path / "broken", on_event=interrupt).position.step == 4
    assert train(spec, tmp_path / "broken", resume=True).position.finished
    one, other = (checkpoints.load(tmp_path / name / "last").model.state_dict() for name in ("whole", "broken"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert Record.read(tmp_path / "whole").supervision == "synthetic"
    assert not (tmp_path / "whole" / CORPUS).exists()
    split, file = scored_split(tmp_path / "whole")
    dev = worlds.read(file, world)
    assert split == "dev" and file.read_bytes() == scored_split(tmp_path / "broken")[1].read_bytes()
    assert {example.label for example in dev} == {True, False}


def test_known_statements_are_not_drawn_with_other_marks() -> None:
    settings = replace(config().teacher, statements=40, plain=0.0)
    first = draw_statements(NLVR, settings, 1, lambda done, total: None)
    known = [replace(each, text=each.text.upper().replace(" ", ", ")) for each in first]
    again = draw_statements(NLVR, settings, 1, lambda done, total: None, known=known)
    assert not {normalized(each.text) for each in first} & {normalized(each.text) for each in again}


@pytest.mark.parametrize("world", [NLVR, SHELF], ids=lambda world: world.name)
def test_without_a_corpus_no_text_or_program_of_dev_is_taught(world: World) -> None:
    with closing(
        TeacherSource.open(config("teacher.statements=60", "teacher.plain=1.0"), None, [], world=world)
    ) as one:
        taught, dev = one.statements, one.dev_examples
        assert all(each.text in one.introduction for each in taught[::12])
    texts, programs = {normalized(each.text) for each in taught}, {each.program for each in taught}
    settings = replace(config().teacher, statements=60, plain=1.0, seed=99)
    new = draw_statements(world, settings, 1, lambda done, total: None, known=taught, held_out=True)
    assert len(new) == 60
    assert not texts & {normalized(each.text) for each in new} and not programs & {each.program for each in new}
    assert not texts & {normalized(example.statement) for example in dev} and len(dev) == 60 * DEV_SCENES
    by_text = {each.text: each.program for each in new}
    for example in label(world, new, seed=3):
        assert by_text[example.statement].holds(example.scene) == example.label


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
        with pytest.raises(InputError, match=r"-9\b.*; .*teacher\.workers") as error:
            for number in (1, 2):
                source.epoch(number)
        assert "\n" not in str(error.value)
    assert not is_running(other.pid)

    def damaged(self: Maker) -> tuple[object, ...]:
        return Maker, (self.world, [], self.pools, 1, 0.5, 0.5)

    monkeypatch.setattr(Maker, "__reduce__", damaged)
    with closing(teacher(tmp_path)) as source:
        with pytest.raises(InputError, match=r"Error .*\.py:\d+") as error:
            source.epoch(0)
        assert "\n" not in str(error.value)
