"""Expression trees back to text, with no more parentheses than needed."""

from __future__ import annotations

from veriscene.language import expression as tree
from veriscene.language.expression import Expression
from veriscene.language.functions import FUNCTIONS
from veriscene.language.signatures import Form

# Python's precedence, from loose to tight.
_LAMBDA, _OR, _AND, _NOT, _COMPARISON, _SUM, _REMAINDER, _ATOM = range(8)
_PRECEDENCE = {"or": _OR, "and": _AND, "not": _NOT, "+": _SUM, "%": _REMAINDER}


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
            return f" {word} ".join(_part(operand, _PRECEDENCE[word] + 1) for operand in operands)
        case tree.Comparison(operands, words):
            first, *others = (_part(operand, _SUM) for operand in operands)
            return first + "".join(f" {word} {other}" for word, other in zip(words, others, strict=True))
        case tree.Display(members, is_set):
            inside = ", ".join(map(unparse, members))
            return f"{{{inside}}}" if is_set else f"[{inside}]"
    raise TypeError(f"{type(expression).__name__} is not an expression")


def _part(expression: Expression, loosest: int) -> str:
    """The text, in parentheses if the expression's precedence is below `loosest`."""
    match expression:
        case tree.Lambda():
            precedence = _LAMBDA
        case tree.Comparison():
            precedence = _COMPARISON
        case tree.Logic(word) | tree.Call(word):
            precedence = _PRECEDENCE.get(word, _ATOM)
        case _:
            precedence = _ATOM
    return unparse(expression) if precedence >= loosest else f"({unparse(expression)})"


def _call(name: str, arguments: tuple[Expression, ...]) -> str:
    function, first, others = FUNCTIONS[name], arguments[0], arguments[1:]
    if name == "not":
        return f"not {_part(first, _NOT)}"
    if name in _PRECEDENCE:
        return f"{_part(first, _PRECEDENCE[name])} {name} {_part(others[0], _PRECEDENCE[name] + 1)}"
    if name == "[]":
        return f"{_part(first, _ATOM)}[{unparse(others[0])}]"
    if name == "[:]":
        return f"{_part(first, _ATOM)}[{unparse(others[0])}:{''.join(map(unparse, others[1:]))}]"
    if function.form is not Form.FUNCTION:
        return f"{_part(first, _ATOM)}.{name}{'()' if function.form is Form.METHOD else ''}"
    keywords = ("key=" if parameter.keyword == "key" else "" for parameter in function.parameters)
    return f"{name}({', '.join(map(str.__add__, keywords, map(unparse, arguments)))})"
