"""Runs that are taught the same share what a teacher has made; nothing depends on it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
import torch
from teacher_toys import teacher

from veriscene.tensors.batch import Batch
from veriscene.training.teacher import store
from veriscene.training.teacher.source import TeacherSource
from veriscene.training.teacher.workers import Workers

GRAMMAR = "teacher.statements=5"


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
    changes = [[], [GRAMMAR, "teacher.seed=2"], [GRAMMAR, "teacher.near_misses=0.5"], [GRAMMAR, "teacher.labels=0.5"]]
    found = [folder(*some) for some in changes]
    monkeypatch.setattr(store, "_code", lambda: b"another grammar")
    found += [before, folder(GRAMMAR)]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("damage", ["cut off", "empty", "missing", "read-only"])
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
    assert same_scenes(epoch_of(tmp_path, "training.epochs=1"), expected)
    assert made == [0, 0]


def test_teachers_that_were_used_longest_ago_make_room(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        old = cache / f"old{number}"
        old.mkdir(parents=True)
        (old / "epoch-0.npz").write_bytes(bytes(1000))
        os.utime(old, (number, number))
    size = 0
    with closing(teacher(tmp_path)) as source:
        assert isinstance(source, TeacherSource)
        size = sum(file.stat().st_size for file in cache.rglob("*.*"))
        monkeypatch.setattr(store, "MOST_BYTES", size + 5000)
        source.epoch(0)
        kept = source.store.folder / "epoch-0.npz"
        monkeypatch.setattr(store, "MOST_BYTES", size - 3000 + kept.stat().st_size + 1500)
        source.store.epoch(1, lambda: source.store.epoch(0, lambda: pytest.fail("it is kept")))
    remaining = {folder.name for folder in cache.iterdir()}
    assert source.store.folder.name in remaining and "old0" not in remaining
    assert kept.is_file()
