"""Decoding is the exact inverse of rendering, and refuses every other picture."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import drawn_scene
from strategies import scenes
from veriscene.errors import InputError
from veriscene.world.corpus import split_file
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds import read
from veriscene.worlds.nlvr import pictures as picture
from veriscene.worlds.nlvr.looks import SCENE_KINDS, Color, Shape, Size, make_item
from veriscene.worlds.nlvr.pictures import with_pictures
from veriscene.worlds.nlvr.raster import BOX_PITCH, decode, pixels

KINDS = st.sampled_from(SCENE_KINDS)


def contents(scene: Scene) -> list[set[Item]]:
    return [set(box.items) for box in scene.boxes]


def square(x: int, y: int, size: Size = Size.SMALL) -> Item:
    return make_item(x, y, size, Shape.SQUARE, Color.BLACK)


def with_first_box(*items: Item) -> Scene:
    other = Box((square(0, 0),))
    return Scene((Box(items), other, other))


@pytest.mark.parametrize(("split", "count"), [("dev", None), ("test", None), ("train", 300)])
def test_pictures_of_the_corpus_are_decoded_exactly(nlvr_folder: Path, split: str, count: int | None) -> None:
    images = nlvr_folder / split / "images"
    if not images.is_dir():
        pytest.skip(f"{images} is absent: the corpus is here without its pictures")
    examples = with_pictures(read(split_file(nlvr_folder, split)), images, split)
    wrong = []
    for example in examples if count is None else random.Random(0).sample(examples, count):
        shown = picture.read(example.picture)  # type: ignore[arg-type]
        decoded = decode(shown)
        if contents(decoded) != contents(example.scene) or not np.array_equal(pixels(decoded)[..., :3], shown):
            wrong.append(example.identifier)
    assert wrong == []


@given(scenes | st.builds(drawn_scene, st.integers(0, 2**32), KINDS))
def test_decoding_inverts_rendering(scene: Scene) -> None:
    rendered = pixels(scene)
    decoded = decode(rendered)
    assert contents(decoded) == contents(scene)
    assert decode(rendered[..., :3]) == decoded
    assert len(decoded.items) == len(scene.items)


@given(scenes)
def test_items_come_in_reading_order_of_their_first_pixels(scene: Scene) -> None:
    rendered = pixels(scene)
    for number, box in enumerate(decode(rendered).boxes):
        starts = []
        for item in box.items:
            left = number * BOX_PITCH + item.x
            extent = rendered[item.y : item.y + item.width, left : left + item.width, 0]
            row, column = np.argwhere(extent != 211)[0] if (extent != 211).any() else (0, 0)
            starts.append((item.y + row, item.x + column))
        assert starts == sorted(starts)


@given(scenes, st.integers(0, 99), st.integers(0, 399), st.integers(0, 2), st.integers(1, 255))
def test_a_picture_with_one_changed_pixel_is_refused(scene: Scene, y: int, x: int, channel: int, by: int) -> None:
    changed = pixels(scene)
    changed[y, x, channel] = (int(changed[y, x, channel]) + by) % 256
    with pytest.raises(InputError, match=r"pixel x=\d+ y=\d+") as caught:
        decode(changed)
    place = f"box {x // BOX_PITCH + 1}" if x % BOX_PITCH < 100 else "between boxes"
    assert place in str(caught.value) and "\n" not in str(caught.value)


@given(scenes, st.integers(-3, 3).filter(bool))
def test_shifts_and_noise_are_refused(scene: Scene, shift: int) -> None:
    rendered = pixels(scene)
    noise = np.random.default_rng(shift + 3).integers(0, 256, rendered.shape, dtype=np.uint8)
    for other in (np.roll(rendered, shift, axis=1), noise, noise[..., :3], rendered[..., ::-1].copy()):
        with pytest.raises(InputError):
            decode(other)


@pytest.mark.parametrize(
    ("picture", "named"),
    [
        (None, "uint8"),
        (np.zeros((100, 400, 3)), "uint8"),
        (np.zeros((100, 400), np.uint8), "uint8"),
        (np.zeros((50, 200, 3), np.uint8), "200 x 50 .*400 x 100"),
        (np.zeros((100, 400, 2), np.uint8), r"\b2\b"),
        (np.zeros((100, 400, 4), np.uint8), "^pixel x=0 y=0"),
        (pixels(with_first_box()), "^box 1: .*1 to 8"),
        (pixels(with_first_box(*(square(11 * n, 0) for n in range(9)))), "^box 1, pixel x=88 y=0: .*8"),
    ],
)
def test_what_is_wrong_is_said(picture: np.ndarray, named: str) -> None:
    with pytest.raises(InputError, match=named):
        decode(picture)


@pytest.mark.parametrize(
    "items",
    [
        (square(0, 0), square(10, 0)),
        (square(0, 0), square(10, 0), square(0, 10)),
        (square(0, 0, Size.MEDIUM), square(20, 0), square(20, 10)),
        (square(40, 40, Size.LARGE), square(70, 40, Size.MEDIUM), square(30, 60)),
    ],
)
def test_squares_that_touch_without_a_gap_are_explained_by_the_same_pixels(items: tuple[Item, ...]) -> None:
    scene = with_first_box(*items)
    decoded = decode(pixels(scene))
    assert np.array_equal(pixels(decoded), pixels(scene))
    assert contents(decoded) == contents(scene)


def test_the_largest_square_does_not_always_fit() -> None:
    """Where the two small squares are, a medium one fits, but would leave a piece of the large one."""
    scene = with_first_box(square(20, 0), square(30, 0), square(13, 10, Size.LARGE))
    assert decode(pixels(scene)) == scene


@pytest.mark.parametrize(("x", "y"), [(40, 40), (60, 40)])
def test_items_whose_extents_overlap_are_refused(x: int, y: int) -> None:
    """Beside the tip of a large triangle there is room for a small square, but no scene has items that overlap."""
    picture = pixels(with_first_box(make_item(40, 40, Size.LARGE, Shape.TRIANGLE, Color.BLUE)))
    assert (picture[y : y + 10, x : x + 10] == picture[0, 0]).all()
    picture[y : y + 10, x : x + 10, :3] = 0
    with pytest.raises(InputError, match=r"^box 1, pixel x=\d+ y=\d+: "):
        decode(picture)
