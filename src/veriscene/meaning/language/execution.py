"""Expression trees turned, once, into closures, which makes them quick to evaluate on many scenes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from veriscene.errors import InputError
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
from veriscene.meaning.language.functions import FUNCTIONS, distinct
from veriscene.meaning.language.kinds import Kind, Many
from veriscene.meaning.language.names import Whole
from veriscene.meaning.language.operators import (
    BOXES,
    FIRST_ARGUMENT,
    ITEMS,
    MOST_STEPS,
    OF_SETS,
    OF_VALUES,
    OVER_MEMBERS,
    WITHOUT_VALUE,
    Code,
    applied,
    concatenation,
    junction,
    remainder,
    subscript,
    truth,
)
from veriscene.meaning.language.placed import placed
from veriscene.meaning.language.signatures import MEMBERSHIPS, compared_as_sets
from veriscene.scenes.scene import Scene

Scope = tuple[Variable, ...]


def executable(expression: Expression) -> Callable[[Scene], Any]:
    """The expression as a function of a scene; raises InputError if it uses a variable that no lambda binds.

    The function raises Undefined where the expression has no value, and InputError where it takes too many steps.
    Collections come back as tuples, items and boxes as those of `placed`.
    """
    translation = _Translation()
    code = translation.code(expression, ())
    places = [None] * translation.deepest

    def run(scene: Scene) -> Any:
        ready = placed(scene)
        return code([ready.boxes, ready.items, MOST_STEPS, *places])

    return run


class _Translation:
    def __init__(self) -> None:
        self.deepest = 0

    def code(self, node: Expression, scope: Scope) -> Code:
        match node:
            case Call():
                return self._call(node, scope)
            case Variable():
                return operator.itemgetter(_place(node, scope))
            case Everything(whole):
                return operator.itemgetter(BOXES if whole is Whole.BOXES else ITEMS)
            case Number(value) | Constant(value=value):
                return lambda frame: value
            case Logic():
                return self._logic(node, scope)
            case Not(operand):
                return applied(operator.not_, [self.code(operand, scope)])
            case Comparison():
                return self._comparison(node, scope)
            case Display():
                return self._display(node, scope)
            case Subscript(collection, index):
                return applied(subscript, [self._collected(collection, scope), self.code(index, scope)])
            case Slice():
                return self._slice(node, scope)
            case Arithmetic():
                return self._arithmetic(node, scope)
        raise InputError(f"{type(node).__name__} has no value of its own; a function stands only as an argument")

    def _collected(self, node: Expression, scope: Scope) -> Code:
        code = self.code(node, scope)
        if isinstance(node.type, Many):
            return code
        if node.type is Kind.BOX:
            return lambda frame: code(frame).items
        return lambda frame: (code(frame),)

    def _call(self, call: Call, scope: Scope) -> Code:
        function = FUNCTIONS[call.function]
        codes: list[Code] = []
        for parameter, argument in zip(function.parameters, call.arguments, strict=False):
            if isinstance(argument, Lambda | Named):
                return self._over_members(call.function, codes[0], argument, scope)
            codes.append((self._collected if parameter.collected else self.code)(argument, scope))
        if function.value is None:
            return WITHOUT_VALUE[call.function](codes)
        return applied(function.value, codes)

    def _over_members(self, name: str, members: Code, function: Lambda | Named, scope: Scope) -> Code:
        written_out = function if isinstance(function, Lambda) else function.written_out
        inner = (*scope, written_out.parameter)
        self.deepest = max(self.deepest, len(inner))
        return OVER_MEMBERS[name](members, self.code(written_out.body, inner), _place(written_out.parameter, inner))

    def _logic(self, node: Logic, scope: Scope) -> Code:
        code = junction(node.operator == "and", [self.code(operand, scope) for operand in node.operands])
        return code if all(operand.type == node.type for operand in node.operands) else truth(code)

    def _comparison(self, node: Comparison, scope: Scope) -> Code:
        links = []
        for left, word, right in node.links:
            as_sets = compared_as_sets(left.type, word, right.type)
            left_code = (self._collected if as_sets else self.code)(left, scope)
            right_code = (self._collected if as_sets or word in MEMBERSHIPS else self.code)(right, scope)
            links.append(applied((OF_SETS if as_sets else OF_VALUES)[word], [left_code, right_code]))
        return links[0] if len(links) == 1 else junction(True, links)

    def _display(self, node: Display, scope: Scope) -> Code:
        codes = [self.code(member, scope) for member in node.members]
        if node.is_set:
            return lambda frame: distinct(code(frame) for code in codes)
        return lambda frame: tuple([code(frame) for code in codes])

    def _slice(self, node: Slice, scope: Scope) -> Code:
        members = self._collected(node.collection, scope)
        start, stop = (None if end is None else self.code(end, scope) for end in (node.start, node.stop))
        return lambda frame: members(frame)[start and start(frame) : stop and stop(frame)]

    def _arithmetic(self, node: Arithmetic, scope: Scope) -> Code:
        if node.type is not Kind.NUMBER:
            return concatenation(self._collected(node.left, scope), self._collected(node.right, scope))
        value = operator.add if node.operator == "+" else remainder
        return applied(value, [self.code(node.left, scope), self.code(node.right, scope)])


def _place(variable: Variable, scope: Scope) -> int:
    for depth in reversed(range(len(scope))):
        if scope[depth].name == variable.name:
            if scope[depth].of != variable.of:
                break
            return FIRST_ARGUMENT + depth
    raise InputError(f"variable {variable.name!r} is not the argument of a lambda around it, or not of that type")
