"""Random scenes of NLVR's two kinds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeVar, get_args

from veriscene.world.scene import BOX_EXTENT, BOXES_PER_SCENE, TOUCHING, Box, Color, Item, Scene, Shape, Size

SceneKind = Literal["tower", "scatter"]
SCENE_KINDS = get_args(SceneKind)
Option = TypeVar("Option")

COLORS, SHAPES, SIZES = tuple(Color), tuple(Shape), tuple(Size)
MAX_BLOCKS = 4  # in a tower
MAX_SCATTERED = 7  # in a box; only one in 20,000 boxes of NLVR has eight items
TOWER_LEFT = 40
BLOCK_STEP = Size.MEDIUM.value + TOUCHING

# In NLVR, one item in five is at the right wall or on the floor, and one in eighty at the other two walls. The latter
# are more frequent here, so that statements about them can be both true and false.
AT_FAR_WALL, AT_NEAR_WALL = 0.18, 0.04
BESIDE_ANOTHER = 0.12
GAPS_BESIDE = (1, 1, 1, 2, 3, 4)  # up to closely touching
PLACING_TRIES = 20
PALETTE_SIZE = 5


@dataclass(frozen=True)
class Palette:
    """The values from which a scene's items are drawn; repeated values are drawn more often."""

    colors: tuple[Color, ...] = COLORS
    shapes: tuple[Shape, ...] = SHAPES
    sizes: tuple[Size, ...] = SIZES


def draw_scene(rng: random.Random, kind: SceneKind) -> Scene:
    """A valid scene of that kind."""
    palette = _draw_palette(rng)
    draw_box = _draw_tower if kind == "tower" else _draw_scatter
    return scene_of([draw_box(rng, palette) for _ in range(BOXES_PER_SCENE)])


def scene_of(boxes: list[Box]) -> Scene:
    first, second, third = boxes
    return Scene((first, second, third))


def pick(rng: random.Random, options: Sequence[Option]) -> Option:
    """Like `rng.choice`, but four times as fast."""
    return options[int(rng.random() * len(options))]


def _draw_palette(rng: random.Random) -> Palette:
    """Small, so that a colour or shape is often missing; otherwise "each tower has a black base" is rarely true."""

    def few(values: tuple[Option, ...]) -> tuple[Option, ...]:
        return tuple(pick(rng, values) for _ in range(PALETTE_SIZE))

    return Palette(few(COLORS), few(SHAPES), few(SIZES))


@cache
def tower(colors: tuple[Color, ...]) -> Box:
    """A tower of these colours, from the floor up. There are only 120 towers."""
    floor = BOX_EXTENT - Size.MEDIUM.value
    return Box(
        tuple(
            Item(x=TOWER_LEFT, y=floor - level * BLOCK_STEP, size=Size.MEDIUM, shape=Shape.SQUARE, color=color)
            for level, color in enumerate(colors)
        )
    )


def tower_colors(box: Box) -> tuple[Color, ...] | None:
    """The inverse of `tower`, whatever the order of the items; None if the box is no such tower."""
    blocks = sorted(box.items, key=lambda item: item.bottom)
    colors = tuple(block.color for block in blocks)
    return colors if colors and tower(colors).items == tuple(blocks) else None


def _draw_tower(rng: random.Random, palette: Palette) -> Box:
    return tower(tuple(pick(rng, palette.colors) for _ in range(rng.randint(1, MAX_BLOCKS))))


def _draw_scatter(rng: random.Random, palette: Palette) -> Box:
    items: list[Item] = []
    for _ in range(rng.randint(1, MAX_SCATTERED)):
        item = draw_item(rng, palette, items)
        if item:
            items.append(item)
    return Box(tuple(items))


def draw_item(rng: random.Random, palette: Palette, others: list[Item]) -> Item | None:
    size, shape, color = pick(rng, palette.sizes), pick(rng, palette.shapes), pick(rng, palette.colors)
    return place(rng, size, shape, color, others)


def place(rng: random.Random, size: Size, shape: Shape, color: Color, others: list[Item]) -> Item | None:
    """An item at a random free place; None if no free place was found."""
    for _ in range(PLACING_TRIES):
        if others and rng.random() < BESIDE_ANOTHER:
            x, y = _beside(rng, pick(rng, others), size.value)
        else:
            x, y = _along(rng, size.value), _along(rng, size.value)
        if fits(x, y, size.value, others):
            return Item(x=x, y=y, size=size, shape=shape, color=color)
    return None


def fits(left: int, upper: int, extent: int, others: list[Item]) -> bool:
    """Whether an item there is inside the box and leaves a gap to all others. The hottest function of the generator."""
    right, lower = left + extent, upper + extent
    if left < 0 or upper < 0 or right > BOX_EXTENT or lower > BOX_EXTENT:
        return False
    for other in others:
        x, y, reach = other.x, other.y, other.size._value_ + TOUCHING
        if left < x + reach and x - TOUCHING < right and upper < y + reach and y - TOUCHING < lower:
            return False
    return True


def _along(rng: random.Random, extent: int) -> int:
    chance = rng.random()
    if chance < AT_FAR_WALL:
        return BOX_EXTENT - extent
    if chance < AT_FAR_WALL + AT_NEAR_WALL:
        return 0
    return int(rng.random() * (BOX_EXTENT - extent + 1))


def _beside(rng: random.Random, other: Item, extent: int) -> tuple[int, int]:
    gap = pick(rng, GAPS_BESIDE)
    before, after = -extent - gap, other.size.value + gap
    apart = before if rng.random() < 0.5 else after
    along = rng.randint(-extent, other.size.value)
    return (other.x + apart, other.y + along) if rng.random() < 0.5 else (other.x + along, other.y + apart)
