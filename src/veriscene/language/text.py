"""Text to expression trees, and back. Text is parsed with `ast`, never evaluated; only listed constructs are accepted.

The text is not trusted: limits protect the stack and memory.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from veriscene.errors import InputError
from veriscene.language import expression as tree
from veriscene.language.expression import Expression, Form, Function, Parameter, Type, described, member_type

if TYPE_CHECKING:
    from veriscene.language.language import Language

Scope = Mapping[str, Type]

MAX_LENGTH = 4000  # The longest public program has 700 characters and a tree of depth 18.
MAX_DEPTH = 60
MAX_CHOICES = 40  # names in a message
MIN_LIKENESS = 0.8  # of a name that is suggested
_TOO_DEEP = InputError("the program is nested too deeply", allowed=f"at most {MAX_DEPTH} levels are allowed")

_BLANK = re.compile(r"\s")
_PLAIN = frozenset(map(chr, range(32, 127))) - frozenset("#\\'\"")  # Comments and \ would hide a part of the text.
_GLUED = re.compile(r"\b\d[\d.]*[^\W\d]")  # Python would print a warning for `1and 2`.
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,30}")

_WORDS: dict[type[ast.AST], str] = {ast.And: "and", ast.Or: "or", ast.Add: "+", ast.Mult: "*", ast.Mod: "%"}
_WORDS |= {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_WORDS |= {ast.In: "in", ast.NotIn: "not in"}

# ---------------------------------------------------------------- syntax


def parse_expression(text: object, language: Language) -> Expression:
    """Returns the tree of an expression of any type; raises InputError if the text is none of the language."""
    return _Parser(language).expression(_syntax_tree(text), tree.GLOBALS)


def _syntax_tree(text: object) -> ast.expr:
    """The syntax tree of one expression; column offsets are places in `text`."""
    if not isinstance(text, str):
        raise InputError(f"a program must be a string, not {type(text).__name__}")
    if not text.strip():
        raise InputError("the program is empty", allowed="write an expression, as exist(all_items)")
    if len(text) > MAX_LENGTH:
        raise InputError(f"the program has {len(text)} characters", allowed=f"at most {MAX_LENGTH} are allowed")
    line = _BLANK.sub(" ", text)
    for sign in sorted(set(line) - _PLAIN, key=line.index):
        if sign.isascii() or not f"a{sign}".isidentifier():
            where, allowed = (
                f"character {line.index(sign) + 1}",
                "use letters, digits and signs, but no quotes, # and \\",
            )
            raise InputError(f"{sign!r} is not allowed in a program", where=where, allowed=allowed)
    if found := _GLUED.search(line):
        what = f"there is no blank between a number and a word in {found.group():.20}"
        raise InputError(what, where=f"character {found.end()}")
    stripped = line.lstrip()
    indent = len(line) - len(stripped)
    try:
        root = ast.parse(stripped, mode="eval").body
    except SyntaxError as error:
        where, what = f"character {indent + (error.offset or 1)}", f"not an expression ({error.msg})"
        raise InputError(what, where=where, allowed="check parentheses and commas") from None
    except (MemoryError, RecursionError, ValueError):
        raise _TOO_DEEP from None
    level: list[ast.AST] = [root]
    for _ in range(MAX_DEPTH):
        level = [child for each in level for child in ast.iter_child_nodes(each)]
    if level:
        raise _TOO_DEEP
    if indent or not line.isascii():
        encoded = stripped.encode()
        for node in ast.walk(root):
            if isinstance(node, ast.expr | ast.keyword):  # `ast` counts bytes.
                node.col_offset = indent + len(encoded[: node.col_offset].decode())
    return root


# ---------------------------------------------------------------- syntax to expressions


class _Parser:
    def __init__(self, language: Language) -> None:
        self.language = language

    def expression(self, node: ast.expr, scope: Scope) -> Expression:
        match node:
            case ast.Name():
                return self.name(node, scope)
            case ast.Attribute():
                return self.attribute(node, scope)
            case ast.Call():
                return self.call(node, scope)
            case ast.Subscript(value, ast.Slice(lower, upper, None)):
                start = tree.Number(0) if lower is None else self.expression(lower, scope)
                stop = () if upper is None else (self.expression(upper, scope),)
                return self.apply(node, "[:]", self.expression(value, scope), start, *stop)
            case ast.Subscript(slice=ast.Slice()):
                raise _error(node, "a slice cannot have a step", "write x[1:], for example")
            case ast.Subscript(value, index):
                return self.apply(node, "[]", *self.expressions((value, index), scope))
            case ast.Constant(value):
                return self.number(node, value)
            case ast.BoolOp(word, operands):
                return _build(node, tree.Logic, _WORDS[type(word)], self.expressions(operands, scope))
            case ast.UnaryOp(ast.Not(), operand):
                return self.apply(node, "not", self.expression(operand, scope))
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)) if self.language.has_signs:
                return self.number(node, -value)
            case ast.UnaryOp():
                raise _rejected(node, "use `not`, or a number without a sign")
            case ast.BinOp(left, word, right):
                if type(word) not in _WORDS:
                    raise _rejected(node, "the operators are +, * and %")
                return self.apply(node, _WORDS[type(word)], *self.expressions((left, right), scope))
            case ast.Compare(left, words, others):
                if not all(type(word) in _WORDS for word in words):
                    raise _rejected(node, "write == instead of `is`")
                operators = tuple(_WORDS[type(word)] for word in words)
                return _build(node, tree.Comparison, self.expressions((left, *others), scope), operators)
            case ast.Set(members) | ast.List(members):
                return _build(node, tree.Display, self.expressions(members, scope), isinstance(node, ast.Set))
            case ast.Lambda():
                functions = self.language.functions.values()
                takers = [each.name for each in functions if any(parameter.mapped for parameter in each.parameters)]
                raise _error(node, "a lambda is not a value", f"use it as the second argument of {', '.join(takers)}")
        raise _rejected(
            node, "use calls, lambda, and/or/not, comparisons, +, * and %, numbers, sets, lists and subscripts"
        )

    def expressions(self, nodes: Iterable[ast.expr], scope: Scope) -> tuple[Expression, ...]:
        return tuple(self.expression(node, scope) for node in nodes)

    def apply(self, node: ast.expr, function: str, *arguments: Expression) -> Expression:
        return _build(node, tree.Call, self.language.functions[function], arguments)

    def number(self, node: ast.expr, value: object) -> Expression:
        language = self.language
        if type(value) is not int and not (type(value) is float and language.has_decimals):
            raise _rejected(node, f"the only literals are {'' if language.has_decimals else 'whole '}numbers")
        assert isinstance(value, int | float)
        if abs(value) > language.max_number:
            allowed = f"{-language.max_number if language.has_signs else 0:g} to {language.max_number:g} are allowed"
            raise _error(node, "a number is too large", allowed)
        return tree.Number(int(value) if value == int(value) else value)

    def name(self, node: ast.Name, scope: Scope) -> Expression:
        name, language = node.id, self.language
        if name in scope:
            return tree.Variable(name, scope[name])
        if name in language.constants:
            return language.constants[name]
        if name in language.functions:
            raise _error(node, f"the function {name} needs arguments here", f"write {name}(…)")
        if name in language.namespaces:
            raise _error(node, f"{name} is not a value", f"write {self.values(name)[0]}, for example")
        if near := _nearest(name, [*scope, *language.constants, *language.functions]):
            raise _error(node, f"unknown name {name!r:.40}", f"did you mean {near}?")
        raise self.unknown_value(node, name, f"{', '.join(scope)}, ")

    def unknown_value(self, node: ast.expr, name: str, also: str = "") -> InputError:
        what = f"the world {self.language.world.name} has no value {name.removeprefix('is_'):.40}"  # as in is_red
        values = [name for name in self.language.constants if "." not in name]
        return _error(node, what, f"choose from {also}{_listed(values)}")

    def values(self, namespace: str) -> list[str]:
        return [name for name in self.language.constants if name.startswith(f"{namespace}.")]

    def attribute(self, node: ast.Attribute, scope: Scope) -> Expression:
        language = self.language
        if isinstance(node.value, ast.Name) and node.value.id not in scope and node.value.id in language.namespaces:
            name = f"{node.value.id}.{node.attr}"
            if name not in language.constants:
                values = _listed(self.values(node.value.id))
                raise _error(node, f"there is no value {name:.40}", f"choose from {values}")
            return language.constants[name]
        known = [*language.attributes, *language.methods, *language.fields]
        if node.attr not in known:
            raise _error(node, f"unknown attribute {node.attr!r:.40}", f"choose from {_listed(known)}")
        # Public programs also write `x.is_tower` without parentheses, and mean the call.
        return self.apply(node, node.attr, self.expression(node.value, scope))

    def call(self, node: ast.Call, scope: Scope) -> Expression:
        callable = self.language.callable
        if isinstance(node.func, ast.Attribute) and node.func.attr in self.language.methods:
            if node.args or node.keywords:
                raise _error(node, f"{node.func.attr} takes no arguments")
            return self.attribute(node.func, scope)
        if not isinstance(node.func, ast.Name) or node.func.id not in callable:
            raise self.not_callable(node, callable)
        name, arguments = node.func.id, list[Expression]()
        for parameter, argument in self.bound(node, name):
            if argument is None:  # The only parameters that can be skipped are sides.
                arguments.append(self.language.constants["Side.ANY"])
            elif parameter is not None and parameter.mapped and arguments:
                arguments.append(self.function(argument, arguments[0], scope))
            else:
                arguments.append(self.expression(argument, scope))
        return self.apply(node, name, *arguments)

    def not_callable(self, node: ast.Call, callable: list[str]) -> InputError:
        called = ast.unparse(node.func)
        if near := _nearest(called, callable):
            return _error(node, f"{called!r:.40} cannot be called", f"did you mean {near}?")
        if called.startswith("is_") and called.isidentifier():
            return self.unknown_value(node, called)
        return _error(node, f"{called!r:.40} cannot be called", f"choose from {_listed(callable)}")

    def bound(self, node: ast.Call, name: str) -> Iterator[tuple[Parameter | None, ast.expr | None]]:
        """Pairs parameters and arguments, up to the last argument given. `tree.Call` checks their number."""
        parameters = self.language.functions[name].parameters
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

    def function(self, node: ast.expr, collection: Expression, scope: Scope) -> Expression:
        """Parses a function of members: a lambda, or a name as in `filter_obj(all_items, is_top)`."""
        takes = member_type(collection.type)
        if takes is None:
            what = f"a function needs members to apply to, but the first argument is {described(collection.type)}"
            raise _error(node, what)
        if isinstance(node, ast.Name) and node.id not in scope and node.id in self.language.callable:
            parameter = tree.Variable("x", takes)
            return tree.Lambda(parameter, self.apply(node, node.id, parameter))
        if not isinstance(node, ast.Lambda):
            return self.expression(node, scope)
        given = node.args
        others = (given.posonlyargs, given.kwonlyargs, given.vararg, given.kwarg, given.defaults)
        if len(given.args) != 1 or any(others):
            raise _error(node, "a lambda must have one plain parameter, as `lambda x: …`")
        name = given.args[0].arg
        if name in self.language.reserved or not _PARAMETER.fullmatch(name):
            raise _error(node, f"{name!r:.40} cannot be the name of a parameter", "use a letter, as x")
        return tree.Lambda(tree.Variable(name, takes), self.expression(node.body, {**scope, name: takes}))


def _build(at: ast.expr, node: Callable[..., Expression], *parts: Any) -> Expression:
    """Builds a node of the tree; type errors are reported with their place."""
    try:
        return node(*parts)
    except InputError as error:
        raise _error(at, error.what, error.allowed) from None


def _error(node: ast.expr | ast.keyword, what: str, allowed: str | None = None) -> InputError:
    return InputError(what, where=f"character {node.col_offset + 1}", allowed=allowed)


def _rejected(node: ast.expr, allowed: str) -> InputError:
    return _error(node, f"{ast.unparse(node)!r:.40} is not allowed", allowed)


def _nearest(name: str, known: Sequence[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=MIN_LIKENESS)), None)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_CHOICES]) + (", …" if len(names) > MAX_CHOICES else "")


# ---------------------------------------------------------------- expressions to text

# Python's precedence, from loose to tight.
_LAMBDA, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _ATOM = range(8)
_PRECEDENCE = {"or": _OR, "and": _AND, "not": _NOT, "+": _SUM, "*": _PRODUCT, "%": _PRODUCT}


def unparse(expression: Expression) -> str:
    """Returns text that parses to an equal tree, with no more parentheses than needed."""
    match expression:
        case tree.Number(value):
            return format(Decimal(repr(value)), "f")  # never 1e-05
        case tree.Constant(name) | tree.Variable(name):
            return name
        case tree.Lambda(parameter, body):
            return f"lambda {parameter.name}: {unparse(body)}"
        case tree.Call():
            return _unparse_call(expression)
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
    precedence = {tree.Lambda: _LAMBDA, tree.Comparison: _COMPARISON}.get(type(expression), _ATOM)
    if isinstance(expression, tree.Logic):
        precedence = _PRECEDENCE[expression.operator]
    elif isinstance(expression, tree.Call):
        precedence = _PRECEDENCE.get(expression.function.name, _ATOM)
    return unparse(expression) if precedence >= loosest else f"({unparse(expression)})"


def _unparse_call(call: tree.Call) -> str:
    function, (first, *others) = call.function, call.arguments
    own = _PRECEDENCE.get(function.name)
    of_first, of_others = (_ATOM, _LAMBDA) if own is None else (own, own + 1)
    of_first = _LAMBDA if function.form is Form.FUNCTION else of_first
    return call_text(function, [_part(first, of_first), *(_part(each, of_others) for each in others)])


def call_text(function: Function, parts: Sequence[str]) -> str:
    """Returns how a call is written; `parts` are its arguments, in parentheses where these are needed."""
    match function.form, function.name:
        case Form.METHOD, name:
            return f"{parts[0]}.{name}()"
        case Form.ATTRIBUTE, name:
            return f"{parts[0]}.{name}"
        case Form.OPERATOR, "not":
            return f"not {parts[0]}"
        case Form.OPERATOR, "[]":
            return f"{parts[0]}[{parts[1]}]"
        case Form.OPERATOR, "[:]":
            return f"{parts[0]}[{':'.join((*parts[1:], '')[:2])}]"
        case Form.OPERATOR, name:
            return f"{parts[0]} {name} {parts[1]}"
    keywords = ("key=" if parameter.keyword == "key" else "" for parameter in function.parameters)
    return f"{function.name}({', '.join(map(str.__add__, keywords, parts))})"
