"""Makes one random small edit of each of many scenes: recolours, moves, adds or removes an item, or swaps two.

An edited scene is valid and of the same kind: towers remain towers as in the corpus. Where the drawn edit is not
possible (there is no room for an item, or only one is left), the scene stays as it is. Edited scenes have the same
distribution as drawn ones (number of items, items at walls, …), so that a scene alone does not reveal whether it was
edited.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veriscene.language.bulk.arrays import COLOR, COLORS, FIELDS, SHAPE, SIZE, Array, SceneArrays, X, Y
from veriscene.world.scene import BOX_EXTENT, BOXES_PER_SCENE, MOST_ITEMS
from veriscene.worlds.nlvr.kinds import MAX_BLOCKS, MAX_SCATTERED
from veriscene.worlds.nlvr.scene_drawing import EXTENTS, are_towers, fits, place, put, towers

# Changes some boxes (field, box, slot) in place; `which` are their numbers.
Edit = Callable[[np.random.Generator, Array, Array], None]


def edit_scenes(rng: np.random.Generator, scenes: SceneArrays) -> SceneArrays:
    """Returns each scene with one small edit."""
    boxes = scenes.fields.copy().reshape(len(FIELDS), -1, MOST_ITEMS)
    tower = are_towers(scenes)
    for kind, edits in ((tower, TOWER_EDITS), (~tower, SCATTER_EDITS)):
        scene = np.flatnonzero(kind)
        drawn = rng.integers(0, len(edits) + 1, len(scene))
        which = scene * BOXES_PER_SCENE + rng.integers(0, BOXES_PER_SCENE, len(scene))
        for number, edit in enumerate(edits):
            edit(rng, boxes, which[drawn == number])
        _swap_looks(rng, boxes, scene[drawn == len(edits)])
    return SceneArrays(boxes.reshape(scenes.fields.shape))


def _counts(boxes: Array, which: Array) -> Array:
    return np.count_nonzero(boxes[SIZE, which], axis=1)


def _pick(rng: np.random.Generator, counts: Array) -> Array:
    """Draws a random number below each count."""
    return (rng.random(len(counts)) * counts).astype(np.intp)


def _swap_looks(rng: np.random.Generator, boxes: Array, scene: Array) -> None:
    """Swaps colour and shape of two items in different boxes."""
    here = rng.integers(0, BOXES_PER_SCENE, len(scene))
    there = (here + rng.integers(1, BOXES_PER_SCENE, len(scene))) % BOXES_PER_SCENE
    one, other = scene * BOXES_PER_SCENE + here, scene * BOXES_PER_SCENE + there
    slot, other_slot = _pick(rng, _counts(boxes, one)), _pick(rng, _counts(boxes, other))
    for field in (COLOR, SHAPE):
        mine, theirs = boxes[field, one, slot], boxes[field, other, other_slot]
        boxes[field, one, slot], boxes[field, other, other_slot] = theirs, mine


# ---------------------------------------------------------------- scattered items


def _change_look(field: int) -> Edit:
    def edit(rng: np.random.Generator, boxes: Array, which: Array) -> None:
        slot = _pick(rng, _counts(boxes, which))
        boxes[field, which, slot] = _another(rng, boxes[field, which, slot])

    return edit


def _another(rng: np.random.Generator, numbers: Array) -> Array:
    """Draws one of the two other colours, shapes or sizes."""
    return (numbers + rng.integers(1, len(COLORS), len(numbers), np.uint8)) % len(COLORS)


def _taken_out(boxes: Array, which: Array, slot: Array) -> tuple[Array, Array]:
    """Returns one item of each box, as (field, box), and the boxes without it."""
    rest = boxes[:, which]
    item = rest[:, np.arange(len(which)), slot].astype(np.int16)
    rest[:, np.arange(len(which)), slot] = 0
    return item, rest


def _resize(rng: np.random.Generator, boxes: Array, which: Array) -> None:
    slot = _pick(rng, _counts(boxes, which))
    item, rest = _taken_out(boxes, which, slot)
    size = EXTENTS[_another(rng, np.searchsorted(EXTENTS, item[SIZE]).astype(np.uint8))]
    # An item at the right wall or on the floor stays there.
    x, y = (np.where(item[at] + item[SIZE] == BOX_EXTENT, BOX_EXTENT - size, item[at]) for at in (X, Y))
    free = fits(x, y, size, rest)
    put(boxes, which[free], slot[free], [v[free] for v in (x, y, size, item[SHAPE], item[COLOR])])


def _move(rng: np.random.Generator, boxes: Array, which: Array) -> None:
    slot = _pick(rng, _counts(boxes, which))
    item, rest = _taken_out(boxes, which, slot)
    x, y, found = place(rng, rest, item[SIZE])
    put(boxes, which[found], slot[found], [v[found] for v in (x, y, *item[SIZE:])])


def _add(rng: np.random.Generator, boxes: Array, which: Array) -> None:
    """The new item takes a random slot, and the one that was there the first free one."""
    counts = _counts(boxes, which)
    which, counts = which[counts < MAX_SCATTERED], counts[counts < MAX_SCATTERED]
    shape, color = rng.integers(0, len(COLORS), (2, len(which)))
    size = EXTENTS[rng.integers(0, len(EXTENTS), len(which))]
    x, y, found = place(rng, boxes[:, which], size)
    which, end = which[found], counts[found]
    slot = _pick(rng, end + 1)
    boxes[:, which, end] = boxes[:, which, slot]
    put(boxes, which, slot, [v[found] for v in (x, y, size, shape, color)])


def _remove(rng: np.random.Generator, boxes: Array, which: Array) -> None:
    """The last item takes the free slot."""
    counts = _counts(boxes, which)
    which, counts = which[counts > 1], counts[counts > 1]
    boxes[:, which, _pick(rng, counts)] = boxes[:, which, counts - 1]
    boxes[:, which, counts - 1] = 0


# ---------------------------------------------------------------- towers


def _of_tower(change: Callable[[np.random.Generator, Array, Array], tuple[Array, Array]]) -> Edit:
    """`change` gets colours (box, MAX_BLOCKS) from the floor up and heights (box,), and returns them changed."""

    def edit(rng: np.random.Generator, boxes: Array, which: Array) -> None:
        heights = _counts(boxes, which)
        colors, changed = change(rng, boxes[COLOR, which, :MAX_BLOCKS], heights)
        possible = (changed >= 1) & (changed <= MAX_BLOCKS)
        boxes[:, which[possible]] = towers(colors[possible], changed[possible])

    return edit


_LEVELS = np.arange(MAX_BLOCKS)


def _add_block(rng: np.random.Generator, colors: Array, heights: Array) -> tuple[Array, Array]:
    level, new = _pick(rng, heights + 1)[:, None], rng.integers(0, len(COLORS), (len(colors), 1), np.uint8)
    lower = np.take_along_axis(colors, np.maximum(_LEVELS - (level < _LEVELS), 0), axis=1)
    return np.where(level == _LEVELS, new, lower), heights + 1


def _remove_block(rng: np.random.Generator, colors: Array, heights: Array) -> tuple[Array, Array]:
    level = _pick(rng, heights)[:, None]
    upper = np.minimum(_LEVELS + (level <= _LEVELS), MAX_BLOCKS - 1)
    return np.take_along_axis(colors, upper, axis=1), heights - 1


def _swap_blocks(rng: np.random.Generator, colors: Array, heights: Array) -> tuple[Array, Array]:
    one, other = _pick(rng, heights)[:, None], _pick(rng, heights)[:, None]
    source = np.where(one == _LEVELS, other, np.where(other == _LEVELS, one, _LEVELS))
    return np.take_along_axis(colors, source, axis=1), heights


_recolor, _reshape = _change_look(COLOR), _change_look(SHAPE)

# Swapping looks comes in addition. Repeated edits are more frequent; additions and removals balance.
TOWER_EDITS = (_recolor, _recolor, *map(_of_tower, (_add_block, _remove_block, _swap_blocks)))
SCATTER_EDITS = (_add, _remove, _recolor, _recolor, _reshape, _reshape, _resize, _move, _move)
