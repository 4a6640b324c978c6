"""Programs as sequences of tokens, for networks that write them: prefix notation, each token with a fixed arity.

Several ways to write the same are one here, so that a network need not guess which: parameters of lambdas are numbered
from the outside, `AND(a, b)` is `a and b`, a box stands for its items, and a value of an attribute is tested by a
single token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from veriscene.errors import InputError
from veriscene.language import expression as tree
from veriscene.language.expression import Expression, Form, Kind
from veriscene.language.language import Language
from veriscene.language.program import Program
from veriscene.language.text import call_text, unparse

LAMBDA, VALUE, HAS = "lambda", "value ", "has "
_OPERATORS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_LOGIC = {"AND": "and", "OR": "or", "NOT": "not"}
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in", "not in"))


def tokens_of(program: Program) -> list[str]:
    """Returns the program in prefix notation."""
    return list(_write(program.expression, {}, 0))


def _write(node: Expression, scope: dict[str, str], depth: int) -> Iterator[str]:
    """`scope`: the tokens of the parameters around the node; `depth`: how many lambdas are around it."""
    parts: Sequence[Expression] = ()
    match node:
        case tree.Number() | tree.Constant():
            yield VALUE + unparse(node)
        case tree.Variable(name):
            yield scope.get(name, name)
        case tree.Lambda(parameter, body):
            yield LAMBDA
            yield from _write(body, {**scope, parameter.name: f"v{depth}"}, depth + 1)
        case tree.Call(function, (tested,)) if function.bulk[:1] == ("has",):
            _, attribute, rank = function.bulk
            parts = (tested,)
            yield _has(function.language, attribute, rank)
        case tree.Comparison((tree.Call(function, (tested,)), tree.Constant() as constant), ("==",)) if (
            function.bulk[:1] == ("attribute",) and tested.type is Kind.ITEM
        ):
            parts = (tested,)
            yield _has(function.language, function.bulk[1], constant.value)
        case tree.Call(tree.Function(name=("AND" | "OR") as operator), parts) | tree.Logic(operator, parts):
            parts = tuple(_flat(operator.lower(), parts))
            yield f"{operator.lower()}/{len(parts)}"
        case tree.Call(function, arguments):
            yield _OPERATORS.get(function.name) or f"{_LOGIC.get(function.name, function.name)}/{len(arguments)}"
            parts = [
                each.arguments[0] if takes.collected and _is_content(each) else each
                for takes, each in zip(function.parameters, arguments, strict=False)
            ]
        case tree.Comparison(parts, operators):
            yield f"{' '.join(operators)}/{len(parts)}" if len(operators) > 1 else operators[0]
        case tree.Display(parts, is_set):
            yield f"{'{}' if is_set else '[]='}/{len(parts)}"
    for part in parts:
        yield from _write(part, scope, depth)


def _is_content(node: Expression) -> TypeGuard[tree.Call]:
    """Whether a node says `all_items_in_box()` of a box, which may stand for its items itself."""
    return isinstance(node, tree.Call) and node.function.name == "all_items_in_box"


def _flat(operator: str, operands: Sequence[Expression]) -> Iterator[Expression]:
    """The operands, with those of the same operator taken apart: `(a and b) and c` is `a and b and c`."""
    for each in operands:
        match each:
            case tree.Logic(inner, parts) if inner == operator:
                yield from _flat(operator, parts)
            case tree.Call(function, parts) if _LOGIC.get(function.name) == operator:
                yield from _flat(operator, parts)
            case _:
                yield each


def _has(language: Language | None, attribute: str, rank: int) -> str:
    assert language is not None
    name = next(name for name, each in language.attributes.items() if each.name == attribute)
    values = [constant for constant in language.constants if constant.startswith(f"{name}.")]
    return f"{HAS}{values[rank]}"


def arity(token: str) -> int:
    """Returns how many expressions follow a token as its arguments."""
    if token.startswith(VALUE):
        return 0
    if token.startswith(HAS) or token == LAMBDA:
        return 1
    if token in _COMPARISONS:
        return 2
    _, slash, count = token.rpartition("/")
    if slash and not (count.isdecimal() and len(count) < 3):
        raise InputError(f"{token!r:.40} is no token of a program")
    return int(count) if slash else 0


def program_of(tokens: Sequence[str], language: Language) -> Program:
    """Returns the program that tokens describe; raises InputError if they describe none."""
    reader = _Reader(tokens, language)
    text = reader.read(0)
    if reader.at != len(tokens):
        raise InputError("there are tokens after the program's end")
    return language.parse(text)


class _Reader:
    def __init__(self, tokens: Sequence[str], language: Language) -> None:
        self.tokens, self.language, self.at = tokens, language, 0

    def read(self, depth: int) -> str:
        """The text of the next expression; `depth` is the number of lambdas around it."""
        if self.at >= len(self.tokens):
            raise InputError("the program has no end")
        token = self.tokens[self.at]
        self.at += 1
        if token.startswith(VALUE):
            return token.removeprefix(VALUE)
        if token.startswith(HAS):
            value = token.removeprefix(HAS)
            return f"({value.partition('.')[0]}({self.read(depth)}) == {value})"
        if token == LAMBDA:
            return f"lambda v{depth}: {self.read(depth + 1)}"
        if token in _COMPARISONS:
            return f"({self.read(depth)} {token} {self.read(depth)})"
        name, slash, _ = token.rpartition("/")
        if not slash:
            return token
        return self._call(name, [self.read(depth) for _ in range(arity(token))])

    def _call(self, name: str, parts: list[str]) -> str:
        if name in ("and", "or"):
            return f"({f' {name} '.join(parts)})"
        if name == "{}":
            return f"{{{', '.join(parts)}}}"
        if name == "[]=":
            return f"[{', '.join(parts)}]"
        if " " in name or name in _COMPARISONS:
            operators = name.split()
            return f"({parts[0]}{''.join(f' {word} {part}' for word, part in zip(operators, parts[1:], strict=True))})"
        function = self.language.functions.get(name)
        if function is None:
            raise InputError(f"unknown function {name!r:.40}")
        text = call_text(function, parts)
        return f"({text})" if function.form is Form.OPERATOR and name not in ("[]", "[:]") else text
