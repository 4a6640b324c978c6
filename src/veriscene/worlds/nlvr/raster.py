"""Scenes as pixels, exactly those of the NLVR corpus's PNG files for every picture of train, dev and test, and back.

`templates.txt` holds the coverage of circles and triangles, one mask per shape and size, two hex digits (0 to 255) per
pixel; the values are those of 4 x 4 supersampling. A square covers its extent fully. No mask reaches beyond its item's
extent and items do not overlap, so pasting patches is exact and the order of the items is irrelevant.

The large circle alone has variants: the renderer's rounding of its absolute x (never y) changes two edge pixels,
independently. Each has a line in the file: row, column, coverage instead of the mask's, and the left edges in the
picture where it applies. All 3 x 71 possible left edges occur in the corpus, so the lines are complete.

Decoding is the exact inverse: a picture in, the scene with exactly these pixels out. The first pixel of a box, in
reading order, that is not background is the first such pixel of one of its items. So its colour leaves a few kinds of
item, each at one place. An item is found where its whole patch, background included, equals the picture. Its extent is
then marked as explained, so that items cannot overlap, and the search goes on until only background is left. Whatever
is returned therefore has exactly the pixels of the picture.

Items with a gap of at least one pixel, as everywhere in the corpus, have only one explanation. Squares of one colour
that touch without a gap may have several: the largest square at each place that leads to a scene is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veriscene.errors import InputError
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds.nlvr.looks import BOX_EXTENT, BOXES, EXTENTS, MAX_ITEMS, WORLD, Color, Shape, Size, make_item

BOX_PITCH = 150  # pixels from one box's left edge to the next one's
WIDTH = (BOXES - 1) * BOX_PITCH + BOX_EXTENT
BACKGROUND = 211  # light grey, inside the boxes
STRIP = 128  # grey, between them
RGB = {Color.YELLOW: (255, 255, 0), Color.BLACK: (0, 0, 0), Color.BLUE: (0, 153, 255)}

Pixels = NDArray[np.uint8]
Words = NDArray[np.uint32]  # one RGBA pixel per element, which makes a row of a patch one contiguous copy
Kind = tuple[Shape, Size, Color]


def pixels(scene: Scene | list[Any]) -> Pixels:
    """Returns the picture of a scene, or of its boxes as in NLVR's files, (100, 400, 4) RGBA: three boxes on light grey
    with grey strips between them."""
    scene = scene if isinstance(scene, Scene) else WORLD.parse(scene)
    WORLD.check(scene)
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


# ---------------------------------------------------------------- decoding

_EXPLAINED = np.uint32(0)  # transparent: neither a pixel of a picture nor of a patch


def decode(pixels: Pixels) -> Scene:
    """Returns the scene whose picture this is: (100, 400, RGB or RGBA), uint8.

    The items of a box come in reading order of their first pixels: from top to bottom, then from left to right.
    Raises InputError with box and pixel unless it is exactly the picture of a scene with 1 to 8 items in each box.
    """
    words = _checked(pixels)
    for number in range(1, BOXES):
        right = number * BOX_PITCH
        left = right - BOX_PITCH + BOX_EXTENT
        wrong = np.argwhere(words[:, left:right] != _grey(STRIP))
        if len(wrong):
            y, x = wrong[0]
            where = f"between boxes {number} and {number + 1}, pixel x={x + left} y={y} of the picture"
            raise InputError(f"has the colour {_hex(words[y, x + left])}", where=where, allowed="it must be #808080")
    return Scene(tuple(_box(words, number) for number in range(BOXES)))


def check_size(pixels: Pixels) -> None:
    """Raises InputError unless a picture has the shape of the corpus's: (100, 400, RGB or RGBA), uint8."""
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.ndim != 3:
        raise InputError("not a picture", allowed="it must be an array (100, 400, 3 or 4) of uint8")
    height, width, channels = pixels.shape
    if (height, width) != (BOX_EXTENT, WIDTH):
        raise InputError(f"is {width} x {height} pixels", allowed=f"it must be {WIDTH} x {BOX_EXTENT}")
    if channels not in (3, 4):
        raise InputError(f"has {channels} values for each pixel", allowed="it must have 3 (RGB) or 4 (RGBA)")


