"""The layout of a neural module network: a tree of modules, as steps. A world's rules make some of each statement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

MAX_STEPS = 12
MAX_LAYOUTS = 3  # of a statement, of which a model may judge several


class Module(IntEnum):
    """Names what a step computes. A *map* says how much each cell of each box belongs; a *verdict* is per box."""

    NOTHING = 0  # padding
    FIND = 1  # words -> map: the objects that fit every word; without words, all objects
    RELATE = 2  # words, map -> map: the places that stand in this relation to the argument
    AND = 3  # map, map -> map
    OR = 4  # map, map -> map
    EXCEPT = 5  # map, map -> map: the first without the second
    COUNT = 6  # words, map, map -> verdict: compares the count of the first map, and what it leaves of the second
    COUNT_ALL = 7  # the same over all boxes together
    BOTH = 8  # verdict, verdict -> verdict: the conjunction, box by box
    DECIDE = 9  # words, verdict -> is the statement true? Quantifies over the boxes; always the last step


@dataclass(frozen=True)
class Step:
    module: Module
    words: tuple[int, ...] = ()  # indices into the statement
    arguments: tuple[int, ...] = ()  # indices of earlier steps


Layout = tuple[Step, ...]
