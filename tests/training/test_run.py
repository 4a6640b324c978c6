"""A folder is written into by one command at a time, and by the next one as soon as that has ended."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from accelerate import Accelerator

from samples import write_corpus, yellow_circle_examples
from veriscene import files
from veriscene.config import Config, load_preset
from veriscene.corpora import synthetic as embedded
from veriscene.errors import InputError
from veriscene.experiments import seeds
from veriscene.experiments.summary import Summary
from veriscene.training import run
from veriscene.training.progress import read_log
from veriscene.training.trainer import Trainer

SMALL = ["model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=16", "training.evaluate_every=4"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus", yellow_circle_examples(64), yellow_circle_examples(40, seed=1))


def small(*changes: str) -> Config:
    return load_preset("bienc", [*SMALL, "training.epochs=2", *changes])


def start(corpus: Path | None, folder: Path, *changes: str) -> run.AnyTrainer:
    config = small(*changes)
    return run.start(config, preset="bienc", data=corpus, folder=folder, accelerator=Accelerator(), quiet=True)


def resume(folder: Path) -> run.AnyTrainer:
    return run.resume(folder, accelerator=Accelerator(), quiet=True)


def train_seeds(folder: Path) -> Summary | None:
    return seeds.train(folder, accelerator=Accelerator(), say=lambda text: None, quiet=True)


@contextmanager
def refused(folder: Path) -> Iterator[None]:
    with pytest.raises(InputError, match="another command is at work") as error:
        yield
    assert str(error.value).startswith(f"{folder}: ")


def contents_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def veriscene(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "veriscene", *arguments], capture_output=True, text=True, timeout=120)


def test_a_run_under_way_is_not_touched_but_read_and_free_when_its_process_is_killed(
    corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    changes = [*SMALL, "training.epochs=100000", "training.patience=100000", "training.learning_rate=1e-9"]
    settings = [part for change in changes for part in ("--set", change)]
    command = [sys.executable, "-m", "veriscene", "train", "bienc", "--data", str(corpus), "--out", str(folder)]
    running = subprocess.Popen([*command, *settings], stderr=subprocess.DEVNULL)
    try:
        while not read_log(folder):
            assert running.poll() is None
            time.sleep(0.1)
        best = contents_of(folder / "best")  # nothing is learnt, so the first one stays
        resumed = veriscene("train", "--resume", str(folder))
        assert resumed.returncode == 1 and resumed.stdout == ""
        assert resumed.stderr.startswith(f"veriscene: {folder}: another command is at work")
        assert resumed.stderr.count("\n") == 1
        judged = veriscene("evaluate", str(folder), str(corpus / "dev" / "dev.json"), "--json")
        assert judged.returncode == 0 and json.loads(judged.stdout)["examples"] == 40
        assert contents_of(folder / "best") == best and running.poll() is None
    finally:
        running.kill()
        running.wait()
    assert {path.name for path in folder.iterdir()} <= {"run.json", "best", "last", "log.jsonl", "tensorboard"}
    folder.rename(tmp_path / "moved")
    resume(tmp_path / "moved")
    start(corpus, folder)


def test_two_that_begin_at_once_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, plain_build = tmp_path / "run", embedded.build

    def build(*arguments: Any, **settings: Any) -> embedded.Corpus:
        monkeypatch.undo()
        with refused(folder):  # it is still empty
            start(None, folder, "training.seed=2", "data.statements=40")
        return plain_build(*arguments, **settings)

    monkeypatch.setattr(embedded, "build", build)
    trainer = start(None, folder, "data.statements=20")
    assert len(trainer.corpus) == 4 * 16
    with refused(folder):  # between its beginning and its training too
        resume(folder)
    assert not trainer.fit().interrupted
    assert resume(folder).position.finished


def test_a_folder_is_free_again_when_a_run_fails_or_cannot_be_resumed(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = start(corpus, tmp_path / "run")
    monkeypatch.setattr(Trainer, "_learn", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        trainer.fit()
    monkeypatch.undo()
    resume(tmp_path / "run").fit()
    state = tmp_path / "run" / "last" / "trainer.pt"
    whole = state.read_bytes()
    state.write_bytes(b"broken")
    with pytest.raises(InputError, match="damaged") as kept:
        resume(tmp_path / "run")
    state.write_bytes(whole)
    assert resume(tmp_path / "run").position.finished, kept


def test_seeds_under_way_are_left_alone_all_together_and_each(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, plain_learn, tried = tmp_path / "two", Trainer._learn, []
    seeds.start(small(), preset="bienc", data=corpus, folder=folder, count=2, accelerator=Accelerator())

    def learn(self: Trainer, *arguments: Any) -> None:
        monkeypatch.undo()
        before = contents_of(folder)
        for place, attempt in (
            (folder, lambda: train_seeds(folder)),
            (folder, lambda: seeds.extend(folder, 3)),
            (folder / "seed1", lambda: resume(folder / "seed1")),
        ):
            with refused(place):
                attempt()
            tried.append(place)
        assert contents_of(folder) == before
        plain_learn(self, *arguments)

    monkeypatch.setattr(Trainer, "_learn", learn)
    summary = train_seeds(folder)
    assert summary is not None and len(tried) == 3

    shutil.rmtree(folder / "seed2" / "last")
    shutil.rmtree(folder / "seed2" / "best")
    one_of_them = resume(folder / "seed2")
    with refused(folder / "seed2"):
        train_seeds(folder)
    one_of_them.fit()
    assert train_seeds(folder) == summary


def test_what_is_there_is_refused_at_once_and_left(corpus: Path, tmp_path: Path) -> None:
    before = contents_of(corpus)
    refusal = f"{corpus}: is there already; name another folder with --out"
    nowhere = tmp_path / "nowhere"  # it is not even looked for
    with pytest.raises(InputError, match=refusal):
        start(nowhere, corpus)
    with pytest.raises(InputError, match=refusal):
        seeds.start(small(), preset="bienc", data=nowhere, folder=corpus, count=2, accelerator=Accelerator())
    assert contents_of(corpus) == before
    with files.locked(corpus):  # which nobody holds
        pass


def test_a_file_system_without_locks_is_trained_on_all_the_same(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    assert start(corpus, tmp_path / "run").fit().position.finished


@pytest.mark.parametrize("lost", ["dev.json", "run.json", "seeds.json"])
def test_a_run_whose_first_files_cannot_be_written_can_be_started_again(
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
            start(None, folder, "data.statements=20")

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(InputError, match=rf"{lost}: cannot be written \(No space left"):
        begin()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    begin()
    assert (folder / ("seeds.json" if lost == "seeds.json" else "run.json")).is_file()


def test_an_embedded_corpus_that_does_not_suit_the_settings_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not teach the word"):
        start(None, tmp_path / "run", "data.statements=10", "data.level=simple", "data.recolor=true")
    assert list(tmp_path.iterdir()) == []
