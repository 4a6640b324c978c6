"""What happens to pictures on their way through screenshots, documents and cameras: distortions of a whole picture.

Each takes the picture of a scene, (100, 400, 3) RGB, and returns one of the size that the distortion implies. The scene
stays the same: what is recognised in a distorted picture is compared with the original items and positions. This is
possible after a shift too, since the walls move with the items: they are the border between a box's light grey and the
strip's grey, and the part of the picture that is uncovered has the strip's grey.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial

import numpy as np
from PIL import Image

from veriscene.worlds.nlvr.raster import STRIP, Pixels

Distortion = Callable[[Pixels, np.random.Generator], Pixels]

MOST_SHIFTED = 3  # pixels
SCALES, QUALITIES, NOISES, CHANGES = (0.5, 0.75, 1.5, 2.0), (90, 50, 30), (5.0, 15.0), (0.8, 1.2)
FILTERS = tuple(Image.Resampling)
MIDDLE_GREY = 127.5


# ---------------------------------------------------------------- one at a time


def scale(picture: Pixels, factor: float, *, resampling: Image.Resampling = Image.Resampling.BICUBIC) -> Pixels:
    """Scales both sides by `factor`. Pillow's default filter averages over all pixels that become one."""
    height, width, _ = picture.shape
    size = (round(width * factor), round(height * factor))
    return np.array(Image.fromarray(picture).resize(size, resampling))


def shift(picture: Pixels, right: int, down: int) -> Pixels:
    """Moves the content; what leaves the picture is lost, and what is uncovered has the strip's grey."""
    height, width, _ = picture.shape
    moved = np.full_like(picture, STRIP)
    moved[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)] = picture[
        max(-down, 0) : height + min(-down, 0), max(-right, 0) : width + min(-right, 0)
    ]
    return moved


def jpeg(picture: Pixels, quality: int, *, subsampling: int = 2) -> Pixels:
    """Compresses and reads again. `subsampling` is Pillow's; 2 halves the colour resolution, as most programs do."""
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "JPEG", quality=quality, subsampling=subsampling)
    return np.array(Image.open(stream))


def noise(picture: Pixels, rng: np.random.Generator, *, deviation: float) -> Pixels:
    """Adds Gaussian noise, independent for each pixel and channel; `deviation` is in grey levels."""
    noisy = rng.standard_normal(picture.shape, dtype=np.float32)
    noisy *= deviation
    noisy += picture
    np.rint(noisy, out=noisy)
    return noisy.clip(0, 255, out=noisy).astype(np.uint8)


def relight(picture: Pixels, *, brightness: float = 1.0, contrast: float = 1.0) -> Pixels:
    """Distances from middle grey times `contrast`, then levels times `brightness`; both cut off at black and white."""
    levels = ((np.arange(256) - MIDDLE_GREY) * contrast + MIDDLE_GREY).clip(0, 255) * brightness
    table = np.rint(levels).clip(0, 255).astype(np.uint8)
    return table[picture]


# ---------------------------------------------------------------- the robustness table


def _shift(picture: Pixels, rng: np.random.Generator) -> Pixels:
    right, down = rng.integers(-MOST_SHIFTED, MOST_SHIFTED + 1, 2)
    return shift(picture, int(right), int(down))


def _photo(picture: Pixels, rng: np.random.Generator) -> Pixels:
    """All of them, each at a random one of the levels that the table has singly."""
    picture = scale(_shift(picture, rng), float(rng.choice(SCALES)))
    picture = relight(picture, brightness=float(rng.choice(CHANGES)), contrast=float(rng.choice(CHANGES)))
    return jpeg(noise(picture, rng, deviation=float(rng.choice(NOISES))), int(rng.choice(QUALITIES)))


def _without_rng(distort: Callable[[Pixels], Pixels]) -> Distortion:
    return lambda picture, rng: distort(picture)


DISTORTIONS: dict[str, Distortion] = {
    "none": _without_rng(np.copy),
    **{f"scaled to {100 * factor:.0f} %": _without_rng(partial(scale, factor=factor)) for factor in SCALES},
    f"shifted by up to {MOST_SHIFTED} pixels": _shift,
    **{f"JPEG, quality {quality}": _without_rng(partial(jpeg, quality=quality)) for quality in QUALITIES},
    **{f"Gaussian noise of {level:.0f} grey levels": partial(noise, deviation=level) for level in NOISES},
    **{
        f"brightness {100 * (change - 1):+.0f} %": _without_rng(partial(relight, brightness=change))
        for change in CHANGES
    },
    **{f"contrast {100 * (change - 1):+.0f} %": _without_rng(partial(relight, contrast=change)) for change in CHANGES},
    "photo-like: all of these": _photo,
}


# ---------------------------------------------------------------- training

CLEAN = 0.35  # of the pictures stay as they are
SINGLE = 0.5  # of the others are distorted in one way, the rest in a random combination
SHIFT_FOR_TRAINING = 4
SCALE_FOR_TRAINING = (0.45, 2.2)
QUALITY_FOR_TRAINING = (25, 96)
NOISE_FOR_TRAINING = 18.0
CHANGE_FOR_TRAINING = 0.25


def random_distortion(picture: Pixels, rng: np.random.Generator) -> Pixels:
    """Distorts a picture at random, in continuous ranges a little wider than those of the table."""
    if rng.random() < CLEAN:
        return picture
    chosen = rng.random(5) < 0.5
    if rng.random() < SINGLE:
        chosen = np.arange(5) == rng.integers(5)
    shifted, scaled, relit, noisy, compressed = chosen
    if shifted:
        right, down = rng.integers(-SHIFT_FOR_TRAINING, SHIFT_FOR_TRAINING + 1, 2)
        picture = shift(picture, int(right), int(down))
    if scaled:
        factor = float(np.exp(rng.uniform(*np.log(SCALE_FOR_TRAINING))))
        picture = scale(picture, factor, resampling=FILTERS[rng.integers(len(FILTERS))])
    if relit:
        brightness, contrast = 1 + rng.uniform(-CHANGE_FOR_TRAINING, CHANGE_FOR_TRAINING, 2)
        picture = relight(picture, brightness=brightness, contrast=contrast)
    if noisy:
        picture = noise(picture, rng, deviation=rng.uniform(1, NOISE_FOR_TRAINING))
    if compressed:
        picture = jpeg(picture, int(rng.integers(*QUALITY_FOR_TRAINING)), subsampling=int(rng.integers(3)))
    return picture
