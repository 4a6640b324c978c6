"""What a compiled expression computes with: rows, each one scene with values for the variables in scope.

The value of an expression on R rows, by its type:

    TRUTH, NUMBER                 (R,) of bool, numbers
    an attribute                  (R,) of the value's place among the choices
    ITEM, BOX                     (R,) of indices into all slots, all boxes of the scenes: scene * slots + slot
    Many(ITEM), Many(BOX)         (R, slots), (R, boxes) of bool: whether it is a member
    Many(attribute)               (R, choices) of int: how often it occurs
    Many(Many(ITEM)), …           Subsets

A constant may be a single number in the place of an array.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from veriscene.language.bulk.arrays import Array, Layout, SceneArrays
from veriscene.language.expression import AttributeType, Kind, Many, Type

SCENE = 0  # the depth of the scene's number among a row's values


class Unsupported(Exception):
    """This construct is left to the plain evaluator."""


class Rows:
    """Rows either are the scenes themselves, or come from outer rows: one for each member of a set, or some of them."""

    def __init__(self, scenes: SceneArrays, origin: Array, outer: Rows | None = None) -> None:
        """`origin` is, for each row, the outer row that it comes from, or the scene that it is."""
        self.scenes, self.origin, self.outer = scenes, origin, outer
        self.values: dict[int, Any] = {} if outer else {SCENE: self.origin}
        self.undefined: Array | None = None  # where an expression had no value; None: nowhere

    def __len__(self) -> int:
        return len(self.origin)

    def value(self, depth: int) -> Any:
        """Returns the parameter of the lambda at a depth, the outermost being at 1; taken from where it was bound."""
        found = self.values.get(depth)
        if found is None:
            assert self.outer is not None, depth
            found = self.values[depth] = self.outer.value(depth)[self.origin]
        return found

    @property
    def scene(self) -> Array:
        """(R,): the scene's number."""
        return self.value(SCENE)

    def members(self, depth: int, origin: Array, values: Any) -> Rows:
        """Returns a row for each member of a set; `origin` ascends."""
        inner = Rows(self.scenes, origin, self)
        inner.values[depth] = values
        return inner

    def mark_undefined(self, where: Array) -> None:
        self.undefined = where if self.undefined is None else self.undefined | where


@dataclass(frozen=True)
class Subsets:
    """Holds a set of sets for each row."""

    origin: Array  # (M,): the row of each subset, ascending
    members: Array  # (M, …): each subset, as Many(ITEM) or Many(BOX)


@dataclass(frozen=True)
class Code:
    """Holds a compiled expression, with bounds that hold for every scene."""

    run: Callable[[Rows], Any]
    type: Type
    cost: int = 0  # steps that the plain evaluator takes for members of collections
    operators: int = 0  # and for operators in lambdas
    most: int = 1  # members of a collection
    member_most: int = 1  # members of a member, in a set of sets
    total: bool = True  # it has a value on every scene
    ordered: bool = True  # members have the order of their numbers, so that the first is that of the plain evaluator
    distinct: bool = True  # no member occurs twice

    @property
    def charge(self) -> int:
        """Steps that using the value takes: one for each member, and for each member of a member."""
        if not isinstance(self.type, Many):
            return self.most if self.type is Kind.BOX else 0
        return self.most * (1 + self.member_most) if isinstance(self.type.of, Many) else self.most


def joined(codes: Sequence[Code], result: Code) -> Code:
    """Returns `result` with the cost of its operands, whose members take a step each; it is total only if they are."""
    cost = result.cost + sum(code.cost + code.charge for code in codes)
    operators = result.operators + sum(code.operators for code in codes)
    return replace(result, cost=cost, operators=operators, total=result.total and all(code.total for code in codes))


# ---------------------------------------------------------------- values by type


def representable(type: Type) -> bool:
    """Returns whether values of this type have a form on rows."""
    if not isinstance(type, Many):
        return isinstance(type, Kind | AttributeType)
    members = (Kind.ITEM, Kind.BOX)
    return is_values(type) or type.of in members or (isinstance(type.of, Many) and type.of.of in members)


