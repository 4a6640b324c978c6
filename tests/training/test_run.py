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
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from accelerate import Accelerator

from samples import write_corpus, yellow_circle_examples
from veriscene import files
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.lab import seeds
from veriscene.metrics.accuracy import Summary
from veriscene.models import load_preset
from veriscene.training import run, trainer
from veriscene.training.base import Trainer
from veriscene.training.progress import read_log
from veriscene.training.run_record import read_record
from veriscene.training.trainer import StepTrainer
from veriscene.worlds.nlvr import synthetic

SMALL = ["model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=16", "training.evaluate_every=4"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus", yellow_circle_examples(64), yellow_circle_examples(40, seed=1))


def small(*changes: str) -> Config:
    return load_preset("bienc", [*SMALL, "training.epochs=2", *changes])


def start(corpus: Path | None, folder: Path, *changes: str) -> AbstractContextManager[Trainer]:
    config = small(*changes)
    return run.start(config, preset="bienc", data=corpus, folder=folder, accelerator=Accelerator(), quiet=True)


def resume(folder: Path) -> AbstractContextManager[Trainer]:
    return run.resume(folder, accelerator=Accelerator(), quiet=True)


def open_and_close(opened: AbstractContextManager[Trainer]) -> None:
    with opened:
        pass


def train_seeds(folder: Path) -> Summary | None:
    return seeds.train(folder, accelerator=Accelerator(), say=lambda text: None, quiet=True)


@contextmanager
def refused(folder: Path) -> Iterator[None]:
    with pytest.raises(InputError, match="in use by another command") as error:
        yield
    assert str(error.value).startswith(f"{folder}: ")


def contents_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---------------------------------------------------------------- locks

ENDLESS = """
import sys
from pathlib import Path
from accelerate import Accelerator
from veriscene.models import load_preset
from veriscene.training import run

corpus, folder, *changes = sys.argv[1:]
config = load_preset("bienc", changes)
with run.start(
    config, preset="bienc", data=Path(corpus), folder=Path(folder), accelerator=Accelerator(), quiet=True
) as trainer:
    trainer.fit()
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
            open_and_close(resume(folder))
        assert checkpoints.load(folder).metrics["step"] == 4
        assert contents_of(folder / "best") == best and running.poll() is None
    finally:
        running.kill()
        running.wait()
    assert not any(path.suffix == ".lock" for path in folder.iterdir())
    folder.rename(tmp_path / "moved")
    open_and_close(resume(tmp_path / "moved"))
    open_and_close(start(corpus, folder))


def test_two_runs_that_start_at_once_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, plain_build = tmp_path / "run", synthetic.build

    def build(*arguments: Any, **settings: Any) -> synthetic.Corpus:
        monkeypatch.undo()
        with refused(folder):  # it is still empty
            open_and_close(start(None, folder, "training.seed=2", "data.statements=40"))
        return plain_build(*arguments, **settings)

    monkeypatch.setattr(synthetic, "build", build)
    with start(None, folder, "data.statements=20") as trainer:
        assert len(trainer.source.train) == 4 * 16 and trainer.source.supervision == "synthetic"
        with refused(folder):  # between start and fit too
            open_and_close(resume(folder))
        assert not trainer.fit().interrupted
    with resume(folder) as resumed:
        assert resumed.position.finished
    assert read_record(folder).data is None and read_record(folder).supervision == "synthetic"


def test_seeds_are_locked_together_and_each(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, plain_learn, tried = tmp_path / "two", StepTrainer._learn, []
    seeds.start(small(), preset="bienc", data=corpus, folder=folder, count=2, accelerator=Accelerator())

    def learn(self: StepTrainer, *arguments: Any) -> None:
        monkeypatch.undo()
        before = contents_of(folder)
        attempts: list[tuple[Path, Callable[[], object]]] = [
            (folder, lambda: train_seeds(folder)),
            (folder, lambda: seeds.extend(folder, 3)),
            (folder / "seed1", lambda: open_and_close(resume(folder / "seed1"))),
        ]
        for place, attempt in attempts:
            with refused(place):
                attempt()
            tried.append(place)
        assert contents_of(folder) == before
        plain_learn(self, *arguments)

    monkeypatch.setattr(StepTrainer, "_learn", learn)
    summary = train_seeds(folder)
    assert summary is not None and len(tried) == 3

    shutil.rmtree(folder / "seed2" / "last")
    shutil.rmtree(folder / "seed2" / "best")
    with resume(folder / "seed2") as one_of_them:
        with refused(folder / "seed2"):
            train_seeds(folder)
        one_of_them.fit()
    assert train_seeds(folder) == summary


def test_an_existing_folder_is_refused_before_the_corpus_is_read(corpus: Path, tmp_path: Path) -> None:
    before, missing = contents_of(corpus), tmp_path / "missing"
    refusal = f"{corpus}: already exists; name another folder with --out"
    with pytest.raises(InputError, match=refusal):
        open_and_close(start(missing, corpus))
    with pytest.raises(InputError, match=refusal):
        seeds.start(small(), preset="bienc", data=missing, folder=corpus, count=2, accelerator=Accelerator())
    assert contents_of(corpus) == before
    with files.locked(corpus):
        pass


def test_a_file_system_without_locks_can_be_used(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    with start(corpus, tmp_path / "run") as trainer:
        assert trainer.fit().position.finished


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
    folder = tmp_path / "runs" / "run"
    with (
        pytest.raises(InputError, match=r"best: cannot be written") as error,
        run.start(config, preset=preset, data=corpus, folder=folder, accelerator=Accelerator(), quiet=True) as trainer,
        disk_full_at(4000),
    ):
        trainer.fit()
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
    with start(corpus, folder) as trainer:  # the command can be repeated
        assert trainer.fit().position.finished


def test_a_disk_that_is_full_later_keeps_what_was_saved(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    monkeypatch.setattr(trainer, "SECONDS_BETWEEN_SAVES", 3600.0)
    plain_learn, saved = StepTrainer._learn, {}

    def learn(self: StepTrainer, *arguments: Any) -> None:
        if self.position.step == 5:
            saved.update(contents_of(folder / "last"))
            stack.enter_context(disk_full_at((folder / "last" / "trainer.pt").stat().st_size - 1))
        plain_learn(self, *arguments)

    monkeypatch.setattr(StepTrainer, "_learn", learn)
    with (
        ExitStack() as stack,
        pytest.raises(InputError, match="last: cannot be written") as error,
        start(corpus, folder) as broken,
    ):
        broken.fit()
    monkeypatch.undo()
    assert "\n" not in str(error.value)
    assert saved and contents_of(folder / "last") == saved
    assert {path.name for path in folder.iterdir()} >= {"run.json", "best", "last", "log.jsonl"}
    with resume(folder) as resumed:
        assert resumed.position.step == 4 and resumed.fit().position.finished


def test_a_failed_run_is_unlocked(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_learn = StepTrainer._learn

    def learn(self: StepTrainer, *arguments: Any) -> None:
        if self.position.step == 6:
            raise MemoryError
        plain_learn(self, *arguments)

    monkeypatch.setattr(StepTrainer, "_learn", learn)
    with pytest.raises(MemoryError), start(corpus, tmp_path / "run") as trainer:
        trainer.fit()
    monkeypatch.undo()
    with resume(tmp_path / "run") as resumed:
        assert resumed.position.step == 4
        resumed.fit()
    state = tmp_path / "run" / "last" / "trainer.pt"
    whole = state.read_bytes()
    state.write_bytes(b"broken")
    with pytest.raises(InputError, match="damaged"):
        open_and_close(resume(tmp_path / "run"))
    state.write_bytes(whole)
    with resume(tmp_path / "run") as resumed:
        assert resumed.position.finished


@pytest.mark.parametrize("lost", ["dev.json", "run.json", "seeds.json"])
def test_a_run_whose_first_files_cannot_be_written_leaves_no_folder(
    lost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, plain_write = tmp_path / "runs" / "run", Path.write_bytes

    def write(self: Path, content: bytes) -> int:
        if self.name.startswith(lost):
            raise OSError(errno.ENOSPC, "No space left on device")
        return plain_write(self, content)

    def begin() -> None:
        if lost == "seeds.json":
            seeds.start(small(), preset="bienc", data=None, folder=folder, count=2, accelerator=Accelerator())
        else:
            open_and_close(start(None, folder, "data.statements=20"))

    with monkeypatch.context() as context:
        context.setattr(Path, "write_bytes", write)
        with pytest.raises(InputError, match=rf"{lost}: cannot be written \(No space left"):
            begin()
    assert list(tmp_path.iterdir()) == []
    begin()
    assert (folder / ("seeds.json" if lost == "seeds.json" else "run.json")).is_file()


def test_a_corpus_that_cannot_be_read_leaves_no_folder(corpus: Path, tmp_path: Path) -> None:
    (corpus / "dev" / "dev.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"dev\.json:1"):
        open_and_close(start(corpus, tmp_path / "run"))
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
