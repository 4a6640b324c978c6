"""The expression tree. Each node knows its type; a node whose parts do not fit together cannot be built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from veriscene.errors import InputError
from veriscene.meaning.language.constants import CONSTANTS, KIND_OF
from veriscene.meaning.language.functions import FUNCTIONS
from veriscene.meaning.language.kinds import FunctionOf, Kind, Many, Type, described, has_truth, member_type
from veriscene.meaning.language.names import CALLABLE, Whole, is_free
from veriscene.meaning.language.signatures import comparable

LARGEST_NUMBER = 999  # A scene holds a few dozen items at most.


class Expression:
    """A node. `type` is set when it is built; parts that do not fit raise InputError."""

    type: Type

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", self._typed())

    def _typed(self) -> Type:
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Expression):
    value: int

    def _typed(self) -> Type:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not 0 <= self.value <= LARGEST_NUMBER:
            raise InputError(f"{self.value!r:.20} is not a number here; allowed: whole numbers, 0 to {LARGEST_NUMBER}")
        return Kind.NUMBER


@dataclass(frozen=True)
class Constant(Expression):
    """A colour, shape, size or side by its full name, as `Color.BLACK`."""

    name: str

    def _typed(self) -> Type:
        if self.name not in CONSTANTS:
            raise InputError(f"unknown constant {self.name!r:.40}; choose from {', '.join(CONSTANTS)}")
        return KIND_OF[self.value.__class__]

    @property
    def value(self) -> Enum:
        return CONSTANTS[self.name]


@dataclass(frozen=True)
class Everything(Expression):
    whole: Whole

    def _typed(self) -> Type:
        return Many(Kind.BOX if self.whole is Whole.BOXES else Kind.ITEM)


@dataclass(frozen=True)
class Variable(Expression):
    """The argument of a lambda, in its head and wherever its body uses it."""

    name: str
    of: Type

    def _typed(self) -> Type:
        if not is_free(self.name):
            raise InputError(f"{self.name!r:.40} cannot name an argument; take a letter, as x")
        return self.of


@dataclass(frozen=True)
class Lambda(Expression):
    parameter: Variable
    body: Expression

    def _typed(self) -> Type:
        return FunctionOf(self.parameter.type, self.body.type)


@dataclass(frozen=True)
class Named(Expression):
    """A function's name standing for the function itself, as in `filter_obj(all_items, is_top)`."""

    function: str
    takes: Type

    def _typed(self) -> Type:
        if self.function not in CALLABLE:
            raise InputError(f"{self.function!r:.40} is not the name of a function")
        return FunctionOf(self.takes, self.written_out.body.type)

    @property
    def written_out(self) -> Lambda:
        """The lambda that does the same."""
        argument = Variable("x", self.takes)
        return Lambda(argument, Call(self.function, (argument,)))


@dataclass(frozen=True)
class Call(Expression):
    """A function, a method or an attribute (then the object comes first) of its arguments."""

    function: str
    arguments: tuple[Expression, ...]

    def _typed(self) -> Type:
        function = FUNCTIONS.get(self.function)
        if function is None:
            raise InputError(f"unknown function {self.function!r:.40}; choose from {', '.join(sorted(FUNCTIONS))}")
        fewest, most = function.fewest_arguments, len(function.parameters)
        if not fewest <= len(self.arguments) <= most:
            wanted = str(most) if fewest == most else f"{fewest} or {most}"
            raise InputError(f"{self.function} takes {wanted} argument{'s' * (most > 1)}, not {len(self.arguments)}")
        types = [argument.type for argument in self.arguments]
        for number, (parameter, type) in enumerate(zip(function.parameters, types, strict=False), 1):
            fits = parameter.accepts(type, types)
            if fits and parameter.mapped:
                fits = isinstance(type, FunctionOf) and type.takes == member_type(types[0])
            if not fits:
                what = f"argument {number} of {self.function}"
                raise InputError(f"{what} must be {parameter.wanted}, not {described(type)}")
        return function.gives(types)


