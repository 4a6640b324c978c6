"""Programs as sequences of tokens, for networks that write them: prefix notation, each token with a fixed arity.

Several ways to write the same are one here, so that a network need not guess which: parameters of lambdas are numbered
from the outside, `AND(a, b)` is `a and b`, a box stands for its items, and a value of an attribute is tested by a
single token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeGuard

from veriscene.errors import InputError
from veriscene.language import expression as tree
from veriscene.language.expression import Expression, Function, Kind, Type, described, member_type
from veriscene.language.language import Language
from veriscene.language.program import Program
from veriscene.language.text import unparse

LAMBDA, VALUE, HAS = "lambda", "value ", "has "
_OPERATORS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_LOGIC = {"AND": "and", "OR": "or", "NOT": "not"}
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in", "not in"))
_OPERATOR = re.compile("not in|in|[=!<>]=|[<>]")


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


@lru_cache(maxsize=4096)
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
    expression = reader.read(tree.GLOBALS)
    if reader.at != len(tokens):
        raise InputError("there are tokens after the program's end")
    return Program(expression, language)


@lru_cache(maxsize=4096)
def _value(text: str, language: Language) -> Expression:
    """A constant or a number."""
    return language.expression(text)


class _Reader:
    """Builds the tree itself: parsing text takes several times as long, and each program of a reader is read."""

    def __init__(self, tokens: Sequence[str], language: Language) -> None:
        self.tokens, self.language, self.at = tokens, language, 0

    def read(self, scope: Mapping[str, Type]) -> Expression:
        """Returns the next expression; `scope`: the variables in it."""
        token = self.next()
        if token in scope:
            return tree.Variable(token, scope[token])
        if token.startswith(VALUE):
            return _value(token.removeprefix(VALUE), self.language)
        if token.startswith(HAS):
            value = token.removeprefix(HAS)
            tested = tree.Call(self.function(value.partition(".")[0]), (self.read(scope),))
            return tree.Comparison((tested, _value(value, self.language)), ("==",))
        if token in _COMPARISONS:
            return tree.Comparison((self.read(scope), self.read(scope)), (token,))
        name, slash, _ = token.rpartition("/")
        if not slash:
            raise InputError(f"{token!r:.40} has no value here")
        return self.call(name, arity(token), scope)

    def call(self, name: str, count: int, scope: Mapping[str, Type]) -> Expression:
        if name in ("and", "or") and count:
            parts = self.several(count, scope)
            return tree.Logic(name, parts) if count > 1 else parts[0]
        if name in ("{}", "[]="):
            return tree.Display(self.several(count, scope), name == "{}")
        if (operators := tuple(_OPERATOR.findall(name))) and " ".join(operators) == name:
            if count != len(operators) + 1:
                raise InputError(f"{name:.40} compares {len(operators) + 1} values, not {count}")
            return tree.Comparison(self.several(count, scope), operators)
        function, arguments = self.function(name), list[Expression]()
        for position in range(count):
            is_mapped = position < len(function.parameters) and function.parameters[position].mapped and arguments
            arguments.append(self.of_members(arguments[0], scope) if is_mapped else self.read(scope))
        return tree.Call(function, tuple(arguments))

    def of_members(self, collection: Expression, scope: Mapping[str, Type]) -> Expression:
        """Returns the next expression, a function of the members of a collection."""
        takes = member_type(collection.type)
        if takes is None:
            raise InputError(f"a function needs members to apply to, not {described(collection.type)}")
        if self.next() != LAMBDA:
            raise InputError("a function of members must be a lambda")
        name = f"v{len(scope) - len(tree.GLOBALS)}"
        return tree.Lambda(tree.Variable(name, takes), self.read({**scope, name: takes}))

    def several(self, count: int, scope: Mapping[str, Type]) -> tuple[Expression, ...]:
        return tuple(self.read(scope) for _ in range(count))

    def next(self) -> str:
        if self.at >= len(self.tokens):
            raise InputError("the program has no end")
        self.at += 1
        return self.tokens[self.at - 1]

    def function(self, name: str) -> Function:
        if (function := self.language.functions.get(name)) is None:
            raise InputError(f"unknown function {name!r:.40}")
        return function
