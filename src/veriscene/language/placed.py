"""Scenes prepared for evaluation: items with their edges computed and a reference to their box.

Items and boxes are compared by identity, because two items that look the same are still two items.
"""

from __future__ import annotations

from veriscene.world.scene import BOX_EXTENT, TOUCHING, Box, Item, Scene, Side

CLOSE = 4  # The distance in pixels up to which things are "closely touching".

_WALL = {Side.TOP: 0, Side.BOTTOM: 1, Side.LEFT: 2, Side.RIGHT: 3}  # Indices into PlacedItem.gaps.
_CACHED_SCENES = 64


class PlacedItem:
    __slots__ = ("bottom", "box", "color", "gaps", "item", "left", "right", "shape", "size", "top")

    def __init__(self, item: Item, box: PlacedBox) -> None:
        extent = item.size._value_  # `value` is a slow descriptor, and this is a hot path.
        self.item, self.box = item, box
        self.color, self.shape, self.size = item.color, item.shape, item.size
        self.left, self.right = item.x, item.x + extent
        self.top = BOX_EXTENT - item.y
        self.bottom = self.top - extent
        self.gaps = (BOX_EXTENT - self.top, self.bottom, self.left, BOX_EXTENT - self.right)

    def touches_wall(self, side: Side | None, margin: int) -> bool:
        return (min(self.gaps) if side is None else self.gaps[_WALL[side]]) <= margin

    def touches_corner(self, side: Side | None, margin: int) -> bool:
        return sum(gap <= margin for gap in self.gaps) == 2 and self.touches_wall(side, margin)

    def distance(self, other: PlacedItem) -> int:
        return max(self.left - other.right, other.left - self.right, self.bottom - other.top, other.bottom - self.top)

    def touching(self, margin: int = TOUCHING) -> tuple[PlacedItem, ...]:
        return tuple(other for other in self.box.items if other is not self and self.distance(other) <= margin)

    def all_above(self, items: tuple[PlacedItem, ...]) -> tuple[PlacedItem, ...]:
        top = self.top
        return tuple(other for other in items if other.bottom >= top)

    def all_below(self, items: tuple[PlacedItem, ...]) -> tuple[PlacedItem, ...]:
        bottom = self.bottom
        return tuple(other for other in items if other.top <= bottom)

    def adjacent_in_tower(self, others: tuple[PlacedItem, ...]) -> tuple[PlacedItem, ...]:
        """The others that touch this item if they form a tower, otherwise all of them."""
        if not self.box.is_tower:
            return others
        return tuple(other for other in others if self.distance(other) <= TOUCHING)


class PlacedBox:
    __slots__ = ("highest", "is_tower", "items", "lowest", "scene_items")

    def __init__(self, box: Box) -> None:
        self.items = tuple(PlacedItem(item, self) for item in box.items)
        self.scene_items: tuple[PlacedItem, ...] = ()
        self.is_tower = box.is_tower
        tops = [item.top for item in self.items]
        self.highest, self.lowest = max(tops, default=0), min(tops, default=0)

    def content(self) -> frozenset[Item]:
        """What the box holds, in any order. Items do not overlap, so no two of them are equal."""
        return frozenset(item.item for item in self.items)


Placed = tuple[tuple[PlacedBox, ...], tuple[PlacedItem, ...]]

# Keyed by identity, because hashing a scene takes longer than most programs. The entry also refers to the scene, so
# its id cannot be reused while it is cached.
_cache: dict[int, tuple[Scene, Placed]] = {}


def placed(scene: Scene) -> Placed:
    """The scene's boxes and all its items. The most recent scenes are cached."""
    known = _cache.get(id(scene))
    if known is not None:
        return known[1]
    boxes = tuple(PlacedBox(box) for box in scene.boxes)
    items = tuple(item for box in boxes for item in box.items)
    for box in boxes:
        box.scene_items = items
    if len(_cache) >= _CACHED_SCENES:
        _cache.clear()
    _cache[id(scene)] = (scene, (boxes, items))
    return boxes, items
