"""The expression tree. Each node has a type; building a node whose parts do not fit raises InputError."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from enum import Enum

from veriscene.errors import InputError
from veriscene.language.functions import FUNCTIONS
from veriscene.language.signatures import Form
from veriscene.language.types import CONSTANTS, FunctionOf, Kind, Many, Type, comparable, described, is_condition

MAX_NUMBER = 999  # A scene has at most 24 items.

GLOBALS: dict[str, Type] = {"all_boxes": Many(Kind.BOX), "all_items": Many(Kind.ITEM)}
CALLABLE, METHODS, ATTRIBUTES = (
    [name for name, function in FUNCTIONS.items() if function.form is form]
    for form in (Form.FUNCTION, Form.METHOD, Form.ATTRIBUTE)
)
ENUMS = ("Color", "Shape", "Size", "Side")

_RESERVED = frozenset([*CALLABLE, *ENUMS, *GLOBALS, *keyword.kwlist])
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,30}")


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
class Variable(Expression):
    """The parameter of a lambda, where it is declared or used, or one of GLOBALS."""

    name: str
    of: Type

    def _infer_type(self) -> Type:
        return self.of


@dataclass(frozen=True)
class Lambda(Expression):
    parameter: Variable
    body: Expression

    def _infer_type(self) -> Type:
        name = self.parameter.name
        if name in _RESERVED or not _PARAMETER.fullmatch(name):
            raise InputError(f"{name!r:.40} cannot be the name of a parameter", allowed="use a letter, as x")
        return FunctionOf(self.parameter.type, self.body.type)


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
            if not parameter.accepts(type, types):
                argument = f"argument {number} of {self.function}"
                raise InputError(f"{argument} is {described(type)}", allowed=f"it must be {parameter.expected}")
        return FUNCTIONS[self.function].gives(types)


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
    """A list `[a, b]` or a set `{a, b}`."""

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
