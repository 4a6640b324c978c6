"""What is where in a box, as a dense prediction: one possible item for each of 10 x 10 cells. Does not import torch.

An item's centre is a whole pixel, items do not overlap and are at least 10 pixels wide, so two centres differ by at
least 10 in x or in y: a cell of 10 x 10 pixels holds at most one. The items of a box are a set, and predicting a set
usually needs a matching of predictions and items; here the cell of its centre tells which prediction an item belongs
to. Per cell: presence, the value of each attribute, and the centre's offsets in the cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.world.drawing import arrange
from veriscene.world.scene import Box, Item, Number, Scene

WORLD = worlds.get()  # eyes see the default world
CELL = 10  # pixels
GRID = WORLD.canvas[0] // CELL
ABSENT = -1  # the class of every head where a cell holds no centre
# Categorical attributes come before ordered ones, each in the order of the world.
ATTRIBUTES = sorted(WORLD.attributes, key=lambda attribute: attribute.kind)
HEADS = (*(len(attribute.choices) for attribute in ATTRIBUTES), CELL, CELL)  # classes; the last two are x and y offset
CHANNELS = 1 + sum(HEADS)  # presence comes first

# Low, because an item between two cells may be half present in both; the weaker one is dropped as an overlap.
PRESENT = math.log(0.25 / 0.75)  # logit
NUDGE = 2  # pixels by which an item that overlaps another may be moved
NUDGES = sorted(product(range(-NUDGE, NUDGE + 1), repeat=2), key=lambda move: move[0] ** 2 + move[1] ** 2)


def targets(boxes: Sequence[Box]) -> NDArray[np.int8]:
    """(box, head, row, column): the class of each head in the cell of an item's centre, ABSENT elsewhere."""
    classes = np.full((len(boxes), len(HEADS), GRID, GRID), ABSENT, np.int8)
    for cells, box in zip(classes, boxes, strict=True):
        for item in box.items:
            x, y = int(item.x + item.width // 2), int(item.y + item.height // 2)
            looks = (attribute.rank[item[attribute.name]] for attribute in ATTRIBUTES)
            cells[:, y // CELL, x // CELL] = (*looks, x % CELL, y % CELL)
    return classes


def read(outputs: NDArray[np.floating[Any]]) -> list[Box]:
    """Reads boxes from outputs (box, CHANNELS, GRID, GRID). They have no more items than the world allows, inside the
    box, without overlap; maybe none.

    The most confident items come first. One that overlaps those before it moves by up to two pixels, or is dropped:
    items are often one pixel apart, and an error of one pixel must not cost an item.
    """
    values = np.moveaxis(np.asarray(outputs, np.float32), 1, -1)  # (box, row, column, channel)
    is_present = values[..., 0] > PRESENT
    candidates = values[is_present]
    heads = np.split(candidates[:, 1:], np.cumsum(HEADS)[:-1], axis=1)
    classes = np.stack([head.argmax(1) for head in heads], axis=1)
    boxes, rows, columns = is_present.nonzero()
    kept: list[list[Item]] = [[] for _ in outputs]
    for number in np.argsort(-candidates[:, 0], kind="stable").tolist():
        others = kept[boxes[number]]
        if len(others) < WORLD.items[1]:
            item = _free(_item(int(rows[number]), int(columns[number]), classes[number].tolist()), others)
            others += [] if item is None else [item]
    return [Box(tuple(sorted(items, key=lambda item: (item.y, item.x)))) for items in kept]


def _item(row: int, column: int, classes: Sequence[int]) -> Item:
    *looks, right, down = classes
    pairs = zip(ATTRIBUTES, looks, strict=True)
    values: dict[str, Any] = {attribute.name: attribute.choices[look].name for attribute, look in pairs}
    item = WORLD.make(0, 0, **values)
    x, y = CELL * column + right - item.width // 2, CELL * row + down - item.height // 2
    return _at(item, x, y)


def _free(item: Item, others: Sequence[Item]) -> Item | None:
    """The item at the nearest place, at most NUDGE pixels away in x and y, where it overlaps none of the others."""
    gap = min((item.distance(other) for other in others), default=0)
    if gap >= 0:
        return item
    for right, down in NUDGES if gap >= -NUDGE else ():
        moved = _at(item, item.x + right, item.y + down)
        if all(moved.distance(other) >= 0 for other in others):
            return moved
    return None


def _at(item: Item, x: Number, y: Number) -> Item:
    """The item there, or at the nearest place inside the box."""
    width, height = WORLD.canvas
    return replace(item, x=min(max(x, 0), width - item.width), y=min(max(y, 0), height - item.height))


# ---------------------------------------------------------------- pictures

SHIPPED = Path(str(resources.files("veriscene"))) / "checkpoints" / "eyes.safetensors"
Pixels = NDArray[np.uint8]
BOXES, BOX_EXTENT = WORLD.boxes[1], WORLD.canvas[0]
PLACE = arrange(WORLD, BOXES)
WIDTH, BOX_PITCH = PLACE.width, int(PLACE.corners[1][0])  # from one box's left edge to the next one's
BATCH = 64  # pictures read at once
MAX_LEVELS, MAX_UNLIKE = 100, 0.2  # the share of pixels that may differ from the recognised scene's by more levels


class PictureReader:
    """Eyes: they read the scenes of pictures, whatever runs their network."""

    def see(self, pictures: Pixels) -> NDArray[np.float32]:
        """(n, 100, 400, RGB) -> (3 n, CHANNELS, GRID, GRID), the boxes of a picture one after the other."""
        raise NotImplementedError

    def boxes(self, pictures: Sequence[Pixels]) -> list[Box]:
        """Reads the boxes of pictures of any size, (height, width, RGB or RGBA) uint8: three each, maybe empty."""
        found = []
        for start in range(0, len(pictures), BATCH):
            found += read(self.see(np.stack([resized(picture) for picture in pictures[start : start + BATCH]])))
        return found

    def scenes(self, pictures: Sequence[Pixels]) -> list[Scene]:
        """Reads the scenes of pictures of any size; InputError if nothing is recognised in a box."""
        boxes = self.boxes(pictures)
        for number, box in enumerate(boxes):
            if not box.items:
                raise InputError("no items were recognised", where=f"box {number % BOXES + 1}")
        scenes = [Scene(tuple(boxes[start : start + BOXES])) for start in range(0, len(boxes), BOXES)]
        for picture, scene in zip(pictures, scenes, strict=True):
            # Whatever is shown to it, the network finds the likeliest items: in a black picture, black squares.
            drawn = worlds.require(WORLD, "pixels", "pictures")(scene)[..., :3].astype(int)
            if (abs(drawn - resized(picture)).max(-1) > MAX_LEVELS).mean() > MAX_UNLIKE:
                allowed = "it must be a picture of a scene"
                raise InputError("the picture does not show the recognised items", allowed=allowed)
        return scenes


def resized(picture: Pixels) -> Pixels:
    """Brings a picture of any size, RGB or RGBA, to the size of the corpus's pictures: (100, 400, RGB).

    Large pictures are first averaged over whole squares of pixels, which is fast.
    """
    rgb = np.ascontiguousarray(picture[..., :3])
    if rgb.shape[:2] == (BOX_EXTENT, WIDTH):
        return rgb
    return np.array(Image.fromarray(rgb).resize((WIDTH, BOX_EXTENT), Image.Resampling.BILINEAR, reducing_gap=1.0))
