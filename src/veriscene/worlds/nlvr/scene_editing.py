"""Random small edits of scenes: recolour, move, add or remove an item, or swap two of them.

Edited scenes have the same distribution as drawn ones (number of items, items at walls, …), so that a scene alone does
not reveal whether it was edited.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from veriscene.world.scene import BOX_EXTENT, BOXES_PER_SCENE, Box, Color, Item, Scene
from veriscene.worlds.nlvr import scene_drawing as drawing
from veriscene.worlds.nlvr.scene_drawing import SceneKind

# An edit of one box changes the list of its items in place and returns whether the box is still valid.
Edit = Callable[[random.Random, list[Item]], bool]


def edit_scene(rng: random.Random, kind: SceneKind, scene: Scene) -> Scene:
    """The scene with one small change."""
    while True:
        boxes = list(scene.boxes)
        edit = drawing.pick(rng, TOWER_EDITS if kind == "tower" else SCATTER_EDITS)
        if edit is None:
            _swap_looks(rng, boxes)
        else:
            which = rng.randrange(BOXES_PER_SCENE)
            items = list(boxes[which].items)
            if not edit(rng, items):
                continue
            boxes[which] = Box(tuple(items))
        edited = drawing.scene_of(boxes)
        if edited != scene:
            return edited


def _swap_looks(rng: random.Random, boxes: list[Box]) -> None:
    """Swaps colour and shape of two items in different boxes."""
    here, there = rng.sample(range(BOXES_PER_SCENE), 2)
    items, others = list(boxes[here].items), list(boxes[there].items)
    one, other = rng.randrange(len(items)), rng.randrange(len(others))
    mine, theirs = items[one], others[other]
    items[one] = replace(mine, color=theirs.color, shape=theirs.shape)
    others[other] = replace(theirs, color=mine.color, shape=mine.shape)
    boxes[here], boxes[there] = Box(tuple(items)), Box(tuple(others))


def _of_tower(change: Callable[[random.Random, list[Color]], object]) -> Edit:
    """An edit of a tower; `change` modifies its colours, listed from the floor up."""

    def edit(rng: random.Random, items: list[Item]) -> bool:
        colors = [item.color for item in items]
        change(rng, colors)
        items[:] = drawing.tower(tuple(colors)).items
        return 1 <= len(colors) <= drawing.MAX_BLOCKS

    return edit


def _recolor_block(rng: random.Random, colors: list[Color]) -> None:
    colors[rng.randrange(len(colors))] = drawing.pick(rng, drawing.COLORS)


def _add_block(rng: random.Random, colors: list[Color]) -> None:
    colors.insert(rng.randint(0, len(colors)), drawing.pick(rng, drawing.COLORS))


def _swap_blocks(rng: random.Random, colors: list[Color]) -> None:
    one, other = rng.randrange(len(colors)), rng.randrange(len(colors))
    colors[one], colors[other] = colors[other], colors[one]


def _of_item(change: Callable[[random.Random, Item, list[Item]], Item | None]) -> Edit:
    """An edit of one item; `change` receives it and the others of its box, and returns None if there is no room."""

    def edit(rng: random.Random, items: list[Item]) -> bool:
        position = rng.randrange(len(items))
        changed = change(rng, items.pop(position), items)
        if changed is not None:
            items.insert(position, changed)
        return changed is not None

    return edit


def _resize(rng: random.Random, item: Item, others: list[Item]) -> Item | None:
    size = drawing.pick(rng, drawing.SIZES)
    # An item at the right wall or on the floor stays there.
    x = BOX_EXTENT - size.value if item.right == BOX_EXTENT else item.x
    y = BOX_EXTENT - size.value if item.bottom == 0 else item.y
    return replace(item, size=size, x=x, y=y) if drawing.fits(x, y, size.value, others) else None


def _add(rng: random.Random, items: list[Item]) -> bool:
    item = drawing.draw_item(rng, drawing.Palette(), items) if len(items) < drawing.MAX_SCATTERED else None
    if item is not None:
        items.insert(rng.randint(0, len(items)), item)
    return item is not None


def _remove(rng: random.Random, items: list[Any]) -> bool:
    del items[rng.randrange(len(items))]
    return bool(items)


_recolor = _of_item(lambda rng, item, others: replace(item, color=drawing.pick(rng, drawing.COLORS)))
_reshape = _of_item(lambda rng, item, others: replace(item, shape=drawing.pick(rng, drawing.SHAPES)))
_move = _of_item(lambda rng, item, others: drawing.place(rng, item.size, item.shape, item.color, others))

# None stands for `_swap_looks`. Repeated edits are more frequent; additions and removals balance.
TOWER_EDITS = (None, *map(_of_tower, (_recolor_block, _recolor_block, _add_block, _remove, _swap_blocks)))
SCATTER_EDITS = (None, _add, _remove, _recolor, _recolor, _reshape, _reshape, _of_item(_resize), _move, _move)
