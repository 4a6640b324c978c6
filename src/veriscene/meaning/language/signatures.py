"""Parameter and result types of functions. Each parameter describes what it accepts, for error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from veriscene.meaning.language.types import FunctionOf, Kind, Many, Type, element_type, is_condition, member_type


class Form(Enum):
    FUNCTION = "f(x)"
    METHOD = "x.f()"
    ATTRIBUTE = "x.f"
    OPERATOR = "x f y"


@dataclass(frozen=True)
class Parameter:
    expected: str
    accepts: Callable[[Type, Sequence[Type]], bool]
    """Called with the argument's type and the types of all arguments of the call."""
    collected: bool = False
    """Whether a box or a single value is passed as the tuple of its members."""
    mapped: bool = False
    """Whether it is a function that is applied to the first argument's members."""
    optional: bool = False
    keyword: str | None = None


@dataclass(frozen=True)
class Function:
    parameters: tuple[Parameter, ...]
    gives: Callable[[Sequence[Type]], Type]
    value: Callable[..., Any] | None
    """None if `execution` implements it, because it short-circuits or its result may be too large."""
    form: Form = Form.FUNCTION


def always(type: Type) -> Callable[[Sequence[Type]], Type]:
    return lambda _: type


def first_member(types: Sequence[Type]) -> Type:
    member = member_type(types[0])
    assert member is not None, "the first parameter must be a set"
    return member


def first_set(types: Sequence[Type]) -> Type:
    return Many(first_member(types))


def members_union(types: Sequence[Type]) -> Type:
    return first_set([first_member(types)])


def set_of_sets(types: Sequence[Type]) -> Type:
    return Many(first_set(types))


TRUTH, COUNT, FOUND_ITEMS = always(Kind.TRUTH), always(Kind.NUMBER), always(Many(Kind.ITEM))


def _one(kind: Kind, expected: str) -> Parameter:
    return Parameter(expected, lambda type, _: type is kind)


def _one_or_more(kind: Kind, expected: str) -> Parameter:
    return Parameter(expected, lambda type, _: element_type(type) is kind, collected=True)


def _side(keyword: str) -> Parameter:
    return Parameter("a side, as Side.TOP", lambda type, _: type is Kind.SIDE, optional=True, keyword=keyword)


def _is_set(type: Type, _: Sequence[Type]) -> bool:
    return member_type(type) is not None


ITEM = _one(Kind.ITEM, "an item")
BOX = _one(Kind.BOX, "a box")
NUMBER = _one(Kind.NUMBER, "a number")
STOP = replace(NUMBER, optional=True)
SIDE, SIDE_A, SIDE_B = _side("side"), _side("sideA"), _side("sideB")

ITEM_OR_ITEMS = _one_or_more(Kind.ITEM, "an item or a set of items")
NUMBER_OR_NUMBERS = _one_or_more(Kind.NUMBER, "a number or a set of numbers")

CONDITION = Parameter("a condition", lambda type, _: is_condition(type))
NUMBER_OR_SET = Parameter("a number or a set", lambda type, all: type is Kind.NUMBER or _is_set(type, all))
ANYTHING = Parameter("a value or a set", lambda type, _: True, collected=True)
MEMBER = replace(ANYTHING, collected=False)
LIKE_FIRST = Parameter(
    "of the same type as the first argument",
    lambda type, all: element_type(type) == element_type(all[0]),
    collected=True,
)
ADDEND = Parameter(
    "of the same type as the first argument",
    lambda type, all: member_type(type) == member_type(all[0]) and (type is Kind.NUMBER) == (all[0] is Kind.NUMBER),
)
SET_OF_FIRST = Parameter(
    "a set that can contain the first argument", lambda type, all: member_type(type) == all[0], collected=True
)
SET = Parameter("a set", _is_set, collected=True)
SET_LIKE_FIRST = Parameter(
    "a set of the same type as the first argument",
    lambda type, all: member_type(type) == member_type(all[0]),
    collected=True,
)
SET_OF_SETS = Parameter(
    "a set of sets", lambda type, all: _is_set(type, all) and _is_set(element_type(type), all), collected=True
)
ITEMS = Parameter("a set of items", lambda type, _: member_type(type) is Kind.ITEM, collected=True)
NUMBERS_OR_KEYED = Parameter(
    "a set of numbers, or any set together with key=",
    lambda type, all: member_type(type) is Kind.NUMBER or (_is_set(type, all) and len(all) == 2),
    collected=True,
)

TEST = Parameter(
    "a condition on each member, as `lambda x: …`",
    lambda type, _: isinstance(type, FunctionOf) and is_condition(type.gives),
    mapped=True,
)
ATTRIBUTE = Parameter(
    "a function of each member, as `lambda x: …`", lambda type, _: isinstance(type, FunctionOf), mapped=True
)
KEY = Parameter(
    "a number for each member, as `key=lambda x: …`",
    lambda type, _: isinstance(type, FunctionOf) and type.gives is Kind.NUMBER,
    mapped=True,
    optional=True,
    keyword="key",
)


def look(kind: Kind, example: str) -> tuple[Parameter, Parameter]:
    """The parameters for one colour, shape or size, and for one or several."""
    name = kind.value.removesuffix("s")
    return _one(kind, f"a {name}, as {example}"), _one_or_more(kind, f"a {name} or a set of {kind.value}")
