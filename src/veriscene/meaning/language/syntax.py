"""Untrusted text to Python's syntax tree, with limits that protect the stack and memory."""

from __future__ import annotations

import ast
import re

from veriscene.errors import InputError

MAX_LENGTH = 4000  # The longest public program has 700 characters and a tree of depth 18.
MAX_DEPTH = 60
_TOO_DEEP = InputError("the program is nested too deeply", allowed=f"at most {MAX_DEPTH} levels are allowed")

_BLANK = re.compile(r"\s")
_DISALLOWED = re.compile(r"[^ -~]|[#\\]")  # Comments and line continuations would hide a part of the text.
_GLUED = re.compile(r"\b\d[\d.]*[A-Za-z_]")  # Python would print a warning for `1and 2`.

_CONSTRUCTS: dict[type[ast.AST], str] = {
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.NamedExpr: "an assignment `:=`",
    ast.JoinedStr: "an f-string",
    ast.Dict: "a dictionary",
    ast.Tuple: "a tuple",
    ast.IfExp: "a conditional expression",
    ast.Starred: "a star",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield`",
    ast.UnaryOp: "a sign or `~`",
    ast.BinOp: "an operator other than + and %",
    ast.Compare: "a comparison other than == != < <= > >= in `not in`",
}
_LITERALS = {str: "a string", bytes: "a string", float: "a fraction"}


def syntax_tree(text: object) -> ast.expr:
    """The syntax tree of one expression; column offsets refer to `text`."""
    if not isinstance(text, str):
        raise InputError(f"a program must be a string, not {type(text).__name__}")
    if not text.strip():
        raise InputError("the program is empty", allowed="write an expression, as exist(all_items)")
    if len(text) > MAX_LENGTH:
        raise InputError(f"the program has {len(text)} characters", allowed=f"at most {MAX_LENGTH} are allowed")
    line = _BLANK.sub(" ", text)
    if found := _DISALLOWED.search(line):
        where = f"character {found.start() + 1}"
        raise InputError(f"{found.group()!r} is not allowed in a program", where=where, allowed="use plain ASCII text")
    if found := _GLUED.search(line):
        what = f"there is no blank between a number and a word in {found.group():.20}"
        raise InputError(what, where=f"character {found.end()}")
    indent = len(line) - len(line.lstrip())
    tree = _parse(line.lstrip(), indent)
    _check_depth(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.keyword):
            node.col_offset += indent
    return tree


def _parse(line: str, indent: int) -> ast.expr:
    try:
        return ast.parse(line, mode="eval").body
    except SyntaxError as error:
        where = f"character {indent + (error.offset or 1)}"
        what = f"not an expression ({error.msg})"
        raise InputError(what, where=where, allowed="check parentheses and commas") from None
    except (MemoryError, RecursionError, ValueError):
        raise _TOO_DEEP from None


def _check_depth(tree: ast.expr) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise _TOO_DEEP


def place(node: ast.expr | ast.keyword) -> str:
    return f"character {node.col_offset + 1}"


def describe(node: ast.expr | ast.keyword) -> str:
    """What the construct is called in messages."""
    if isinstance(node, ast.keyword):
        return f"{node.arg or '**'}="
    if isinstance(node, ast.Constant):
        return _LITERALS.get(type(node.value), repr(node.value))
    return _CONSTRUCTS.get(type(node), type(node).__name__)
