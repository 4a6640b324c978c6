"""Untrusted text to Python's syntax tree, with limits that protect the stack and memory."""

from __future__ import annotations

import ast
import re

from veriscene.errors import InputError

MAX_LENGTH = 4000  # The longest public program has 700 characters and a tree of depth 18.
MAX_DEPTH = 60
_TOO_DEEP = InputError("the program is nested too deeply", allowed=f"at most {MAX_DEPTH} levels are allowed")

_BLANK = re.compile(r"\s")
_DISALLOWED = re.compile(r"[^ -~]|[#\\'\"]")  # Comments and line continuations would hide a part of the text.
_GLUED = re.compile(r"\b\d[\d.]*[A-Za-z_]")  # Python would print a warning for `1and 2`.


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
        where, allowed = f"character {found.start() + 1}", "use plain ASCII text without quotes, # and \\"
        raise InputError(f"{found.group()!r} is not allowed in a program", where=where, allowed=allowed)
    if found := _GLUED.search(line):
        what = f"there is no blank between a number and a word in {found.group():.20}"
        raise InputError(what, where=f"character {found.end()}")
    indent = len(line) - len(line.lstrip())
    try:
        tree = ast.parse(line.lstrip(), mode="eval").body
    except SyntaxError as error:
        where, what = f"character {indent + (error.offset or 1)}", f"not an expression ({error.msg})"
        raise InputError(what, where=where, allowed="check parentheses and commas") from None
    except (MemoryError, RecursionError, ValueError):
        raise _TOO_DEEP from None
    _check_depth(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.keyword):
            node.col_offset += indent
    return tree


def _check_depth(tree: ast.expr) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise _TOO_DEEP


def place(node: ast.expr | ast.keyword) -> str:
    return f"character {node.col_offset + 1}"
