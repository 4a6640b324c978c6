"""What a scene is: three boxes of coloured shapes, as frozen values with their geometry.

Pixels as in the NLVR corpus: a box is 100 x 100; `Item.x` and `Item.y` are the top-left corner and y grows downwards.
Edges, in contrast, are given with y growing *upwards* (`top > bottom`), so that "above" reads as people say it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from veriscene.errors import InputError

BOX_EXTENT = 100
BOXES_PER_SCENE = 3
MOST_ITEMS = 8
TOUCHING = 1  # Two items at this distance touch: the corpus leaves one pixel between the blocks of a tower.


class Color(Enum):
    YELLOW = "Yellow"
    BLACK = "Black"
    BLUE = "#0099ff"


class Shape(Enum):
    SQUARE = "square"
    CIRCLE = "circle"
    TRIANGLE = "triangle"


class Size(Enum):
    SMALL = 10
    MEDIUM = 20
    LARGE = 30


class Side(Enum):
    TOP = "top"
    BOTTOM = "bottom"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Item:
    x: int
    y: int
    size: Size
    shape: Shape
    color: Color

    @property
    def left(self) -> int:
        return self.x

    @property
    def right(self) -> int:
        return self.x + self.size.value

    @property
    def top(self) -> int:
        return BOX_EXTENT - self.y

    @property
    def bottom(self) -> int:
        return BOX_EXTENT - self.y - self.size.value

    def walls(self, margin: int = 0) -> frozenset[Side]:
        """The walls of the box within `margin` pixels of this item."""
        reached = (
            (Side.RIGHT, self.right >= BOX_EXTENT - margin),
            (Side.LEFT, self.left <= margin),
            (Side.BOTTOM, self.bottom <= margin),
            (Side.TOP, self.top >= BOX_EXTENT - margin),
        )
        return frozenset(side for side, touched in reached if touched)

    def distance(self, other: Item) -> int:
        """The widest gap between facing edges: negative exactly when the two overlap."""
        return max(self.left - other.right, other.left - self.right, self.bottom - other.top, other.bottom - self.top)

    def touches(self, other: Item, margin: int = TOUCHING) -> bool:
        return self.distance(other) <= margin

    def is_above(self, other: Item) -> bool:
        """Wholly above: this item's lower edge is no lower than the other's upper edge."""
        return self.bottom >= other.top


@dataclass(frozen=True)
class Box:
    items: tuple[Item, ...]

    @cached_property
    def is_tower(self) -> bool:
        """Not empty, squares only, one straight right edge."""
        return (
            bool(self.items)
            and all(item.shape is Shape.SQUARE for item in self.items)
            and len({item.right for item in self.items}) == 1
        )


@dataclass(frozen=True)
class Scene:
    boxes: tuple[Box, Box, Box]

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for box in self.boxes for item in box.items)

    @property
    def is_towers(self) -> bool:
        return all(box.is_tower for box in self.boxes)


# ---------------------------------------------------------------- parsing, once, at the edge

Choice = TypeVar("Choice", Color, Shape, Size)
Report = Callable[[str], None]


def parse_scene(value: object) -> Scene:
    """A scene out of NLVR's `structured_rep`; raises InputError with the first problem."""
    problems: list[str] = []
    scene = read_scene(value, problems.append)
    if scene is None:
        raise InputError(problems[0])
    return scene


def read_scene(value: object, report: Report) -> Scene | None:
    """Like `parse_scene`, but tells `report` about *every* problem, and gives None if there was one."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        found = "missing" if value is None else _shown(value)
        report(f"structured_rep is {found}; it must be a list of {BOXES_PER_SCENE} boxes")
        return None
    if len(value) != BOXES_PER_SCENE:
        few_or_many = "few" if len(value) < BOXES_PER_SCENE else "many"
        report(f"structured_rep has too {few_or_many} boxes ({len(value)}); a scene has exactly {BOXES_PER_SCENE}")
        return None
    boxes = [_read_box(box, f"box {number}", report) for number, box in enumerate(value, 1)]
    first, second, third = boxes
    if first is None or second is None or third is None:
        return None
    return Scene((first, second, third))


def scene_to_json(scene: Scene) -> list[list[dict[str, int | str]]]:
    """The inverse of `parse_scene`."""
    return [
        [
            {
                "y_loc": item.y,
                "size": item.size.value,
                "type": item.shape.value,
                "x_loc": item.x,
                "color": item.color.value,
            }
            for item in box.items
        ]
        for box in scene.boxes
    ]


def _read_box(value: object, where: str, report: Report) -> Box | None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        report(f"{where} is {_shown(value)}; it must be a list of items")
        return None
    if not value:
        report(f"{where} is empty; a box holds 1 to {MOST_ITEMS} items")
        return None
    if len(value) > MOST_ITEMS:
        report(f"{where} has {len(value)} items; a box holds at most {MOST_ITEMS}")
        return None
    items = [_read_item(item, f"{where}, item {number}", report) for number, item in enumerate(value, 1)]
    whole = [item for item in items if item is not None]
    if len(whole) < len(items):
        return None
    sound = True
    for number, item in enumerate(whole, 1):
        for earlier, other in enumerate(whole[: number - 1], 1):
            if item.distance(other) < 0:
                report(f"{where}, item {number} lies over item {earlier}; items must not overlap")
                sound = False
    return Box(tuple(whole)) if sound else None


def _read_item(value: object, where: str, report: Report) -> Item | None:
    if not isinstance(value, Mapping):
        report(f"{where} is {_shown(value)}; it must be an object with x_loc, y_loc, size, type, color")
        return None
    x = _read_pixel(value, "x_loc", where, report)
    y = _read_pixel(value, "y_loc", where, report)
    size = _read_choice(Size, value, "size", where, report)
    shape = _read_choice(Shape, value, "type", where, report)
    color = _read_choice(Color, value, "color", where, report)
    if x is None or y is None or size is None or shape is None or color is None:
        return None
    inside = True
    for field, corner in (("x_loc", x), ("y_loc", y)):
        if corner < 0 or corner + size.value > BOX_EXTENT:
            report(
                f"{where}, field {field}: {_shown(corner)} puts an item of size {size.value} outside the box;"
                f" allowed is 0 to {BOX_EXTENT - size.value}"
            )
            inside = False
    return Item(x=x, y=y, size=size, shape=shape, color=color) if inside else None


def _read_pixel(value: Mapping[str, Any], field: str, where: str, report: Report) -> int | None:
    if field not in value:
        report(f"{where}, field {field} is missing; it must be a whole number of pixels")
        return None
    number = value[field]
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    if not (isinstance(number, float) and math.isfinite(number) and number.is_integer()):
        report(f"{where}, field {field}: {_shown(number)} is not a whole number of pixels")
        return None
    return int(number)


def _read_choice(kind: type[Choice], value: Mapping[str, Any], field: str, where: str, report: Report) -> Choice | None:
    allowed = ", ".join(str(member.value) for member in kind)
    if field not in value:
        report(f"{where}, field {field} is missing; allowed: {allowed}")
        return None
    try:
        if isinstance(value[field], bool):
            raise ValueError
        return kind(value[field])
    except ValueError:
        report(f"{where}, field {field}: {_shown(value[field])} is not allowed; allowed: {allowed}")
        return None


def _shown(value: object) -> str:
    text = " ".join(repr(value).split()) if not isinstance(value, int) or abs(value) < 10**20 else "a huge number"
    return text if len(text) <= 60 else text[:57] + "..."
