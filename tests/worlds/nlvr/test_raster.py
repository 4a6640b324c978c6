"""Pixels of a scene: the corpus's own, bit for bit."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from strategies import scenes
from veriscene.world.corpus import split_file
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds import read
from veriscene.worlds.nlvr.looks import BOX_EXTENT, Color, Shape, Size, make_item
from veriscene.worlds.nlvr.raster import BOX_PITCH, boxes, pixels


@pytest.mark.parametrize(("split", "count"), [("dev", None), ("test", None), ("train", 300)])
def test_pictures_of_the_corpus_are_reproduced_bit_for_bit(nlvr_folder: Path, split: str, count: int | None) -> None:
    examples = read(split_file(nlvr_folder, split))
    if count is not None:
        examples = random.Random(0).sample(examples, count)
    images = nlvr_folder / split / "images"
    if not images.is_dir():
        pytest.skip(f"{images} is absent: the corpus is here without its pictures")
    different = []
    for example in examples:
        assert example.directory is not None
        with Image.open(images / example.directory / f"{split}-{example.identifier}-0.png") as png:
            if not np.array_equal(np.asarray(png), pixels(example.scene)):
                different.append(example.identifier)
    assert different == []


@given(scenes)
def test_everything_outside_the_items_is_background(scene: Scene) -> None:
    expected = np.full((100, 400, 4), (211, 211, 211, 255), np.uint8)
    expected[:, 100:150] = expected[:, 250:300] = (128, 128, 128, 255)
    picture = pixels(scene)
    assert picture.shape == expected.shape and picture.dtype == np.uint8
    for number, box in enumerate(scene.boxes):
        for item in box.items:
            extent = _extent(item, number)
            expected[extent] = picture[extent]
    assert np.array_equal(picture, expected)


@given(scenes, st.randoms())
def test_the_pixels_of_an_item_depend_on_that_item_only(scene: Scene, rng: random.Random) -> None:
    picture = pixels(scene)
    shuffled = Scene(tuple(Box(tuple(rng.sample(box.items, len(box.items)))) for box in scene.boxes))  # type: ignore[arg-type]
    assert np.array_equal(pixels(shuffled), picture)
    for number, box in enumerate(scene.boxes):
        for item in box.items:
            alone = [Box(()), Box(()), Box(())]
            alone[number] = Box((item,))
            extent = _extent(item, number)
            assert np.array_equal(pixels(Scene((alone[0], alone[1], alone[2])))[extent], picture[extent])


@given(st.lists(scenes, max_size=4))
def test_boxes_are_cut_from_the_pictures(batch: list[Scene]) -> None:
    cut = boxes(batch)
    assert cut.shape == (len(batch), 3, 100, 100, 4) and cut.dtype == np.uint8
    for scene, three in zip(batch, cut, strict=True):
        picture = pixels(scene)
        for number, box in enumerate(three):
            assert np.array_equal(box, picture[:, number * BOX_PITCH : number * BOX_PITCH + BOX_EXTENT])


def test_every_item_at_every_x_keeps_its_pixels() -> None:
    """Without the corpus: the digest was taken when every picture of train, dev and test was reproduced."""
    kinds = [(size, shape, color) for size in Size for shape in Shape for color in Color]
    digest, distinct = hashlib.sha256(), set()
    for size, shape, color in kinds:
        rows = [Box((make_item(x, 0, size, shape, color),)) for x in range(BOX_EXTENT - size.extent + 1)]
        drawn = boxes([Scene((row, row, row)) for row in rows])
        digest.update(drawn.tobytes())
        distinct.add(drawn[0].tobytes())
    assert len(distinct) == len(kinds)
    assert digest.hexdigest() == "78387a47920b0ffe2acaa839087dbd0f4e2b63ac92219e566219bad59b5d4281"


def test_a_picture_belongs_to_its_caller() -> None:
    """Writing into a result must not change what is drawn next."""
    item = make_item(0, 0, Size.LARGE, Shape.CIRCLE, Color.BLUE)
    scene = Scene((Box((item,)), Box((replace(item, x=40),)), Box((item,))))
    before = pixels(scene).copy()
    pixels(scene)[:] = 0
    boxes([scene])[:] = 0
    assert np.array_equal(pixels(scene), before)


def _extent(item: Item, number: int) -> tuple[slice, slice]:
    left, size = item.x + number * BOX_PITCH, item.width
    return slice(item.y, item.y + size), slice(left, left + size)
