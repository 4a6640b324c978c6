"""Parameter and result types of functions. Each parameter describes what it accepts, for error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from veriscene.language.types import FunctionOf, Kind, Many, Type, element_type, is_condition, member_type

# Called with the argument's type and the types of all arguments of the call.
Accepts = Callable[[Type, Sequence[Type]], bool]


class Form(Enum):
    FUNCTION = "f(x)"
    METHOD = "x.f()"
    ATTRIBUTE = "x.f"
    OPERATOR = "x f y"


@dataclass(frozen=True)
class Parameter:
    expected: str
    accepts: Accepts
    collected: bool = False  # A box or a single value is passed as the tuple of its members.
    mapped: bool = False  # It is a function that is applied to the first argument's members.
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


def one(kind: Kind, expected: str) -> Parameter:
    return Parameter(expected, lambda type, _: type is kind)


def some(expected: str, accepts: Accepts) -> Parameter:
    return Parameter(expected, accepts, collected=True)


def one_or_more(kind: Kind, expected: str) -> Parameter:
    return some(expected, lambda type, _: element_type(type) is kind)


def _is_set(type: Type, _: Sequence[Type]) -> bool:
    return member_type(type) is not None


def _mapped(expected: str, accepts_result: Callable[[Type], bool], keyword: str | None = None) -> Parameter:
    def accepts(type: Type, all: Sequence[Type]) -> bool:
        return isinstance(type, FunctionOf) and type.takes == member_type(all[0]) and accepts_result(type.gives)

    return Parameter(expected, accepts, mapped=True, optional=keyword is not None, keyword=keyword)


ITEM, BOX, NUMBER = one(Kind.ITEM, "an item"), one(Kind.BOX, "a box"), one(Kind.NUMBER, "a number")
STOP = replace(NUMBER, optional=True)
SIDE, SIDE_A, SIDE_B = (
    replace(one(Kind.SIDE, "a side, as Side.TOP"), optional=True, keyword=keyword)
    for keyword in ("side", "sideA", "sideB")
)

ITEM_OR_ITEMS = one_or_more(Kind.ITEM, "an item or a set of items")
NUMBER_OR_NUMBERS = one_or_more(Kind.NUMBER, "a number or a set of numbers")

CONDITION = Parameter("a condition", lambda type, _: is_condition(type))
NUMBER_OR_SET = Parameter("a number or a set", lambda type, all: type is Kind.NUMBER or _is_set(type, all))
ANYTHING = some("a value or a set", lambda type, _: True)
MEMBER = replace(ANYTHING, collected=False)
_AS_FIRST = "of the same type as the first argument"
LIKE_FIRST = some(_AS_FIRST, lambda type, all: element_type(type) == element_type(all[0]))
ADDEND = Parameter(
    _AS_FIRST,
    lambda type, all: member_type(type) == member_type(all[0]) and (type is Kind.NUMBER) == (all[0] is Kind.NUMBER),
)
SET = some("a set", _is_set)
SET_OF_FIRST = some("a set that can contain the first argument", lambda type, all: member_type(type) == all[0])
SET_LIKE_FIRST = some(f"a set {_AS_FIRST}", lambda type, all: member_type(type) == member_type(all[0]))
SET_OF_SETS = some("a set of sets", lambda type, all: _is_set(type, all) and _is_set(element_type(type), all))
ITEMS = some("a set of items", lambda type, _: member_type(type) is Kind.ITEM)
NUMBERS_OR_KEYED = some(
    "a set of numbers, or any set together with key=",
    lambda type, all: member_type(type) is Kind.NUMBER or (_is_set(type, all) and len(all) == 2),
)

TEST = _mapped("a condition on each member, as `lambda x: …`", is_condition)
ATTRIBUTE = _mapped("a function of each member, as `lambda x: …`", lambda _: True)
KEY = _mapped("a number for each member, as `key=lambda x: …`", lambda type: type is Kind.NUMBER, keyword="key")
