"""Functions of items and boxes, on rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np

from veriscene.language import expression as tree
from veriscene.language.bulk.arrays import SLOTS, Array, SceneArrays
from veriscene.language.bulk.collections import Compile
from veriscene.language.bulk.rows import Code, Rows, Unsupported
from veriscene.language.bulk.values import LOOK_VALUES, LOOKS, as_members, box_items
from veriscene.language.placed import CLOSE
from veriscene.language.types import CONSTANTS, Kind
from veriscene.world.scene import BOXES_PER_SCENE, MOST_ITEMS, Side


def constant(node: tree.Constant) -> Code:
    """A side has no value on rows: functions of walls read it from the expression."""
    kind, value = CONSTANTS[node.name]
    number = number_of(value)
    return Code(lambda rows: number, kind)


def number_of(value: Enum | None) -> int:
    """Its number in its enum; 0 for Side.ANY, which is none."""
    return 0 if value is None else list(type(value)).index(value)


def _of_item(value: Callable[[SceneArrays], Array]) -> Compile:
    """`value` (n, box, slot) of each item."""
    return lambda call, codes: Code(lambda rows: value(rows.scenes).reshape(-1)[codes[0].run(rows)], call.type)


def _look(kind: Kind) -> Callable[[SceneArrays], Array]:
    name = kind.name.lower()
    return lambda scenes: getattr(scenes, name)


def _predicates() -> dict[str, Compile]:
    def has(kind: Kind, value: Enum | None) -> Compile:
        look, number = _look(kind), number_of(value)
        return lambda call, codes: Code(
            lambda rows: look(rows.scenes).reshape(-1)[codes[0].run(rows)] == number, call.type
        )

    named = {name.split(".")[1].lower(): look for name, look in CONSTANTS.items() if look[0] in LOOKS}
    return {
        **{f"is_{name}": has(*look) for name, look in named.items()},
        "is_top": _of_item(lambda scenes: scenes.is_top),
        "is_bottom": _of_item(lambda scenes: scenes.is_bottom),
        "is_second": _of_item(lambda scenes: scenes.is_second),
        "is_third": _of_item(lambda scenes: scenes.is_third),
        "box": lambda call, codes: Code(lambda rows: codes[0].run(rows) // MOST_ITEMS, call.type),
        "is_tower": lambda call, codes: Code(lambda r: r.scenes.is_tower.reshape(-1)[codes[0].run(r)], call.type),
    }


# ---------------------------------------------------------------- walls


def _sides(arguments: Sequence[tree.Expression]) -> list[Side | None]:
    if not all(isinstance(argument, tree.Constant) for argument in arguments):
        raise Unsupported("a side that is not a constant")
    return [argument.value for argument in arguments]  # type: ignore[attr-defined]


def _walls(corner: bool, margin: int) -> Compile:
    """At a wall, or at exactly two of them; on a given side, if there is one."""

    def compiled(call: tree.Call, codes: Sequence[Code]) -> Code:
        sides = [side for side in _sides(call.arguments[1:]) if side is not None]

        def touches(scenes: SceneArrays) -> Array:
            walls = scenes.gaps <= margin
            found = walls.sum(axis=0) == 2 if corner else walls.any(axis=0)
            for side in sides:
                found = found & walls[number_of(side)]
            return found

        name = ("walls", corner, margin, *sides)
        return _of_item(lambda scenes: scenes.derived(name, touches))(call, codes)

    return compiled


# ---------------------------------------------------------------- relations


def _related(pairs: str) -> Compile:
    """The items related to an item, by one of the relations of SceneArrays. For a set, the union."""

    def compiled(call: tree.Call, codes: Sequence[Code]) -> Code:
        (code,) = codes

        def of_item(rows: Rows) -> Any:
            item = code.run(rows)
            found = np.zeros((len(rows), BOXES_PER_SCENE, MOST_ITEMS), bool)
            own_box = item // MOST_ITEMS % BOXES_PER_SCENE
            found[np.arange(len(rows)), own_box] = getattr(rows.scenes, pairs).reshape(-1, MOST_ITEMS)[item]
            return found.reshape(len(rows), SLOTS)

        def of_set(rows: Rows) -> Any:
            members = as_members(rows, code).reshape(len(rows), BOXES_PER_SCENE, MOST_ITEMS, 1)
            return (members & getattr(rows.scenes, pairs)[rows.scene]).any(axis=2).reshape(len(rows), SLOTS)

        if code.type is Kind.ITEM:
            return Code(of_item, call.type, most=MOST_ITEMS)
        return Code(of_set, call.type, most=SLOTS, cost=SLOTS * MOST_ITEMS, ordered=False)

    return compiled


def _is_closely_touching(call: tree.Call, codes: Sequence[Code]) -> Code:
    def run(rows: Rows) -> Any:
        x, y = (np.broadcast_to(code.run(rows), len(rows)) for code in codes)
        edges = (rows.scenes.left, rows.scenes.right, rows.scenes.top, rows.scenes.bottom)
        left, right, top, bottom = (edge.reshape(-1) for edge in edges)
        gaps = (top[x] - bottom[y], left[x] - right[y], top[y] - bottom[x], left[y] - right[x])
        return np.logical_or.reduce([abs(gap) <= CLOSE for gap in gaps])

    return Code(run, call.type)


def _box_without(call: tree.Call, codes: Sequence[Code]) -> Code:
    def run(rows: Rows) -> Any:
        item = codes[0].run(rows)
        found = box_items(rows, item // MOST_ITEMS)
        found[np.arange(len(rows)), item % SLOTS] = False
        return found

    return Code(run, call.type, most=MOST_ITEMS)


# ---------------------------------------------------------------- colours, shapes, sizes


def _looks(kind: Kind) -> dict[str, Compile]:
    look, name = _look(kind), kind.name.lower()

    def keep(call: tree.Call, codes: Sequence[Code]) -> Code:
        items, value = codes

        def run(rows: Rows) -> Any:
            wanted = np.broadcast_to(value.run(rows), len(rows))[:, None]
            return as_members(rows, items) & (look(rows.scenes).reshape(-1, SLOTS)[rows.scene] == wanted)

        return replace(items, run=run, type=call.type)

    def counted(rows: Rows, items: Code) -> Any:
        members, found = as_members(rows, items), look(rows.scenes).reshape(-1, SLOTS)[rows.scene]
        return np.stack([(members & (found == number)).sum(axis=1) for number in range(LOOK_VALUES)], axis=1)

    def query(call: tree.Call, codes: Sequence[Code]) -> Code:
        if not codes[0].distinct:
            raise Unsupported("a list may hold an item twice")
        return Code(lambda rows: counted(rows, codes[0]), call.type, most=codes[0].most, ordered=False)

    def values(call: tree.Call, codes: Sequence[Code]) -> Code:
        run = lambda rows: (counted(rows, codes[0]) > 0).astype(np.int8)  # noqa: E731
        return Code(run, call.type, most=LOOK_VALUES, ordered=False)

    def all_same(call: tree.Call, codes: Sequence[Code]) -> Code:
        return Code(lambda rows: np.count_nonzero(counted(rows, codes[0]), axis=1) == 1, call.type)

    return {
        f"filter_{name}": keep,
        f"query_{name}": query,
        f"get_set_{name}s": values,
        f"all_same_{name}": all_same,
        name: _of_item(look),
    }


FUNCTIONS: dict[str, Compile] = {
    **_predicates(),
    "is_touching_wall": _walls(corner=False, margin=0),
    "is_closely_touching_wall": _walls(corner=False, margin=CLOSE),
    "is_touching_corner": _walls(corner=True, margin=0),
    "is_closely_touching_corner": _walls(corner=True, margin=CLOSE),
    "is_closely_touching_specific_corner": _walls(corner=True, margin=CLOSE),
    "get_touching": _related("touching"),
    "get_closely_touching": _related("closely_touching"),
    "get_above": _related("above"),
    "get_below": _related("below"),
    "get_box_all_above": _related("all_above"),
    "get_box_all_below": _related("all_below"),
    "is_closely_touching": _is_closely_touching,
    "get_box_exclusive": _box_without,
    "get_box_inclusive": lambda call, codes: Code(
        lambda rows: box_items(rows, codes[0].run(rows) // MOST_ITEMS), call.type, most=MOST_ITEMS
    ),
    "all_items_in_box": lambda call, codes: Code(
        lambda rows: box_items(rows, codes[0].run(rows)), call.type, most=MOST_ITEMS
    ),
    **_looks(Kind.COLOR),
    **_looks(Kind.SHAPE),
    **_looks(Kind.SIZE),
}
