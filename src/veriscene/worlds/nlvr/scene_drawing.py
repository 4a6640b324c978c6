"""Random scenes of NLVR's two kinds, many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veriscene.language.bulk.arrays import ITEM, STATE, Array, SceneArrays, layout_of
from veriscene.worlds.nlvr.looks import BOX_EXTENT, BOXES, MAX_ITEMS, TOUCHING, WORLD, Color, SceneKind, Shape, Size

MAX_BLOCKS = 4  # in a tower
MAX_SCATTERED = 7  # in a box; only one in 20,000 boxes of NLVR has eight items
TOWER_LEFT = 40
BLOCK_STEP = Size.MEDIUM.extent + TOUCHING

# In NLVR, one item in five is at the right wall or on the floor, and one in eighty at the other two walls. The latter
# are more frequent here, so that statements about them can be both true and false.
AT_FAR_WALL, AT_NEAR_WALL = 0.18, 0.04
BESIDE_ANOTHER = 0.12
GAPS_BESIDE = np.array((1, 1, 1, 2, 3, 4))  # up to closely touching
PLACING_TRIES = 20
PALETTE_SIZE = 5

# The columns of SceneArrays; looks are their places in the world's lists of choices.
X, Y, SIZE, SHAPE, COLOR = (layout_of(WORLD).columns[name] for name in ("x", "y", "size", "shape", "color"))
COLUMNS = len(layout_of(WORLD).columns) + 1
COLORS = len(Color)  # there are as many shapes and sizes
EXTENTS = np.array([size.extent for size in Size], np.int16)
_SQUARE, _BLOCK = list(Shape).index(Shape.SQUARE), list(Size).index(Size.MEDIUM)


def draw_scenes(rng: np.random.Generator, kind: SceneKind, count: int) -> SceneArrays:
    """Draws valid scenes of that kind.

    A scene's items have the values of a small palette, so that a colour or shape is often missing; otherwise "each
    tower has a black base" is rarely true.
    """
    palette = rng.integers(0, COLORS, (3, count, PALETTE_SIZE), np.uint8).repeat(BOXES, axis=1)
    number = count * BOXES
    if kind == "tower":
        which = rng.integers(0, PALETTE_SIZE, (number, MAX_BLOCKS))
        boxes = towers(np.take_along_axis(palette[0], which, axis=1), rng.integers(1, MAX_BLOCKS + 1, number))
    else:
        boxes = scatter(rng, palette, rng.integers(1, MAX_SCATTERED + 1, number))
    return as_scenes(boxes)


def as_scenes(boxes: Array) -> SceneArrays:
    """Returns the scenes whose boxes (column, box, slot) these are, one scene after the other."""
    return SceneArrays(WORLD, boxes.reshape(COLUMNS, -1, BOXES, MAX_ITEMS))


# ---------------------------------------------------------------- towers


def towers(colors: Array, heights: Array) -> Array:
    """Returns boxes (column, box, slot) with a tower each, whose colours (box, MAX_BLOCKS) go from the floor up."""
    level = np.arange(MAX_BLOCKS)
    blocks = np.zeros((COLUMNS, len(colors), MAX_ITEMS), np.uint8)
    blocks[STATE, :, :MAX_BLOCKS] = ITEM
    blocks[X, :, :MAX_BLOCKS] = TOWER_LEFT
    blocks[Y, :, :MAX_BLOCKS] = BOX_EXTENT - Size.MEDIUM.extent - level * BLOCK_STEP
    blocks[SIZE, :, :MAX_BLOCKS] = _BLOCK
    blocks[SHAPE, :, :MAX_BLOCKS] = _SQUARE
    blocks[COLOR, :, :MAX_BLOCKS] = colors
    blocks[:, :, :MAX_BLOCKS] *= level < heights[:, None]
    return blocks


def are_towers(scenes: SceneArrays) -> Array:
    """Returns (n,): whether every box is a tower as in the corpus, with its blocks listed from the floor up."""
    boxes = scenes.fields.reshape(COLUMNS, -1, MAX_ITEMS)
    heights = np.count_nonzero(boxes[STATE], axis=1)
    same = (towers(boxes[COLOR, :, :MAX_BLOCKS], heights) == boxes).all(axis=(0, 2)) & (heights <= MAX_BLOCKS)
    return same.reshape(-1, BOXES).all(axis=1)


def from_floor_up(scenes: SceneArrays) -> SceneArrays:
    """Returns the same scenes, with the items of each box in the order of their lower edges; for scenes of towers."""
    order = np.where(scenes.mask, -scenes.bottom, 0).argsort(axis=2, kind="stable")
    return SceneArrays(WORLD, np.take_along_axis(scenes.fields, order[None], axis=3))


def by_kind(scenes: SceneArrays) -> dict[SceneKind, SceneArrays]:
    """Returns the scenes of each kind; towers get their blocks from the floor up."""
    upright = from_floor_up(scenes)
    is_tower = are_towers(upright)
    return {"tower": upright[np.flatnonzero(is_tower)], "scatter": scenes[np.flatnonzero(~is_tower)]}


# ---------------------------------------------------------------- scattered items


def scatter(rng: np.random.Generator, palette: Array | Sequence[Array], wanted: Array) -> Array:
    """Draws boxes (column, box, slot) with up to `wanted` (box,) items, fewer where no free place is found.

    `palette`: the colours, shapes and sizes (box, value) from which each box's items are drawn, as numbers.
    """
    boxes, filled = np.zeros((COLUMNS, len(wanted), MAX_ITEMS), np.uint8), np.zeros(len(wanted), np.intp)
    for number in range(wanted.max(initial=0)):
        some = np.flatnonzero(wanted > number)
        color, shape, size = (values[some, rng.integers(0, values.shape[1], len(some))] for values in palette)
        x, y, found = place(rng, boxes[:, some], EXTENTS[size])
        put(boxes, some[found], filled[some[found]], [v[found] for v in (x, y, size, shape, color)])
        filled[some[found]] += 1
    return boxes


def put(boxes: Array, which: Array, slots: Array, values: list[Array]) -> None:
    """Writes one item into each of some boxes (column, box, slot): x, y, size, shape and colour."""
    boxes[STATE, which, slots] = ITEM
    for column, value in zip((X, Y, SIZE, SHAPE, COLOR), values, strict=True):
        boxes[column, which, slots] = value


def place(rng: np.random.Generator, others: Array, extent: Array) -> tuple[Array, Array, Array]:
    """Finds a random free place for one item in each of some boxes.

    `others` (column, box, slot): the items that are there; `extent` (box,): the item's size in pixels. Returns x, y and
    whether a place was found.
    """
    x, y = np.zeros((2, len(extent)), np.int16)
    found = np.zeros(len(extent), bool)
    for _ in range(PLACING_TRIES):
        left = np.flatnonzero(~found)
        if not len(left):
            break
        x[left], y[left] = _draw_place(rng, others[:, left], extent[left])
        found[left] = fits(x[left], y[left], extent[left], others[:, left])
    return x, y, found


def fits(x: Array, y: Array, extent: Array, others: Array) -> Array:
    """Returns (box,): whether an item there is inside the box and leaves a gap to all others."""
    inside = (x >= 0) & (y >= 0) & (x + extent <= BOX_EXTENT) & (y + extent <= BOX_EXTENT)
    other_x, other_y, reach = others[X].astype(np.int16), others[Y].astype(np.int16), EXTENTS[others[SIZE]]
    left, upper, own = x[:, None], y[:, None], extent[:, None] + TOUCHING
    apart = (left >= other_x + reach + TOUCHING) | (other_x >= left + own)
    apart |= (upper >= other_y + reach + TOUCHING) | (other_y >= upper + own)
    return inside & (apart | (others[STATE] != ITEM)).all(axis=1)


def _draw_place(rng: np.random.Generator, others: Array, extent: Array) -> tuple[Array, Array]:
    """Draws a place at a wall, anywhere or, now and then, beside another item."""
    x, y = _along(rng, extent), _along(rng, extent)
    counts = np.count_nonzero(others[STATE], axis=1)
    beside = np.flatnonzero((rng.random(len(extent)) < BESIDE_ANOTHER) & (counts > 0))
    if len(beside):
        other = (rng.random(len(beside)) * counts[beside]).astype(np.intp)
        place = others[:, beside].astype(np.int16)[:, np.arange(len(beside)), _nth_item(others[STATE, beside], other)]
        x[beside], y[beside] = _beside(rng, place, extent[beside])
    return x, y


def _nth_item(states: Array, number: Array) -> Array:
    """Returns (box,): the slot of the item with a number; there may be empty slots (box, slot) in between."""
    return ((states == ITEM).cumsum(axis=1) > number[:, None]).argmax(axis=1)


def _along(rng: np.random.Generator, extent: Array) -> Array:
    chance, room = rng.random(len(extent)), BOX_EXTENT - extent
    anywhere = (rng.random(len(extent)) * (room + 1)).astype(np.int16)
    at_near_wall = chance < AT_FAR_WALL + AT_NEAR_WALL
    return np.where(chance < AT_FAR_WALL, room, np.where(at_near_wall, 0, anywhere)).astype(np.int16)


def _beside(rng: np.random.Generator, other: Array, extent: Array) -> tuple[Array, Array]:
    gap, reach = rng.choice(GAPS_BESIDE, len(extent)), EXTENTS[other[SIZE]]
    before, after = -extent - gap, reach + gap
    apart = np.where(rng.random(len(extent)) < 0.5, before, after)
    along = rng.integers(-extent, reach + 1)
    sideways = rng.random(len(extent)) < 0.5
    return other[X] + np.where(sideways, apart, along), other[Y] + np.where(sideways, along, apart)
