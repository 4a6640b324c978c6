"""The pieces that evaluation is put together from: closures over a frame, made of other closures.

A frame is one list: the scene's boxes, its items, the steps left, then a place for each lambda's argument by depth.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb
from typing import Any

from veriscene.errors import InputError
from veriscene.meaning.language.functions import Undefined, same_members

Frame = list[Any]
Code = Callable[[Frame], Any]

BOXES, ITEMS, STEPS, FIRST_ARGUMENT = range(4)
MOST_STEPS = 100_000  # A fraction of a second. The public programs take 600 at most.

OF_VALUES: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda member, members: member in members,
    "not in": lambda member, members: member not in members,
}
OF_SETS: dict[str, Callable[[Any, Any], bool]] = {
    "==": same_members,
    "!=": lambda left, right: not same_members(left, right),
}


def applied(value: Callable[..., Any], arguments: list[Code]) -> Code:
    """A function of one or two arguments."""
    if len(arguments) == 1:
        (only,) = arguments
        return lambda frame: value(only(frame))
    first, second = arguments
    return lambda frame: value(first(frame), second(frame))


def junction(conjunctive: bool, conditions: list[Code]) -> Code:
    """`and` or `or`, from left to right and no further than needed; gives the value that decided."""

    def conjunction(frame: Frame) -> Any:
        for condition in conditions:
            value = condition(frame)
            if not value:
                break
        return value

    def disjunction(frame: Frame) -> Any:
        for condition in conditions:
            value = condition(frame)
            if value:
                break
        return value

    return conjunction if conjunctive else disjunction


def truth(condition: Code) -> Code:
    return lambda frame: bool(condition(frame))


def subscript(members: tuple[Any, ...], index: int) -> Any:
    if index >= len(members):
        raise Undefined(f"there is no member {index} among {len(members)}")
    return members[index]


def remainder(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise Undefined("there is no remainder of a division by 0")
    return dividend % divisor


# ---------------------------------------------------------------- what goes through members, and counts steps


def _spend(frame: Frame, steps: int) -> None:
    frame[STEPS] -= steps
    if frame[STEPS] < 0:
        raise InputError(f"the program takes more than {MOST_STEPS} steps on one scene; nest fewer lambdas in it")


def concatenation(left: Code, right: Code) -> Code:
    def run(frame: Frame) -> tuple[Any, ...]:
        members: tuple[Any, ...] = left(frame) + right(frame)
        _spend(frame, len(members))
        return members

    return run


def _combinations(codes: list[Code]) -> Code:
    collection, number = codes

    def run(frame: Frame) -> tuple[tuple[Any, ...], ...]:
        members, chosen = collection(frame), number(frame)
        _spend(frame, comb(len(members), chosen))
        return tuple(combinations(members, chosen))

    return run


def _filter(members: Code, body: Code, place: int) -> Code:
    def run(frame: Frame) -> tuple[Any, ...]:
        candidates = members(frame)
        _spend(frame, len(candidates))
        kept = []
        for candidate in candidates:
            frame[place] = candidate
            if body(frame):
                kept.append(candidate)
        return tuple(kept)

    return run


def _images(frame: Frame, members: tuple[Any, ...], body: Code, place: int) -> Iterator[Any]:
    """The function's value for each member."""
    _spend(frame, len(members))
    for member in members:
        frame[place] = member
        yield body(frame)


def _all(members: Code, body: Code, place: int) -> Code:
    def run(frame: Frame) -> bool:
        candidates = members(frame)
        return bool(candidates) and all(_images(frame, candidates, body, place))

    return run


def _any(members: Code, body: Code, place: int) -> Code:
    return lambda frame: any(_images(frame, members(frame), body, place))


def _all_same(members: Code, body: Code, place: int) -> Code:
    def run(frame: Frame) -> bool:
        images = _images(frame, members(frame), body, place)
        return len({frozenset(image) if isinstance(image, tuple) else image for image in images}) == 1

    return run


def _least(members: Code, key: Code, place: int) -> Code:
    def run(frame: Frame) -> Any:
        candidates = members(frame)
        keys = list(_images(frame, candidates, key, place))
        if not keys:
            raise Undefined("there is no least member of an empty set")
        return candidates[keys.index(min(keys))]

    return run


OVER_MEMBERS: dict[str, Callable[[Code, Code, int], Code]] = {
    "filter_obj": _filter,
    "All": _all,
    "Any": _any,
    "all_same_attribute": _all_same,
    "min": _least,
}
WITHOUT_VALUE: dict[str, Callable[[list[Code]], Code]] = {
    "AND": lambda codes: truth(junction(True, codes)),
    "OR": lambda codes: truth(junction(False, codes)),
    "combinations": _combinations,
}
