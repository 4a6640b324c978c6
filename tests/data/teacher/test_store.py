"""Runs that are taught the same share what a teacher has made; nothing depends on it."""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from teacher_toys import GRAMMAR, teacher

from veriscene.data.batch import Batch
from veriscene.data.teacher import maker
from veriscene.data.teacher.workers import Workers
from veriscene.errors import InputError
from veriscene.worlds.nlvr.looks import WORLD
from waiting import wait_until


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "teachers"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The epochs that workers were asked for."""
    numbers: list[int] = []
    plain_make = Workers.make

    def make(self: Workers[object], epoch: int) -> list[object]:
        numbers.append(epoch)
        return plain_make(self, epoch)

    monkeypatch.setattr(Workers, "make", make)
    return numbers


def epoch_of(folder: Path, *changes: str, number: int = 0) -> Batch:
    with closing(teacher(folder, GRAMMAR, *changes)) as source:
        return source.epoch(number).corpus


def same_scenes(one: Batch, other: Batch) -> bool:
    assert one.items is not None and other.items is not None and one.labels is not None and other.labels is not None
    features = (batch.items.features.sort(dim=2).values for batch in (one, other) if batch.items is not None)
    return torch.equal(one.labels, other.labels) and torch.equal(*features)


def test_seeds_share_scenes_and_each_is_made_once(tmp_path: Path, cache: Path, made: list[int]) -> None:
    first = epoch_of(tmp_path, "training.epochs=1")
    second = epoch_of(tmp_path, "training.epochs=1", "training.seed=2", "teacher.workers=1")
    assert made == [0] and same_scenes(first, second)
    orders = [batch.items.positions for batch in (first, second) if batch.items is not None]
    assert not torch.equal(*orders), "each seed has its own random orders"
    other = epoch_of(tmp_path, "training.epochs=1", "teacher.seed=2")
    assert made == [0, 0] and not same_scenes(first, other)
    assert not same_scenes(first, epoch_of(tmp_path, "training.epochs=2", number=1))


def test_what_is_kept_follows_from_statements_programs_scenes_and_code(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def folder(*changes: str) -> Path:
        source = teacher(tmp_path, *changes)
        return source.store.folder

    before = folder(GRAMMAR)
    assert folder(GRAMMAR, "teacher.workers=1", "training.seed=4", "data.order=file") == before
    changes = [[], [GRAMMAR, "teacher.seed=2"], [GRAMMAR, "teacher.near_misses=0.5"]]
    found = [folder(*some) for some in changes]
    monkeypatch.setattr(maker, "_code", lambda: b"another grammar")
    found += [before, folder(GRAMMAR)]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("damage", ["cut off", "empty", "missing", "read-only", "of other lengths"])
def test_what_is_damaged_or_cannot_be_written_is_made_again(
    damage: str, tmp_path: Path, cache: Path, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    if damage == "read-only":
        cache.parent.mkdir()
        cache.write_text("a file where the folder should be")
    expected = epoch_of(tmp_path, "training.epochs=1")
    for file in cache.rglob("*.*") if cache.is_dir() else ():
        content = file.read_bytes()
        file.write_bytes({"cut off": content[:-100], "empty": b""}.get(damage, content))
        if damage == "missing":
            file.unlink()
        if damage == "of other lengths":
            with np.load(file) as kept:
                np.savez(file, **{**kept, "labels": kept["labels"][:-1]})
    assert same_scenes(epoch_of(tmp_path, "training.epochs=1"), expected)
    assert made == [0, 0]


def test_of_two_processes_one_makes_an_epoch_and_the_other_says_that_it_waits(
    tmp_path: Path, cache: Path, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (teacher(tmp_path, "training.epochs=1") for _ in range(2))
    begun, go_on = threading.Event(), threading.Event()
    plain_make = Workers.make

    def make_later(self: Workers[object], epoch: int) -> list[object]:
        begun.set()
        assert go_on.wait(60)
        return plain_make(self, epoch)

    monkeypatch.setattr(Workers, "make", make_later)
    with closing(first), closing(second):
        assert first.pending(0) == "making examples: 0%"
        assert begun.wait(60)
        # flock tells two openings of a folder apart as it tells processes
        wait_until(lambda: second.pending(0) == "another run is making the same examples")
        go_on.set()
        wait_until(lambda: not first.pending(0) and not second.pending(0))
        assert same_scenes(first.epoch(0).corpus, second.epoch(0).corpus)
    assert made == [0]


def test_a_process_makes_the_epoch_itself_if_the_one_it_waited_for_has_failed(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (teacher(tmp_path, "training.epochs=1") for _ in range(2))
    begun, fail, said = threading.Event(), threading.Event(), list[str]()
    plain_make = Workers.make

    def make(self: Workers[object], epoch: int) -> list[object]:
        if self is first.workers:
            begun.set()
            assert fail.wait(60)
            raise InputError("the teacher was closed")
        said.append(second.pending(epoch))
        return plain_make(self, epoch)

    monkeypatch.setattr(Workers, "make", make)
    with closing(first), closing(second):
        assert first.pending(0) and begun.wait(60)
        wait_until(lambda: second.pending(0) == "another run is making the same examples")
        fail.set()
        assert second.epoch(0).steps
    assert said == ["making examples: 0%"]


def test_the_longest_unused_teachers_make_room_then_older_epochs(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = teacher(tmp_path)
    made, own = source.maker.make(0, 0), maker.Store(WORLD, [b"own"], statements=len(source.statements))
    own.epoch(0, lambda: made)
    size = (own.folder / "epoch-0.npz").stat().st_size
    for time, name in enumerate(("first", "second"), 1):
        (cache / name).mkdir()
        (cache / name / "epoch-0.npz").write_bytes(bytes(10_000))
        os.utime(cache / name, (time, time))
    other = maker.Store(WORLD, [b"first"], statements=len(source.statements))
    other.folder = cache / "first"
    shutil.copy(own.folder / "epoch-0.npz", other.folder)
    assert other.epoch(0, lambda: pytest.fail("it is kept")).labels.tolist() == made.labels.tolist()  # used just now
    (cache / "a file").write_text("that is no teacher")
    (own.folder / "epoch-7.1.partial.npz").write_text("of a process that was killed")
    others = sum(file.stat().st_size for file in cache.glob("*/*") if file.parent != own.folder)
    monkeypatch.setattr(maker, "MAX_BYTES", others + 2 * size - 1)
    own.epoch(1, lambda: made)
    assert not (cache / "second").exists() and (cache / "first").exists()
    assert {file.name for file in own.folder.iterdir()} == {"epoch-0.npz", "epoch-1.npz"}
    monkeypatch.setattr(maker, "MAX_BYTES", 1)
    own.epoch(2, lambda: made)
    assert not (cache / "first").exists()
    assert [file.name for file in own.folder.iterdir()] == ["epoch-2.npz"], "the newest stays"
