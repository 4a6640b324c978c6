"""Expression trees and their types. Building a node whose parts do not fit raises InputError.

The types of the language are items, boxes, numbers, truth values, sides, and one for the values of each attribute of a
world that is not numeric. Numeric attributes are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from veriscene.errors import InputError

if TYPE_CHECKING:
    from veriscene.language.language import Language
    from veriscene.world.schema import Attribute

# ---------------------------------------------------------------- types


class Kind(Enum):
    """Types of single values that every world has. Each member's value is its plural, for messages."""

    ITEM = "items"
    BOX = "boxes"
    NUMBER = "numbers"
    TRUTH = "truth values"
    SIDE = "sides"


@dataclass(frozen=True)
class AttributeType:
    """Is the type of categorical or ordered values; at run time, a value is its place among the choices."""

    name: str
    size: int  # number of values
    is_ordered: bool


@dataclass(frozen=True)
class Many:
    """Is the type of a set or a list. They differ only in that a list can contain a member twice."""

    of: Type


@dataclass(frozen=True)
class FunctionOf:
    """Is the type of a function of one argument: a lambda, or a function's name used in place of a lambda."""

    takes: Type
    gives: Type


Type = Kind | AttributeType | Many | FunctionOf


def type_of(attribute: Attribute) -> Kind | AttributeType:
    """Returns the type of an attribute's values."""
    if attribute.kind == "numeric":
        return Kind.NUMBER
    return AttributeType(attribute.name, len(attribute.choices), attribute.kind == "ordered")


def member_type(type: Type) -> Type | None:
    """Returns the type of a collection's members; None for single values. A box counts as the set of its items."""
    if isinstance(type, Many):
        return type.of
    return Kind.ITEM if type is Kind.BOX else None


def element_type(type: Type) -> Type:
    """Like `member_type`, but a single value counts as a set of one."""
    return member_type(type) or type


def is_condition(type: Type) -> bool:
    """Returns whether it has a truth value. As in Python, 0 and empty collections are false."""
    return type in (Kind.TRUTH, Kind.NUMBER) or isinstance(type, Many)


def is_ordered(type: Type) -> bool:
    """Returns whether values can be compared with <."""
    return type is Kind.NUMBER or (isinstance(type, AttributeType) and type.is_ordered)


def comparable(left: Type, word: str, right: Type) -> bool:
    """Returns whether `left word right` has a truth value."""
    if word in ("in", "not in"):
        return member_type(right) == left
    if word not in ("==", "!="):
        return left == right and is_ordered(left)
    if isinstance(left, Many) or isinstance(right, Many):
        return member_type(left) == member_type(right)
    # As in Python, True == 1.
    return left == right or {left, right} == {Kind.TRUTH, Kind.NUMBER}


def described(type: Type) -> str:
    """Returns the type in words, with its article."""
    if isinstance(type, Many):
        return f"a set of {_plural(type.of)}"
    if isinstance(type, FunctionOf):
        return "a function"
    if isinstance(type, AttributeType):
        return f"a value of {type.name}"
    singular = "box" if type is Kind.BOX else type.value.removesuffix("s")
    return f"{'an' if type is Kind.ITEM else 'a'} {singular}"


def _plural(type: Type) -> str:
    if isinstance(type, Many):
        return f"sets of {_plural(type.of)}"
    if isinstance(type, AttributeType):
        return f"values of {type.name}"
    return type.value if isinstance(type, Kind) else "functions"


# ---------------------------------------------------------------- functions

# Called with the argument's type and the types of all arguments of the call.
Accepts = Callable[[Type, Sequence[Type]], bool]
Gives = Callable[[Sequence[Type]], Type]


class Form(Enum):
    """Says how a function is written."""

    FUNCTION = "f(x)"
    METHOD = "x.f()"
    ATTRIBUTE = "x.f"
    OPERATOR = "x f y"


