"""The areas and overlaps of ShapeWorld's shapes, which its programs use in place of those of rectangles."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from veriscene.language.functions import Relation, is_later, measure, related
from veriscene.language.language import Extension
from veriscene.world.drawing import center
from veriscene.world.scene import Item
from veriscene.world.schema import World

Points = NDArray[np.float64]

MIN_OVERLAP = 0.05  # share of the smaller one's area from which two shapes overlap; the corpus has no less than 0.1
CELLS = 40  # along each side of the grid of points by which overlaps are measured
# The part of its rectangle that each shape covers.
_ROUND = math.pi / 4
_PARTS = {"square": 1.0, "rectangle": 1.0, "circle": _ROUND, "ellipse": _ROUND, "semicircle": _ROUND}
_PARTS |= {"triangle": 0.5, "cross": 5 / 9, "pentagon": (5 - math.sqrt(5)) / 4}


def is_inside(shape: str, x: Points, y: Points) -> NDArray[np.bool_]:
    """Says whether points lie in a shape; they are given in parts of half its width and height, from its center."""
    within = (abs(x) <= 1) & (abs(y) <= 1)
    match shape:
        case "circle" | "ellipse":
            return x * x + y * y <= 1
        case "semicircle":  # the upper half
            return within & (x * x + ((y - 1) / 2) ** 2 <= 1)
        case "cross":
            return within & ((abs(x) <= 1 / 3) | (abs(y) <= 1 / 3))
        case "triangle":
            return within & (abs(x) <= (y + 1) / 2)
        case "pentagon":  # below its two upper edges and between its two lower ones
            shoulder, foot = -0.2360680, 0.6180340
            upper = abs(x) <= (y + 1) / (shoulder + 1)
            lower = abs(x) <= 1 - (1 - foot) * (y - shoulder) / (1 - shoulder)
            return within & upper & lower
    return within


@lru_cache(maxsize=64)
def _samples(shape: str) -> tuple[Points, Points]:
    places = (np.arange(CELLS) + 0.5) * 2 / CELLS - 1
    x, y = (each.ravel() for each in np.meshgrid(places, places))
    chosen = is_inside(shape, x, y)
    return x[chosen], y[chosen]


def _half(item: Item) -> tuple[float, float]:
    return item.width / 2, item.height / 2


def area(item: Item) -> float:
    """Returns the area of an item."""
    return item.width * item.height * _PARTS[str(item["shape"])]


@lru_cache(maxsize=4096)
def overlap(one: Item, other: Item) -> float:
    """Returns the part of one item that another one covers or is covered by."""
    x, y = _samples(str(one["shape"]))
    width, height = _half(one)
    x, y = _turned(x * width, y * height, float(one["rotation"]))
    x, y = x + one.x + width, y + one.y + height
    width, height = _half(other)
    x, y = _turned(x - other.x - width, y - other.y - height, -float(other["rotation"]))
    return float(is_inside(str(other["shape"]), x / width, y / height).mean())


def _turned(x: Points, y: Points, turns: float) -> tuple[Points, Points]:
    sine, cosine = math.sin(2 * math.pi * turns), math.cos(2 * math.pi * turns)
    return x * cosine - y * sine, x * sine + y * cosine


def extend_language(world: World) -> Extension:
    """Returns the functions that depend on what shapes look like: their areas, and which of them overlap."""

    def is_overlapping(one: Item, other: Item) -> bool:
        reach = math.hypot(*_half(one)) + math.hypot(*_half(other))
        is_near = math.dist(center(one), center(other)) < reach
        return is_near and max(overlap(one, other), overlap(other, one)) > MIN_OVERLAP

    relations: dict[str, Relation] = {
        "get_behind": lambda x, y: is_later(y, x) and is_overlapping(x.item, y.item),
        "get_in_front": lambda x, y: is_later(x, y) and is_overlapping(x.item, y.item),
        "get_touching": lambda x, y: y is not x and is_overlapping(x.item, y.item),
    }
    found = {name: related(relation, ("plain",), scans=16) for name, relation in relations.items()}
    return Extension({"area": measure(lambda x: area(x.item)), **found})
