"""Values on rows (rows.py): what they have in common, whatever the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veriscene.language.bulk.arrays import SLOTS, Array
from veriscene.language.bulk.rows import Code, Rows, Unsupported
from veriscene.language.types import Kind, Many, Type
from veriscene.world.scene import BOXES_PER_SCENE

LOOKS = (Kind.COLOR, Kind.SHAPE, Kind.SIZE)
LOOK_VALUES = 3  # colours, shapes, sizes


def representable(type: Type) -> bool:
    if not isinstance(type, Many):
        return isinstance(type, Kind)
    members = (Kind.ITEM, Kind.BOX)
    return type.of in (*members, *LOOKS) or (isinstance(type.of, Many) and type.of.of in members)


def is_look(type: Type) -> bool:
    """A set of colours, shapes or sizes."""
    return isinstance(type, Many) and type.of in LOOKS


def are_sets(type: Type) -> bool:
    return isinstance(type, Many) and isinstance(type.of, Many)


def width_of(type: Type) -> int:
    """How many values of a type there are in a scene."""
    return SLOTS if type is Kind.ITEM else BOXES_PER_SCENE if type is Kind.BOX else LOOK_VALUES


def joined(codes: Sequence[Code], result: Code) -> Code:
    """`result` with the cost of its operands, each of whose members takes a step; it is total only if they are."""
    cost = result.cost + sum(code.cost + code.charge for code in codes)
    return replace(result, cost=cost, total=result.total and all(code.total for code in codes))


def truth(value: Any) -> Any:
    """As in Python, 0 and empty collections are false."""
    return value if np.ndim(value) < 2 and np.asarray(value).dtype == bool else _nonzero(value)


def _nonzero(value: Any) -> Any:
    return any_member(value) if np.ndim(value) == 2 else np.asarray(value) != 0


def any_member(sets: Array) -> Array:
    """(R,): whether a set has members. Eight slots are one number: numpy is slow along short axes."""
    if sets.dtype != bool or sets.shape[1] != SLOTS:
        return sets.any(axis=1)
    boxes = np.ascontiguousarray(sets).view(np.uint64)
    return (boxes[:, 0] | boxes[:, 1] | boxes[:, 2]) != 0


def count_members(sets: Array) -> Array:
    """(R,): how many different members a set has. The product adds up the eight bytes of a number."""
    if sets.dtype != bool or sets.shape[1] != SLOTS:
        return np.count_nonzero(sets, axis=1)
    boxes = np.ascontiguousarray(sets).view(np.uint64)
    # No byte overflows into the next one, as a scene has at most 24 items.
    return ((boxes[:, 0] + boxes[:, 1] + boxes[:, 2]) * _EACH_BYTE >> _LAST_BYTE).astype(np.int64)


_EACH_BYTE, _LAST_BYTE = np.uint64(0x0101010101010101), np.uint64(56)


def one_hot(rows: Rows, numbers: Any, width: int) -> Array:
    result = np.zeros((len(rows), width), bool)
    result[np.arange(len(rows)), numbers] = True
    return result


def as_members(rows: Rows, code: Code) -> Any:
    """The value as a collection: a box becomes its items, a single value a set of one."""
    value = code.run(rows)
    return collected(rows, code.type, value)


def collected(rows: Rows, type: Type, value: Any) -> Any:
    if isinstance(type, Many):
        return value
    if type is Kind.BOX:
        return box_items(rows, value)
    return one_hot(rows, value % width_of(type), width_of(type))


def box_items(rows: Rows, box: Array) -> Array:
    """(R, SLOTS): the items of each row's box."""
    return rows.scenes.items_of_box[box]


def same(left: Code, right: Code, always_sets: bool = False) -> Callable[[Rows, Any, Any], Any]:
    """Equality. `always_sets`: boxes are compared by their items."""
    if are_sets(left.type):
        raise Unsupported("sets of sets are not compared")
    if Kind.SIDE in (left.type, right.type):
        raise Unsupported("sides are not compared")
    as_sets = any(isinstance(code.type, Many) for code in (left, right))
    if as_sets or (always_sets and Kind.BOX in (left.type, right.type)):
        kinds = left.type, right.type

        def equal_sets(rows: Rows, a: Any, b: Any) -> Any:
            one, other = (collected(rows, kind, value) > 0 for kind, value in zip(kinds, (a, b), strict=True))
            return (one == other).all(axis=1)

        return equal_sets
    return lambda rows, a, b: np.equal(a, b)


def membership(member: Code, members: Code) -> Callable[[Rows, Any, Any], Any]:
    if member.type not in (Kind.ITEM, Kind.BOX, *LOOKS):
        raise Unsupported("sets of sets")
    width = width_of(member.type)
    kind = members.type
    return lambda rows, a, b: collected(rows, kind, b)[np.arange(len(rows)), a % width] > 0