@dataclass(frozen=True)
class Parameter:
    """Says what a function takes; `expected` describes it in messages."""

    expected: str
    accepts: Accepts
    collected: bool = False  # A box or a single value is passed as the tuple of its members.
    mapped: bool = False  # It is a function that is applied to the first argument's members.
    optional: bool = False
    keyword: str | None = None


@dataclass(frozen=True, eq=False)
class Function:
    """Defines a function of a language: its parameters, result type, and value on one scene.

    `bulk` is the rule by which the bulk evaluator compiles it, and the arguments of that rule. A function whose rule it
    does not know is left to the plain evaluator.
    """

    parameters: tuple[Parameter, ...]
    gives: Gives
    value: Callable[..., Any] | None  # None: `execution` implements it
    form: Form = Form.FUNCTION
    bulk: tuple[Any, ...] = ()
    scans: int = 0  # steps that each member of the first argument costs beyond the usual one
    name: str = ""  # set by the language, as is `language`
    language: Language | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self.name == other.name and self.language == other.language

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Callable[..., Function], tuple[Any, ...]]:
        return _function_named, (self.language, self.name)  # Their values cannot be pickled.


def _function_named(language: Language, name: str) -> Function:
    return language.functions[name]


def always(type: Type) -> Gives:
    return lambda _: type


def first_member(types: Sequence[Type]) -> Type:
    member = member_type(types[0])
    assert member is not None, "the first parameter must be a set"
    return member


def first_set(types: Sequence[Type]) -> Type:
    return Many(first_member(types))


some = partial(Parameter, collected=True)


def one(type: Type, expected: str) -> Parameter:
    return Parameter(expected, lambda given, _: given == type)


def one_or_more(type: Type, expected: str) -> Parameter:
    return some(expected, lambda given, _: element_type(given) == type)


def _is_set(type: Type, _: Sequence[Type]) -> bool:
    return member_type(type) is not None


def _mapped(expected: str, accepts_result: Callable[[Type], bool], keyword: str | None = None) -> Parameter:
    def accepts(type: Type, all: Sequence[Type]) -> bool:
        return isinstance(type, FunctionOf) and type.takes == member_type(all[0]) and accepts_result(type.gives)

    return Parameter(expected, accepts, mapped=True, keyword=keyword)


TRUTH, NUMBER_RESULT, FOUND_ITEMS = always(Kind.TRUTH), always(Kind.NUMBER), always(Many(Kind.ITEM))

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
# The value of an attribute has no truth value, but an item and a box are true, as any object is in Python.
TRUTHS = some(
    "a set of conditions, items or boxes", lambda type, _: not isinstance(member_type(type), AttributeType | None)
)
ORDERED_OR_KEYED = some(
    "a set of numbers, or any set together with key=",
    lambda type, all: _is_set(type, all) and (len(all) == 2 or is_ordered(element_type(type))),
)

TEST = _mapped("a condition on each member, as `lambda x: …`", is_condition)
EACH = _mapped("a function of each member, as `lambda x: …`", lambda _: True)
QUANTITY = _mapped("a number for each member, as `key=lambda x: …`", lambda type: type is Kind.NUMBER, keyword="key")
KEY = replace(_mapped("a number for each member, as `key=lambda x: …`", is_ordered, keyword="key"), optional=True)

# ---------------------------------------------------------------- nodes


class Expression:
    """Is the base of all nodes; `type` is computed when one is built."""

    type: Type
    of: Type  # of nodes that state their type

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", self._infer_type())

    def _infer_type(self) -> Type:
        return self.of


@dataclass(frozen=True)
class Number(Expression):
    value: int | float

    def _infer_type(self) -> Type:
        return Kind.NUMBER


@dataclass(frozen=True)
class Constant(Expression):
    """Names an attribute's value or a side. The name is kept as written; equal values are equal constants."""

    name: str = field(compare=False)
    of: Type
    value: Any  # of an attribute: the place among the choices; of a side: a Side, or None for any


