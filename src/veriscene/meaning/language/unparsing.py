"""Expression trees back to text, with no more parentheses than needed."""

from __future__ import annotations

from enum import IntEnum

from veriscene.meaning.language import expression as tree
from veriscene.meaning.language.expression import Expression
from veriscene.meaning.language.functions import FUNCTIONS
from veriscene.meaning.language.signatures import Form


class _Precedence(IntEnum):
    """Python's, from loose to tight."""

    LAMBDA, OR, AND, NOT, COMPARISON, SUM, REMAINDER, ATOM = range(8)


def unparse(expression: Expression) -> str:
    """Text that parses to an equal tree."""
    match expression:
        case tree.Number(value):
            return str(value)
        case tree.Constant(name) | tree.Variable(name) | tree.Named(name):
            return name
        case tree.Everything(kind):
            return tree.COLLECTIONS[kind]
        case tree.Lambda(parameter, body):
            return f"lambda {parameter.name}: {unparse(body)}"
        case tree.Call(function, arguments):
            return _call(function, arguments)
        case tree.Logic(word, operands):
            tighter = _precedence(expression) + 1
            return f" {word} ".join(_part(operand, tighter) for operand in operands)
        case tree.Not(operand):
            return f"not {_part(operand, _Precedence.NOT)}"
        case tree.Comparison(operands, words):
            first, *others = (_part(operand, _Precedence.SUM) for operand in operands)
            return first + "".join(f" {word} {other}" for word, other in zip(words, others, strict=True))
        case tree.Display(members, is_set):
            inside = ", ".join(map(unparse, members))
            return f"{{{inside}}}" if is_set else f"[{inside}]"
        case tree.Subscript(collection, index):
            return f"{_part(collection, _Precedence.ATOM)}[{unparse(index)}]"
        case tree.Slice(collection, start, stop):
            ends = ("" if end is None else unparse(end) for end in (start, stop))
            return f"{_part(collection, _Precedence.ATOM)}[{':'.join(ends)}]"
        case tree.Arithmetic(word, left, right):
            precedence = _precedence(expression)
            return f"{_part(left, precedence)} {word} {_part(right, precedence + 1)}"
    raise TypeError(f"{type(expression).__name__} is not an expression")


def _precedence(expression: Expression) -> int:
    match expression:
        case tree.Lambda():
            return _Precedence.LAMBDA
        case tree.Logic(word):
            return _Precedence.AND if word == "and" else _Precedence.OR
        case tree.Not():
            return _Precedence.NOT
        case tree.Comparison():
            return _Precedence.COMPARISON
        case tree.Arithmetic(word):
            return _Precedence.SUM if word == "+" else _Precedence.REMAINDER
    return _Precedence.ATOM


def _part(expression: Expression, loosest: int) -> str:
    text = unparse(expression)
    return text if _precedence(expression) >= loosest else f"({text})"


def _call(name: str, arguments: tuple[Expression, ...]) -> str:
    function = FUNCTIONS[name]
    if function.form is not Form.FUNCTION:
        parentheses = "()" if function.form is Form.METHOD else ""
        return f"{_part(arguments[0], _Precedence.ATOM)}.{name}{parentheses}"
    key = ["key=" if parameter.keyword == "key" else "" for parameter in function.parameters]
    return f"{name}({', '.join(map(str.__add__, key, map(unparse, arguments)))})"
