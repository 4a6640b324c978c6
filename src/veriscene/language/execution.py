"""Compiles expressions to closures, once, so that evaluating them on many scenes is fast.

A closure takes a frame: a list of the remaining steps and the values of the variables in scope, outermost first. These
are the scene's boxes, its items, and the argument of each nested lambda.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from veriscene.errors import InputError
from veriscene.language import expression as tree
from veriscene.language.expression import Expression, Kind, Many, Type
from veriscene.language.functions import Members, Placed, contains, distinct, equal, whole
from veriscene.world.scene import Scene

Frame = list[Any]
Code = Callable[[Frame], Any]
Scope = tuple[str, ...]  # what a frame contains

STEPS = 0
MAX_STEPS = 1_000_000  # about half a second; public programs take at most a few thousand
_NAMES: Scope = ("remaining steps", *tree.GLOBALS)

ORDERINGS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    **ORDERINGS,
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "in": contains,
    "not in": lambda member, members: not contains(member, members),
}


def compile_expression(expression: Expression, place: Callable[[Scene], Placed]) -> Callable[[Scene], Any]:
    """Returns the expression as a function of a scene.

    The function raises Undefined if the expression has no value, and InputError if it takes too many steps. Every use
    of a collection costs a step per member, and every call of a lambda a step per operator in it, which bounds running
    time and memory. It returns collections as tuples.
    """
    code = _code(expression, _NAMES)
    return lambda scene: code([MAX_STEPS, *place(scene)])


def _code(node: Expression, scope: Scope) -> Code:
    match node:
        case tree.Call():
            return _call(node, scope)
        case tree.Variable(name):
            return operator.itemgetter(len(scope) - 1 - scope[::-1].index(name))  # Inner lambdas hide outer ones.
        case tree.Number(value) | tree.Constant(value=value):
            return lambda frame: value
        case tree.Logic(word, operands):
            code = _junction(word == "and", [_code(operand, scope) for operand in operands])
            return code if all(operand.type == node.type for operand in operands) else _applied(bool, [code])
        case tree.Comparison(operands, words):
            return _comparison(operands, words, [_operand(each, scope) for each in operands])
        case tree.Display(members, is_set):
            codes = [_code(member, scope) for member in members]
            collection = _charged(lambda frame: tuple([code(frame) for code in codes]), _depth(node.type))
            return _applied(distinct, [collection]) if is_set else collection
    raise TypeError(f"{type(node).__name__} cannot be evaluated on its own")


def _comparison(operands: Sequence[Expression], words: Sequence[str], codes: list[Code]) -> Code:
    """A chain as `a == b <= c` evaluates each operand once, so nested chains take linear time."""
    if len(words) == 1:
        has_sets = any(isinstance(each.type, Many) for each in operands)
        fast = {} if has_sets else {"==": operator.eq, "!=": operator.ne}
        return _applied(fast.get(words[0], _COMPARISONS[words[0]]), codes)
    tests = [_COMPARISONS[word] for word in words]

    def run(frame: Frame) -> bool:
        left = codes[0](frame)
        for test, operand in zip(tests, codes[1:], strict=True):
            right = operand(frame)
            if not test(left, right):
                return False
            left = right
        return True

    return run


def _operand(node: Expression, scope: Scope, collected: bool = False) -> Code:
    """The node's value, charged if it is a collection. If `collected`, a box or a single value becomes a tuple."""
    code = _code(node, scope)
    if isinstance(node.type, Many):
        return _charged(code, _depth(node.type))
    if not collected:
        return code
    if node.type is Kind.BOX:
        return _charged(lambda frame: code(frame).items, depth=1)
    return lambda frame: (code(frame),)


def _call(call: tree.Call, scope: Scope) -> Code:
    function = call.function
    codes: list[Code] = []
    for parameter, argument in zip(function.parameters, call.arguments, strict=False):
        if isinstance(argument, tree.Lambda):
            codes.append(_function(argument, scope))
        else:
            codes.append(_operand(argument, scope, parameter.collected))
    if function.value is None:
        return _SPECIAL[function.name](codes)
    if function.scans:
        codes[0] = _charged(codes[0], depth=1, steps=function.scans)
    return _applied(function.value, codes)


def _function(function: tree.Lambda, scope: Scope) -> Code:
    """Evaluates to a Python function of one argument. Each call costs a step per operator of the body."""
    slot, body = len(scope), _operand(function.body, (*scope, function.parameter.name))
    steps = tree.operators_in(function.body)

    def run(frame: Frame) -> Callable[[Any], Any]:
        if len(frame) == slot:  # The first use of a lambda at this depth on this scene.
            frame.append(None)

        def apply(member: Any) -> Any:
            frame[slot] = member
            remaining = frame[STEPS] = frame[STEPS] - steps  # inline: most of a program's time is spent here
            if remaining < 0:
                raise _too_many_steps()
            return body(frame)

        return apply

    return run


def _charged(code: Code, depth: int, steps: int = 1) -> Code:
    def run(frame: Frame) -> Members:
        members: Members = code(frame)
        _charge_members(frame, members, depth, steps)
        return members

    return run


def _charge_members(frame: Frame, members: Members, depth: int, steps: int = 1) -> None:
    """Charges steps per member, and one per member of members."""
    _charge(frame, len(members) * steps)
    if depth > 1:
        for each in members:
            _charge_members(frame, each, depth - 1)


def _charge(frame: Frame, steps: int) -> None:
    frame[STEPS] -= steps
    if frame[STEPS] < 0:
        raise _too_many_steps()


def _too_many_steps() -> InputError:
    allowed = "use smaller sets, or nest fewer lambdas"
    return InputError(f"the program takes more than {MAX_STEPS} steps on one scene", allowed=allowed)


def _depth(type: Type) -> int:
    return 1 + _depth(type.of) if isinstance(type, Many) else 0


def _applied(value: Callable[..., Any], arguments: list[Code]) -> Code:
    if len(arguments) == 1:
        (only,) = arguments
        return lambda frame: value(only(frame))
    if len(arguments) == 2:
        first, second = arguments
        return lambda frame: value(first(frame), second(frame))
    return lambda frame: value(*[argument(frame) for argument in arguments])


def _junction(conjunctive: bool, conditions: list[Code]) -> Code:
    """Short-circuiting `and` or `or`; returns the value that decided, as in Python."""

    def run(frame: Frame) -> Any:
        for condition in conditions:
            value = condition(frame)
            if (not value) is conjunctive:
                break
        return value

    return run


def _subsets(collection: Code, size: Code, of_distinct: bool) -> Code:
    def run(frame: Frame) -> tuple[Members, ...]:
        members, chosen = collection(frame), whole(size(frame))
        if of_distinct:
            members = distinct(members)
        _charge(frame, math.comb(len(members), chosen) * (1 + chosen))
        return tuple(itertools.combinations(members, chosen))

    return run


_SPECIAL: dict[str, Callable[[list[Code]], Code]] = {
    "AND": lambda codes: _applied(bool, [_junction(True, codes)]),
    "OR": lambda codes: _applied(bool, [_junction(False, codes)]),
    "combinations": lambda codes: _subsets(codes[0], codes[1], of_distinct=False),
    "select": lambda codes: _subsets(codes[1], codes[0], of_distinct=True),
}
