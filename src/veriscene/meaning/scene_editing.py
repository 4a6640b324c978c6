"""Random small edits of scenes: recolour, move, add or remove an item, or swap two of them.

Edited scenes have the same distribution as drawn ones (number of items, items at walls, …), so that a scene alone does
not reveal whether it was edited.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from veriscene.meaning import scene_drawing as drawing
from veriscene.meaning.scene_drawing import SceneKind
from veriscene.scenes.scene import BOX_EXTENT, BOXES_PER_SCENE, Box, Color, Item, Scene

# An edit changes the list of boxes in place and returns whether the scene is still valid.
Edit = Callable[[random.Random, list[Box]], bool]


def edit_scene(rng: random.Random, kind: SceneKind, scene: Scene) -> Scene:
    """The scene with one small change."""
    edits = TOWER_EDITS if kind == "tower" else SCATTER_EDITS
    while True:
        boxes = list(scene.boxes)
        if drawing.pick(rng, edits)(rng, boxes):
            edited = drawing.scene_of(boxes)
            if edited != scene:
                return edited


def _swap_looks(rng: random.Random, boxes: list[Box]) -> bool:
    """Swaps colour and shape of two items in different boxes."""
    here, there = rng.sample(range(BOXES_PER_SCENE), 2)
    items, others = list(boxes[here].items), list(boxes[there].items)
    one, other = rng.randrange(len(items)), rng.randrange(len(others))
    mine, theirs = items[one], others[other]
    items[one] = replace(mine, color=theirs.color, shape=theirs.shape)
    others[other] = replace(theirs, color=mine.color, shape=mine.shape)
    boxes[here], boxes[there] = Box(tuple(items)), Box(tuple(others))
    return True


def _of_tower(change: Callable[[random.Random, list[Color]], None]) -> Edit:
    """An edit of one tower; `change` modifies its colours, listed from the floor up."""

    def edit(rng: random.Random, boxes: list[Box]) -> bool:
        which = rng.randrange(BOXES_PER_SCENE)
        colors = [item.color for item in boxes[which].items]
        change(rng, colors)
        if not 1 <= len(colors) <= drawing.MAX_BLOCKS:
            return False
        boxes[which] = drawing.tower(tuple(colors))
        return True

    return edit


def _recolor_block(rng: random.Random, colors: list[Color]) -> None:
    colors[rng.randrange(len(colors))] = drawing.pick(rng, drawing.COLORS)


def _add_block(rng: random.Random, colors: list[Color]) -> None:
    colors.insert(rng.randint(0, len(colors)), drawing.pick(rng, drawing.COLORS))


def _remove_block(rng: random.Random, colors: list[Color]) -> None:
    del colors[rng.randrange(len(colors))]


def _swap_blocks(rng: random.Random, colors: list[Color]) -> None:
    one, other = rng.randrange(len(colors)), rng.randrange(len(colors))
    colors[one], colors[other] = colors[other], colors[one]


def _of_item(change: Callable[[random.Random, Item, list[Item]], Item | None]) -> Edit:
    """An edit of one item; `change` receives it and the others of its box, and returns None if there is no room."""

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
    return replace(item, color=drawing.pick(rng, drawing.COLORS))


def _reshape(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    return replace(item, shape=drawing.pick(rng, drawing.SHAPES))


def _resize(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    size = drawing.pick(rng, drawing.SIZES)
    # An item at the right wall or on the floor stays there.
    x = BOX_EXTENT - size.value if item.right == BOX_EXTENT else item.x
    y = BOX_EXTENT - size.value if item.bottom == 0 else item.y
    return replace(item, size=size, x=x, y=y) if drawing.fits(x, y, size.value, others) else None


def _move(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    return drawing.place(rng, item.size, item.shape, item.color, others)


def _add(rng: random.Random, boxes: list[Box]) -> bool:
    which = rng.randrange(BOXES_PER_SCENE)
    items = list(boxes[which].items)
    item = drawing.draw_item(rng, drawing.Palette(), items) if len(items) < drawing.MAX_SCATTERED else None
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


# Repeated edits are more frequent; additions and removals balance.
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
