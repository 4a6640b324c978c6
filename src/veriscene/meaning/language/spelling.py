"""Trees back to text, with no more brackets than Python needs."""

from __future__ import annotations

from enum import IntEnum

from veriscene.meaning.language.expression import (
    Arithmetic,
    Call,
    Comparison,
    Constant,
    Display,
    Everything,
    Expression,
    Lambda,
    Logic,
    Named,
    Not,
    Number,
    Slice,
    Subscript,
    Variable,
)
from veriscene.meaning.language.functions import FUNCTIONS
from veriscene.meaning.language.signatures import Form, Parameter


class _Binding(IntEnum):
    """How tightly a construct holds its parts together, as in Python."""

    LAMBDA = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    SUM = 5
    REMAINDER = 6
    ATOM = 7


def unparse(expression: Expression) -> str:
    """Text that parses to an equal tree."""
    match expression:
        case Number(value):
            return str(value)
        case Constant(name) | Variable(name) | Named(function=name):
            return name
        case Everything(whole):
            return whole.value
        case Lambda(parameter, body):
            return f"lambda {parameter.name}: {unparse(body)}"
        case Call(function, arguments):
            return _call(function, arguments)
        case Logic(word, operands):
            tighter = _binding(expression) + 1
            return f" {word} ".join(_part(operand, tighter) for operand in operands)
        case Not(operand):
            return f"not {_part(operand, _Binding.NOT)}"
        case Comparison(operands, words):
            first, *others = (_part(operand, _Binding.SUM) for operand in operands)
            return first + "".join(f" {word} {other}" for word, other in zip(words, others, strict=True))
        case Display(members, is_set):
            inside = ", ".join(map(unparse, members))
            return f"{{{inside}}}" if is_set else f"[{inside}]"
        case Subscript(collection, index):
            return f"{_part(collection, _Binding.ATOM)}[{unparse(index)}]"
        case Slice(collection, start, stop):
            ends = ("" if end is None else unparse(end) for end in (start, stop))
            return f"{_part(collection, _Binding.ATOM)}[{':'.join(ends)}]"
        case Arithmetic(word, left, right):
            binding = _binding(expression)
            return f"{_part(left, binding)} {word} {_part(right, binding + 1)}"
    raise TypeError(f"{type(expression).__name__} is not an expression")


def _binding(expression: Expression) -> int:
    match expression:
        case Lambda():
            return _Binding.LAMBDA
        case Logic(word, _):
            return _Binding.AND if word == "and" else _Binding.OR
        case Not():
            return _Binding.NOT
        case Comparison():
            return _Binding.COMPARISON
        case Arithmetic(word, _, _):
            return _Binding.SUM if word == "+" else _Binding.REMAINDER
    return _Binding.ATOM


def _part(expression: Expression, loosest: int) -> str:
    text = unparse(expression)
    return text if _binding(expression) >= loosest else f"({text})"


def _call(name: str, arguments: tuple[Expression, ...]) -> str:
    function = FUNCTIONS[name]
    if function.form is not Form.FUNCTION:
        brackets = "()" if function.form is Form.METHOD else ""
        return f"{_part(arguments[0], _Binding.ATOM)}.{name}{brackets}"
    return f"{name}({', '.join(map(_argument, function.parameters, arguments))})"


def _argument(parameter: Parameter, argument: Expression) -> str:
    return f"key={unparse(argument)}" if parameter.keyword == "key" else unparse(argument)
