"""Untrusted text to Python's syntax tree, within bounds that no text can use to exhaust stack or memory."""

from __future__ import annotations

import ast
import re
from typing import NoReturn

from veriscene.errors import InputError

LONGEST = 4000  # The longest of the public programs has 700 characters and a tree 18 deep.
DEEPEST = 60

_BLANK = re.compile(r"\s")
_STRANGE = re.compile(r"[^ -~]|[#\\]")  # Comments and line ends would let a part of the text go unread.
_GLUED = re.compile(r"\b\d[\d.]*[A-Za-z_]")  # Python would warn of `1and 2` on standard error.

_CONSTRUCTS: dict[type[ast.AST], str] = {
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.NamedExpr: "an assignment `:=`",
    ast.JoinedStr: "an f-string",
    ast.Dict: "a dictionary",
    ast.Tuple: "a tuple",
    ast.IfExp: "an `if` inside an expression",
    ast.Starred: "a star",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield`",
    ast.UnaryOp: "a sign or `~`",
    ast.BinOp: "an operator other than + and %",
    ast.Compare: "a comparison other than == != < <= > >= in `not in`",
}
_CONSTANTS = {str: "a text in quotes", bytes: "a text in quotes", float: "a fraction"}


def syntax_tree(text: object) -> ast.expr:
    """The syntax tree of one expression; its column offsets are places in `text`."""
    if not isinstance(text, str):
        raise InputError(f"a program must be text, not {type(text).__name__}")
    if not text.strip():
        raise InputError("the program is empty; write an expression, as exist(all_items)")
    if len(text) > LONGEST:
        raise InputError(f"the program has {len(text)} characters; at most {LONGEST} are allowed")
    line = _BLANK.sub(" ", text)
    strange = _STRANGE.search(line)
    if strange:
        where, character = strange.start() + 1, strange.group()
        raise InputError(f"character {where}: {character!r} is not allowed in a program; use plain ASCII text")
    glued = _GLUED.search(line)
    if glued:
        raise InputError(
            f"character {glued.end()}: a number runs into a word at {glued.group():.20}; put a blank between"
        )
    return _parsed(line)


def _parsed(line: str) -> ast.expr:
    indent = len(line) - len(line.lstrip())
    try:
        tree = ast.parse(line.lstrip(), mode="eval").body
    except SyntaxError as error:
        place = indent + (error.offset or 1)
        raise InputError(f"character {place}: not an expression ({error.msg}); check brackets and commas") from None
    except (MemoryError, RecursionError, ValueError):
        raise InputError(f"the program is nested too deeply; at most {DEEPEST} levels are allowed") from None
    _refuse_depth(tree)
    if indent:
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.keyword):
                node.col_offset += indent
    return tree


def _refuse_depth(tree: ast.expr) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise InputError(f"the program is nested too deeply; at most {DEEPEST} levels are allowed")


def place(node: ast.expr | ast.keyword) -> str:
    return f"character {node.col_offset + 1}"


def refuse(node: ast.expr | ast.keyword, what_is_right: str) -> NoReturn:
    """Raises InputError that names the construct, where it stands, and what would be right."""
    raise InputError(f"{place(node)}: {_construct(node)} is not allowed; {what_is_right}")


def _construct(node: ast.expr | ast.keyword) -> str:
    if isinstance(node, ast.Constant):
        return _CONSTANTS.get(type(node.value), repr(node.value))
    return _CONSTRUCTS.get(type(node), type(node).__name__)
