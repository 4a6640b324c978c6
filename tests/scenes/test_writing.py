"""What is written is written whole, and to where it was asked."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from veriscene import files
from veriscene.errors import InputError


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "elsewhere" / "real.csv", tmp_path / "link.csv"
    real.parent.mkdir()
    real.write_text("old")
    link.symlink_to(real)
    files.write_text(link, "new\n")
    assert link.is_symlink() and real.read_text() == "new\n"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["elsewhere", "link.csv", "real.csv"]


def test_what_is_no_file_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    files.write_text(pipe, "through\n")
    reader.join(timeout=10)
    assert read == ["through\n"] and pipe.is_fifo()


def test_standard_output_can_be_named() -> None:
    command = (
        "from pathlib import Path; from veriscene.scenes import nlvr; files.write_text(Path('/dev/stdout'), 'told')"
    )
    assert subprocess.run([sys.executable, "-c", command], capture_output=True, check=True).stdout == b"told"


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept.csv"
    files.write_text(file, "old")

    def fails(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(InputError, match=r"kept.csv: cannot be written \(No space left"):
        files.write_text(file, "new")
    assert file.read_text() == "old" and list(tmp_path.iterdir()) == [file]
    with pytest.raises(InputError, match="cannot be written"):
        files.write_text(tmp_path, "a folder")
