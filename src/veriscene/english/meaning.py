"""Small program texts that wordings are attached to.

A condition on an item is text in which `@` stands for the item, `color(@) == color.red`; one on a box has `#`. Both are
bound here, by lambdas whose parameters never hide one another: a parameter is numbered by the lambdas inside it.
"""

from __future__ import annotations

from itertools import accumulate

ALL_ITEMS, ALL_BOXES = "all_items", "all_boxes"


class Unfit(Exception):
    """Says that a rule does not fit the world, or a row the words that were drawn."""


def bind(condition: str, sign: str = "@") -> str:
    """Returns a lambda over the items (`@`) or the boxes (`#`) of a condition; an empty one is met by all."""
    if not condition:
        raise Unfit
    name = f"{'x' if sign == '@' else 'b'}{condition.count('lambda')}"
    return f"lambda {name}: {condition.replace(sign, name)}"


def those(members: str, condition: str, sign: str = "@") -> str:
    """Returns the members that meet a condition; an empty condition is met by all."""
    return f"filter_obj({members}, {bind(condition, sign)})" if condition else members


def related(members: str, condition: str) -> str:
    """Returns the members that are related to an item: in the condition, `@` is the member and `$` the item, which is
    `@` in the result."""
    return those(members, condition).replace("$", "@")


def some(members: str, condition: str, sign: str = "@") -> str:
    return f"exist({those(members, condition, sign)})"


def none(members: str, condition: str, sign: str = "@") -> str:
    return f"not {some(members, condition, sign)}"


def every(members: str, condition: str, sign: str = "@") -> str:
    """Is true of an empty set, as it is in logic; `All` is not."""
    return f"not exist({those(members, negation(condition), sign)})"


def count(members: str, condition: str = "", sign: str = "@") -> str:
    return f"count({those(members, condition, sign)})"


def both(*conditions: str) -> str:
    """Returns the conjunction; empty conditions are true."""
    parts = [each for each in conditions if each]
    return " and ".join(_closed(each, "or") for each in parts) if len(parts) > 1 else "".join(parts)


def either(*conditions: str) -> str:
    return " or ".join(conditions)


def negation(condition: str) -> str:
    if not condition:
        raise Unfit  # nothing is other than an item
    if condition.startswith("not ") and _is_one_call(condition[4:]):
        inner = condition[4:]
        return inner[1:-1] if inner.startswith("(") else inner
    return f"not {condition}" if _is_one_call(condition) else f"not ({condition})"


def implication(premise: str, conclusion: str) -> str:
    return f"{_closed(negation(premise), 'and')} or {_closed(conclusion, 'and')}"


def closed(condition: str) -> str:
    """Puts brackets around a condition that consists of several."""
    return _closed(_closed(condition, "or"), "and")


def _depths(text: str) -> list[int]:
    """Returns how many brackets are open after each letter."""
    return list(accumulate((letter == "(") - (letter == ")") for letter in text))


def _is_one_call(condition: str) -> bool:
    """Whether it is `f(…)` or `(…)`, whose first bracket is closed by the last one."""
    start = condition.find("(")
    if start < 0 or not (start == 0 or condition[:start].isidentifier()):
        return False
    return condition.endswith(")") and 0 not in _depths(condition)[start:-1]


def _closed(condition: str, operator: str) -> str:
    """Puts brackets around a condition that contains the operator outside of brackets."""
    depths, place = _depths(condition), -1
    while (place := condition.find(f" {operator} ", place + 1)) >= 0:
        if not depths[place]:
            return f"({condition})"
    return condition
