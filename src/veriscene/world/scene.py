"""What a scene is: boxes of items, as immutable values. What items can be is said by a World (schema.py)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

Number = int | float
Value = str | int | float  # of an attribute: the name of a choice, or a number


class Side(Enum):
    """Names a wall of a box."""

    TOP = "top"
    BOTTOM = "bottom"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Item:
    """Has a position, an extent and a value for each attribute of its world.

    `x` and `y` are the upper left corner; y grows downwards. `World.item` makes items whose values are complete.
    """

    x: Number
    y: Number
    width: Number
    height: Number
    values: tuple[tuple[str, Value], ...]  # (attribute, value), in the order of the world's attributes

    def __getitem__(self, attribute: str) -> Value:
        for name, value in self.values:
            if name == attribute:
                return value
        raise KeyError(attribute)

    def at(self, x: Number, y: Number) -> Item:
        """Returns the item at another place."""
        return Item(x, y, self.width, self.height, self.values)

    @property
    def right(self) -> Number:
        return self.x + self.width

    @property
    def lower(self) -> Number:
        """Returns the y of the lower edge."""
        return self.y + self.height

    def distance(self, other: Item) -> Number:
        """Returns the widest gap between facing edges; it is negative exactly when the two items overlap."""
        return max(self.x - other.right, other.x - self.right, self.y - other.lower, other.y - self.lower)


@dataclass(frozen=True)
class Box:
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Scene:
    boxes: tuple[Box, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for box in self.boxes for item in box.items)
