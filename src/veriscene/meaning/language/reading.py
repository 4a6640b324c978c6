"""Python's syntax tree to ours. Every construct and every name is on a closed list; all else is refused."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from veriscene.errors import InputError
from veriscene.meaning.language import expression as tree
from veriscene.meaning.language.constants import CONSTANTS
from veriscene.meaning.language.expression import Expression, Variable
from veriscene.meaning.language.functions import FUNCTIONS
from veriscene.meaning.language.kinds import Type, described, member_type
from veriscene.meaning.language.names import ATTRIBUTES, CALLABLE, ENUMS, METHODS, Whole
from veriscene.meaning.language.signatures import Function, Parameter
from veriscene.meaning.language.syntax import place, refuse, syntax_tree

Scope = Mapping[str, Type]

_WHOLES = {whole.value: whole for whole in Whole}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_WHAT_IS_ALLOWED = "allowed are calls, lambda, and/or/not, comparisons, + and %, numbers, sets, lists, subscripts"


def expression(text: object) -> Expression:
    """The tree that a text writes down, of any type; raises InputError for any text that is no expression."""
    return _expression(syntax_tree(text), {})


def _expression(node: ast.expr, scope: Scope) -> Expression:
    translate = _TRANSLATIONS.get(type(node))
    if translate is None:
        refuse(node, _WHAT_IS_ALLOWED)
    return translate(node, scope)


def _expressions(nodes: Iterable[ast.expr], scope: Scope) -> tuple[Expression, ...]:
    return tuple(_expression(node, scope) for node in nodes)


def _built(at: ast.expr, node: Callable[..., Expression], *parts: Any) -> Expression:
    """Builds a node of the tree; what does not fit together is reported with its place."""
    try:
        return node(*parts)
    except InputError as error:
        raise InputError(f"{place(at)}: {error}") from None


def _constant(node: ast.Constant, scope: Scope) -> Expression:
    if type(node.value) is not int:
        refuse(node, "the only literals are whole numbers")
    return _built(node, tree.Number, node.value)


def _name(node: ast.Name, scope: Scope) -> Expression:
    if node.id in scope:
        return Variable(node.id, scope[node.id])
    if node.id in _WHOLES:
        return tree.Everything(_WHOLES[node.id])
    if node.id in FUNCTIONS:
        raise InputError(f"{place(node)}: the function {node.id} needs arguments here; write {node.id}(…)")
    if node.id in ENUMS:
        raise InputError(f"{place(node)}: {node.id} alone is no value; write as {_first_constant(node.id)}")
    known = [*scope, *_WHOLES, *CALLABLE]
    raise InputError(f"{place(node)}: unknown name {node.id!r:.40}; {_suggestion(node.id, known)}")


def _attribute(node: ast.Attribute, scope: Scope) -> Expression:
    if isinstance(node.value, ast.Name) and node.value.id in ENUMS:
        return _built(node, tree.Constant, f"{node.value.id}.{node.attr}")
    known = [*METHODS, *ATTRIBUTES]
    if node.attr not in known:
        raise InputError(f"{place(node)}: unknown attribute {node.attr!r:.40}; choose from {', '.join(known)}")
    # A method without its brackets is read as called: public programs write `x.is_tower`, and that is what they mean.
    return _built(node, tree.Call, node.attr, (_expression(node.value, scope),))


def _call(node: ast.Call, scope: Scope) -> Expression:
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        if node.args or node.keywords:
            raise InputError(f"{place(node)}: {node.func.attr} takes nothing between its brackets")
        return _attribute(node.func, scope)
    if not isinstance(node.func, ast.Name) or node.func.id not in CALLABLE:
        called = ast.unparse(node.func)[:40]
        raise InputError(f"{place(node)}: {called!r} cannot be called; {_suggestion(called, CALLABLE)}")
    name = node.func.id
    arguments: list[Expression] = []
    for parameter, argument in _matched(node, name, FUNCTIONS[name]):
        if parameter is not None and parameter.mapped and arguments:
            arguments.append(_function(argument, arguments[0], scope))
        else:
            arguments.append(_expression(argument, scope))
    return _built(node, tree.Call, name, tuple(arguments))


def _matched(node: ast.Call, name: str, function: Function) -> Iterable[tuple[Parameter | None, ast.expr]]:
    """Each argument with its parameter. Too many arguments are left for the tree to refuse."""
    arguments = list(node.args)
    for keyword in node.keywords:
        at = len(arguments)
        expected = function.parameters[at].keyword if at < len(function.parameters) else None
        if keyword.arg is None or keyword.arg != expected:
            right = f"{name} takes {f'{expected}= here' if expected else 'no such argument'}"
            raise InputError(f"{place(keyword)}: {keyword.arg or '**'}= is not allowed; {right}")
        arguments.append(keyword.value)
    parameters = [*function.parameters, *[None] * len(arguments)]
    return zip(parameters, arguments, strict=False)


def _function(node: ast.expr, collection: Expression, scope: Scope) -> Expression:
    """A lambda or the name of a function, applied to the members of a collection."""
    takes = member_type(collection.type)
    if takes is None:
        raise InputError(
            f"{place(node)}: a function of the members of a set, but the first argument is {described(collection.type)}"
        )
    if isinstance(node, ast.Name) and node.id in CALLABLE and node.id not in scope:
        return _built(node, tree.Named, node.id, takes)
    if not isinstance(node, ast.Lambda):
        return _expression(node, scope)
    given = node.args
    if len(given.args) != 1 or given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg or given.defaults:
        raise InputError(f"{place(node)}: a lambda must have one plain argument, as `lambda x: …`")
    name = given.args[0].arg
    parameter = _built(node, Variable, name, takes)
    return _built(node, tree.Lambda, parameter, _expression(node.body, {**scope, name: takes}))


def _lambda(node: ast.Lambda, scope: Scope) -> Expression:
    places = ", ".join(name for name in CALLABLE if any(each.mapped for each in FUNCTIONS[name].parameters))
    raise InputError(f"{place(node)}: a lambda must be the second argument of one of {places}")


def _bool_op(node: ast.BoolOp, scope: Scope) -> Expression:
    word = "and" if isinstance(node.op, ast.And) else "or"
    return _built(node, tree.Logic, word, _expressions(node.values, scope))


def _unary_op(node: ast.UnaryOp, scope: Scope) -> Expression:
    if not isinstance(node.op, ast.Not):
        refuse(node, "write `not`, or a number without a sign")
    return _built(node, tree.Not, _expression(node.operand, scope))


def _compare(node: ast.Compare, scope: Scope) -> Expression:
    words = tuple(_COMPARISONS.get(type(operator)) for operator in node.ops)
    if None in words:
        refuse(node, "write == instead of `is`")
    return _built(node, tree.Comparison, _expressions((node.left, *node.comparators), scope), words)


def _bin_op(node: ast.BinOp, scope: Scope) -> Expression:
    if not isinstance(node.op, ast.Add | ast.Mod):
        refuse(node, "the only ones are + and %")
    word = "+" if isinstance(node.op, ast.Add) else "%"
    return _built(node, tree.Arithmetic, word, _expression(node.left, scope), _expression(node.right, scope))


def _display(node: ast.Set | ast.List, scope: Scope) -> Expression:
    return _built(node, tree.Display, _expressions(node.elts, scope), isinstance(node, ast.Set))


def _subscript(node: ast.Subscript, scope: Scope) -> Expression:
    collection = _expression(node.value, scope)
    if not isinstance(node.slice, ast.Slice):
        return _built(node, tree.Subscript, collection, _expression(node.slice, scope))
    if node.slice.step is not None:
        raise InputError(f"{place(node)}: a slice must have two ends at most, as x[1:]")
    ends = [None if end is None else _expression(end, scope) for end in (node.slice.lower, node.slice.upper)]
    return _built(node, tree.Slice, collection, *ends)


_TRANSLATIONS: dict[type[ast.expr], Callable[[Any, Scope], Expression]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Lambda: _lambda,
    ast.BoolOp: _bool_op,
    ast.UnaryOp: _unary_op,
    ast.Compare: _compare,
    ast.BinOp: _bin_op,
    ast.Set: _display,
    ast.List: _display,
    ast.Subscript: _subscript,
}


def _first_constant(enum: str) -> str:
    return next(name for name in CONSTANTS if name.startswith(enum + "."))


def _suggestion(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"choose from {', '.join(known)}"
