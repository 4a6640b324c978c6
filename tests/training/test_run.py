"""A run folder: locked by one command at a time, and removed if a run fails before anything is saved."""

from __future__ import annotations

import errno
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from samples import write_corpus, yellow_circle_examples
from veriscene import files, worlds
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.lab import seeds
from veriscene.models import load_preset
from veriscene.training import train as training
from veriscene.training.distributed import Machine
from veriscene.training.log import Event, OnEvent, Step, read_log
from veriscene.training.spec import Record, Spec, fresh_folder
from veriscene.training.train import Result, train
from veriscene.world.corpus import split_file
from veriscene.worlds.nlvr import synthetic

SMALL = ["model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=16", "training.evaluate_every=4"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus", yellow_circle_examples(64), yellow_circle_examples(40, seed=1))


def small(*changes: str) -> Config:
    return load_preset("bienc", [*SMALL, "training.epochs=2", *changes])


def spec_of(corpus: Path | None, *changes: str) -> Spec:
    return Spec(small(*changes), corpus=corpus, preset="bienc")


def fit(corpus: Path | None, folder: Path, *changes: str, on_event: OnEvent | None = None) -> Result:
    return train(spec_of(corpus, *changes), folder, on_event=on_event)


def resume(folder: Path, on_event: OnEvent | None = None) -> Result:
    return train(Record.read(folder).spec, folder, resume=True, on_event=on_event)


@pytest.fixture(autouse=True)
def every_step_is_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "REFRESH_SECONDS", -1.0)


def at_step(step: int, act: Callable[[], object]) -> OnEvent:
    return lambda event: act() if isinstance(event, Step) and event.step == step else None


@contextmanager
def refused(folder: Path) -> Iterator[None]:
    with pytest.raises(InputError) as error:
        yield
    assert error.value.where == folder and "in use" in error.value.what


def contents_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---------------------------------------------------------------- locks

ENDLESS = """
import sys
import veriscene

corpus, folder, *changes = sys.argv[1:]
veriscene.train("bienc", data=corpus, folder=folder, changes=changes, on_event=lambda event: None)
"""


def test_a_running_run_is_locked_but_readable_and_unlocked_when_it_is_killed(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    changes = [*SMALL, "training.epochs=100000", "training.patience=100000", "training.learning_rate=1e-9"]
    running = subprocess.Popen([sys.executable, "-c", ENDLESS, str(corpus), str(folder), *changes])
    try:
        while not read_log(folder):
            assert running.poll() is None
            time.sleep(0.1)
        best = contents_of(folder / "best")  # nothing is learned, so the first one stays
        with refused(folder):
            resume(folder)
        assert checkpoints.load(folder).metrics["step"] == 4
        assert contents_of(folder / "best") == best and running.poll() is None
    finally:
        running.kill()
        running.wait()
    assert not any(path.suffix == ".lock" for path in folder.iterdir())
    folder.rename(tmp_path / "moved")
    with pytest.raises(MemoryError):
        resume(tmp_path / "moved", on_event=fail)
    assert fit(corpus, folder).position.finished


def fail(event: Event) -> None:
    if isinstance(event, Step):
        raise MemoryError


def test_two_runs_that_start_at_once_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, plain_build, tried = tmp_path / "run", synthetic.build, []

    def build(*arguments: Any, **settings: Any) -> synthetic.Corpus:
        monkeypatch.setattr(synthetic, "build", plain_build)
        with pytest.raises(InputError):
            fit(None, folder, "training.seed=2", "data.statements=40")
        with refused(folder):
            resume(folder)
        return plain_build(*arguments, **settings)

    def try_again(event: Event) -> None:
        with refused(folder):
            train(Record.read(folder).spec, folder, resume=True)
        tried.append(event)

    monkeypatch.setattr(synthetic, "build", build)
    assert not fit(None, folder, "data.statements=20", on_event=try_again).interrupted and tried
    assert resume(folder).was_finished
    assert len(worlds.read(split_file(folder / "corpus", "train"))) == 4 * 16
    record = Record.read(folder)
    assert record.spec.corpus is None and record.supervision == "synthetic"


def test_runs_that_begin_in_the_same_second_get_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "strftime", lambda *_: "20260101-120000")
    names = []
    for _ in range(3):
        folder = fresh_folder("biatt", "seed1")
        folder.mkdir(parents=True)
        names.append(folder.name)
    assert names == ["biatt-seed1-20260101-120000" + end for end in ("", "-2", "-3")]


def test_seeds_are_locked_together_and_each(corpus: Path, tmp_path: Path) -> None:
    folder, tried, machine = tmp_path / "two", list[Path](), Machine()

    def attempt_all(event: Event) -> None:
        if tried or not isinstance(event, Step):
            return
        before = contents_of(folder)
        attempts: list[tuple[Path, Callable[[], object]]] = [
            (folder, lambda: seeds.resume(folder, machine=machine)),
            (folder, lambda: seeds.resume(folder, count=3, machine=machine)),
            (folder / "seed1", lambda: resume(folder / "seed1")),
        ]
        for place, attempt in attempts:
            with refused(place):
                attempt()
            tried.append(place)
        assert contents_of(folder) == before

    summary = seeds.start(spec_of(corpus), folder, 2, machine=machine, on_event=attempt_all)
    assert summary is not None and len(tried) == 3
    for weights in ("last", "best"):
        shutil.rmtree(folder / "seed2" / weights)
    tried.clear()

    def train_all(event: Event) -> None:
        if isinstance(event, Step):
            with refused(folder / "seed2"):
                seeds.resume(folder, machine=machine)
            tried.append(folder)

    resume(folder / "seed2", on_event=train_all)
    assert tried and seeds.resume(folder, machine=machine) == summary


