"""What a compiled expression computes with: rows, each one scene with values for the variables in scope.

The value of an expression on R rows, by its type:

    TRUTH, NUMBER                 (R,) of bool, int
    COLOR, SHAPE, SIZE            (R,) of the value's number in its enum
    ITEM, BOX                     (R,) of indices into all slots, all boxes of the scenes: scene * SLOTS + slot
    Many(ITEM), Many(BOX)         (R, SLOTS), (R, 3) of bool: whether it is a member
    Many(COLOR), …                (R, 3) of int: how often it occurs
    Many(Many(ITEM)), …           Subsets

A constant may be a single number in the place of an array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veriscene.language.bulk.arrays import Array, SceneArrays
from veriscene.language.types import Kind, Many, Type

SCENE = 0  # the depth of the scene's number among a row's values


class Unsupported(Exception):
    """This construct is left to the plain evaluator."""


class Rows:
    """Rows either are the scenes themselves, or come from outer rows: one for each member of a set, or some of them."""

    def __init__(self, scenes: SceneArrays, origin: Array, outer: Rows | None = None) -> None:
        """`origin`: for each row, the outer row that it comes from, or the scene that it is."""
        self.scenes, self.origin, self.outer = scenes, origin, outer
        self.values: dict[int, Any] = {} if outer else {SCENE: self.origin}
        self.undefined: Array | None = None  # where an expression had no value; None: nowhere

    def __len__(self) -> int:
        return len(self.origin)

    def value(self, depth: int) -> Any:
        """Of the parameter of the lambda at a depth, the outermost being at 1; taken from where it was bound."""
        found = self.values.get(depth)
        if found is None:
            assert self.outer is not None, depth
            found = self.values[depth] = self.outer.value(depth)[self.origin]
        return found

    @property
    def scene(self) -> Array:
        """(R,): the scene's number."""
        found: Array = self.value(SCENE)
        return found

    def members(self, depth: int, origin: Array, values: Any) -> Rows:
        """A row for each member of a set; `origin` ascends."""
        inner = Rows(self.scenes, origin, self)
        inner.values[depth] = values
        return inner

    def only(self, condition: Array) -> Rows:
        return Rows(self.scenes, np.flatnonzero(condition), self)

    def mark_undefined(self, where: Array) -> None:
        self.undefined = where if self.undefined is None else self.undefined | where


@dataclass(frozen=True)
class Subsets:
    """A set of sets for each row."""

    origin: Array  # (M,): the row of each subset, ascending
    members: Array  # (M, …): each subset, as Many(ITEM) or Many(BOX)


@dataclass(frozen=True)
class Code:
    """A compiled expression, with bounds that hold for every scene."""

    run: Callable[[Rows], Any]
    type: Type
    cost: int = 0  # steps that the plain evaluator takes
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