@dataclass(frozen=True)
class Comparison(Expression):
    """One or more comparisons in a row, as in Python: `a == b <= c` holds if `a == b` and `b <= c`."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]

    def _typed(self) -> Type:
        if not self.operators or len(self.operands) != len(self.operators) + 1:
            raise InputError("a comparison needs an operator between each two of its operands")
        for left, word, right in self.links:
            if not comparable(left.type, word, right.type):
                raise InputError(f"{word:.20} cannot compare {described(left.type)} with {described(right.type)}")
        return Kind.TRUTH

    @property
    def links(self) -> list[tuple[Expression, str, Expression]]:
        """Each two neighbours with the operator between them."""
        return list(zip(self.operands, self.operators, self.operands[1:], strict=False))


@dataclass(frozen=True)
class Logic(Expression):
    """`and`, `or`. Of operands of one type it gives one of them, as in Python; otherwise a truth."""

    operator: str
    operands: tuple[Expression, ...]

    def _typed(self) -> Type:
        if self.operator not in ("and", "or") or len(self.operands) < 2:
            raise InputError(f"{self.operator!r:.20} of {len(self.operands)}; it must be `and` or `or`, of two or more")
        _demand_conditions(self.operator, self.operands)
        types = {operand.type for operand in self.operands}
        return types.pop() if len(types) == 1 else Kind.TRUTH


@dataclass(frozen=True)
class Not(Expression):
    operand: Expression

    def _typed(self) -> Type:
        _demand_conditions("not", (self.operand,))
        return Kind.TRUTH


@dataclass(frozen=True)
class Display(Expression):
    """Members written out, `[a, b]` or, each once, `{a, b}`."""

    members: tuple[Expression, ...]
    is_set: bool

    def _typed(self) -> Type:
        if not self.members:
            raise InputError("an empty list says nothing of what is in it; write at least one member")
        types = {member.type for member in self.members}
        if len(types) > 1:
            raise InputError(
                f"one list holds {' and '.join(sorted(map(described, types)))}; members must be of one kind"
            )
        if isinstance(self.members[0].type, FunctionOf):
            raise InputError("a function cannot be a member of a list")
        return Many(self.members[0].type)


@dataclass(frozen=True)
class Subscript(Expression):
    collection: Expression
    index: Expression

    def _typed(self) -> Type:
        _demand_numbers("a subscript", (self.index,))
        return _member_of(self.collection)


@dataclass(frozen=True)
class Slice(Expression):
    collection: Expression
    start: Expression | None
    stop: Expression | None

    def _typed(self) -> Type:
        _demand_numbers("an end of a slice", [end for end in (self.start, self.stop) if end is not None])
        return Many(_member_of(self.collection))


@dataclass(frozen=True)
class Arithmetic(Expression):
    """`+` of numbers or of collections (one after the other), `%` of numbers."""

    operator: str
    left: Expression
    right: Expression

    def _typed(self) -> Type:
        left, right = self.left.type, self.right.type
        if self.operator == "+" and member_type(left) is not None and member_type(left) == member_type(right):
            return Many(_member_of(self.left))
        if self.operator not in ("+", "%"):
            raise InputError(f"unknown operator {self.operator!r:.20}; choose from + and %")
        if left is not Kind.NUMBER or right is not Kind.NUMBER:
            raise InputError(f"{self.operator} cannot join {described(left)} and {described(right)}")
        return Kind.NUMBER


def _demand_conditions(what: str, operands: Sequence[Expression]) -> None:
    for operand in operands:
        if not has_truth(operand.type):
            raise InputError(f"{what} needs conditions, not {described(operand.type)}")


def _demand_numbers(what: str, operands: Sequence[Expression]) -> None:
    for operand in operands:
        if operand.type is not Kind.NUMBER:
            raise InputError(f"{what} must be a number, not {described(operand.type)}")


def _member_of(collection: Expression) -> Type:
    member = member_type(collection.type)
    if member is None:
        raise InputError(f"only a set or a list has members, not {described(collection.type)}")
    return member
