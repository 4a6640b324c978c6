"""Compiles expressions to functions of Rows."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veriscene.language import expression as tree
from veriscene.language.bulk import collections, items
from veriscene.language.bulk.arrays import SLOTS
from veriscene.language.bulk.lambdas import QUANTIFIERS
from veriscene.language.bulk.rows import Code, Rows, Unsupported
from veriscene.language.bulk.values import are_sets, joined, membership, representable, same, truth
from veriscene.language.expression import Expression
from veriscene.language.types import Kind
from veriscene.world.scene import BOXES_PER_SCENE, MOST_ITEMS

# The lambdas around an expression, outermost first: name of the parameter, and how many members its value may have.
Scope = tuple[tuple[str, int], ...]

_ORDERINGS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compile_rows(node: Expression, scope: Scope = ()) -> Code:
    """Raises Unsupported if only the plain evaluator can evaluate it."""
    if not representable(node.type):
        raise Unsupported(f"values of type {node.type}")
    code = _compile(node, scope)
    return replace(code, most=MOST_ITEMS) if code.type is Kind.BOX else code


def _compile(node: Expression, scope: Scope) -> Code:
    match node:
        case tree.Call():
            return _call(node, scope)
        case tree.Variable(name):
            return _variable(name, node, scope)
        case tree.Number(value):
            return Code(lambda rows: value, node.type)
        case tree.Constant():
            return items.constant(node)
        case tree.Logic(word, operands):
            codes = [compile_rows(operand, scope) for operand in operands]
            return _junction(word == "and", codes, node)
        case tree.Comparison(operands, words):
            return _comparison([compile_rows(operand, scope) for operand in operands], words)
        case tree.Display(members, is_set):
            return collections.display([compile_rows(member, scope) for member in members], node.type, is_set)
    raise Unsupported(type(node).__name__)


def _variable(name: str, node: tree.Variable, scope: Scope) -> Code:
    for depth in range(len(scope), 0, -1):  # Inner lambdas hide outer ones.
        if scope[depth - 1][0] == name:
            return Code(_parameter(depth), node.type, most=scope[depth - 1][1])
    if name == "all_items":
        return Code(lambda rows: rows.scenes.mask.reshape(-1, SLOTS)[rows.scene], node.type, most=SLOTS)
    return Code(lambda rows: np.ones((len(rows), BOXES_PER_SCENE), bool), node.type, most=BOXES_PER_SCENE)


def _parameter(depth: int) -> Callable[[Rows], Any]:
    return lambda rows: rows.value(depth)


def _call(call: tree.Call, scope: Scope) -> Code:
    name, first = call.function, call.arguments[0]
    if name in QUANTIFIERS:
        function = call.arguments[-1]
        if not isinstance(function, tree.Lambda):
            raise Unsupported("the least of some numbers")
        members = compile_rows(first, scope)
        body = compile_rows(function.body, (*scope, (function.parameter.name, members.member_most)))
        return QUANTIFIERS[name](members, len(scope) + 1, body, call.type)
    codes = [compile_rows(argument, scope) for argument in call.arguments]
    if name in ("AND", "OR"):
        return _junction(name == "AND", codes, call)
    for functions in (items.FUNCTIONS, collections.FUNCTIONS):
        if name in functions:
            return joined(codes, functions[name](call, codes))
    raise Unsupported(name)


def _junction(conjunctive: bool, codes: Sequence[Code], node: Expression) -> Code:
    """Short-circuiting: what is costly or may be undefined is evaluated only where it decides."""
    if any(are_sets(code.type) for code in codes):
        raise Unsupported("a set of sets as a condition")

    join = np.logical_and if conjunctive else np.logical_or

    def run(rows: Rows) -> Any:
        value = as_result(codes[0], codes[0].run(rows))
        for code in codes[1:]:
            if code.total and not code.cost and node.type is Kind.TRUTH:
                value = join(value, as_result(code, code.run(rows)))
                continue
            undecided = truth(value) == conjunctive
            some = rows.only(np.broadcast_to(undecided, len(rows)))
            found = as_result(code, code.run(some))
            value = np.array(np.broadcast_to(value, (len(rows), *np.shape(found)[1:])))
            value[some.origin] = found
            if some.undefined is not None:
                undefined = np.zeros(len(rows), bool)
                undefined[some.origin] = some.undefined
                rows.mark_undefined(undefined)
        return value

    def as_result(code: Code, value: Any) -> Any:
        return truth(value) if node.type is Kind.TRUTH and code.type is not Kind.TRUTH else value

    return joined(codes, Code(run, node.type, ordered=False, distinct=False))


def _comparison(codes: Sequence[Code], words: Sequence[str]) -> Code:
    if len(words) > 1 and not all(code.total for code in codes):
        raise Unsupported("a chain that stops before an operand without a value")
    tests = [_test(word, *pair) for word, pair in zip(words, itertools.pairwise(codes), strict=True)]

    def run(rows: Rows) -> Any:
        values = [code.run(rows) for code in codes]
        found = [test(rows, *pair) for test, pair in zip(tests, itertools.pairwise(values), strict=True)]
        return np.logical_and.reduce(np.broadcast_arrays(*found)) if len(found) > 1 else found[0]

    return joined(codes, Code(run, Kind.TRUTH))


def _test(word: str, left: Code, right: Code) -> Callable[[Rows, Any, Any], Any]:
    if word in _ORDERINGS:
        ordering = _ORDERINGS[word]
        return lambda rows, a, b: ordering(a, b)
    compare = membership(left, right) if word in ("in", "not in") else same(left, right)
    if word in ("==", "in"):
        return compare
    return lambda rows, a, b: ~np.broadcast_to(compare(rows, a, b), len(rows))