def is_values(type: Type) -> bool:
    """Returns whether it is a set of an attribute's values."""
    return isinstance(type, Many) and isinstance(type.of, AttributeType)


def are_sets(type: Type) -> bool:
    """Returns whether it is a set of sets."""
    return isinstance(type, Many) and isinstance(type.of, Many)


def width_of(type: Type, layout: Layout) -> int:
    """Returns how many values of a type there are in a scene."""
    if isinstance(type, AttributeType):
        return type.size
    return layout.slots if type is Kind.ITEM else layout.boxes if type is Kind.BOX else 0


def truth(value: Any) -> Any:
    """Returns the truth value; as in Python, 0 and empty collections are false."""
    if np.ndim(value) == 2:
        return any_member(value)
    return value if np.asarray(value).dtype == bool else np.asarray(value) != 0


def _words(sets: Array) -> list[Array] | None:
    """Eight slots at a time as one number, where the slots permit it: numpy is slow along short axes."""
    if sets.dtype != bool or sets.shape[1] % 8 or not sets.shape[1]:
        return None
    words = np.ascontiguousarray(sets).view(np.uint64)
    return [words[:, place] for place in range(words.shape[1])]


def any_member(sets: Array) -> Array:
    """Returns (R,): whether a set has members."""
    words = _words(sets)
    return sets.any(axis=1) if words is None else reduce(operator.or_, words) != 0


def count_members(sets: Array) -> Array:
    """Returns (R,): how many different members a set has."""
    words = _words(sets) if sets.shape[1] < 256 else None
    if words is None:
        return np.count_nonzero(sets, axis=1)
    # The product adds up the eight bytes of a number. No byte overflows, as there are fewer than 256 slots.
    return (reduce(operator.add, words) * _EACH_BYTE >> _LAST_BYTE).astype(np.int64)


_EACH_BYTE, _LAST_BYTE = np.uint64(0x0101010101010101), np.uint64(56)


def one_hot(rows: Rows, numbers: Any, width: int) -> Array:
    """Returns (R, width): sets of one member, given by number."""
    result = np.zeros((len(rows), width), bool)
    result[np.arange(len(rows)), numbers] = True
    return result


def all_items(rows: Rows) -> Array:
    """Returns (R, slots): the items of each row's scene."""
    return rows.scenes.mask.reshape(-1, rows.scenes.layout.slots)[rows.scene]


def as_members(rows: Rows, code: Code) -> Any:
    """Returns the value as a collection: a box becomes its items, a single value a set of one."""
    return _collected(rows, code.type, code.run(rows))


def _collected(rows: Rows, type: Type, value: Any) -> Any:
    if isinstance(type, Many):
        return value
    if type is Kind.BOX:
        return rows.scenes.items_of_box[value]
    width = width_of(type, rows.scenes.layout)
    return one_hot(rows, value % width, width)


def same(left: Code, right: Code, always_sets: bool = False) -> Callable[[Rows, Any, Any], Any]:
    """Returns a test of equality. `always_sets`: boxes are compared by their items."""
    if are_sets(left.type):
        raise Unsupported("sets of sets are not compared")
    if Kind.SIDE in (left.type, right.type):
        raise Unsupported("sides are not compared")
    as_sets = any(isinstance(code.type, Many) for code in (left, right))
    if not as_sets and not (always_sets and Kind.BOX in (left.type, right.type)):
        return lambda rows, a, b: np.equal(a, b)

    def equal_sets(rows: Rows, a: Any, b: Any) -> Any:
        return ((_collected(rows, left.type, a) > 0) == (_collected(rows, right.type, b) > 0)).all(axis=1)

    return equal_sets


def membership(member: Code, members: Code) -> Callable[[Rows, Any, Any], Any]:
    """Returns a test of whether a value is in a collection."""
    if member.type not in (Kind.ITEM, Kind.BOX) and not isinstance(member.type, AttributeType):
        raise Unsupported("sets of sets")

    def contains(rows: Rows, a: Any, b: Any) -> Any:
        width = width_of(member.type, rows.scenes.layout)
        return _collected(rows, members.type, b)[np.arange(len(rows)), a % width] > 0

    return contains
