"""Random small edits of scenes: an item recoloured, moved, added, removed …, or two of them swapped.

The edits do not drift: an edited scene looks like a freshly drawn one (as many items, as many of them at a wall …), so
that nothing about a scene alone tells whether it was drawn or edited.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from veriscene.meaning.scene_drawing import (
    COLORS,
    EVERYTHING,
    MOST_BLOCKS,
    MOST_SCATTERED,
    SHAPES,
    SIZES,
    SceneKind,
    draw_item,
    fits,
    pick,
    place,
    scene_of,
    tower,
)
from veriscene.scenes.scene import BOX_EXTENT, BOXES_PER_SCENE, Box, Color, Item, Scene

# An edit changes the list of boxes and tells whether they are still those of a valid scene.
Edit = Callable[[random.Random, list[Box]], bool]


def edit_scene(rng: random.Random, kind: SceneKind, scene: Scene) -> Scene:
    """The scene with one small change; never the same scene."""
    edits = TOWER_EDITS if kind == "tower" else SCATTER_EDITS
    while True:
        boxes = list(scene.boxes)
        if pick(rng, edits)(rng, boxes):
            edited = scene_of(boxes)
            if edited != scene:
                return edited


def _swap_looks(rng: random.Random, boxes: list[Box]) -> bool:
    """Two items of different boxes exchange colour and shape."""
    here, there = rng.sample(range(BOXES_PER_SCENE), 2)
    items, others = list(boxes[here].items), list(boxes[there].items)
    one, other = rng.randrange(len(items)), rng.randrange(len(others))
    mine, theirs = items[one], others[other]
    items[one] = replace(mine, color=theirs.color, shape=theirs.shape)
    others[other] = replace(theirs, color=mine.color, shape=mine.shape)
    boxes[here], boxes[there] = Box(tuple(items)), Box(tuple(others))
    return True


# ---------------------------------------------------------------- towers


def _of_tower(change: Callable[[random.Random, list[Color]], None]) -> Edit:
    """An edit of one tower; `change` gets its colours from the floor up."""

    def edit(rng: random.Random, boxes: list[Box]) -> bool:
        which = rng.randrange(BOXES_PER_SCENE)
        colors = [item.color for item in boxes[which].items]
        change(rng, colors)
        if not 1 <= len(colors) <= MOST_BLOCKS:
            return False
        boxes[which] = tower(tuple(colors))
        return True

    return edit


def _recolor_block(rng: random.Random, colors: list[Color]) -> None:
    colors[rng.randrange(len(colors))] = pick(rng, COLORS)


def _add_block(rng: random.Random, colors: list[Color]) -> None:
    colors.insert(rng.randint(0, len(colors)), pick(rng, COLORS))


def _remove_block(rng: random.Random, colors: list[Color]) -> None:
    del colors[rng.randrange(len(colors))]


def _swap_blocks(rng: random.Random, colors: list[Color]) -> None:
    one, other = rng.randrange(len(colors)), rng.randrange(len(colors))
    colors[one], colors[other] = colors[other], colors[one]


# ---------------------------------------------------------------- scatter


def _of_item(change: Callable[[random.Random, Item, list[Item]], Item | None]) -> Edit:
    """An edit of one item; `change` gets it and the others of its box, and gives None if it finds no room."""

    def edit(rng: random.Random, boxes: list[Box]) -> bool:
        which = rng.randrange(BOXES_PER_SCENE)
        others = list(boxes[which].items)
        position = rng.randrange(len(others))
        changed = change(rng, others.pop(position), others)
        if changed is None:
            return False
        others.insert(position, changed)
        boxes[which] = Box(tuple(others))
        return True

    return edit


def _recolor(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    return replace(item, color=pick(rng, COLORS))


def _reshape(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    return replace(item, shape=pick(rng, SHAPES))


def _resize(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    size = pick(rng, SIZES)
    # An item at the right wall or on the floor stays there.
    x = BOX_EXTENT - size.value if item.right == BOX_EXTENT else item.x
    y = BOX_EXTENT - size.value if item.bottom == 0 else item.y
    return replace(item, size=size, x=x, y=y) if fits(x, y, size.value, others) else None


def _move(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    return place(rng, item.size, item.shape, item.color, others)


def _add(rng: random.Random, boxes: list[Box]) -> bool:
    which = rng.randrange(BOXES_PER_SCENE)
    items = list(boxes[which].items)
    item = draw_item(rng, EVERYTHING, items) if len(items) < MOST_SCATTERED else None
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


# What occurs twice is done more often; adding and removing balance.
TOWER_EDITS: tuple[Edit, ...] = (
    _swap_looks,
    *(_of_tower(change) for change in (_recolor_block, _recolor_block, _add_block, _remove_block, _swap_blocks)),
)
SCATTER_EDITS: tuple[Edit, ...] = (
    _swap_looks,
    _add,
    _remove,
    *(_of_item(change) for change in (_recolor, _recolor, _reshape, _reshape, _resize, _move, _move)),
)
