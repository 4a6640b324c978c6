"""What functions take and give. A parameter says in words what it wants, so that a mistake can be explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from veriscene.meaning.language.kinds import FunctionOf, Kind, Many, Type, has_truth, lone_or_member_type, member_type


class Form(Enum):
    FUNCTION = "f(x)"
    METHOD = "x.f()"
    ATTRIBUTE = "x.f"


@dataclass(frozen=True)
class Parameter:
    wanted: str
    accepts: Callable[[Type, Sequence[Type]], bool]
    """Sees the argument's type, and the types of all arguments of the call."""
    collected: bool = False
    """Whether a box or a single value is handed over as the tuple of its members."""
    mapped: bool = False
    """Whether it is a function of the first argument's members."""
    optional: bool = False
    keyword: str | None = None


@dataclass(frozen=True)
class Function:
    parameters: tuple[Parameter, ...]
    gives: Callable[[Sequence[Type]], Type]
    value: Callable[..., Any] | None
    """None where it is the function that decides whether, or how often, an argument is evaluated."""
    form: Form = Form.FUNCTION

    @property
    def fewest_arguments(self) -> int:
        return sum(not parameter.optional for parameter in self.parameters)


def always(type: Type) -> Callable[[Sequence[Type]], Type]:
    return lambda _: type


def member(types: Sequence[Type]) -> Type:
    found = member_type(types[0])
    assert found is not None, "only for functions whose first parameter is a set"
    return found


def members(types: Sequence[Type]) -> Type:
    return Many(member(types))


TRUTH = always(Kind.TRUTH)
COUNT = always(Kind.NUMBER)
FOUND_ITEMS = always(Many(Kind.ITEM))


def _one(kind: Kind, wanted: str) -> Parameter:
    return Parameter(wanted, lambda type, _: type is kind)


def _one_or_some(kind: Kind, wanted: str) -> Parameter:
    return Parameter(wanted, lambda type, _: lone_or_member_type(type) is kind, collected=True)


def _is_set(type: Type, _: Sequence[Type]) -> bool:
    return member_type(type) is not None


ITEM = _one(Kind.ITEM, "an item")
BOX = _one(Kind.BOX, "a box")
NUMBER = _one(Kind.NUMBER, "a number")
COLOR = _one(Kind.COLOR, "a colour, as Color.BLACK")
SHAPE = _one(Kind.SHAPE, "a shape, as Shape.SQUARE")
SIZE = _one(Kind.SIZE, "a size, as Size.BIG")
SIDE = Parameter("a side, as Side.TOP", lambda type, _: type is Kind.SIDE, optional=True, keyword="side")

ITEM_OR_ITEMS = _one_or_some(Kind.ITEM, "an item or a set of items")
COLORS = _one_or_some(Kind.COLOR, "a colour or a set of colours")
SHAPES = _one_or_some(Kind.SHAPE, "a shape or a set of shapes")
SIZES = _one_or_some(Kind.SIZE, "a size or a set of sizes")

CONDITION = Parameter("a condition", lambda type, _: has_truth(type))
SINGLE = Parameter("a single value", lambda type, _: isinstance(type, Kind))
ANYTHING = Parameter("a value or a set", lambda type, _: not isinstance(type, FunctionOf), collected=True)
SOME = Parameter("a set", _is_set, collected=True)
ITEMS = Parameter("a set of items", lambda type, _: member_type(type) is Kind.ITEM, collected=True)
NUMBERS_OR_KEYED = Parameter(
    "a set of numbers, or any set together with key=",
    lambda type, all: member_type(type) is Kind.NUMBER or (_is_set(type, all) and len(all) == 2),
    collected=True,
)
LIKE_FIRST = Parameter(
    "the same kind of thing as the first argument",
    lambda type, all: lone_or_member_type(type) == lone_or_member_type(all[0]),
    collected=True,
)
SET_LIKE_FIRST = Parameter(
    "a set of the same kind of things as the first argument",
    lambda type, all: member_type(type) == member_type(all[0]),
    collected=True,
)
SET_OF_FIRST = Parameter(
    "a set of the kind of thing that the first argument is",
    lambda type, all: member_type(type) == all[0],
    collected=True,
)

TEST = Parameter(
    "a condition on each member, as `lambda x: …`",
    lambda type, _: isinstance(type, FunctionOf) and has_truth(type.gives),
    mapped=True,
)
ATTRIBUTE = Parameter(
    "a function of each member, as `lambda x: …`",
    lambda type, _: isinstance(type, FunctionOf),
    mapped=True,
)
KEY = Parameter(
    "a number for each member, as `key=lambda x: …`",
    lambda type, _: isinstance(type, FunctionOf) and type.gives is Kind.NUMBER,
    mapped=True,
    optional=True,
    keyword="key",
)

ORDERINGS = ("<", "<=", ">", ">=")
EQUALITIES = ("==", "!=")
MEMBERSHIPS = ("in", "not in")


def comparable(left: Type, word: str, right: Type) -> bool:
    """Whether the comparison operator `word` can stand between values of these types."""
    if word in ORDERINGS:
        return left is Kind.NUMBER and right is Kind.NUMBER
    if word in MEMBERSHIPS:
        return member_type(right) == left
    if {left, right} == {Kind.TRUTH, Kind.NUMBER}:  # As in Python, where True == 1.
        return word in EQUALITIES
    if compared_as_sets(left, word, right):
        return member_type(left) == member_type(right)
    return word in EQUALITIES and left == right and not isinstance(left, FunctionOf)


def compared_as_sets(left: Type, word: str, right: Type) -> bool:
    """Two collections are equal if they have the same members, in whatever order and number."""
    return word in EQUALITIES and (isinstance(left, Many) or isinstance(right, Many))