def _checked(pixels: Pixels) -> Words:
    """A copy of the picture, (100, 400), one RGBA pixel per element."""
    check_size(pixels)
    channels = pixels.shape[2]
    rgba = np.full((BOX_EXTENT, WIDTH, 4), 255, np.uint8)
    rgba[..., :channels] = pixels
    if channels == 4 and (rgba[..., 3] != 255).any():
        y, x = np.argwhere(rgba[..., 3] != 255)[0]
        raise InputError("is transparent", where=f"pixel x={x} y={y} of the picture", allowed="all must be opaque")
    words: Words = rgba.view(np.uint32)[..., 0]
    return words


def _box(words: Words, number: int) -> Box:
    left = number * BOX_PITCH
    canvas = words[:, left : left + BOX_EXTENT].copy()
    items: list[Item] = []
    failure, where = _explain(canvas, left, items), f"box {number + 1}"
    if failure is None and items:
        return Box(tuple(items))
    if failure is None:
        raise InputError("is empty", where=where, allowed=f"a box has 1 to {MAX_ITEMS} items")
    position, found = failure
    y, x = divmod(position, BOX_EXTENT)
    if found == MAX_ITEMS:
        raise InputError(f"has more than {MAX_ITEMS} items", where=f"{where}, pixel x={x} y={y}")
    what = f"no item fits here (colour {_hex(words[y, left + x])})"
    raise InputError(what, where=f"{where}, pixel x={x} y={y}", allowed="every pixel must be that of a rendered scene")


def _explain(canvas: Words, left: int, items: list[Item]) -> tuple[int, int] | None:
    """Adds the items that make up what is unexplained in a box, whose left edge in the picture is `left`.

    If there are none, changes neither `canvas` nor `items` and returns where the best attempt failed: the position of a
    pixel in the box, in reading order, and the number of items found before it.
    """
    unexplained = (canvas != _grey(BACKGROUND)) & (canvas != _EXPLAINED)
    position = int(unexplained.argmax())
    y, x = divmod(position, BOX_EXTENT)
    if not unexplained[y, x]:
        return None
    furthest = position, len(items)
    for kind, row, column in _starts().get(int(canvas[y, x]), ()) if len(items) < MAX_ITEMS else ():
        shape, size, color = kind
        own_x, own_y = x - column, y - row
        if min(own_x, own_y) < 0 or max(own_x, own_y) > BOX_EXTENT - size.extent:
            continue
        variants = templates()[kind]
        patch = variants[left + own_x if len(variants) > 1 else 0]
        extent = slice(own_y, own_y + size.extent), slice(own_x, own_x + size.extent)
        if not np.array_equal(canvas[extent], patch):
            continue
        canvas[extent] = _EXPLAINED
        items.append(make_item(own_x, own_y, size, shape, color))
        failure = _explain(canvas, left, items)
        if failure is None:
            return None
        items.pop()
        canvas[extent] = patch
        furthest = max(furthest, failure)
    return furthest


@cache
def _starts() -> dict[int, list[tuple[Kind, int, int]]]:
    """By colour: the kinds of item whose first pixel that is not background has it, and its row and column; large
    kinds first."""
    starts: dict[int, set[tuple[Kind, int, int]]] = {}
    for kind, variants in templates().items():
        for patch in variants:
            row, column = divmod(int((patch != _grey(BACKGROUND)).argmax()), len(patch))
            starts.setdefault(int(patch[row, column]), set()).add((kind, row, column))
    return {word: sorted(kinds, key=lambda start: -start[0][1].extent) for word, kinds in starts.items()}


def _hex(word: np.uint32) -> str:
    return f"#{word.tobytes()[:3].hex()}"