@dataclass(frozen=True)
class Variable(Expression):
    """Names the parameter of a lambda, where it is declared or used, or one of GLOBALS."""

    name: str
    of: Type


GLOBALS: dict[str, Type] = {"all_boxes": Many(Kind.BOX), "all_items": Many(Kind.ITEM)}


@dataclass(frozen=True)
class Lambda(Expression):
    parameter: Variable
    body: Expression

    def _infer_type(self) -> Type:
        return FunctionOf(self.parameter.type, self.body.type)


@dataclass(frozen=True)
class Call(Expression):
    """Calls a function. Methods, attributes and most operators are functions too."""

    function: Function
    arguments: tuple[Expression, ...]

    def _infer_type(self) -> Type:
        return _result(self.function, tuple([argument.type for argument in self.arguments]))


@lru_cache(maxsize=4096)
def _result(function: Function, given: tuple[Type, ...]) -> Type:
    """The type of a call with arguments of these types; raises InputError if the function does not take them."""
    name, parameters, types = function.name, function.parameters, list(given)
    fewest, most = sum(not parameter.optional for parameter in parameters), len(parameters)
    if not fewest <= len(types) <= most:
        takes = str(most) if fewest == most else f"{fewest} to {most}"
        raise InputError(f"{name} takes {takes} argument{'s' * (most > 1)}, not {len(types)}")
    for number, (parameter, type) in enumerate(zip(parameters, types, strict=False), 1):
        if not parameter.accepts(type, types):
            what = f"argument {number} of {name} is {described(type)}"
            raise InputError(what, allowed=f"it must be {parameter.expected}")
    return function.gives(types)


@dataclass(frozen=True)
class Comparison(Expression):
    """One or more comparisons, chained as in Python: `a == b <= c` means `a == b and b <= c`."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]

    def _infer_type(self) -> Type:
        types = [operand.type for operand in self.operands]
        for left, word, right in zip(types, self.operators, types[1:], strict=False):
            if not comparable(left, word, right):
                raise InputError(f"{word} cannot compare {described(left)} with {described(right)}")
        return Kind.TRUTH


@dataclass(frozen=True)
class Logic(Expression):
    """`and`, `or`. If all operands have one type, the value is one of them, as in Python; otherwise a truth value."""

    operator: str
    operands: tuple[Expression, ...]

    def _infer_type(self) -> Type:
        for operand in self.operands:
            if not is_condition(operand.type):
                raise InputError(f"{self.operator} needs conditions, not {described(operand.type)}")
        types = {operand.type for operand in self.operands}
        return types.pop() if len(types) == 1 else Kind.TRUTH


@dataclass(frozen=True)
class Display(Expression):
    """Holds a list `[a, b]` or a set `{a, b}`."""

    members: tuple[Expression, ...]
    is_set: bool

    def _infer_type(self) -> Type:
        if not self.members:
            raise InputError("an empty list has no type", allowed="write at least one member")
        types = {member.type for member in self.members}
        if len(types) > 1:
            what = f"a list contains {' and '.join(sorted(map(described, types)))}"
            raise InputError(what, allowed="members must have one type")
        return Many(self.members[0].type)


def operators_in(node: Expression) -> int:
    """Returns how many operators evaluating a node takes at most, not counting the bodies of lambdas in it."""
    match node:
        case Call(_, parts) | Comparison(parts) | Logic(_, parts) | Display(parts):
            return 1 + sum(map(operators_in, parts))
    return 0


def compares_itself(node: Expression) -> bool:
    """Says whether some comparison has the same value on both sides, which no statement means. Truths are compared by
    "if and only if", which may join a clause with itself."""
    match node:
        case Comparison((left, right)) if left == right and left.type is not Kind.TRUTH:
            return True
        case Call(_, parts) | Comparison(parts) | Logic(_, parts) | Display(parts):
            return any(map(compares_itself, parts))
        case Lambda(_, body):
            return compares_itself(body)
    return False
