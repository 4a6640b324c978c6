"""The expression tree. Each node has a type; building a node whose parts do not fit raises InputError."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from enum import Enum

from veriscene.errors import InputError
from veriscene.meaning.language.functions import FUNCTIONS
from veriscene.meaning.language.signatures import Form
from veriscene.meaning.language.types import (
    CONSTANTS,
    FunctionOf,
    Kind,
    Many,
    Type,
    described,
    is_condition,
    member_type,
)

MAX_NUMBER = 999  # A scene has at most 24 items.

COLLECTIONS = {Kind.BOX: "all_boxes", Kind.ITEM: "all_items"}
CALLABLE, METHODS, ATTRIBUTES = (
    [name for name, function in FUNCTIONS.items() if function.form is form]
    for form in (Form.FUNCTION, Form.METHOD, Form.ATTRIBUTE)
)
ENUMS = ("Color", "Shape", "Size", "Side")
ORDERINGS = ("<", "<=", ">", ">=")
EQUALITIES = ("==", "!=")
MEMBERSHIPS = ("in", "not in")

_RESERVED = frozenset([*CALLABLE, *ENUMS, *COLLECTIONS.values(), *keyword.kwlist])
_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,30}")


class Expression:
    """A node; `type` is computed when it is built."""

    type: Type

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", self._infer_type())

    def _infer_type(self) -> Type:
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Expression):
    value: int

    def _infer_type(self) -> Type:
        if not 0 <= self.value <= MAX_NUMBER:
            raise InputError(f"number {self.value!r:.20} is too large", allowed=f"0 to {MAX_NUMBER} are allowed")
        return Kind.NUMBER


@dataclass(frozen=True)
class Constant(Expression):
    """A colour, shape, size or side by its full name, as `Color.BLACK`."""

    name: str

    def _infer_type(self) -> Type:
        if self.name not in CONSTANTS:
            raise InputError(f"unknown constant {self.name!r:.40}", allowed=f"choose from {', '.join(CONSTANTS)}")
        return CONSTANTS[self.name][0]

    @property
    def value(self) -> Enum | None:
        return CONSTANTS[self.name][1]


@dataclass(frozen=True)
class Everything(Expression):
    """All boxes or all items of the scene."""

    kind: Kind

    def _infer_type(self) -> Type:
        return Many(self.kind)


@dataclass(frozen=True)
class Variable(Expression):
    """The parameter of a lambda, and its uses in the body."""

    name: str
    of: Type

    def _infer_type(self) -> Type:
        if self.name in _RESERVED or not _VARIABLE.fullmatch(self.name):
            raise InputError(f"{self.name!r:.40} cannot be the name of a parameter", allowed="use a letter, as x")
        return self.of


@dataclass(frozen=True)
class Lambda(Expression):
    parameter: Variable
    body: Expression

    def _infer_type(self) -> Type:
        return FunctionOf(self.parameter.type, self.body.type)

    @property
    def expanded(self) -> Lambda:
        return self


@dataclass(frozen=True)
class Named(Expression):
    """The name of a function, used as a function: `filter_obj(all_items, is_top)`."""

    function: str
    takes: Type

    def _infer_type(self) -> Type:
        return self.expanded.type

    @property
    def expanded(self) -> Lambda:
        """The equivalent lambda."""
        argument = Variable("x", self.takes)
        return Lambda(argument, Call(self.function, (argument,)))


@dataclass(frozen=True)
class Call(Expression):
    """A call of a function. Methods, attributes and most operators are functions too."""

    function: str
    arguments: tuple[Expression, ...]

    def _infer_type(self) -> Type:
        parameters = FUNCTIONS[self.function].parameters
        fewest, most = sum(not parameter.optional for parameter in parameters), len(parameters)
        if not fewest <= len(self.arguments) <= most:
            takes = str(most) if fewest == most else f"{fewest} to {most}"
            raise InputError(f"{self.function} takes {takes} argument{'s' * (most > 1)}, not {len(self.arguments)}")
        types = [argument.type for argument in self.arguments]
        for number, (parameter, type) in enumerate(zip(parameters, types, strict=False), 1):
            fits = parameter.accepts(type, types)
            if fits and parameter.mapped:
                fits = isinstance(type, FunctionOf) and type.takes == member_type(types[0])
            if not fits:
                argument = f"argument {number} of {self.function}"
                raise InputError(f"{argument} is {described(type)}", allowed=f"it must be {parameter.expected}")
        return FUNCTIONS[self.function].gives(types)


@dataclass(frozen=True)
class Comparison(Expression):
    """One or more comparisons, chained as in Python: `a == b <= c` means `a == b and b <= c`."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]

    def _infer_type(self) -> Type:
        for left, word, right in self.links:
            if not _comparable(left.type, word, right.type):
                raise InputError(f"{word} cannot compare {described(left.type)} with {described(right.type)}")
        return Kind.TRUTH

    @property
    def links(self) -> list[tuple[Expression, str, Expression]]:
        """Each pair of neighbours with the operator between them."""
        return list(zip(self.operands, self.operators, self.operands[1:], strict=False))


def _comparable(left: Type, word: str, right: Type) -> bool:
    if word in ORDERINGS:
        return left is Kind.NUMBER and right is Kind.NUMBER
    if word in MEMBERSHIPS:
        return member_type(right) == left
    if compared_as_sets(left, word, right):
        return member_type(left) == member_type(right)
    # As in Python, True == 1.
    return left == right or {left, right} == {Kind.TRUTH, Kind.NUMBER}


def compared_as_sets(left: Type, word: str, right: Type) -> bool:
    """Collections are equal if they have the same members, regardless of order and repetition."""
    return word in EQUALITIES and (isinstance(left, Many) or isinstance(right, Many))


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
    """A list `[a, b]` or a set `{a, b}`."""

    members: tuple[Expression, ...]
    is_set: bool

    def _infer_type(self) -> Type:
        if not self.members:
            raise InputError("an empty list has no type", allowed="write at least one member")
        types = {member.type for member in self.members}
        if len(types) > 1:
            raise InputError(
                f"a list contains {' and '.join(sorted(map(described, types)))}", allowed="members must have one type"
            )
        return Many(self.members[0].type)
