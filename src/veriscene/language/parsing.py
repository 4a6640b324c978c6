"""Program text to expression trees. Text is parsed with `ast`, never evaluated; only listed constructs are accepted.

The text is not trusted: limits protect the stack and memory.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from veriscene.errors import InputError
from veriscene.language import expression as tree
from veriscene.language.expression import ATTRIBUTES, CALLABLE, ENUMS, METHODS, Expression
from veriscene.language.functions import FUNCTIONS
from veriscene.language.signatures import Parameter
from veriscene.language.types import CONSTANTS, Type, described, member_type

Scope = Mapping[str, Type]
Node = TypeVar("Node", bound=Expression)

MAX_LENGTH = 4000  # The longest public program has 700 characters and a tree of depth 18.
MAX_DEPTH = 60
_TOO_DEEP = InputError("the program is nested too deeply", allowed=f"at most {MAX_DEPTH} levels are allowed")

_BLANK = re.compile(r"\s")
_DISALLOWED = re.compile(r"[^ -~]|[#\\'\"]")  # There are no strings; comments and \ would hide a part of the text.
_GLUED = re.compile(r"\b\d[\d.]*[A-Za-z_]")  # Python would print a warning for `1and 2`.

_WORDS: dict[type[ast.AST], str] = {ast.And: "and", ast.Or: "or", ast.Add: "+", ast.Mod: "%"}
_WORDS |= {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_WORDS |= {ast.In: "in", ast.NotIn: "not in"}


def parse_expression(text: object) -> Expression:
    """The tree of an expression of any type; raises InputError if the text is not an expression of the language."""
    return _expression(_syntax_tree(text), tree.GLOBALS)


def _syntax_tree(text: object) -> ast.expr:
    """The syntax tree of one expression; column offsets refer to `text`."""
    if not isinstance(text, str):
        raise InputError(f"a program must be a string, not {type(text).__name__}")
    if not text.strip():
        raise InputError("the program is empty", allowed="write an expression, as exist(all_items)")
    if len(text) > MAX_LENGTH:
        raise InputError(f"the program has {len(text)} characters", allowed=f"at most {MAX_LENGTH} are allowed")
    line = _BLANK.sub(" ", text)
    if found := _DISALLOWED.search(line):
        where, allowed = f"character {found.start() + 1}", "use plain ASCII text without quotes, # and \\"
        raise InputError(f"{found.group()!r} is not allowed in a program", where=where, allowed=allowed)
    if found := _GLUED.search(line):
        what = f"there is no blank between a number and a word in {found.group():.20}"
        raise InputError(what, where=f"character {found.end()}")
    indent = len(line) - len(line.lstrip())
    try:
        root = ast.parse(line.lstrip(), mode="eval").body
    except SyntaxError as error:
        where, what = f"character {indent + (error.offset or 1)}", f"not an expression ({error.msg})"
        raise InputError(what, where=where, allowed="check parentheses and commas") from None
    except (MemoryError, RecursionError, ValueError):
        raise _TOO_DEEP from None
    _check_depth(root)
    for node in ast.walk(root) if indent else ():
        if isinstance(node, ast.expr | ast.keyword):
            node.col_offset += indent
    return root


def _check_depth(root: ast.expr) -> None:
    level: list[ast.AST] = [root]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise _TOO_DEEP


def _expression(node: ast.expr, scope: Scope) -> Expression:
    match node:
        case ast.Name():
            return _name(node, scope)
        case ast.Attribute():
            return _attribute(node, scope)
        case ast.Call():
            return _call(node, scope)
        case ast.Subscript():
            return _subscript(node, scope)
        case ast.Constant(value):
            if type(value) is not int:
                raise _rejected(node, "the only literals are whole numbers")
            return _build(node, tree.Number, value)
        case ast.BoolOp(word, operands):
            return _build(node, tree.Logic, _WORDS[type(word)], _expressions(operands, scope))
        case ast.UnaryOp(word, operand):
            if not isinstance(word, ast.Not):
                raise _rejected(node, "use `not`, or a number without a sign")
            return _build(node, tree.Call, "not", (_expression(operand, scope),))
        case ast.BinOp(left, word, right):
            if type(word) not in _WORDS:
                raise _rejected(node, "the operators are + and %")
            return _build(node, tree.Call, _WORDS[type(word)], _expressions((left, right), scope))
        case ast.Compare(left, words, others):
            if not all(type(word) in _WORDS for word in words):
                raise _rejected(node, "write == instead of `is`")
            operators = tuple(_WORDS[type(word)] for word in words)
            return _build(node, tree.Comparison, _expressions((left, *others), scope), operators)
        case ast.Set(members) | ast.List(members):
            return _build(node, tree.Display, _expressions(members, scope), isinstance(node, ast.Set))
        case ast.Lambda():
            takers = ", ".join(name for name in CALLABLE if any(each.mapped for each in FUNCTIONS[name].parameters))
            raise _error(node, "a lambda is not a value", f"use it as the second argument of {takers}")
    raise _rejected(node, "use calls, lambda, and/or/not, comparisons, + and %, numbers, sets, lists and subscripts")


def _expressions(nodes: Iterable[ast.expr], scope: Scope) -> tuple[Expression, ...]:
    return tuple(_expression(node, scope) for node in nodes)


def _build(at: ast.expr, node: Callable[..., Node], *parts: Any) -> Node:
    """Builds a node of the tree; type errors are reported with their place."""
    try:
        return node(*parts)
    except InputError as error:
        raise error.at(_place(at)) from None


def _place(node: ast.expr | ast.keyword) -> str:
    return f"character {node.col_offset + 1}"


def _error(node: ast.expr | ast.keyword, what: str, allowed: str | None = None) -> InputError:
    return InputError(what, where=_place(node), allowed=allowed)


def _rejected(node: ast.expr, allowed: str) -> InputError:
    return _error(node, f"{ast.unparse(node)!r:.40} is not allowed", allowed)


def _suggestion(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"choose from {', '.join(known)}"


def _name(node: ast.Name, scope: Scope) -> Expression:
    name = node.id
    if name in scope:
        return tree.Variable(name, scope[name])
    if name in FUNCTIONS:
        raise _error(node, f"the function {name} needs arguments here", f"write {name}(…)")
    if name in ENUMS:
        example = next(constant for constant in CONSTANTS if constant.startswith(name))
        raise _error(node, f"{name} is not a value", f"write {example}, for example")
    raise _error(node, f"unknown name {name!r:.40}", _suggestion(name, [*scope, *CALLABLE]))


def _attribute(node: ast.Attribute, scope: Scope) -> Expression:
    if isinstance(node.value, ast.Name) and node.value.id in ENUMS:
        return _build(node, tree.Constant, f"{node.value.id}.{node.attr}")
    known = [*METHODS, *ATTRIBUTES]
    if node.attr not in known:
        raise _error(node, f"unknown attribute {node.attr!r:.40}", f"choose from {', '.join(known)}")
    # Public programs also write `x.is_tower` without parentheses, and mean the call.
    return _build(node, tree.Call, node.attr, (_expression(node.value, scope),))


def _call(node: ast.Call, scope: Scope) -> Expression:
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        if node.args or node.keywords:
            raise _error(node, f"{node.func.attr} takes no arguments")
        return _attribute(node.func, scope)
    if not isinstance(node.func, ast.Name) or node.func.id not in CALLABLE:
        called = ast.unparse(node.func)
        raise _error(node, f"{called!r:.40} cannot be called", _suggestion(called, CALLABLE))
    arguments: list[Expression] = []
    for parameter, argument in _bound(node, node.func.id):
        if argument is None:
            arguments.append(tree.Constant("Side.ANY"))  # The only parameters that can be skipped are sides.
        elif parameter is not None and parameter.mapped and arguments:
            arguments.append(_function(argument, arguments[0], scope))
        else:
            arguments.append(_expression(argument, scope))
    return _build(node, tree.Call, node.func.id, tuple(arguments))


def _bound(node: ast.Call, name: str) -> Iterator[tuple[Parameter | None, ast.expr | None]]:
    """Pairs parameters and arguments, up to the last argument given. `tree.Call` checks their number."""
    parameters = FUNCTIONS[name].parameters
    arguments: dict[int, ast.expr] = dict(enumerate(node.args))
    positions = {parameter.keyword: at for at, parameter in enumerate(parameters) if parameter.keyword is not None}
    for keyword in node.keywords:
        if keyword.arg not in positions:
            known = ", ".join(f"{word}=" for word in positions) or "no keyword arguments"
            raise _error(keyword, f"{keyword.arg or '**'}= is not allowed", f"{name} takes {known}")
        position = positions[keyword.arg]
        if position in arguments:
            raise _error(keyword, f"{keyword.arg}= is given twice")
        arguments[position] = keyword.value
    for position in range(max(arguments, default=-1) + 1):
        parameter = parameters[position] if position < len(parameters) else None
        argument = arguments.get(position)
        if argument is None and parameter is not None and not parameter.optional:
            raise _error(node, f"argument {position + 1} of {name} is missing")
        yield parameter, argument


def _function(node: ast.expr, collection: Expression, scope: Scope) -> Expression:
    """A function of a collection's members: a lambda, or a name as in `filter_obj(all_items, is_top)`."""
    takes = member_type(collection.type)
    if takes is None:
        what = f"a function needs members to apply to, but the first argument is {described(collection.type)}"
        raise _error(node, what)
    if isinstance(node, ast.Name) and node.id in CALLABLE:
        parameter = tree.Variable("x", takes)
        return tree.Lambda(parameter, _build(node, tree.Call, node.id, (parameter,)))
    if not isinstance(node, ast.Lambda):
        return _expression(node, scope)
    given = node.args
    if len(given.args) != 1 or given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg or given.defaults:
        raise _error(node, "a lambda must have one plain parameter, as `lambda x: …`")
    name = given.args[0].arg
    body = _expression(node.body, {**scope, name: takes})
    return _build(node, tree.Lambda, tree.Variable(name, takes), body)


def _subscript(node: ast.Subscript, scope: Scope) -> Expression:
    if not isinstance(node.slice, ast.Slice):
        return _build(node, tree.Call, "[]", _expressions((node.value, node.slice), scope))
    if node.slice.step is not None:
        raise _error(node, "a slice cannot have a step", "write x[1:], for example")
    start = tree.Number(0) if node.slice.lower is None else _expression(node.slice.lower, scope)
    stop = () if node.slice.upper is None else (_expression(node.slice.upper, scope),)
    return _build(node, tree.Call, "[:]", (_expression(node.value, scope), start, *stop))
