"""Colours, shapes, sizes and sides by the names that programs give them."""

from __future__ import annotations

from enum import Enum

from veriscene.meaning.language.kinds import Kind
from veriscene.scenes.scene import Color, Shape, Side, Size


class AnySide(Enum):
    """`Side.ANY` of the notation; a scene itself has four sides only."""

    ANY = "any"


CONSTANTS: dict[str, Enum] = {
    **{f"Color.{color.name}": color for color in Color},
    **{f"Shape.{shape.name}": shape for shape in Shape},
    "Size.SMALL": Size.SMALL,
    "Size.MEDIUM": Size.MEDIUM,
    "Size.BIG": Size.LARGE,
    **{f"Side.{side.name}": side for side in Side},
    "Side.ANY": AnySide.ANY,
}
KIND_OF: dict[type[Enum], Kind] = {
    Color: Kind.COLOR,
    Shape: Kind.SHAPE,
    Size: Kind.SIZE,
    Side: Kind.SIDE,
    AnySide: Kind.SIDE,
}