def test_an_existing_folder_is_refused_before_the_corpus_is_read(corpus: Path, tmp_path: Path) -> None:
    before, missing = contents_of(corpus), tmp_path / "missing"
    attempts: list[Callable[[], object]] = [
        lambda: fit(missing, corpus),
        lambda: seeds.start(spec_of(missing), corpus, 2, machine=Machine()),
    ]
    for attempt in attempts:
        with pytest.raises(InputError) as error:
            attempt()
        assert error.value.where == corpus and "--resume" not in str(error.value.allowed)
    assert contents_of(corpus) == before
    with files.locked(corpus):
        pass


def test_a_file_system_without_locks_can_be_used(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    assert fit(corpus, tmp_path / "run").position.finished


# ---------------------------------------------------------------- failures


@contextmanager
def disk_full_at(size: int) -> Iterator[None]:
    """Every file ends at `size` bytes: the system refuses to write more, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("preset", ["bienc", "maxent"])
def test_a_disk_that_is_full_at_the_first_save_leaves_no_folder(preset: str, corpus: Path, tmp_path: Path) -> None:
    config = small() if preset == "bienc" else load_preset(preset)
    folder, full = tmp_path / "runs" / "run", ExitStack()

    def fill_disk(event: Event) -> None:
        full.enter_context(disk_full_at(4000))

    with full, pytest.raises(InputError) as error:
        train(Spec(config, corpus=corpus), folder, on_event=fill_disk)
    assert error.value.where == folder / "best" and "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
    assert fit(corpus, folder).position.finished  # the command can be repeated


def test_a_disk_that_is_full_later_keeps_what_was_saved(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, saved, full = tmp_path / "run", dict[Path, bytes](), ExitStack()
    monkeypatch.setattr(training, "SAVE_SECONDS", 3600.0)

    def fill_disk() -> None:
        saved.update(contents_of(folder / "last"))
        full.enter_context(disk_full_at((folder / "last" / "trainer.pt").stat().st_size - 1))

    with full, pytest.raises(InputError) as error:
        fit(corpus, folder, on_event=at_step(6, fill_disk))
    assert error.value.where == folder / "last" and "\n" not in str(error.value)
    assert saved and contents_of(folder / "last") == saved
    assert {path.name for path in folder.iterdir()} >= {"spec.json", "best", "last", "log.jsonl"}
    events: list[Event] = []
    assert resume(folder, events.append).position.finished
    assert next(event.step for event in events if isinstance(event, Step)) == 5


def test_a_failed_run_is_unlocked(corpus: Path, tmp_path: Path) -> None:
    folder, events = tmp_path / "run", list[Event]()

    def crash() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        fit(corpus, folder, on_event=at_step(7, crash))
    resume(folder, events.append)
    assert next(event.step for event in events if isinstance(event, Step)) == 5
    state = folder / "last" / "trainer.pt"
    whole = state.read_bytes()
    state.write_bytes(b"broken")
    with pytest.raises(InputError):
        resume(folder)
    state.write_bytes(whole)
    assert resume(folder).was_finished


@pytest.mark.parametrize("lost", ["dev.json", "spec.json", "seeds"])
def test_a_run_whose_first_files_cannot_be_written_leaves_no_folder(
    lost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, plain_write = tmp_path / "runs" / "run", Path.write_bytes
    file = "spec.json" if lost == "seeds" else lost

    def write(self: Path, content: bytes) -> int:
        if self.name.startswith(file):
            raise OSError(errno.ENOSPC, "No space left on device")
        return plain_write(self, content)

    def begin() -> object:
        spec = spec_of(None, "data.statements=20", "training.epochs=1")
        return seeds.start(spec, folder, 2, machine=Machine()) if lost == "seeds" else train(spec, folder)

    with monkeypatch.context() as context:
        context.setattr(Path, "write_bytes", write)
        with pytest.raises(InputError) as error:
            begin()
        assert isinstance(error.value.where, Path) and error.value.where.name == file
    assert list(tmp_path.iterdir()) == []
    begin()
    assert (folder / "spec.json").is_file()


@pytest.mark.parametrize("several", [False, True])
def test_a_corpus_that_cannot_be_read_leaves_no_folder(several: bool, corpus: Path, tmp_path: Path) -> None:
    (corpus / "dev" / "dev.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError) as error:
        if several:
            seeds.start(spec_of(corpus), tmp_path / "run", 2, machine=Machine())
        else:
            fit(corpus, tmp_path / "run")
    assert str(error.value.where).startswith(f"{corpus / 'dev' / 'dev.json'}:1")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
