"""What is where: cells, and the eyes that predict them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from samples import random_scene
from strategies import scenes
from veriscene import worlds
from veriscene.data import eyes as cells
from veriscene.errors import InputError
from veriscene.models.vision.eyes import MARGIN, SHIPPED, Eyes, _windows, exact, loss
from veriscene.world import corpus
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds.nlvr import pictures as picture
from veriscene.worlds.nlvr.looks import BOX_EXTENT, WORLD, Color, Shape, Size, make_item
from veriscene.worlds.nlvr.pictures import with_pictures
from veriscene.worlds.nlvr.raster import STRIP, pixels


def certain(classes: Tensor) -> Tensor:
    """Outputs of a network that is sure of these targets."""
    present = classes[:, :1] != cells.ABSENT
    heads = [
        F.one_hot(classes[:, number].long().clamp(0), count).movedim(-1, 1) for number, count in enumerate(cells.HEADS)
    ]
    return 40.0 * torch.cat([present.float() - 0.5, *heads], dim=1)


def outputs_for(*items: tuple[Item, float]) -> Tensor:
    """Outputs for one box with these items, each present with the given probability."""
    outputs = torch.full((1, cells.CHANNELS, cells.GRID, cells.GRID), -20.0)
    for item, probability in items:
        alone = torch.from_numpy(cells.targets([Box((item,))]))
        place = alone[0, 0] != cells.ABSENT
        outputs[:, :, place] = certain(alone)[:, :, place]
        outputs[:, 0, place] = torch.logit(torch.tensor(probability))
    return outputs


def untrained_eyes() -> Eyes:
    """With running statistics that are not those of a fresh network."""
    torch.manual_seed(0)
    eyes = Eyes()
    pictures = torch.from_numpy(np.stack([pixels(random_scene(random.Random(seed)))[..., :3] for seed in range(4)]))
    for _ in range(3):
        eyes.train()(pictures)
    return eyes.eval()


def by_place(box: Box) -> list[Item]:
    return sorted(box.items, key=lambda item: (item.y, item.x))


@given(scenes)
def test_targets_hold_all_that_a_box_holds(scene: Scene) -> None:
    classes = torch.from_numpy(cells.targets(scene.boxes))
    outputs = certain(classes)
    assert [list(box.items) for box in cells.read(outputs)] == [by_place(box) for box in scene.boxes]
    assert exact(outputs, classes).all()
    assert loss(outputs, classes) < 1e-6


@given(scenes, st.integers(0, 2), st.integers(0, len(cells.HEADS)))
def test_one_wrong_answer_makes_a_box_inexact_and_costs(scene: Scene, box: int, head: int) -> None:
    classes = torch.from_numpy(cells.targets(scene.boxes))
    outputs = certain(classes)
    row, column = (classes[box, 0] != cells.ABSENT).nonzero()[0].tolist()
    start = [0, *np.cumsum([1, *cells.HEADS]).tolist()][head]
    length = [1, *cells.HEADS][head]
    outputs[box, start : start + length, row, column] *= -1
    assert exact(outputs, classes).tolist() == [number != box for number in range(3)]
    assert loss(outputs, classes) > 0.1


@given(st.integers(0, 2**32))
def test_whatever_is_predicted_reads_as_valid_boxes(seed: int) -> None:
    outputs = 5 * torch.randn(3, cells.CHANNELS, cells.GRID, cells.GRID, generator=torch.Generator().manual_seed(seed))
    first, second, third = cells.read(outputs)
    scene = Scene((first, second, third))
    assert WORLD.parse(WORLD.to_json_scene(scene)) == scene


def test_of_two_predictions_for_one_item_the_more_confident_one_stays() -> None:
    left = make_item(34, 40, Size.MEDIUM, Shape.CIRCLE, Color.BLUE)
    right = make_item(40, 40, Size.MEDIUM, Shape.SQUARE, Color.BLUE)
    assert cells.read(outputs_for((left, 0.45), (right, 0.5)))[0].items == (right,)
    assert cells.read(outputs_for((left, 0.6), (right, 0.5)))[0].items == (left,)


def test_items_that_overlap_by_a_pixel_are_moved_apart_rather_than_dropped() -> None:
    lower = make_item(40, 80, Size.MEDIUM, Shape.SQUARE, Color.BLUE)
    upper = make_item(40, 61, Size.MEDIUM, Shape.SQUARE, Color.BLACK)
    read = cells.read(outputs_for((lower, 0.99), (upper, 0.9)))[0]
    assert read.items == (make_item(40, 60, Size.MEDIUM, Shape.SQUARE, Color.BLACK), lower)


def test_windows_show_each_box_with_its_surroundings() -> None:
    picture = pixels(random_scene(random.Random(1)))[..., :3]
    padded = np.pad(picture, ((MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0)), constant_values=STRIP)
    windows = _windows(torch.from_numpy(picture[None].copy()))
    for number, window in enumerate(windows):
        expected = padded[:, 150 * number : 150 * number + BOX_EXTENT + 2 * MARGIN]
        assert np.array_equal(((window + 1) * 127.5).round().permute(1, 2, 0).numpy(), expected)


def test_folding_batching_and_saving_do_not_change_what_is_seen(tmp_path: Path) -> None:
    eyes = untrained_eyes()
    pictures = torch.from_numpy(np.stack([pixels(random_scene(random.Random(9 + n)))[..., :3] for n in range(3)]))
    with torch.inference_mode():
        together = eyes(pictures)
        assert_close(torch.cat([eyes(pictures[n : n + 1]) for n in range(3)]), together, rtol=1e-4, atol=1e-4)
        assert_close(eyes.folded()(pictures), together, rtol=1e-4, atol=1e-4)
        eyes.save(tmp_path / "eyes.safetensors")
        loaded = Eyes.load(tmp_path / "eyes.safetensors")
        assert_close(loaded(pictures), together, rtol=0.02, atol=0.02)
    loaded.save(tmp_path / "again.safetensors")
    assert_close(Eyes.load(tmp_path / "again.safetensors").state_dict(), loaded.state_dict(), rtol=0, atol=0)


def test_the_weights_are_small(tmp_path: Path) -> None:
    Eyes().eval().save(tmp_path / "eyes.safetensors")
    assert (tmp_path / "eyes.safetensors").stat().st_size < 3_000_000


def test_pictures_of_any_size_are_read_and_an_empty_box_is_an_error() -> None:
    eyes = untrained_eyes().folded()
    with torch.no_grad():
        eyes.heads.weight[0] = 0
        eyes.heads.bias[0] = 9
    picture = pixels(random_scene(random.Random(0)))
    large = np.repeat(np.repeat(picture, 2, axis=0), 2, axis=1)
    assert all(box.items for box in eyes.boxes([picture, large]))
    with pytest.raises(InputError):  # untrained eyes see items that are not there
        eyes.scenes([picture])
    with torch.no_grad():
        eyes.heads.bias[0] = -9
    with pytest.raises(InputError, match=r"^box 1: "):
        eyes.scenes([picture])


@pytest.mark.parametrize("content", [None, b"", b"no weights"])
def test_eyes_that_cannot_be_loaded_are_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "eyes.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=rf"^{path}: "):
        Eyes.load(path)


def test_every_wall_matters_to_every_cell() -> None:
    """Positions count from the walls, which may be far from an item."""
    eyes, black = untrained_eyes(), torch.zeros(1, 100, 400, 3, dtype=torch.uint8)
    corner = black.clone()
    corner[:, -1, 99] = 255
    with torch.inference_mode():
        change = (eyes(corner) - eyes(black))[0].abs().amax(0)
    assert (change > 0).all()


def test_the_shipped_eyes_are_small_and_see_every_box_of_the_real_dev_pictures(nlvr_folder: Path) -> None:
    assert SHIPPED.stat().st_size <= 3_000_000
    file = corpus.split_file(nlvr_folder, "dev")
    examples = with_pictures(worlds.read(file), file.parent / "images", "dev")[::2]
    seen = Eyes.load().boxes([picture.read(example.picture) for example in examples])
    true = [box for example in examples for box in example.scene.boxes]
    exact = sum(set(mine.items) == set(box.items) for mine, box in zip(seen, true, strict=True))
    assert exact >= 0.999 * len(true)
