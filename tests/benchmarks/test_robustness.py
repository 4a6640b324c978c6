"""benchmarks/robustness.py: what counts as exact, and the table of a whole run."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from samples import random_scene, yellow_circle_examples
from scripts import script
from veriscene.models.vision.eyes import Eyes
from veriscene.world.examples import write
from veriscene.world.scene import Box, Item
from veriscene.worlds.nlvr.distort import DISTORTIONS
from veriscene.worlds.nlvr.looks import WORLD, Color, Shape, Size, make_item
from veriscene.worlds.nlvr.raster import pixels

robustness = script("robustness")
ITEM = make_item(40, 40, Size.MEDIUM, Shape.CIRCLE, Color.BLUE)


@pytest.mark.parametrize(
    ("seen", "near", "exact"),
    [
        ((ITEM,), True, True),
        ((replace(ITEM, x=42, y=38),), True, False),
        ((replace(ITEM, x=43),), False, False),
        ((WORLD.changed(ITEM, color=Color.BLACK),), False, False),
        ((ITEM, replace(ITEM, x=0)), False, False),
        ((), False, False),
    ],
)
def test_a_box_is_exact_if_all_its_items_are_and_there_are_no_others(
    seen: tuple[Item, ...], near: bool, exact: bool
) -> None:
    assert robustness.same_items(Box(seen), Box((ITEM,)), tolerance=2) == near
    assert robustness.same_items(Box(seen), Box((ITEM,)), tolerance=0) == exact


def test_the_exact_decoder_reads_exact_pictures_only() -> None:
    scene = random_scene(random.Random(0))
    picture = np.ascontiguousarray(pixels(scene)[..., :3])
    boxes = zip(robustness.decoded(picture), scene.boxes, strict=True)
    assert all(robustness.same_items(*pair, tolerance=0) for pair in boxes)
    picture[0, 0] += 1
    assert not any(box.items for box in robustness.decoded(picture))


def test_the_table_has_a_row_for_each_distortion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "dev.json", yellow_circle_examples(2), WORLD)
    Eyes().eval().save(tmp_path / "eyes.safetensors")
    arguments = ["--eyes", str(tmp_path / "eyes.safetensors"), "--out", str(tmp_path / "table.md"), "--model", "best"]
    monkeypatch.setattr(sys, "argv", ["robustness.py", str(tmp_path / "dev.json"), *arguments])
    robustness.main()
    table = (tmp_path / "table.md").read_text()
    assert all(f"| {name} |" in table for name in DISTORTIONS)
    assert "| none | 0.00 | 0.00 | 100.00 |" in table
    assert table.count("ms per scene on one core") == 2
