"""`veriscene pretrain`, and --eyes with what it wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from shell import veriscene

from veriscene.models.vision.eyes import Eyes

QUICK = ("--steps", "1", "--batch", "1", "--workers", "1")


def test_eyes_are_trained_and_loaded(tmp_path: Path) -> None:
    done = veriscene("pretrain", "eyes", *QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "eyes.safetensors\n" and "clean" in done.stderr
    Eyes.load(tmp_path / "eyes.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["eyes.safetensors"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("pretrain", "nothing"), ".*'nothing'; .*eyes, resnet50-rendered"),
        (("pretrain", "eyes", "--out", "."), r"\.: "),
    ],
)
def test_invalid_input_is_one_line(tmp_path: Path, arguments: tuple[str, ...], named: str) -> None:
    done = veriscene(*arguments, *QUICK, cwd=tmp_path)
    assert done.returncode == 1 and re.fullmatch(f"veriscene: {named}.*\n", done.stderr)
    assert list(tmp_path.iterdir()) == []
