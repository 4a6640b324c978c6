"""Functions that take a lambda. Its body is evaluated once, on rows that are the members of all sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from veriscene.language.bulk.arrays import SLOTS, Array
from veriscene.language.bulk.rows import Code, Rows, Subsets, Unsupported
from veriscene.language.bulk.values import are_sets, as_members, truth
from veriscene.language.types import Kind, Many, Type
from veriscene.world.scene import BOXES_PER_SCENE

Members = tuple[Rows, Any, Array]  # the members' rows; their sets; where in the sets they are


def _each(rows: Rows, collection: Code, depth: int) -> Members:
    """A row for each member. A colour, shape or size that occurs several times has one row."""
    sets = as_members(rows, collection)
    if isinstance(sets, Subsets):
        return rows.members(depth, sets.origin, sets.members), sets, np.arange(len(sets.origin))
    origin, member = np.divmod(np.flatnonzero(sets), sets.shape[1])  # faster than np.nonzero
    values = member
    if collection.type in (Many(Kind.ITEM), Kind.BOX):
        values = rows.scene[origin] * SLOTS + member
    elif collection.type == Many(Kind.BOX):
        values = rows.scene[origin] * BOXES_PER_SCENE + member
    return rows.members(depth, origin, values), sets, member


def _run_body(inner: Rows, body: Code) -> Any:
    found = body.run(inner)
    return np.broadcast_to(found, (len(inner), *np.shape(found)[1:]))


def _bounds(collection: Code, body: Code, result: Code) -> Code:
    if are_sets(body.type):
        raise Unsupported("a function whose value is a set of sets")
    cost = collection.cost + collection.charge + collection.most * (1 + body.cost + body.charge)
    return replace(result, cost=cost, total=collection.total and body.total)


def _per_row(rows: Rows, inner: Rows, where: Array) -> Array:
    """Whether `where` is true of a member of each row's set."""
    found: Array = np.bincount(inner.origin[where], minlength=len(rows)) > 0
    return found


def _filter(collection: Code, depth: int, body: Code, type: Type) -> Code:
    def run(rows: Rows) -> Any:
        inner, sets, member = _each(rows, collection, depth)
        kept = truth(_run_body(inner, body))
        if inner.undefined is not None:
            rows.mark_undefined(_per_row(rows, inner, inner.undefined))
        if isinstance(sets, Subsets):
            return Subsets(sets.origin[kept], sets.members[kept])
        result, where = np.zeros_like(sets), (inner.origin * sets.shape[1] + member)[kept]
        result.reshape(-1)[where] = sets.reshape(-1)[where]
        return result

    flags = replace(collection, run=run, type=type)
    return _bounds(collection, body, flags)


def _quantifier(universal: bool) -> Callable[[Code, int, Code, Type], Code]:
    """`All`, which is false of an empty set, and `Any`."""

    def compiled(collection: Code, depth: int, body: Code, type: Type) -> Code:
        if not body.total and not collection.ordered:
            raise Unsupported("the members before the deciding one must have a value, and their order is not known")

        def run(rows: Rows) -> Any:
            inner, _, _ = _each(rows, collection, depth)
            decides = truth(_run_body(inner, body)) != universal
            if inner.undefined is not None:
                # Evaluation ends at the first member that decides or has no value.
                ends = np.flatnonzero(decides | inner.undefined)
                at, first = np.unique(inner.origin[ends], return_index=True)
                undefined = np.zeros(len(rows), bool)
                undefined[at] = inner.undefined[ends[first]]
                rows.mark_undefined(undefined)
            decided = _per_row(rows, inner, decides)
            return ~decided & _per_row(rows, inner, np.full(len(inner), True)) if universal else decided

        return _bounds(collection, body, Code(run, type))

    return compiled


def _same_attribute(collection: Code, depth: int, body: Code, type: Type) -> Code:
    is_look_set = isinstance(body.type, Many) and body.type.of in (Kind.COLOR, Kind.SHAPE, Kind.SIZE)
    if not is_look_set and body.type not in (Kind.NUMBER, Kind.TRUTH, Kind.COLOR, Kind.SHAPE, Kind.SIZE, Kind.ITEM):
        raise Unsupported("sets of sets, and boxes by what they hold")

    def run(rows: Rows) -> Any:
        inner, _, _ = _each(rows, collection, depth)
        value = _run_body(inner, body)
        if is_look_set:
            value = (value > 0) @ (1 << np.arange(value.shape[1]))  # equal sets have equal numbers
        if inner.undefined is not None:
            rows.mark_undefined(_per_row(rows, inner, inner.undefined))
        starts = np.flatnonzero(np.diff(inner.origin, prepend=-1))
        same = np.zeros(len(rows), bool)
        if len(starts):
            value = value.astype(np.int64)
            same[inner.origin[starts]] = np.minimum.reduceat(value, starts) == np.maximum.reduceat(value, starts)
        return same

    return _bounds(collection, body, Code(run, type))


def _least(collection: Code, depth: int, body: Code, type: Type) -> Code:
    if not collection.ordered or isinstance(type, Many):
        raise Unsupported("the first of the least members, in an order that is not known")

    def run(rows: Rows) -> Any:
        inner, _, _ = _each(rows, collection, depth)
        key = _run_body(inner, body)
        undefined = np.ones(len(rows), bool)
        undefined[inner.origin] = False
        if inner.undefined is not None:
            undefined |= _per_row(rows, inner, inner.undefined)
        rows.mark_undefined(undefined)
        order = np.lexsort((np.arange(len(inner)), key, inner.origin))
        starts = order[np.flatnonzero(np.diff(inner.origin[order], prepend=-1))]
        # Where there is no least member, any will do: the row is undefined.
        width = SLOTS if type is Kind.ITEM else BOXES_PER_SCENE if type is Kind.BOX else 0
        result = rows.scene * width
        result[inner.origin[starts]] = inner.value(depth)[starts]
        return result

    return replace(_bounds(collection, body, Code(run, type)), total=False)


QUANTIFIERS: dict[str, Callable[[Code, int, Code, Type], Code]] = {
    "filter_obj": _filter,
    "All": _quantifier(universal=True),
    "Any": _quantifier(universal=False),
    "all_same_attribute": _same_attribute,
    "min": _least,
}
