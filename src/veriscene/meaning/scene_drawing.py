"""Random scenes of NLVR's two kinds, and random small edits of them.

The edits do not drift: an edited scene looks like a freshly drawn one (as many items, as many of them at a wall …), so
that nothing about a scene alone tells whether it was drawn or edited.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from veriscene.scenes.scene import BOX_EXTENT, BOXES_PER_SCENE, TOUCHING, Box, Color, Item, Scene, Shape, Size

SceneKind = Literal["tower", "scatter"]
Option = TypeVar("Option")
Edit = Callable[[random.Random, list[Box]], bool]

COLORS, SHAPES, SIZES = tuple(Color), tuple(Shape), tuple(Size)
MOST_BLOCKS = 4  # of a tower
MOST_SCATTERED = 7  # of a box; NLVR has an eighth item once in 20,000 boxes
TOWER_LEFT = 40
BLOCK_STEP = Size.MEDIUM.value + TOUCHING

# NLVR's items lie at the right wall and the floor one time in five, at the other two walls one time in eighty. We
# give those two a little more, so that statements about them can be both true and false.
AT_FAR_WALL, AT_NEAR_WALL = 0.18, 0.04
BESIDE_ANOTHER = 0.12
GAPS_BESIDE = (1, 1, 1, 2, 3, 4)  # up to what counts as closely touching
PLACING_TRIES = 20
PALETTE = 5


@dataclass(frozen=True)
class Palette:
    """What the items of a scene are drawn from; what occurs twice is drawn more often."""

    colors: tuple[Color, ...] = COLORS
    shapes: tuple[Shape, ...] = SHAPES
    sizes: tuple[Size, ...] = SIZES


EVERYTHING = Palette()


def draw_scene(rng: random.Random, kind: SceneKind) -> Scene:
    palette = _draw_palette(rng)
    draw_box = _draw_tower if kind == "tower" else _draw_scatter
    return _scene([draw_box(rng, palette) for _ in range(BOXES_PER_SCENE)])


def _draw_palette(rng: random.Random) -> Palette:
    """A small one often lacks a colour, or has nearly one only; else "each tower has a black base" were never true."""
    colors, shapes, sizes = (
        tuple(_pick(rng, values) for _ in range(PALETTE)) for values in (COLORS, SHAPES, SIZES)
    )
    return Palette(colors, shapes, sizes)


def edit_scene(rng: random.Random, kind: SceneKind, scene: Scene) -> Scene:
    """The scene with one small change: an item recoloured, moved, added, removed …, or two swapped."""
    edits = TOWER_EDITS if kind == "tower" else SCATTER_EDITS
    while True:
        boxes = list(scene.boxes)
        if _pick(rng, edits)(rng, boxes):
            edited = _scene(boxes)
            if edited != scene:
                return edited


def _scene(boxes: list[Box]) -> Scene:
    first, second, third = boxes
    return Scene((first, second, third))


def _pick(rng: random.Random, options: Sequence[Option]) -> Option:
    return options[int(rng.random() * len(options))]


# ---------------------------------------------------------------- towers


def _tower(colors: list[Color]) -> Box:
    """A tower of these colours, from the floor up."""
    floor = BOX_EXTENT - Size.MEDIUM.value
    return Box(
        tuple(
            Item(x=TOWER_LEFT, y=floor - level * BLOCK_STEP, size=Size.MEDIUM, shape=Shape.SQUARE, color=color)
            for level, color in enumerate(colors)
        )
    )


def _draw_tower(rng: random.Random, palette: Palette) -> Box:
    return _tower([_pick(rng, palette.colors) for _ in range(rng.randint(1, MOST_BLOCKS))])


def _edit_tower(change: Callable[[random.Random, list[Color]], None]) -> Edit:
    def edit(rng: random.Random, boxes: list[Box]) -> bool:
        which = rng.randrange(BOXES_PER_SCENE)
        colors = [item.color for item in boxes[which].items]
        change(rng, colors)
        if not 1 <= len(colors) <= MOST_BLOCKS:
            return False
        boxes[which] = _tower(colors)
        return True

    return edit


def _recolor_block(rng: random.Random, colors: list[Color]) -> None:
    colors[rng.randrange(len(colors))] = _pick(rng, COLORS)


def _add_block(rng: random.Random, colors: list[Color]) -> None:
    colors.insert(rng.randint(0, len(colors)), _pick(rng, COLORS))


def _remove_block(rng: random.Random, colors: list[Color]) -> None:
    del colors[rng.randrange(len(colors))]


def _swap_blocks(rng: random.Random, colors: list[Color]) -> None:
    one, other = rng.randrange(len(colors)), rng.randrange(len(colors))
    colors[one], colors[other] = colors[other], colors[one]


# ---------------------------------------------------------------- scatter


def _draw_scatter(rng: random.Random, palette: Palette) -> Box:
    items: list[Item] = []
    for _ in range(rng.randint(1, MOST_SCATTERED)):
        item = _draw_item(rng, palette, items)
        if item:
            items.append(item)
    return Box(tuple(items))


def _draw_item(rng: random.Random, palette: Palette, others: list[Item]) -> Item | None:
    size, shape, color = _pick(rng, palette.sizes), _pick(rng, palette.shapes), _pick(rng, palette.colors)
    return _place(rng, size, shape, color, others)


def _place(rng: random.Random, size: Size, shape: Shape, color: Color, others: list[Item]) -> Item | None:
    """An item where there is room for it beside the others; None if luck does not find such a place."""
    for _ in range(PLACING_TRIES):
        if others and rng.random() < BESIDE_ANOTHER:
            x, y = _beside(rng, _pick(rng, others), size.value)
        else:
            x, y = _along(rng, size.value), _along(rng, size.value)
        item = Item(x=x, y=y, size=size, shape=shape, color=color)
        if _fits(item, others):
            return item
    return None


def _along(rng: random.Random, extent: int) -> int:
    chance = rng.random()
    if chance < AT_FAR_WALL:
        return BOX_EXTENT - extent
    if chance < AT_FAR_WALL + AT_NEAR_WALL:
        return 0
    return int(rng.random() * (BOX_EXTENT - extent + 1))


def _beside(rng: random.Random, other: Item, extent: int) -> tuple[int, int]:
    gap = _pick(rng, GAPS_BESIDE)
    across = other.x + rng.randint(-extent, other.size.value)
    along = other.y + rng.randint(-extent, other.size.value)
    before, after = -extent - gap, other.size.value + gap
    if rng.random() < 0.5:
        return other.x + (before if rng.random() < 0.5 else after), along
    return across, other.y + (before if rng.random() < 0.5 else after)


def _fits(item: Item, others: list[Item]) -> bool:
    last = BOX_EXTENT - item.size.value
    inside = 0 <= item.x <= last and 0 <= item.y <= last
    return inside and all(item.distance(other) >= TOUCHING for other in others)


def _edit_item(change: Callable[[random.Random, Item, list[Item]], Item | None]) -> Edit:
    """An edit that exchanges one item; `change` sees the item and the others of its box."""

    def edit(rng: random.Random, boxes: list[Box]) -> bool:
        which = rng.randrange(BOXES_PER_SCENE)
        others = list(boxes[which].items)
        place = rng.randrange(len(others))
        changed = change(rng, others.pop(place), others)
        if changed is None:
            return False
        others.insert(place, changed)
        boxes[which] = Box(tuple(others))
        return True

    return edit


def _recolor(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    return replace(item, color=_pick(rng, COLORS))


def _reshape(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    return replace(item, shape=_pick(rng, SHAPES))


def _resize(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    size = _pick(rng, SIZES)
    # An item at the right wall or the floor stays there.
    x = BOX_EXTENT - size.value if item.right == BOX_EXTENT else item.x
    y = BOX_EXTENT - size.value if item.bottom == 0 else item.y
    resized = replace(item, size=size, x=x, y=y)
    return resized if _fits(resized, others) else None


def _move(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    return _place(rng, item.size, item.shape, item.color, others)


def _add(rng: random.Random, boxes: list[Box]) -> bool:
    which = rng.randrange(BOXES_PER_SCENE)
    items = list(boxes[which].items)
    if len(items) >= MOST_SCATTERED:
        return False
    item = _draw_item(rng, EVERYTHING, items)
    if item is None:
        return False
    items.insert(rng.randint(0, len(items)), item)
    boxes[which] = Box(tuple(items))
    return True


def _remove(rng: random.Random, boxes: list[Box]) -> bool:
    which = rng.randrange(BOXES_PER_SCENE)
    items = list(boxes[which].items)
    del items[rng.randrange(len(items))]
    boxes[which] = Box(tuple(items))
    return bool(items)


def _swap_looks(rng: random.Random, boxes: list[Box]) -> bool:
    """Two items of different boxes exchange colour and, where they are not all squares, shape."""
    here, there = rng.sample(range(BOXES_PER_SCENE), 2)
    items, others = list(boxes[here].items), list(boxes[there].items)
    one, other = rng.randrange(len(items)), rng.randrange(len(others))
    mine, theirs = items[one], others[other]
    items[one] = replace(mine, color=theirs.color, shape=theirs.shape)
    others[other] = replace(theirs, color=mine.color, shape=mine.shape)
    boxes[here], boxes[there] = Box(tuple(items)), Box(tuple(others))
    return True


TOWER_EDITS: tuple[Edit, ...] = (
    *(_edit_tower(change) for change in (_recolor_block, _recolor_block, _add_block, _remove_block, _swap_blocks)),
    _swap_looks,
)
SCATTER_EDITS: tuple[Edit, ...] = (
    *(_edit_item(change) for change in (_recolor, _recolor, _reshape, _reshape, _resize, _move, _move)),
    _add,
    _remove,
    _swap_looks,
)
