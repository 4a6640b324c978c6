"""Programs on many scenes at once. Equal to `Program.holds` on each scene, many times as fast."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veriscene.language import expression as tree
from veriscene.language.bulk import functions
from veriscene.language.bulk.arrays import Array, Layout, SceneArrays, layout_of
from veriscene.language.bulk.rows import (
    Code,
    Rows,
    Unsupported,
    all_items,
    are_sets,
    joined,
    membership,
    representable,
    same,
    truth,
)
from veriscene.language.execution import MAX_STEPS, ORDERINGS, compile_expression
from veriscene.language.expression import Expression, Kind, Many
from veriscene.language.functions import Undefined
from veriscene.language.program import Program

MAX_ROWS = 1 << 20  # evaluated at once: it bounds memory

# The lambdas around an expression, outermost first: name of the parameter, and how many members its value may have.
Scope = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Truths:
    """Holds the values of one program on n scenes."""

    holds: Array  # (n,), bool
    undefined: Array  # (n,), bool: a presupposition fails, so that neither the statement nor its negation is true


class BulkProgram:
    """Evaluates a program, once compiled, on many scenes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._code: Code | None = None
        with suppress(Unsupported):
            code = compile_rows(program.expression, layout_of(program.language.world))
            if code.cost + code.operators <= MAX_STEPS:  # Otherwise the plain evaluator counts the steps.
                self._code = code

    @property
    def vectorised(self) -> bool:
        """False if it uses a construct that is left to the plain evaluator."""
        return self._code is not None

    def holds(self, scenes: SceneArrays, which: Array | None = None) -> Array:
        """Returns (n,) as `Program.holds` does: False where a presupposition fails."""
        return self(scenes, which).holds

    def __call__(self, scenes: SceneArrays, which: Array | None = None) -> Truths:
        """Evaluates it on all scenes, or on those with the given numbers, in that order.

        Raises InputError where `Program.holds` does: if evaluation takes too many steps.
        """
        assert scenes.world == self.program.language.world, "the scenes are of another world"
        which = np.arange(len(scenes)) if which is None else which
        if self._code is None:
            return _plain(self.program, scenes[which])
        at_once = max(1, MAX_ROWS // (1 + self._code.cost))
        holds, undefined = np.zeros((2, len(which)), bool)
        for start in range(0, len(which), at_once):
            some, rows = slice(start, start + at_once), Rows(scenes, which[start : start + at_once])
            holds[some] = self._code.run(rows)
            if rows.undefined is not None:
                undefined[some] = rows.undefined
        return Truths(holds & ~undefined, undefined)


def _plain(program: Program, scenes: SceneArrays) -> Truths:
    value = compile_expression(program.expression, program.language.place)
    holds, undefined = np.zeros((2, len(scenes)), bool)
    for number, scene in enumerate(scenes.scenes()):
        try:
            holds[number] = value(scene)
        except Undefined:
            undefined[number] = True
    return Truths(holds, undefined)


# ---------------------------------------------------------------- expressions to code


def compile_rows(node: Expression, layout: Layout, scope: Scope = ()) -> Code:
    """Returns code for rows; raises Unsupported if only the plain evaluator can evaluate the expression."""
    if not representable(node.type):
        raise Unsupported(f"values of type {node.type}")

    def codes(nodes: Sequence[Expression]) -> list[Code]:
        return [compile_rows(each, layout, scope) for each in nodes]

    match node:
        case tree.Call(_, (first, *_, tree.Lambda(parameter, body))):
            (members,) = codes([first])
            inner = (*scope, (parameter.name, members.member_most))
            code = functions.quantifier(node, members, len(inner), compile_rows(body, layout, inner))
        case tree.Call(function, (tree.Call(of, (items,)) as values,)) if (
            function.name in ("min", "max") or (function.name == "count" and values.type == Many(Kind.NUMBER))
        ) and of.bulk[0] == "attribute":
            code = functions.of_values(node, codes([items])[0], layout)
        case tree.Call(_, arguments):
            code = _call(node, codes(arguments), layout)
        case tree.Variable():
            code = _variable(node, layout, scope)
        case tree.Number(value) | tree.Constant(value=value):
            code = Code(lambda rows: value, node.type)
        case tree.Logic(word, operands):
            code = _junction(word == "and", codes(operands), node)
        case tree.Comparison(operands, words):
            code = _comparison(codes(operands), words)
        case tree.Display(elements, is_set):
            code = functions.display(codes(elements), node.type, is_set, layout)
        case _:
            raise Unsupported(type(node).__name__)
    return replace(code, most=layout.items) if code.type is Kind.BOX else code


def _call(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    name = call.function.bulk[0]
    if name in ("AND", "OR"):
        return _junction(name == "AND", codes, call)
    if name not in functions.RULES:
        raise Unsupported(call.function.name)
    if any(are_sets(code.type) for code in codes) and name not in functions.OF_SUBSETS:
        raise Unsupported("sets of sets")
    return joined(codes, functions.RULES[name](call, codes, layout))


def _variable(variable: tree.Variable, layout: Layout, scope: Scope) -> Code:
    depths = [depth for depth, (name, _) in enumerate(scope, 1) if name == variable.name]
    if depths:
        depth = depths[-1]  # Inner lambdas hide outer ones.
        return Code(lambda rows: rows.value(depth), variable.type, most=scope[depth - 1][1])
    if variable.name == "all_items":
        return Code(all_items, variable.type, most=layout.slots)
    return Code(lambda rows: rows.scenes.box_mask[rows.scene], variable.type, most=layout.boxes)


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
            undecided = np.broadcast_to(truth(value) == conjunctive, len(rows))
            some = Rows(rows.scenes, np.flatnonzero(undecided), rows)
            found = as_result(code, code.run(some))
            value = np.array(np.broadcast_to(value, (len(rows), *np.shape(found)[1:])))
            if np.result_type(value, found) != value.dtype:  # a count, or a price
                value = value.astype(np.result_type(value, found))
            value[some.origin] = found
            if some.undefined is not None:
                undefined = np.zeros(len(rows), bool)
                undefined[some.origin] = some.undefined
                rows.mark_undefined(undefined)
        return value

    def as_result(code: Code, value: Any) -> Any:
        return truth(value) if node.type is Kind.TRUTH and code.type is not Kind.TRUTH else value

    most = max(code.most for code in codes)
    return joined(codes, Code(run, node.type, most=most, ordered=False, distinct=False))


def _comparison(codes: Sequence[Code], words: Sequence[str]) -> Code:
    if not all(code.total for code in codes[2:]):  # the first two are always evaluated
        raise Unsupported("a chain that stops before an operand without a value")
    tests = [_test(word, *pair) for word, pair in zip(words, itertools.pairwise(codes), strict=True)]

    def run(rows: Rows) -> Any:
        values = [code.run(rows) for code in codes]
        found = [test(rows, *pair) for test, pair in zip(tests, itertools.pairwise(values), strict=True)]
        return np.logical_and.reduce(np.broadcast_arrays(*found)) if len(found) > 1 else found[0]

    return joined(codes, Code(run, Kind.TRUTH))


def _test(word: str, left: Code, right: Code) -> Callable[[Rows, Any, Any], Any]:
    if word in ORDERINGS:
        ordering = ORDERINGS[word]
        return lambda rows, a, b: ordering(a, b)
    compare = membership(left, right) if word in ("in", "not in") else same(left, right)
    if word in ("==", "in"):
        return compare
    return lambda rows, a, b: ~np.broadcast_to(compare(rows, a, b), len(rows))
