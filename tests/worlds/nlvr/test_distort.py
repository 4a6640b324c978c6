"""Distortions of pictures."""

from __future__ import annotations

import random

import numpy as np
import pytest

from samples import random_scene
from veriscene.worlds.nlvr.distort import DISTORTIONS, jpeg, noise, random_distortion, relight, scale, shift
from veriscene.worlds.nlvr.raster import STRIP, Pixels, pixels


def picture(seed: int = 0) -> Pixels:
    return np.ascontiguousarray(pixels(random_scene(random.Random(seed)))[..., :3])


@pytest.mark.parametrize("name", DISTORTIONS)
def test_a_distortion_is_determined_by_its_generator_and_leaves_its_input_as_it_was(name: str) -> None:
    original, distort = picture(), DISTORTIONS[name]
    first, second = (distort(original, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(original, picture()) and np.array_equal(first, second)
    assert first.dtype == np.uint8 and first.ndim == 3 and first.shape[2] == 3
    assert np.array_equal(first, original) == (name == "none")


@pytest.mark.parametrize(("factor", "shape"), [(0.5, (50, 200, 3)), (0.75, (75, 300, 3)), (2.0, (200, 800, 3))])
def test_scaling_changes_both_sides(factor: float, shape: tuple[int, ...]) -> None:
    assert scale(picture(), factor).shape == shape


@pytest.mark.parametrize(("right", "down"), [(3, -2), (-3, 1), (0, 0), (0, 3)])
def test_a_shift_moves_the_content_and_uncovers_the_grey_of_the_strips(right: int, down: int) -> None:
    padded = np.pad(picture(), ((3, 3), (3, 3), (0, 0)), constant_values=STRIP)
    expected = padded[3 - down : 103 - down, 3 - right : 403 - right]
    assert np.array_equal(shift(picture(), right, down), expected)


def test_noise_has_the_deviation_asked_for() -> None:
    middle = np.full((100, 400, 3), 128, np.uint8)
    difference = noise(middle, np.random.default_rng(0), deviation=15.0).astype(float) - 128
    assert abs(difference.std() - 15) < 0.2 and abs(difference.mean()) < 0.2


def test_light_changes_levels_and_is_cut_off() -> None:
    levels = np.array([[[0, 100, 211], [128, 255, 127]]], np.uint8)
    assert relight(levels, brightness=1.2).tolist() == [[[0, 120, 253], [154, 255, 152]]]
    assert relight(levels, contrast=0.8).tolist() == [[[26, 106, 194], [128, 230, 127]]]


def test_worse_quality_is_further_from_the_original() -> None:
    errors = [np.abs(jpeg(picture(), quality).astype(int) - picture()).mean() for quality in (90, 50, 30)]
    assert 0 < errors[0] < errors[1] < errors[2]


def test_training_sees_clean_pictures_and_distorted_ones() -> None:
    rng, original = np.random.default_rng(0), picture()
    drawn = [random_distortion(original, rng) for _ in range(300)]
    clean = sum(np.array_equal(each, original) for each in drawn)
    assert 0.25 < clean / len(drawn) < 0.45
    assert len({each.shape for each in drawn}) > 20
    assert all(each.dtype == np.uint8 for each in drawn)
