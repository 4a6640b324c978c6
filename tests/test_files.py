"""A folder that could not be filled goes again, and nothing else does."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from veriscene import files
from veriscene.errors import InputError


def fill(folder: Path, error: BaseException | None = None) -> None:
    with files.created(folder, fill=["below", "file.json"], hint="do something else"):
        (folder / "below").mkdir()
        (folder / "below" / "half.json").write_text("{")
        (folder / "file.json").write_text("{}")
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [InputError("the disk is full"), KeyboardInterrupt(), OSError(13, "denied")])
def test_what_was_made_goes_and_what_was_there_stays(error: BaseException, tmp_path: Path) -> None:
    beside = tmp_path / "runs" / "beside.txt"
    beside.parent.mkdir()
    beside.write_text("kept")
    (tmp_path / "empty").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    before = sorted(tmp_path.rglob("*"))
    for name in ("new", "some/where/new", "runs/new", "empty", "link"):
        with pytest.raises(type(error)):
            fill(tmp_path / name, error)
        assert sorted(tmp_path.rglob("*")) == before
    assert beside.read_text() == "kept"
    fill(tmp_path / "some/where/new")
    assert (tmp_path / "some/where/new/below/half.json").exists()


def test_what_others_put_there_meanwhile_stays(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with pytest.raises(KeyboardInterrupt), files.created(folder, fill=["file.json"], hint=""):
        (folder / "file.json").write_text("{")
        (folder / "notes.txt").write_text("precious")
        raise KeyboardInterrupt
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_a_file_system_without_locks_is_worked_on_and_any_other_failure_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(number: int) -> None:
        def flock(*given: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("fcntl.flock", flock)

    failing(errno.ENOLCK)
    fill(tmp_path / "new")
    failing(errno.EIO)
    with pytest.raises(InputError, match=r"new: cannot be held \(.+\)"), files.locked(tmp_path / "new"):
        pytest.fail("it is not held")


def test_what_is_refused_is_left(tmp_path: Path) -> None:
    fill(tmp_path / "full")
    before = sorted(tmp_path.rglob("*"))
    for taken in (tmp_path / "full", tmp_path / "full" / "file.json"):
        with pytest.raises(InputError, match=f"{taken}: is there already; do something else"):
            fill(taken)
    with pytest.raises(InputError, match="cannot be made"):
        fill(tmp_path / "full" / "file.json" / "below")
    with files.created(tmp_path / "held", fill=[], hint=""), pytest.raises(InputError, match="another command"):
        fill(tmp_path / "held")
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "held"])


def test_a_corpus_that_cannot_be_written_can_be_made_by_the_same_command_later(tmp_path: Path) -> None:
    command = f"{sys.executable} -m veriscene data synth deep/corpus --statements 40 --level simple"

    def made(limit: str) -> subprocess.CompletedProcess[str]:
        shell = f"ulimit -f {limit}; exec {command}"  # of the size of a file, in kilobytes
        return subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    failed = made("8")
    assert failed.returncode == 1 and "cannot be written (File too large)" in failed.stderr
    assert failed.stderr.count("\n") == 1 and list(tmp_path.iterdir()) == []
    assert made("unlimited").returncode == 0
    assert (tmp_path / "deep/corpus/train/train.json").stat().st_size > 8 * 1024
