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


_OPERATORS = {"not": _Precedence.NOT, "+": _Precedence.SUM, "%": _Precedence.REMAINDER}


def unparse(expression: Expression) -> str:
    """Text that parses to an equal tree."""
    match expression:
        case tree.Number(value):
            return str(value)
        case tree.Constant(name) | tree.Variable(name):
            return name
        case tree.Lambda(parameter, body):
            return f"lambda {parameter.name}: {unparse(body)}"
        case tree.Call(function, arguments):
            return _call(function, arguments)
        case tree.Logic(word, operands):
            tighter = _precedence(expression) + 1
            return f" {word} ".join(_part(operand, tighter) for operand in operands)
        case tree.Comparison(operands, words):
            first, *others = (_part(operand, _Precedence.SUM) for operand in operands)
            return first + "".join(f" {word} {other}" for word, other in zip(words, others, strict=True))
        case tree.Display(members, is_set):
            inside = ", ".join(map(unparse, members))
            return f"{{{inside}}}" if is_set else f"[{inside}]"
    raise TypeError(f"{type(expression).__name__} is not an expression")


def _precedence(expression: Expression) -> int:
    match expression:
        case tree.Lambda():
            return _Precedence.LAMBDA
        case tree.Logic(word):
            return _Precedence.AND if word == "and" else _Precedence.OR
        case tree.Comparison():
            return _Precedence.COMPARISON
        case tree.Call(function):
            return _OPERATORS.get(function, _Precedence.ATOM)
    return _Precedence.ATOM


def _part(expression: Expression, loosest: int) -> str:
    text = unparse(expression)
    return text if _precedence(expression) >= loosest else f"({text})"


def _call(name: str, arguments: tuple[Expression, ...]) -> str:
    function, first, others = FUNCTIONS[name], arguments[0], arguments[1:]
    if name == "not":
        return f"not {_part(first, _Precedence.NOT)}"
    if name in _OPERATORS:
        return f"{_part(first, _OPERATORS[name])} {name} {_part(others[0], _OPERATORS[name] + 1)}"
    if name == "[]":
        return f"{_part(first, _Precedence.ATOM)}[{unparse(others[0])}]"
    if name == "[:]":
        return f"{_part(first, _Precedence.ATOM)}[{unparse(others[0])}:{''.join(map(unparse, others[1:]))}]"
    if function.form is not Form.FUNCTION:
        return f"{_part(first, _Precedence.ATOM)}.{name}{'()' if function.form is Form.METHOD else ''}"
    keywords = ("key=" if parameter.keyword == "key" else "" for parameter in function.parameters)
    return f"{name}({', '.join(map(str.__add__, keywords, map(unparse, arguments)))})"
