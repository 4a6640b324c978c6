"""The values of NLVR's attributes, for the code that knows them. The world itself is world.toml."""

from __future__ import annotations

from enum import StrEnum
from importlib import resources
from typing import Literal, get_args

from veriscene.world.scene import Item
from veriscene.world.schema import World
from veriscene.world.world_file import read_world

with resources.as_file(resources.files("veriscene.worlds.nlvr") / "world.toml") as _path:
    WORLD: World = read_world(_path)

BOX_EXTENT = WORLD.canvas[0]
BOXES = WORLD.boxes[0]
MAX_ITEMS = WORLD.items[1]
TOUCHING = int(WORLD.touching)
CLOSE = int(WORLD.close)

SceneKind = Literal["tower", "scatter"]  # each box has a tower of blocks, or scattered items
SCENE_KINDS: tuple[SceneKind, ...] = get_args(SceneKind)


class Color(StrEnum):
    YELLOW = "yellow"
    BLACK = "black"
    BLUE = "blue"


class Shape(StrEnum):
    SQUARE = "square"
    CIRCLE = "circle"
    TRIANGLE = "triangle"


class Size(StrEnum):
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"

    @property
    def extent(self) -> int:
        """Returns the side length in pixels."""
        return EXTENTS[self]


EXTENTS = {Size.SMALL: 10, Size.MEDIUM: 20, Size.LARGE: 30}


def make_item(x: int, y: int, size: Size, shape: Shape, color: Color) -> Item:
    """Returns an item of NLVR's world, as `WORLD.make` does, but faster."""
    extent = EXTENTS[size]
    # Plain text, as in scenes that were read from files.
    return Item(x, y, extent, extent, (("size", str(size)), ("shape", str(shape)), ("color", str(color))))
