"""A scene made ready for programs: items that know their box, with their edges at hand.

Two items that look the same are different items, so equality here is identity.
"""

from __future__ import annotations

from dataclasses import dataclass

from veriscene.scenes.scene import BOX_EXTENT, TOUCHING, Box, Item, Scene, Side

CLOSE = 4  # Pixels that still count as "closely touching".
SECOND_FLOOR = 21  # Lower edges in a tower: blocks of 20 pixels, one pixel apart.
THIRD_FLOOR = 42

_WALL = {Side.TOP: 0, Side.BOTTOM: 1, Side.LEFT: 2, Side.RIGHT: 3}  # Places in PlacedItem.gaps.
_SCENES_REMEMBERED = 64


class PlacedItem:
    __slots__ = ("bottom", "box", "color", "gaps", "item", "left", "right", "shape", "size", "top")

    def __init__(self, item: Item, box: PlacedBox) -> None:
        extent = item.size.value
        self.item, self.box = item, box
        self.color, self.shape, self.size = item.color, item.shape, item.size
        self.left, self.right = item.x, item.x + extent
        self.top = BOX_EXTENT - item.y
        self.bottom = self.top - extent
        self.gaps = (BOX_EXTENT - self.top, self.bottom, self.left, BOX_EXTENT - self.right)

    def __repr__(self) -> str:
        return repr(self.item)

    def touches_wall(self, side: Side | None, margin: int) -> bool:
        return (min(self.gaps) if side is None else self.gaps[_WALL[side]]) <= margin

    def touches_corner(self, side: Side | None, margin: int) -> bool:
        return sum(gap <= margin for gap in self.gaps) == 2 and self.touches_wall(side, margin)

    def distance(self, other: PlacedItem) -> int:
        return max(self.left - other.right, other.left - self.right, self.bottom - other.top, other.bottom - self.top)

    def touching(self, margin: int = TOUCHING) -> tuple[PlacedItem, ...]:
        return tuple(other for other in self.box.items if other is not self and self.distance(other) <= margin)

    def all_above(self) -> tuple[PlacedItem, ...]:
        top = self.top
        return tuple(other for other in self.box.items if other.bottom >= top)

    def all_below(self) -> tuple[PlacedItem, ...]:
        bottom = self.bottom
        return tuple(other for other in self.box.items if other.top <= bottom)

    def above(self) -> tuple[PlacedItem, ...]:
        return self._nearest_in_tower(self.all_above())

    def below(self) -> tuple[PlacedItem, ...]:
        return self._nearest_in_tower(self.all_below())

    def _nearest_in_tower(self, others: tuple[PlacedItem, ...]) -> tuple[PlacedItem, ...]:
        if not self.box.is_tower:
            return others
        return tuple(other for other in others if self.distance(other) <= TOUCHING)


class PlacedBox:
    __slots__ = ("highest", "is_tower", "items", "lowest")

    def __init__(self, box: Box) -> None:
        self.items = tuple(PlacedItem(item, self) for item in box.items)
        self.is_tower = box.is_tower
        tops = [item.top for item in self.items]
        self.highest, self.lowest = max(tops, default=0), min(tops, default=0)


@dataclass(frozen=True, slots=True)
class PlacedScene:
    boxes: tuple[PlacedBox, ...]
    items: tuple[PlacedItem, ...]


# By identity, because hashing a scene takes longer than most programs. The scene is kept beside its placed form, so
# that its id cannot pass to another one.
_remembered: dict[int, tuple[Scene, PlacedScene]] = {}


def placed(scene: Scene) -> PlacedScene:
    """The scene made ready; the last few scenes are remembered."""
    known = _remembered.get(id(scene))
    if known is not None:
        return known[1]
    boxes = tuple(PlacedBox(box) for box in scene.boxes)
    ready = PlacedScene(boxes, tuple(item for box in boxes for item in box.items))
    if len(_remembered) >= _SCENES_REMEMBERED:
        _remembered.clear()
    _remembered[id(scene)] = (scene, ready)
    return ready
