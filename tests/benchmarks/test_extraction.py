"""benchmarks/extraction.py on a small corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from samples import yellow_circle_examples
from scripts import script
from veriscene.world.examples import write
from veriscene.worlds.nlvr.looks import WORLD


def test_every_sub_image_of_the_three_splits_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for split in ("train", "dev", "test"):
        write(tmp_path / split / f"{split}.json", yellow_circle_examples(2), WORLD)
    script("extraction").main([str(tmp_path), "--backbone", "convolutions"])
    assert "for 18 sub-images" in capsys.readouterr().out
