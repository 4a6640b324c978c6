"""The types of the program language, and its named constants."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from veriscene.world.scene import Color, Shape, Side, Size


class Kind(Enum):
    """Types of single values. Each member's value is its plural, for messages."""

    ITEM = "items"
    BOX = "boxes"
    NUMBER = "numbers"
    TRUTH = "truth values"
    COLOR = "colours"
    SHAPE = "shapes"
    SIZE = "sizes"
    SIDE = "sides"


@dataclass(frozen=True)
class Many:
    """A set or a list. They differ only in that a list can contain a member twice."""

    of: Type


@dataclass(frozen=True)
class FunctionOf:
    """A function of one argument: a lambda, or a function's name used in place of a lambda."""

    takes: Type
    gives: Type


Type = Kind | Many | FunctionOf

# The value of Side.ANY is None: it is the same as giving no side.
CONSTANTS: dict[str, tuple[Kind, Enum | None]] = {
    **{f"Color.{color.name}": (Kind.COLOR, color) for color in Color},
    **{f"Shape.{shape.name}": (Kind.SHAPE, shape) for shape in Shape},
    "Size.SMALL": (Kind.SIZE, Size.SMALL),
    "Size.MEDIUM": (Kind.SIZE, Size.MEDIUM),
    "Size.BIG": (Kind.SIZE, Size.LARGE),
    **{f"Side.{side.name}": (Kind.SIDE, side) for side in Side},
    "Side.ANY": (Kind.SIDE, None),
}


def member_type(type: Type) -> Type | None:
    """The type of a collection's members; None for single values. A box counts as the set of its items."""
    if isinstance(type, Many):
        return type.of
    return Kind.ITEM if type is Kind.BOX else None


def element_type(type: Type) -> Type:
    """Like `member_type`, but a single value counts as a set of one."""
    return member_type(type) or type


def is_condition(type: Type) -> bool:
    """Whether it has a truth value. As in Python, 0 and empty collections are false."""
    return type in (Kind.TRUTH, Kind.NUMBER) or isinstance(type, Many)


def comparable(left: Type, word: str, right: Type) -> bool:
    """Whether `left word right` has a truth value."""
    if word in ("in", "not in"):
        return member_type(right) == left
    if word not in ("==", "!="):
        return left is Kind.NUMBER and right is Kind.NUMBER
    if isinstance(left, Many) or isinstance(right, Many):
        return member_type(left) == member_type(right)
    # As in Python, True == 1.
    return left == right or {left, right} == {Kind.TRUTH, Kind.NUMBER}


def described(type: Type) -> str:
    """The type in words, with its article."""
    if isinstance(type, Many):
        return f"a set of {_plural(type.of)}"
    if isinstance(type, FunctionOf):
        return "a function"
    singular = "box" if type is Kind.BOX else type.value.removesuffix("s")
    return f"{'an' if type is Kind.ITEM else 'a'} {singular}"


def _plural(type: Type) -> str:
    if isinstance(type, Many):
        return f"sets of {_plural(type.of)}"
    return type.value if isinstance(type, Kind) else "functions"
