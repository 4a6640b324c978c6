"""Scenes as pixels: exactly those of the NLVR corpus's PNG files, for every picture of train, dev and test.

`templates.txt` holds the coverage of circles and triangles, one mask per shape and size, two hex digits (0 to 255) per
pixel; the values are those of 4 x 4 supersampling. A square covers its extent fully. No mask reaches beyond its item's
extent and items do not overlap, so pasting patches is exact and the order of the items is irrelevant.

The large circle alone has variants: the renderer's rounding of its absolute x (never y) changes two edge pixels,
independently. Each has a line in the file: row, column, coverage instead of the mask's, and the left edges in the
picture where it applies. All 3 x 71 possible left edges occur in the corpus, so the lines are complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veriscene.world.scene import Box, Scene
from veriscene.worlds.nlvr.looks import BOX_EXTENT, BOXES, EXTENTS, Color, Shape, Size

BOX_PITCH = 150  # pixels from one box's left edge to the next one's
WIDTH = (BOXES - 1) * BOX_PITCH + BOX_EXTENT
BACKGROUND = 211  # light grey, inside the boxes
STRIP = 128  # grey, between them
RGB = {Color.YELLOW: (255, 255, 0), Color.BLACK: (0, 0, 0), Color.BLUE: (0, 153, 255)}

Pixels = NDArray[np.uint8]
Words = NDArray[np.uint32]  # one RGBA pixel per element, which makes a row of a patch one contiguous copy
Kind = tuple[Shape, Size, Color]


def pixels(scene: Scene) -> Pixels:
    """Returns the picture of a scene, (100, 400, 4) RGBA: three boxes on light grey with grey strips between them."""
    picture = np.empty((BOX_EXTENT, WIDTH), np.uint32)
    picture[:] = _grey(STRIP)
    for number, box in enumerate(scene.boxes):
        left = number * BOX_PITCH
        _draw(box, number, picture[:, left : left + BOX_EXTENT])
    return _rgba(picture)


def boxes(scenes: Sequence[Scene]) -> Pixels:
    """Returns the three boxes of each scene as they appear in its picture, (n, 3, 100, 100, 4) RGBA."""
    pictures = np.empty((len(scenes), BOXES, BOX_EXTENT, BOX_EXTENT), np.uint32)
    for scene, picture in zip(scenes, pictures, strict=True):
        for number, box in enumerate(scene.boxes):
            _draw(box, number, picture[number])
    return _rgba(pictures)


def _draw(box: Box, number: int, canvas: Words) -> None:
    """Draws box `number` of a picture onto its (100, 100) canvas."""
    patches = templates()
    canvas[:] = _grey(BACKGROUND)
    for item in box.items:
        variants, x, y = patches[item["shape"], item["size"], item["color"]], int(item.x), int(item.y)
        patch = variants[x + number * BOX_PITCH if len(variants) > 1 else 0]
        size = len(patch)
        canvas[y : y + size, x : x + size] = patch


@cache
def templates() -> dict[Any, tuple[Words, ...]]:
    """Returns, per shape, size and color, one (size, size) patch, or, for the large circle, one per left edge."""
    masks: dict[tuple[Shape, Size], NDArray[np.uint8]] = {}
    file = resources.files("veriscene.worlds.nlvr") / "templates.txt"
    lines, size_of = iter(file.read_text(encoding="ascii").splitlines()), {n: size for size, n in EXTENTS.items()}
    variants = []
    for line in lines:
        shape, first, *numbers = line.split()
        if shape == "large-circle":
            column, coverage, *edges = map(int, numbers)
            variants.append((int(first), column, coverage, edges))
            continue
        rows = "".join(next(lines) for _ in range(int(first)))
        masks[Shape(shape), size_of[int(first)]] = np.frombuffer(bytes.fromhex(rows), np.uint8).reshape(int(first), -1)
    for size in Size:
        masks[Shape.SQUARE, size] = np.full((size.extent, size.extent), 255, np.uint8)
    patches: dict[Any, tuple[Words, ...]] = {
        (*kind, color): (_blend(mask, color),) for kind, mask in masks.items() for color in Color
    }
    for color in Color:
        (circle,) = patches[Shape.CIRCLE, Size.LARGE, color]
        at_left_edge = [circle] * (WIDTH - Size.LARGE.extent + 1)
        for row, column, coverage, edges in variants:
            for left in edges:
                at_left_edge[left] = at_left_edge[left].copy()
                at_left_edge[left][row, column] = _blend(np.array(coverage, np.uint8), color)
        patches[Shape.CIRCLE, Size.LARGE, color] = tuple(at_left_edge)
    return patches


def _blend(coverage: NDArray[np.uint8], color: Color) -> Words:
    """`color` over the background; this rounding (as in Skia) reproduces every antialiased pixel of the corpus."""
    alpha = coverage.astype(np.int64)[..., None]
    rgb = (np.array(RGB[color]) * (alpha + 1) >> 8) + (BACKGROUND * (256 - alpha) >> 8)
    return _words(np.concatenate([rgb, np.full_like(alpha, 255)], axis=-1))


@cache
def _grey(level: int) -> np.uint32:
    return np.uint32(_words(np.array([level, level, level, 255])))


def _words(rgba: NDArray[Any]) -> Words:
    """(..., 4) to (...); the inverse of `_rgba`."""
    return np.ascontiguousarray(rgba, dtype=np.uint8).view(np.uint32)[..., 0]


def _rgba(words: Words) -> Pixels:
    return words.view(np.uint8).reshape(*words.shape, 4)
