"""The construction behind a program: its expression without constants, variable names and differences of notation."""

from __future__ import annotations

import re

from veriscene.language import expression as tree
from veriscene.language.expression import Expression, Kind, Many

_LOOKS = re.compile(
    r"(is|filter|query|equal|all_same|get_set)_(yellow|black|blue|square|circle|triangle|small|medium|big)"
)
_LOOK_OF = {
    **dict.fromkeys(("yellow", "black", "blue", "Color"), "color"),
    **dict.fromkeys(("square", "circle", "triangle", "Shape"), "shape"),
    **dict.fromkeys(("small", "medium", "big", "Size"), "size"),
}
_COMPARISONS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "equal_int": "=="}


def skeleton(expression: Expression) -> str:
    """Equal for programs that differ only in constants, notation and the order of conditions.

    `exist(s)` and `count(s) >= 1` are equal, `AND` and `and`, `filter_color(s, c)` and `filter_obj(s, …)`, a box and
    its items. That a box is a tower is left out: all boxes of a scene of towers are.
    """
    match expression:
        case tree.Number():
            return "N"
        case tree.Constant(name):
            kind, _, value = name.partition(".")
            return "" if name == "Side.ANY" else value if kind == "Side" else _LOOK_OF[kind]
        case tree.Variable(name, of):
            return name if isinstance(of, Many) else "b" if of is Kind.BOX else "x"
        case tree.Lambda(_, body):
            return skeleton(body)
        case tree.Logic(word, operands):
            return _joined(word, [skeleton(operand) for operand in operands])
        case tree.Comparison(operands, words):
            return _compared([skeleton(operand) for operand in operands], words)
        case tree.Display(members):
            return f"{{{', '.join(sorted(map(skeleton, members)))}}}"
        case tree.Call(function, arguments):
            return _call(function.name, [skeleton(argument) for argument in arguments])
    raise TypeError(f"{type(expression).__name__} is not an expression")


def _call(name: str, arguments: list[str]) -> str:
    first, *others = arguments = [argument for argument in arguments if argument]
    if name in ("all_items_in_box", "set", "box"):
        return "b" if name == "box" else first
    if name == "is_tower":
        return ""
    if name in ("AND", "OR"):
        return _joined(name.lower(), arguments)
    if name in ("NOT", "not"):
        return f"not {first}"
    if name in _COMPARISONS:
        return _compared(arguments, (_COMPARISONS[name],))
    if name == "exist":
        return f"count({first}) >= N"
    if name in ("filter_color", "filter_shape", "filter_size"):
        return f"[{first} | is_{name.removeprefix('filter_')}]"
    if name == "filter_obj":
        return f"[{first} | {others[0]}]" if others else first
    if look := _LOOKS.fullmatch(name):
        return f"{look[1]}_{_LOOK_OF[look[2]]}"
    return f"{name}({', '.join(arguments)})"


def _joined(word: str, conditions: list[str]) -> str:
    """Nested conjunctions are one; the order does not count."""
    parts = [part for condition in conditions if condition for part in _split(condition, f" {word} ")]
    return f"({f' {word} '.join(sorted(parts))})" if len(parts) > 1 else "".join(parts)


def _split(text: str, separator: str) -> list[str]:
    """The parts of "(a and b)", but of "(a and b) or c" the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return [text]
    depth, start, parts = 0, 1, []
    for index, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and index < len(text) - 1:
            return [text]
        if depth == 1 and text.startswith(separator, index):
            parts.append(text[start:index])
            start = index + len(separator)
        elif depth == 1 and text.startswith((" and ", " or "), index):
            return [text]
    return [*parts, text[start:-1]]


def _compared(operands: list[str], words: tuple[str, ...]) -> str:
    return operands[0] + "".join(f" {word} {operand}" for word, operand in zip(words, operands[1:], strict=True))
