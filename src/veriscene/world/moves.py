"""All small edits of a scene, in a fixed order: the moves of worlds/nlvr/scene_editing.py, enumerated instead of drawn.

A scatter scene: recolour, reshape, resize, move, remove or add an item, at places that statements are about: walls,
corners, beside others, a free place near the middle. A scene of towers as in the corpus: recolour, move, remove or add
a block; the blocks above follow, so that it remains such a scene. Moving an item to another box is two edits: remove
it, and add it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

from veriscene.world.edit import Edit, EditKind
from veriscene.world.scene import BOX_EXTENT, TOUCHING, Box, Color, Item, Scene, Shape, Size
from veriscene.worlds.nlvr import kinds

APART = 5  # pixels: more than what statements call "nearly touching"
GRID = 5  # pixels between the places that are tried near the middle
Place = tuple[int, int]  # x and y of an item


def edits(scene: Scene) -> Iterator[tuple[Edit, Scene]]:
    """Each edit with the scene that it leads to, which is valid and not the same scene."""
    towers = [colors for box in scene.boxes if (colors := kinds.tower_colors(box))]
    are_towers = len(towers) == len(scene.boxes)
    for number, box in enumerate(scene.boxes):
        changes = _tower_edits(towers[number]) if are_towers else _scatter_edits(box.items)
        for kind, before, after, items in changes:
            if set(items) != set(box.items):
                boxes = [*scene.boxes[:number], Box(items), *scene.boxes[number + 1 :]]
                yield Edit(kind, number, before, after, box.items), kinds.scene_of(boxes)


# What an edit does to a box: kind, the item before and after, all items after.
_Change = tuple[EditKind, Item | None, Item | None, tuple[Item, ...]]


# ---------------------------------------------------------------- towers


def _tower_edits(colors: tuple[Color, ...]) -> Iterator[_Change]:
    """`colors` from the floor up."""
    blocks = kinds.tower(colors).items
    for level, color in product(range(len(colors)), Color):
        items = kinds.tower((*colors[:level], color, *colors[level + 1 :])).items
        yield "recolor", blocks[level], items[level], items
    for level, block in enumerate(blocks):
        rest = (*colors[:level], *colors[level + 1 :])
        if rest:
            yield "remove", block, None, kinds.tower(rest).items
        for to in range(len(colors)):
            items = kinds.tower((*rest[:to], block.color, *rest[to:])).items
            yield "move", block, items[to], items
    if len(colors) < kinds.MAX_BLOCKS:
        for level, color in product(reversed(range(len(colors) + 1)), Color):
            items = kinds.tower((*colors[:level], color, *colors[level:])).items
            yield "add", None, items[level], items


# ---------------------------------------------------------------- scattered items


def _scatter_edits(items: tuple[Item, ...]) -> Iterator[_Change]:
    for position, item in enumerate(items):
        before, after = items[:position], items[position + 1 :]
        for kind, changed in _changes(item, [*before, *after]):
            yield kind, item, changed, (*before, changed, *after)
        if len(items) > 1:
            yield "remove", item, None, (*before, *after)
    if len(items) < kinds.MAX_SCATTERED:
        for item in _additions(list(items)):
            yield "add", None, item, (*items, item)


def _changes(item: Item, others: list[Item]) -> Iterator[tuple[EditKind, Item]]:
    for color in Color:
        yield "recolor", replace(item, color=color)
    for shape in Shape:
        yield "reshape", replace(item, shape=shape)
    for size in Size:
        # An item at the right wall or on the floor stays there.
        x = BOX_EXTENT - size.value if item.right == BOX_EXTENT else item.x
        y = BOX_EXTENT - size.value if item.bottom == 0 else item.y
        if kinds.fits(x, y, size.value, others):
            yield "resize", replace(item, size=size, x=x, y=y)
    far = BOX_EXTENT - item.size.value
    at_walls = [(0, item.y), (far, item.y), (item.x, 0), (item.x, far)]
    places = [*at_walls, *product((0, far), (0, far)), *_beside(others, item.size)]
    for x, y in dict.fromkeys([*_free(places, item.size, others), *_near_middle(item.size, others)]):
        yield "move", replace(item, x=x, y=y)


def _additions(others: list[Item]) -> Iterator[Item]:
    """Every kind of item near the middle; those of medium size also at each wall and beside another item."""
    for size in Size:
        places = _near_middle(size, others)
        if size is Size.MEDIUM:
            far, along = BOX_EXTENT - size.value, _from_middle(size)
            walls = ([(x, far) for x in along], [(far, y) for y in along], [(0, y) for y in along])
            for options in (*walls, [(x, 0) for x in along], _beside(others, size)):
                places += _free(options, size, others)[:1]
        for (x, y), shape, color in product(dict.fromkeys(places), Shape, Color):
            yield Item(x=x, y=y, size=size, shape=shape, color=color)


def _free(places: Sequence[Place], size: Size, others: list[Item]) -> list[Place]:
    return [(x, y) for x, y in places if kinds.fits(x, y, size.value, others)]


def _beside(others: list[Item], size: Size) -> list[Place]:
    """Right of, left of, above and below each of the others: touching it, centred on it as far as walls permit."""
    extent, largest = size.value, BOX_EXTENT - size.value
    places = []
    for other in others:
        x, y = (min(max(start + (other.size.value - extent) // 2, 0), largest) for start in (other.x, other.y))
        before, after = -extent - TOUCHING, other.size.value + TOUCHING
        places += [(other.x + after, y), (other.x + before, y), (x, other.y + before), (x, other.y + after)]
    return places


def _near_middle(size: Size, others: list[Item]) -> list[Place]:
    """The place nearest to the middle that is apart from the others and from the walls, if there is one."""
    for x, y in _places_from_middle(size):
        item = Item(x=x, y=y, size=size, shape=Shape.SQUARE, color=Color.BLACK)
        if not item.walls(APART) and not any(item.touches(other, APART) for other in others):
            return [(x, y)]
    return []


@cache
def _from_middle(size: Size) -> list[int]:
    """Coordinates of an item along a wall, from the middle outwards."""
    middle = (BOX_EXTENT - size.value) // 2
    return sorted(range(middle % GRID, BOX_EXTENT - size.value + 1, GRID), key=lambda start: abs(start - middle))


@cache
def _places_from_middle(size: Size) -> list[Place]:
    middle = (BOX_EXTENT - size.value) // 2
    places = product(_from_middle(size), _from_middle(size))
    return sorted(places, key=lambda place: (place[0] - middle) ** 2 + (place[1] - middle) ** 2)
