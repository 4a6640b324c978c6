"""NLVR's two kinds of scenes: boxes with a tower of squares each, and boxes with scattered items."""

from __future__ import annotations

from functools import cache
from typing import Literal, get_args

from veriscene.world.scene import BOX_EXTENT, TOUCHING, Box, Color, Item, Scene, Shape, Size

SceneKind = Literal["tower", "scatter"]
SCENE_KINDS: tuple[SceneKind, ...] = get_args(SceneKind)

MAX_BLOCKS = 4  # in a tower
MAX_SCATTERED = 7  # in a box; only one in 20,000 boxes of NLVR has eight items
TOWER_LEFT = 40
BLOCK_STEP = Size.MEDIUM.value + TOUCHING


def scene_of(boxes: list[Box]) -> Scene:
    first, second, third = boxes
    return Scene((first, second, third))


@cache
def tower(colors: tuple[Color, ...]) -> Box:
    """Builds a tower of these colours, from the floor up. There are only 120 towers."""
    floor = BOX_EXTENT - Size.MEDIUM.value
    return Box(
        tuple(
            Item(x=TOWER_LEFT, y=floor - level * BLOCK_STEP, size=Size.MEDIUM, shape=Shape.SQUARE, color=color)
            for level, color in enumerate(colors)
        )
    )


def tower_colors(box: Box) -> tuple[Color, ...] | None:
    """Inverts `tower`, whatever the order of the items; returns None if the box is no such tower."""
    blocks = sorted(box.items, key=lambda item: item.bottom)
    colors = tuple(block.color for block in blocks)
    return colors if colors and tower(colors).items == tuple(blocks) else None


def fits(left: int, upper: int, extent: int, others: list[Item]) -> bool:
    """Tells whether a scattered item there is inside the box and leaves a gap to all others."""
    right, lower = left + extent, upper + extent
    if left < 0 or upper < 0 or right > BOX_EXTENT or lower > BOX_EXTENT:
        return False
    for other in others:
        x, y, reach = other.x, other.y, other.size._value_ + TOUCHING
        if left < x + reach and x - TOUCHING < right and upper < y + reach and y - TOUCHING < lower:
            return False
    return True
