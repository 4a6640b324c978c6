"""What is where in a box, as a dense prediction: one possible item for each of 10 x 10 cells.

An item's centre is a whole pixel, items do not overlap and are at least 10 pixels wide, so two centres differ by at
least 10 in x or in y: a cell of 10 x 10 pixels holds at most one. The items of a box are a set, and predicting a set
usually needs a matching of predictions and items; here the cell of its centre tells which prediction an item belongs
to. Per cell: presence, the value of each attribute, and the centre's offsets in the cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from veriscene import worlds
from veriscene.world.scene import Box, Item, Number

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
PRESENCE_WEIGHT = 10.0  # the other terms of the loss are means over items, of which a box has about 4 in 100 cells
NUDGE = 2  # pixels by which an item that overlaps another may be moved
NUDGES = sorted(product(range(-NUDGE, NUDGE + 1), repeat=2), key=lambda move: move[0] ** 2 + move[1] ** 2)


# ---------------------------------------------------------------- training


def targets(boxes: Sequence[Box]) -> NDArray[np.int8]:
    """(box, head, row, column): the class of each head in the cell of an item's centre, ABSENT elsewhere."""
    classes = np.full((len(boxes), len(HEADS), GRID, GRID), ABSENT, np.int8)
    for cells, box in zip(classes, boxes, strict=True):
        for item in box.items:
            x, y = int(item.x + item.width // 2), int(item.y + item.height // 2)
            looks = (attribute.rank[item[attribute.name]] for attribute in ATTRIBUTES)
            cells[:, y // CELL, x // CELL] = (*looks, x % CELL, y % CELL)
    return classes


def loss(outputs: Tensor, classes: Tensor) -> Tensor:
    """Of outputs (box, CHANNELS, GRID, GRID) against `targets`: presence in every cell, all else where an item is."""
    presence, *heads = torch.split(outputs.float(), [1, *HEADS], dim=1)
    classes = classes.long()
    present = (classes[:, :1] != ABSENT).float()
    total = PRESENCE_WEIGHT * F.binary_cross_entropy_with_logits(presence, present)
    for number, head in enumerate(heads):
        total = total + F.cross_entropy(head, classes[:, number], ignore_index=ABSENT)
    return total


def exact(outputs: Tensor, classes: Tensor) -> Tensor:
    """(box,): whether presence and every class are right. Stricter than `read`, which resolves overlaps."""
    presence, *heads = torch.split(outputs, [1, *HEADS], dim=1)
    present = classes[:, 0] != ABSENT
    right = torch.stack([head.argmax(1) for head in heads], dim=1) == classes
    right_cells: Tensor = ((presence[:, 0] > 0) == present) & (right.all(1) | ~present)
    return right_cells.flatten(1).all(1)


# ---------------------------------------------------------------- reading


def read(outputs: Tensor) -> list[Box]:
    """The boxes in outputs (box, CHANNELS, GRID, GRID): no more items than the world allows, inside the box, without
    overlap; maybe none.

    The most confident items come first. One that overlaps those before it moves by up to two pixels, or is dropped:
    items are often one pixel apart, and an error of one pixel must not cost an item.
    """
    values = outputs.detach().float().movedim(1, -1).cpu().numpy()  # (box, row, column, channel)
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
