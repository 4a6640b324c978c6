"""What a scene is: three boxes of coloured shapes, as immutable values with their geometry.

Pixels as in the NLVR corpus: a box is 100 x 100; `Item.x` and `Item.y` are the top-left corner and y grows downwards.
Edges, in contrast, have y growing *upwards* (`top > bottom`), so that "above" has its usual meaning.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Self, TypeVar

from veriscene.errors import InputError

BOX_EXTENT = 100
BOXES_PER_SCENE = 3
MOST_ITEMS = 8
TOUCHING = 1  # Two items at this distance touch: the corpus leaves one pixel between the blocks of a tower.


class Attribute(Enum):
    """An attribute of an item; the values are those of NLVR's JSON."""

    @classmethod
    def parse(cls, value: object) -> Self:
        """The member with this value; raises InputError if there is none."""
        for member in cls:
            if member.value == value:
                return member
        raise not_allowed(value, f"allowed: {', '.join(str(member.value) for member in cls)}")


class Color(Attribute):
    YELLOW = "Yellow"
    BLACK = "Black"
    BLUE = "#0099ff"


class Shape(Attribute):
    SQUARE = "square"
    CIRCLE = "circle"
    TRIANGLE = "triangle"


class Size(Attribute):
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
        contacts = (
            (Side.RIGHT, self.right >= BOX_EXTENT - margin),
            (Side.LEFT, self.left <= margin),
            (Side.BOTTOM, self.bottom <= margin),
            (Side.TOP, self.top >= BOX_EXTENT - margin),
        )
        return frozenset(side for side, is_touched in contacts if is_touched)

    def distance(self, other: Item) -> int:
        """The widest gap between facing edges: negative exactly when the two overlap."""
        return max(self.left - other.right, other.left - self.right, self.bottom - other.top, other.bottom - self.top)

    def touches(self, other: Item, margin: int = TOUCHING) -> bool:
        return self.distance(other) <= margin


@dataclass(frozen=True)
class Box:
    items: tuple[Item, ...]

    @cached_property
    def is_tower(self) -> bool:
        """Not empty, squares only, right edges aligned."""
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


# ---------------------------------------------------------------- JSON

Parsed = TypeVar("Parsed")
_repr = reprlib.Repr()  # bounded in depth: `repr` fails on deeply nested lists
_repr.maxlevel = 2


def parse_scene(value: object) -> Scene:
    """The scene of NLVR's `structured_rep`; raises InputError with the first problem."""
    problems: list[InputError] = []
    scene = read_scene(value, problems)
    if scene is None:
        raise problems[0]
    return scene


def read_scene(value: object, problems: list[InputError]) -> Scene | None:
    """Like `parse_scene`, but adds every wrong item to `problems` and returns None if there is one."""
    allowed = f"it must be a list of {BOXES_PER_SCENE} boxes"
    if not isinstance(value, list | tuple):
        problems.append(not_allowed(value, allowed).at("structured_rep"))
        return None
    if len(value) != BOXES_PER_SCENE:
        problems.append(InputError(f"has {len(value)} boxes", where="structured_rep", allowed=allowed))
        return None
    boxes = [_read_box(box, f"box {number}", problems) for number, box in enumerate(value, 1)]
    first, second, third = boxes
    return Scene((first, second, third)) if first and second and third else None


def scene_to_json(scene: Scene) -> list[list[dict[str, int | str]]]:
    """The inverse of `parse_scene`."""
    return [[item_to_json(item) for item in box.items] for box in scene.boxes]


def item_to_json(item: Item) -> dict[str, int | str]:
    return {
        "y_loc": item.y,
        "size": item.size.value,
        "type": item.shape.value,
        "x_loc": item.x,
        "color": item.color.value,
    }


def attempt(parse: Callable[[object], Parsed], value: object, where: str, problems: list[InputError]) -> Parsed | None:
    """What `parse` returns; if it raises InputError, adds the error to `problems` and returns None."""
    try:
        return parse(value)
    except InputError as error:
        problems.append(error.at(where))
        return None


def not_allowed(value: object, allowed: str) -> InputError:
    """The error for a value that is wrong or, being None, missing."""
    if value is None:
        return InputError("is missing", allowed=allowed)
    is_huge = isinstance(value, int) and abs(value) >= 10**20  # Python refuses to print integers of 4,300 digits
    shown = "a huge number" if is_huge else " ".join(_repr.repr(value).split())
    return InputError(f"{shown[:60]} is not allowed", allowed=allowed)


def _read_box(value: object, where: str, problems: list[InputError]) -> Box | None:
    if not isinstance(value, list | tuple):
        problems.append(not_allowed(value, "it must be a list of items").at(where))
        return None
    if not 1 <= len(value) <= MOST_ITEMS:
        problems.append(InputError(f"has {len(value)} items", where=where, allowed=f"allowed: 1 to {MOST_ITEMS}"))
        return None
    places = [f"{where}, item {number}" for number in range(1, len(value) + 1)]
    items = [attempt(_parse_item, item, place, problems) for item, place in zip(value, places, strict=True)]
    valid = tuple(item for item in items if item is not None)
    if len(valid) < len(items):
        return None
    overlaps = [
        InputError(f"overlaps item {earlier}", where=places[number], allowed="items must not overlap")
        for number, item in enumerate(valid)
        for earlier, other in enumerate(valid[:number], 1)
        if item.distance(other) < 0
    ]
    problems += overlaps
    return None if overlaps else Box(valid)


def _parse_item(value: object) -> Item:
    if not isinstance(value, Mapping):
        raise not_allowed(value, "it must be an object with x_loc, y_loc, size, type, color")
    size = _parse_field(Size.parse, value, "size")

    def parse_corner(corner: object) -> int:
        largest = BOX_EXTENT - size.value
        if isinstance(corner, int | float) and not isinstance(corner, bool) and corner in range(largest + 1):
            return int(corner)
        raise not_allowed(corner, f"an item of size {size.value} needs a whole number from 0 to {largest}")

    return Item(
        x=_parse_field(parse_corner, value, "x_loc"),
        y=_parse_field(parse_corner, value, "y_loc"),
        size=size,
        shape=_parse_field(Shape.parse, value, "type"),
        color=_parse_field(Color.parse, value, "color"),
    )


def _parse_field(parse: Callable[[object], Parsed], item: Mapping[str, object], name: str) -> Parsed:
    try:
        return parse(item.get(name))
    except InputError as error:
        raise error.at(name) from None
