"""The types of the program language: what an expression may stand for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """Single values; the value of each member is its plural, for messages."""

    ITEM = "items"
    BOX = "boxes"
    NUMBER = "numbers"
    TRUTH = "truths"
    COLOR = "colours"
    SHAPE = "shapes"
    SIZE = "sizes"
    SIDE = "sides"


@dataclass(frozen=True)
class Many:
    """A set or a list. The two differ only in that a list may hold a member twice."""

    of: Type


@dataclass(frozen=True)
class FunctionOf:
    """A function of one argument: a lambda, or the name of a function where a lambda could stand."""

    takes: Type
    gives: Type


Type = Kind | Many | FunctionOf


def member_type(type: Type) -> Type | None:
    """The type of the members of a collection; a box counts as the set of its items. None for single values."""
    if isinstance(type, Many):
        return type.of
    return Kind.ITEM if type is Kind.BOX else None


def lone_or_member_type(type: Type) -> Type:
    """As `member_type`, with a single value counting as a set of one."""
    return member_type(type) or type


def has_truth(type: Type) -> bool:
    """Whether it can stand as a condition: numbers other than 0 and collections with members hold, as in Python."""
    return type in (Kind.TRUTH, Kind.NUMBER) or isinstance(type, Many)


def described(type: Type) -> str:
    """The type in words, with its article."""
    if isinstance(type, Many):
        return f"a set of {_plural(type.of)}"
    if isinstance(type, FunctionOf):
        return "a function"
    name = type.name.lower().replace("color", "colour")
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _plural(type: Type) -> str:
    if isinstance(type, Many):
        return f"sets of {_plural(type.of)}"
    return type.value if isinstance(type, Kind) else "functions"
