"""What `veriscene site` refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from veriscene.errors import InputError
from veriscene.service import site


def test_a_folder_without_the_runtime_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    with pytest.raises(InputError) as caught:
        site.write_site(tmp_path / "public", runtime=tmp_path / "runtime")
    assert caught.value.where == tmp_path / "runtime"
    assert not (tmp_path / "public").exists()


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError):
        site.write_site(tmp_path, runtime=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_another_archive_than_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f'#!/bin/sh\necho forged > "$4/onnxruntime-web-{site.VERSION}.tgz"\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    (tmp_path / "new").mkdir()
    with pytest.raises(InputError, match=site.VERSION):
        site.download_runtime(tmp_path / "new")
    assert [path.suffix for path in (tmp_path / "new").iterdir()] == [".tgz"]  # downloaded, but not unpacked
