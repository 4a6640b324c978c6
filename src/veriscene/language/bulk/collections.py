"""Functions of sets and numbers, on rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from veriscene.language import expression as tree
from veriscene.language.bulk.arrays import SLOTS
from veriscene.language.bulk.rows import Code, Rows, Subsets, Unsupported
from veriscene.language.bulk.values import (
    LOOKS,
    any_member,
    are_sets,
    as_members,
    count_members,
    is_look,
    joined,
    membership,
    one_hot,
    same,
    truth,
    width_of,
)
from veriscene.language.types import Kind, Many, Type
from veriscene.world.scene import BOXES_PER_SCENE

MOST_SUBSETS = 2500  # of a set: all of three items

Compile = Callable[[tree.Call, Sequence[Code]], Code]


def display(codes: Sequence[Code], type: Type, is_set: bool) -> Code:
    """A list or set of items, boxes, colours, shapes or sizes."""
    assert isinstance(type, Many)
    if isinstance(type.of, Many):
        raise Unsupported("a list of sets")
    width, are_looks = width_of(type.of), is_look(type)

    def run(rows: Rows) -> Any:
        members = [one_hot(rows, code.run(rows) % width, width) for code in codes]
        found: Any = np.sum(members, axis=0) if are_looks and not is_set else np.logical_or.reduce(members)
        return found.astype(np.int8) if are_looks else found

    distinct = is_set or len(codes) == 1 or are_looks
    return joined(codes, Code(run, type, most=len(codes), ordered=len(codes) == 1, distinct=distinct, cost=len(codes)))


def _of_sets(value: Callable[..., Any]) -> Compile:
    """A function of collections, which returns a truth value or a number."""
    return lambda call, codes: Code(lambda rows: value(*[as_members(rows, code) for code in codes]), call.type)


def _no_subsets(compiled: Compile) -> Compile:
    def check(call: tree.Call, codes: Sequence[Code]) -> Code:
        if any(are_sets(code.type) for code in codes):
            raise Unsupported("sets of sets")
        return compiled(call, codes)

    return check


def _exist(call: tree.Call, codes: Sequence[Code]) -> Code:
    def run(rows: Rows) -> Any:
        sets = as_members(rows, codes[0])
        if isinstance(sets, Subsets):
            return np.bincount(sets.origin, minlength=len(rows)) > 0
        return any_member(sets)

    return Code(run, call.type)


def _count(call: tree.Call, codes: Sequence[Code]) -> Code:
    """The number of distinct members."""

    def run(rows: Rows) -> Any:
        sets = as_members(rows, codes[0])
        if isinstance(sets, Subsets):
            return np.bincount(sets.origin, minlength=len(rows))
        return count_members(sets)

    return Code(run, call.type)


def _len(call: tree.Call, codes: Sequence[Code]) -> Code:
    if not codes[0].distinct:
        raise Unsupported("a list may hold an item twice")
    return _of_sets(lambda sets: sets.sum(axis=1))(call, codes) if is_look(codes[0].type) else _count(call, codes)


def _unique(call: tree.Call, codes: Sequence[Code]) -> Code:
    if not codes[0].distinct:
        raise Unsupported("a list may hold an item twice")
    return replace(_nth(codes[0], lambda rows: 0, call.type, length=1), total=False)


def _subscript(call: tree.Call, codes: Sequence[Code]) -> Code:
    if not (codes[0].ordered and codes[0].distinct):
        raise Unsupported("the order of the members is not known")
    return replace(_nth(codes[0], codes[1].run, call.type), total=False)


def _nth(collection: Code, index: Callable[[Rows], Any], type: Type, length: int | None = None) -> Code:
    """The member at an index; undefined if there is none, or if the collection does not have the given length."""
    if isinstance(type, Many):
        raise Unsupported("a member that is a set")

    def run(rows: Rows) -> Any:
        sets, at = as_members(rows, collection), np.broadcast_to(index(rows), len(rows))
        total = sets.sum(axis=1) if is_look(collection.type) else count_members(sets)
        rows.mark_undefined(at >= total if length is None else total != length)
        number = ((sets.cumsum(axis=1) > at[:, None]) & (sets > 0)).argmax(axis=1)
        return number + rows.scene * width_of(type) if type in (Kind.ITEM, Kind.BOX) else number

    return Code(run, type)


def _slice(call: tree.Call, codes: Sequence[Code]) -> Code:
    if not (codes[0].ordered and codes[0].distinct) or codes[0].type not in (Many(Kind.ITEM), Many(Kind.BOX), Kind.BOX):
        raise Unsupported("the order of the members is not known")

    def run(rows: Rows) -> Any:
        sets = as_members(rows, codes[0])
        start, *stop = (np.broadcast_to(code.run(rows), len(rows))[:, None] for code in codes[1:])
        rank = sets.cumsum(axis=1) - 1
        kept = sets & (rank >= start)
        return kept & (rank < stop[0]) if stop else kept

    return Code(run, call.type, most=codes[0].most)


def _merge(call: tree.Call, codes: Sequence[Code]) -> Code:
    a, b = codes

    def run(rows: Rows) -> Any:
        either = (as_members(rows, a) > 0) | (as_members(rows, b) > 0)
        return either.astype(np.int8) if is_look(call.type) else either

    return Code(run, call.type, most=a.most + b.most, ordered=False)


def _intersect(call: tree.Call, codes: Sequence[Code]) -> Code:
    a, b = codes

    def run(rows: Rows) -> Any:
        both = (as_members(rows, a) > 0) & (as_members(rows, b) > 0)
        return both.astype(np.int8) if is_look(call.type) else both

    return Code(run, call.type, most=a.most, ordered=a.ordered)


def _distinct(call: tree.Call, codes: Sequence[Code]) -> Code:
    def run(rows: Rows) -> Any:
        sets = as_members(rows, codes[0])
        return (sets > 0).astype(np.int8) if is_look(call.type) else sets

    return Code(run, call.type, most=codes[0].most, ordered=codes[0].ordered)


def _plus(call: tree.Call, codes: Sequence[Code]) -> Code:
    a, b = codes
    if call.type is Kind.NUMBER:
        return Code(lambda rows: a.run(rows) + b.run(rows), call.type)
    if is_look(call.type):
        return Code(lambda rows: a.run(rows) + b.run(rows), call.type, most=a.most + b.most, ordered=False)
    return replace(_merge(call, codes), distinct=False)


def _remainder(call: tree.Call, codes: Sequence[Code]) -> Code:
    a, b = codes

    def run(rows: Rows) -> Any:
        divisor = np.broadcast_to(b.run(rows), len(rows))
        rows.mark_undefined(divisor == 0)
        return np.broadcast_to(a.run(rows), len(rows)) % np.where(divisor == 0, 1, divisor)

    return Code(run, call.type, total=False)


def _combinations(call: tree.Call, codes: Sequence[Code]) -> Code:
    members, size = codes[0], call.arguments[1]
    width = {Many(Kind.ITEM): SLOTS, Kind.BOX: SLOTS, Many(Kind.BOX): BOXES_PER_SCENE}.get(members.type, 0)
    if not isinstance(size, tree.Number) or not members.distinct or not 1 <= comb(width, size.value) <= MOST_SUBSETS:
        raise Unsupported("many subsets, or of a list that may hold a member twice")
    chosen = np.array(list(combinations(range(width), size.value)), dtype=np.intp).reshape(-1, size.value)
    subsets = np.zeros((len(chosen), width), bool)
    subsets[np.arange(len(chosen))[:, None], chosen] = True

    def run(rows: Rows) -> Any:
        sets = as_members(rows, members)
        origin, which = np.nonzero(sets[:, chosen].all(axis=2))
        return Subsets(origin, subsets[which])

    count = comb(members.most, size.value)
    cost = count * (1 + size.value)
    return Code(run, call.type, cost=cost, most=count, member_most=size.value, ordered=members.ordered)


def _equal(call: tree.Call, codes: Sequence[Code]) -> Code:
    a, b = codes
    compare = same(a, b, always_sets=True)
    return Code(lambda rows: compare(rows, a.run(rows), b.run(rows)), call.type)


def _member_of(call: tree.Call, codes: Sequence[Code]) -> Code:
    a, b = codes
    compare = membership(a, b)
    return Code(lambda rows: compare(rows, a.run(rows), b.run(rows)), call.type)


def _all(call: tree.Call, codes: Sequence[Code]) -> Code:
    """Items, boxes, colours, shapes and sizes are all true, as any object is in Python."""
    return Code(lambda rows: np.full(len(rows), True), call.type)


def _not(call: tree.Call, codes: Sequence[Code]) -> Code:
    def run(rows: Rows) -> Any:
        value = codes[0].run(rows)
        if isinstance(value, Subsets):
            return np.bincount(value.origin, minlength=len(rows)) == 0
        return ~np.broadcast_to(truth(value), len(rows))

    return Code(run, call.type)


def _ordering(compare: Callable[[Any, Any], Any]) -> Compile:
    return lambda call, codes: Code(lambda rows: compare(*(code.run(rows) for code in codes)), call.type)


FUNCTIONS: dict[str, Compile] = {
    "exist": _exist,
    "count": _count,
    "len": _len,
    "unique": _no_subsets(_unique),
    "set": _no_subsets(_distinct),
    "all": _no_subsets(_all),
    "combinations": _combinations,
    "union": _no_subsets(_merge),
    "intersect": _no_subsets(_intersect),
    "contained": _no_subsets(_of_sets(lambda a, b: ~((a > 0) & ~(b > 0)).any(axis=1))),
    "member_of": _no_subsets(_member_of),
    **{name: _no_subsets(_equal) for name in ("equal", "equal_set", "equal_int")},
    **{f"equal_{look.name.lower()}": _equal for look in LOOKS},
    **dict.fromkeys(("NOT", "not"), _not),
    **{name: _ordering(getattr(operator, name)) for name in ("ge", "gt", "le", "lt")},
    "%": _remainder,
    "+": _no_subsets(_plus),
    "[]": _no_subsets(_subscript),
    "[:]": _no_subsets(_slice),
}
