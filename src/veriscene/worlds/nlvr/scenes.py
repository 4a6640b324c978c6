"""Random scenes of NLVR's two kinds, and random small edits of them, many at once.

An edit recolours, moves, adds or removes an item, or swaps two. An edited scene is valid and of the same kind: towers
remain towers as in the corpus. Edited scenes have the same distribution as drawn ones (number of items, items at walls,
…), so that a scene alone does not reveal whether it was edited.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from veriscene.language.bulk.arrays import ITEM, STATE, Array, SceneArrays, layout_of
from veriscene.language.bulk.random_scenes import pick
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
        put(boxes, some, filled[some], found, (x, y, size, shape, color))
        filled[some[found]] += 1
    return boxes


def put(boxes: Array, which: Array, slots: Array, found: Array, values: Sequence[Array]) -> None:
    """Writes one item, given by x, y, size, shape and colour, into each of some boxes where a place was found."""
    boxes[STATE, which[found], slots[found]] = ITEM
    for column, value in zip((X, Y, SIZE, SHAPE, COLOR), values, strict=True):
        boxes[column, which[found], slots[found]] = value[found]


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
        other = pick(rng, counts[beside])
        # There may be empty slots before the item with this number.
        slot = ((others[STATE, beside] == ITEM).cumsum(axis=1) > other[:, None]).argmax(axis=1)
        place = others[:, beside].astype(np.int16)[:, np.arange(len(beside)), slot]
        x[beside], y[beside] = _beside(rng, place, extent[beside])
    return x, y


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


# ---------------------------------------------------------------- edits

# Changes some boxes (column, box, slot) in place; `which` are their numbers.
Edit = Callable[[np.random.Generator, Array, Array], None]
# Gets colours (box, MAX_BLOCKS) from the floor up and heights (box,), and returns them changed.
ChangeTower = Callable[[np.random.Generator, Array, Array], tuple[Array, Array]]


def edit_scenes(rng: np.random.Generator, scenes: SceneArrays) -> SceneArrays:
    """Returns each scene with one small edit, or as it is where the drawn edit is not possible."""
    boxes = scenes.fields.copy().reshape(COLUMNS, -1, MAX_ITEMS)
    tower = are_towers(scenes)
    for kind, edits in ((tower, TOWER_EDITS), (~tower, SCATTER_EDITS)):
        scene = np.flatnonzero(kind)
        drawn = rng.integers(0, len(edits) + 1, len(scene))
        which = scene * BOXES + rng.integers(0, BOXES, len(scene))
        for number, edit in enumerate(edits):
            edit(rng, boxes, which[drawn == number])
        _swap_looks(rng, boxes, scene[drawn == len(edits)])
    return as_scenes(boxes)


def _counts(boxes: Array, which: Array) -> Array:
    return np.count_nonzero(boxes[STATE, which], axis=1)


def _swap_looks(rng: np.random.Generator, boxes: Array, scene: Array) -> None:
    """Swaps colour and shape of two items in different boxes."""
    here = rng.integers(0, BOXES, len(scene))
    there = (here + rng.integers(1, BOXES, len(scene))) % BOXES
    one, other = scene * BOXES + here, scene * BOXES + there
    slot, other_slot = pick(rng, _counts(boxes, one)), pick(rng, _counts(boxes, other))
    for column in (COLOR, SHAPE):
        mine, theirs = boxes[column, one, slot], boxes[column, other, other_slot]
        boxes[column, one, slot], boxes[column, other, other_slot] = theirs, mine


# ---------------------------------------------------------------- edits of scattered items


def _change_look(column: int, rng: np.random.Generator, boxes: Array, which: Array) -> None:
    slot = pick(rng, _counts(boxes, which))
    boxes[column, which, slot] = _another(rng, boxes[column, which, slot])


def _another(rng: np.random.Generator, numbers: Array) -> Array:
    """Draws one of the two other colours, shapes or sizes."""
    return (numbers + rng.integers(1, COLORS, len(numbers), np.uint8)) % COLORS


def _taken_out(boxes: Array, which: Array, slot: Array) -> tuple[Array, Array]:
    """Returns one item of each box, as (column, box), and the boxes without it."""
    rest = boxes[:, which]
    item = rest[:, np.arange(len(which)), slot].astype(np.int16)
    rest[:, np.arange(len(which)), slot] = 0
    return item, rest


def _resize(rng: np.random.Generator, boxes: Array, which: Array) -> None:
    slot = pick(rng, _counts(boxes, which))
    item, rest = _taken_out(boxes, which, slot)
    size = _another(rng, item[SIZE].astype(np.uint8))
    before, after = EXTENTS[item[SIZE]], EXTENTS[size]
    # An item at the right wall or on the floor stays there.
    x, y = (np.where(item[at] + before == BOX_EXTENT, BOX_EXTENT - after, item[at]) for at in (X, Y))
    put(boxes, which, slot, fits(x, y, after, rest), (x, y, size, item[SHAPE], item[COLOR]))


def _move(rng: np.random.Generator, boxes: Array, which: Array) -> None:
    slot = pick(rng, _counts(boxes, which))
    item, rest = _taken_out(boxes, which, slot)
    x, y, found = place(rng, rest, EXTENTS[item[SIZE]])
    put(boxes, which, slot, found, (x, y, item[SIZE], item[SHAPE], item[COLOR]))


def _add(rng: np.random.Generator, boxes: Array, which: Array) -> None:
    """The new item takes a random slot, and the one that was there the first free one."""
    counts = _counts(boxes, which)
    which, counts = which[counts < MAX_SCATTERED], counts[counts < MAX_SCATTERED]
    shape, color = rng.integers(0, COLORS, (2, len(which)))
    size = rng.integers(0, len(EXTENTS), len(which))
    x, y, found = place(rng, boxes[:, which], EXTENTS[size])
    slot = np.zeros_like(counts)
    slot[found] = pick(rng, counts[found] + 1)
    boxes[:, which[found], counts[found]] = boxes[:, which[found], slot[found]]
    put(boxes, which, slot, found, (x, y, size, shape, color))


def _remove(rng: np.random.Generator, boxes: Array, which: Array) -> None:
    """The last item takes the free slot."""
    counts = _counts(boxes, which)
    which, counts = which[counts > 1], counts[counts > 1]
    boxes[:, which, pick(rng, counts)] = boxes[:, which, counts - 1]
    boxes[:, which, counts - 1] = 0


# ---------------------------------------------------------------- edits of towers


def _edit_tower(change: ChangeTower, rng: np.random.Generator, boxes: Array, which: Array) -> None:
    colors, heights = change(rng, boxes[COLOR, which, :MAX_BLOCKS], _counts(boxes, which))
    possible = (heights >= 1) & (heights <= MAX_BLOCKS)
    boxes[:, which[possible]] = towers(colors[possible], heights[possible])


_LEVELS = np.arange(MAX_BLOCKS)


def _add_block(rng: np.random.Generator, colors: Array, heights: Array) -> tuple[Array, Array]:
    level, new = pick(rng, heights + 1)[:, None], rng.integers(0, COLORS, (len(colors), 1), np.uint8)
    lower = np.take_along_axis(colors, np.maximum(_LEVELS - (level < _LEVELS), 0), axis=1)
    return np.where(level == _LEVELS, new, lower), heights + 1


def _remove_block(rng: np.random.Generator, colors: Array, heights: Array) -> tuple[Array, Array]:
    level = pick(rng, heights)[:, None]
    upper = np.minimum(_LEVELS + (level <= _LEVELS), MAX_BLOCKS - 1)
    return np.take_along_axis(colors, upper, axis=1), heights - 1


def _swap_blocks(rng: np.random.Generator, colors: Array, heights: Array) -> tuple[Array, Array]:
    one, other = pick(rng, heights)[:, None], pick(rng, heights)[:, None]
    source = np.where(one == _LEVELS, other, np.where(other == _LEVELS, one, _LEVELS))
    return np.take_along_axis(colors, source, axis=1), heights


_recolor, _reshape = partial(_change_look, COLOR), partial(_change_look, SHAPE)

# Swapping looks comes in addition. Repeated edits are more frequent; additions and removals balance.
TOWER_EDITS: tuple[Edit, ...] = (
    *(_recolor, _recolor),
    *(partial(_edit_tower, change) for change in (_add_block, _remove_block, _swap_blocks)),
)
SCATTER_EDITS: tuple[Edit, ...] = (_add, _remove, _recolor, _recolor, _reshape, _reshape, _resize, _move, _move)
