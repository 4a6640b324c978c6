"""Rules by which functions are compiled; a function names its rule, with arguments, in `bulk`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from veriscene.language import expression as tree
from veriscene.language.bulk.arrays import Array, Layout, SceneArrays
from veriscene.language.bulk.rows import (
    Code,
    Rows,
    Subsets,
    Unsupported,
    any_member,
    are_sets,
    as_members,
    count_members,
    is_values,
    joined,
    membership,
    one_hot,
    same,
    truth,
    width_of,
)
from veriscene.language.expression import AttributeType, Kind, Many, Type
from veriscene.world.scene import Side

MAX_SUBSETS = 2500  # of a set: all of three items among 24
MAX_BITS = 62  # values of an attribute whose sets are compared as numbers

Compile = Callable[[tree.Call, Sequence[Code], Layout], Code]

# ---------------------------------------------------------------- sets and numbers


def display(codes: Sequence[Code], type: Type, is_set: bool, layout: Layout) -> Code:
    """Compiles a list or set of items, boxes or values of an attribute."""
    assert isinstance(type, Many)
    if isinstance(type.of, Many):
        raise Unsupported("a list of sets")
    width, are_values = width_of(type.of, layout), is_values(type)

    def run(rows: Rows) -> Any:
        members = [one_hot(rows, code.run(rows) % width, width) for code in codes]
        found: Any = np.sum(members, axis=0) if are_values and not is_set else np.logical_or.reduce(members)
        return found.astype(np.int16) if are_values else found

    distinct = is_set or len(codes) == 1 or are_values
    return joined(codes, Code(run, type, most=len(codes), ordered=len(codes) == 1, distinct=distinct, cost=len(codes)))


def _of_members(value: Callable[..., Any]) -> Compile:
    """A function of the rows and of collections, which returns a truth value or a number."""
    return lambda call, codes, layout: Code(
        lambda rows: value(rows, *[as_members(rows, code) for code in codes]), call.type
    )


def _exist(rows: Rows, sets: Any) -> Array:
    return _count(rows, sets) > 0 if isinstance(sets, Subsets) else any_member(sets)


def _count(rows: Rows, sets: Any) -> Array:
    """The number of distinct members."""
    return np.bincount(sets.origin, minlength=len(rows)) if isinstance(sets, Subsets) else count_members(sets)


def _len(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    if not codes[0].distinct:
        raise Unsupported("a list may contain an item twice")
    count = (lambda rows, sets: sets.sum(axis=1)) if is_values(codes[0].type) else _count
    return _of_members(count)(call, codes, layout)


def _unique(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    if not codes[0].distinct:
        raise Unsupported("a list may contain an item twice")
    return _nth(codes[0], lambda rows: 0, call.type, layout, length=1)


def _subscript(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    if not (codes[0].ordered and codes[0].distinct):
        raise Unsupported("the order of the members is not known")
    return _nth(codes[0], codes[1].run, call.type, layout)


def _last(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    if not (codes[0].ordered and codes[0].distinct) or is_values(codes[0].type):
        raise Unsupported("the order of the members is not known")
    # The index 0 of an empty set is past its end, so that there is no value.
    index = lambda rows: np.maximum(count_members(as_members(rows, codes[0])), 1) - 1  # noqa: E731
    return _nth(codes[0], index, call.type, layout)


def _nth(collection: Code, index: Callable[[Rows], Any], type: Type, layout: Layout, length: int | None = None) -> Code:
    """The member at an index; undefined if there is none, or if the collection does not have the given length."""
    if isinstance(type, Many):
        raise Unsupported("a member that is a set")
    width = width_of(type, layout)

    def run(rows: Rows) -> Any:
        sets, at = as_members(rows, collection), np.broadcast_to(index(rows), len(rows))
        total = sets.sum(axis=1) if is_values(collection.type) else count_members(sets)
        _mark_not_whole(rows, at)
        rows.mark_undefined(at >= total if length is None else total != length)
        number = ((sets.cumsum(axis=1) > at[:, None]) & (sets > 0)).argmax(axis=1)
        return number + rows.scene * width if type in (Kind.ITEM, Kind.BOX) else number

    return Code(run, type, total=False)


def _mark_not_whole(rows: Rows, numbers: Array) -> None:
    """Numbers from attributes may be negative or fractions, which are no indices."""
    if numbers.dtype.kind == "f":
        rows.mark_undefined((numbers < 0) | (numbers != np.floor(numbers)))


def _slice(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    if not (codes[0].ordered and codes[0].distinct) or codes[0].type not in (Many(Kind.ITEM), Many(Kind.BOX), Kind.BOX):
        raise Unsupported("the order of the members is not known")

    def run(rows: Rows) -> Any:
        sets = as_members(rows, codes[0])
        bounds = [np.broadcast_to(code.run(rows), len(rows)) for code in codes[1:]]
        for bound in bounds:
            _mark_not_whole(rows, bound)
        start, *stop = (bound[:, None] for bound in bounds)
        rank = sets.cumsum(axis=1) - 1
        kept = sets & (rank >= start)
        return kept & (rank < stop[0]) if stop else kept

    is_counted = all(isinstance(argument, tree.Number) for argument in call.arguments[1:])
    return Code(run, call.type, most=codes[0].most, total=is_counted)


def _merge(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    joined = _combined(call, codes, np.logical_or)
    return replace(joined, most=codes[0].most + codes[1].most, ordered=False)


def _intersect(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    return _combined(call, codes, np.logical_and)


def _distinct(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    return _combined(call, codes, lambda members: members)


def _combined(call: tree.Call, codes: Sequence[Code], combine: Callable[..., Array]) -> Code:
    """A set whose members follow from whether they are in each of some sets."""

    def run(rows: Rows) -> Any:
        found = combine(*(as_members(rows, code) > 0 for code in codes))
        return found.astype(np.int8) if is_values(call.type) else found

    return Code(run, call.type, most=codes[0].most, ordered=codes[0].ordered)


def _plus(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    a, b = codes
    if call.type is Kind.NUMBER:
        return Code(lambda rows: a.run(rows) + b.run(rows), call.type)
    if is_values(call.type):
        # Wider numbers than those of a display: adding a set to itself again and again must not overflow.
        run = lambda rows: a.run(rows).astype(np.int64) + b.run(rows)  # noqa: E731
        return Code(run, call.type, most=a.most + b.most, ordered=False)
    return replace(_merge(call, codes, layout), distinct=False)


def _remainder(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    a, b = codes

    def run(rows: Rows) -> Any:
        divisor = np.broadcast_to(b.run(rows), len(rows))
        rows.mark_undefined(divisor == 0)
        return np.broadcast_to(a.run(rows), len(rows)) % np.where(divisor == 0, 1, divisor)

    return Code(run, call.type, total=False)


def _combinations(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    members, size = codes[0], call.arguments[1]
    if not isinstance(size, tree.Number) or not isinstance(size.value, int) or not members.distinct:
        raise Unsupported("subsets of a list that may contain a member twice, or of a size that is not known")
    width = width_of(tree.element_type(members.type), layout)
    if is_values(members.type) or size.value < 0 or not 1 <= comb(width, size.value) <= MAX_SUBSETS:
        raise Unsupported("many subsets")
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


def _equal(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    a, b = codes
    return _compared(call, codes, same(a, b, always_sets=True))


def _member_of(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    return _compared(call, codes, membership(*codes))


def _compared(call: tree.Call, codes: Sequence[Code], compare: Callable[[Rows, Any, Any], Any]) -> Code:
    return Code(lambda rows: compare(rows, *(code.run(rows) for code in codes)), call.type)


def _not(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    def run(rows: Rows) -> Any:
        value = codes[0].run(rows)
        return ~(_exist(rows, value) if isinstance(value, Subsets) else np.broadcast_to(truth(value), len(rows)))

    return Code(run, call.type)


def _ordering(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    _, compare = call.function.bulk
    return Code(lambda rows: compare(*(code.run(rows) for code in codes)), call.type)


# ---------------------------------------------------------------- items and boxes


def _of_item(call: tree.Call, codes: Sequence[Code], value: Callable[[SceneArrays], Array]) -> Code:
    """`value` (n, box, slot) of each item."""
    return Code(lambda rows: value(rows.scenes).reshape(-1)[codes[0].run(rows)], call.type)


def _item(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    _, name = call.function.bulk
    return _of_item(call, codes, lambda scenes: getattr(scenes, name))


def _level(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    """Whether an item is a block of a tower, at a height above the floor."""
    _, height = call.function.bulk
    floor = list(Side).index(Side.BOTTOM)
    levels = lambda scenes: scenes.is_tower[:, :, None] & (scenes.gaps[floor] == height)  # noqa: E731
    return _of_item(call, codes, lambda scenes: scenes.derived(call.function.bulk, levels))


def _walls(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    """At a wall, or at exactly two of them; on a given side, if there is one."""
    _, corner, margin = call.function.bulk
    if not all(isinstance(argument, tree.Constant) for argument in call.arguments[1:]):
        raise Unsupported("a side that is not a constant")
    given = [argument.value for argument in call.arguments[1:] if isinstance(argument, tree.Constant)]
    sides = [list(Side).index(side) for side in given if side is not None]

    def touches(scenes: SceneArrays) -> Array:
        walls = scenes.gaps <= margin
        found = walls.sum(axis=0) == 2 if corner else walls.any(axis=0)
        for side in sides:
            found = found & walls[side]
        return found

    return _of_item(call, codes, lambda scenes: scenes.derived(("walls", corner, margin, *sides), touches))


def _related(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    """The items related to an item, by one of the relations of SceneArrays. For a set, the union."""
    (code,), (_, pairs), (boxes, items) = codes, call.function.bulk, (layout.boxes, layout.items)

    def of_item(rows: Rows) -> Any:
        item = code.run(rows)
        found = np.zeros((len(rows), boxes, items), bool)
        own_box = item // items % boxes
        found[np.arange(len(rows)), own_box] = getattr(rows.scenes, pairs).reshape(-1, items)[item]
        return found.reshape(len(rows), layout.slots)

    def of_set(rows: Rows) -> Any:
        members = as_members(rows, code).reshape(len(rows), boxes, items, 1)
        return (members & getattr(rows.scenes, pairs)[rows.scene]).any(axis=2).reshape(len(rows), layout.slots)

    if code.type is Kind.ITEM:
        return Code(of_item, call.type, most=items, operators=call.function.scans)
    operators = call.function.scans * code.most
    return Code(of_set, call.type, most=layout.slots, cost=layout.slots * items, operators=operators, ordered=False)


def _is_closely_touching(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    def run(rows: Rows) -> Any:
        scenes = rows.scenes
        x, y = (np.broadcast_to(code.run(rows), len(rows)) for code in codes)
        left, right, top, bottom = (edge.reshape(-1) for edge in (scenes.left, scenes.right, scenes.top, scenes.bottom))
        gaps = (top[x] - bottom[y], left[x] - right[y], top[y] - bottom[x], left[y] - right[x])
        return np.logical_or.reduce([abs(gap) <= scenes.world.close for gap in gaps])

    return Code(run, call.type)


def _box(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    return Code(lambda rows: codes[0].run(rows) // layout.items, call.type)


def _is_tower(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    return Code(lambda rows: rows.scenes.is_tower.reshape(-1)[codes[0].run(rows)], call.type)


def _items_in_box(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    return Code(lambda rows: rows.scenes.items_of_box[codes[0].run(rows)], call.type, most=layout.items)


def _box_inclusive(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    return _items_in_box(call, [_box(call, codes, layout)], layout)


def _box_exclusive(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    def run(rows: Rows) -> Any:
        item = codes[0].run(rows)
        found = rows.scenes.items_of_box[item // layout.items]
        found[np.arange(len(rows)), item % layout.slots] = False
        return found

    return Code(run, call.type, most=layout.items)


# ---------------------------------------------------------------- attributes


def _attribute(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    _, name = call.function.bulk
    if codes[0].type is Kind.ITEM:
        return _of_item(call, codes, lambda scenes: scenes.values(name))
    return _counted(call, codes, name, distinct_only=False)


def _has(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    _, name, number = call.function.bulk
    return Code(lambda rows: rows.scenes.values(name).reshape(-1)[codes[0].run(rows)] == number, call.type)


def _keep(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    (_, name), (items, value) = call.function.bulk, codes

    def run(rows: Rows) -> Any:
        wanted = np.broadcast_to(value.run(rows), len(rows))[:, None]
        return as_members(rows, items) & (rows.scenes.values(name).reshape(-1, layout.slots)[rows.scene] == wanted)

    return replace(items, run=run, type=call.type)


def _count_values(rows: Rows, items: Code, name: str) -> Any:
    """(R, choices): how often each value occurs."""
    members, layout = as_members(rows, items), rows.scenes.layout
    found = rows.scenes.values(name).reshape(-1, layout.slots)[rows.scene]
    choices = range(len(rows.scenes.world.by_name[name].choices))
    return np.stack([(members & (found == number)).sum(axis=1) for number in choices], axis=1)


def _counted(call: tree.Call, codes: Sequence[Code], name: str, distinct_only: bool) -> Code:
    (items,) = codes
    if distinct_only:
        run = lambda rows: (_count_values(rows, items, name) > 0).astype(np.int8)  # noqa: E731
        return Code(run, call.type, most=min(items.most, call.type.of.size), ordered=False)  # type: ignore[union-attr]
    if not items.distinct:
        raise Unsupported("a list may contain an item twice")
    return Code(lambda rows: _count_values(rows, items, name), call.type, most=items.most, ordered=False)


def _values(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    _, name, distinct_only = call.function.bulk
    return _counted(call, codes, name, distinct_only)


def _one_value(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    _, name = call.function.bulk
    return Code(lambda rows: np.count_nonzero(_count_values(rows, codes[0], name), axis=1) == 1, call.type)


OF_SUBSETS = ("exist", "count", "len", "not")  # the rules that accept sets of sets

RULES: dict[str, Compile] = {
    "exist": _of_members(_exist),
    "count": _of_members(_count),
    "len": _len,
    "not": _not,
    "unique": _unique,
    "set": _distinct,
    "all": _of_members(lambda rows, sets: np.full(len(rows), True)),  # Items and boxes are true, as objects in Python.
    "combinations": _combinations,
    "union": _merge,
    "intersect": _intersect,
    "contained": _of_members(lambda rows, a, b: ~((a > 0) & ~(b > 0)).any(axis=1)),
    "member_of": _member_of,
    "equal": _equal,
    "ordering": _ordering,
    "%": _remainder,
    "+": _plus,
    "[]": _subscript,
    "last": _last,
    "[:]": _slice,
    "item": _item,
    "level": _level,
    "walls": _walls,
    "related": _related,
    "is_closely_touching": _is_closely_touching,
    "box": _box,
    "is_tower": _is_tower,
    "all_items_in_box": _items_in_box,
    "get_box_inclusive": _box_inclusive,
    "get_box_exclusive": _box_exclusive,
    "attribute": _attribute,
    "has": _has,
    "keep": _keep,
    "values": _values,
    "one_value": _one_value,
}

# ---------------------------------------------------------------- functions of a set and a lambda

# The body of a lambda is evaluated once, on rows that are the members of all sets.
Members = tuple[Rows, Any, Array]  # the members' rows; their sets; where in the sets they are


def _each(rows: Rows, collection: Code, depth: int) -> Members:
    """A row for each member. A value that occurs several times has one row."""
    sets, layout = as_members(rows, collection), rows.scenes.layout
    if isinstance(sets, Subsets):
        return rows.members(depth, sets.origin, sets.members), sets, np.arange(len(sets.origin))
    origin, member = np.divmod(np.flatnonzero(sets), sets.shape[1])  # faster than np.nonzero
    values = member
    if collection.type in (Many(Kind.ITEM), Kind.BOX):
        values = rows.scene[origin] * layout.slots + member
    elif collection.type == Many(Kind.BOX):
        values = rows.scene[origin] * layout.boxes + member
    return rows.members(depth, origin, values), sets, member


def _run_body(inner: Rows, body: Code) -> Any:
    found = body.run(inner)
    return np.broadcast_to(found, (len(inner), *np.shape(found)[1:]))


def _per_row(rows: Rows, inner: Rows, where: Array) -> Array:
    """Whether `where` is true of a member of each row's set."""
    found: Array = np.bincount(inner.origin[where], minlength=len(rows)) > 0
    return found


def _mark_members(rows: Rows, inner: Rows) -> None:
    """Marks the rows one of whose members has no value."""
    if inner.undefined is not None:
        rows.mark_undefined(_per_row(rows, inner, inner.undefined))


def _filter(collection: Code, depth: int, body: Code, type: Type) -> Code:
    def run(rows: Rows) -> Any:
        inner, sets, member = _each(rows, collection, depth)
        kept = truth(_run_body(inner, body))
        _mark_members(rows, inner)
        if isinstance(sets, Subsets):
            return Subsets(sets.origin[kept], sets.members[kept])
        result, where = np.zeros_like(sets), (inner.origin * sets.shape[1] + member)[kept]
        result.reshape(-1)[where] = sets.reshape(-1)[where]
        return result

    return replace(collection, run=run, type=type)


def _quantifier(universal: bool, collection: Code, depth: int, body: Code, type: Type) -> Code:
    """`All`, which is false of an empty set, and `Any`."""
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

    return Code(run, type)


def _same_attribute(collection: Code, depth: int, body: Code, type: Type) -> Code:
    are_values = is_values(body.type)
    if isinstance(body.type, Many) and isinstance(body.type.of, AttributeType) and body.type.of.size > MAX_BITS:
        raise Unsupported("sets of too many values")
    single = isinstance(body.type, AttributeType) or body.type in (Kind.NUMBER, Kind.TRUTH, Kind.ITEM)
    if not are_values and not single:
        raise Unsupported("sets of sets, and boxes by what they contain")

    def run(rows: Rows) -> Any:
        inner, _, _ = _each(rows, collection, depth)
        value = _run_body(inner, body)
        if are_values:
            value = (value > 0) @ (1 << np.arange(value.shape[1]))  # equal sets have equal numbers
        _mark_members(rows, inner)
        starts = np.flatnonzero(np.diff(inner.origin, prepend=-1))
        same = np.zeros(len(rows), bool)
        if len(starts):
            value = value if value.dtype.kind == "f" else value.astype(np.int64)
            same[inner.origin[starts]] = np.minimum.reduceat(value, starts) == np.maximum.reduceat(value, starts)
        return same

    return Code(run, type)


def _extreme(sign: int, collection: Code, depth: int, body: Code, type: Type) -> Code:
    """The first of the least members (sign 1), or of the greatest (sign -1)."""
    if not collection.ordered or isinstance(type, Many):
        raise Unsupported("the first of the least members, in an order that is not known")

    def run(rows: Rows) -> Any:
        inner, _, _ = _each(rows, collection, depth)
        key = sign * _run_body(inner, body).astype(np.float64)
        undefined = np.ones(len(rows), bool)
        undefined[inner.origin] = False
        rows.mark_undefined(undefined)
        _mark_members(rows, inner)
        order = np.lexsort((np.arange(len(inner)), key, inner.origin))
        starts = order[np.flatnonzero(np.diff(inner.origin[order], prepend=-1))]
        # Where there is no least member, any will do: the row is undefined.
        width = width_of(type, rows.scenes.layout) if type in (Kind.ITEM, Kind.BOX) else 0
        result = rows.scene * width
        result[inner.origin[starts]] = inner.value(depth)[starts]
        return result

    return Code(run, type, total=False)


def _sum(collection: Code, depth: int, body: Code, type: Type) -> Code:
    if not collection.ordered or not collection.distinct or is_values(collection.type):
        raise Unsupported("rounding depends on the order, and a list may contain a member twice")

    def run(rows: Rows) -> Any:
        inner, _, _ = _each(rows, collection, depth)
        numbers = _run_body(inner, body)
        _mark_members(rows, inner)
        return np.bincount(inner.origin, weights=numbers, minlength=len(rows))  # adds one by one, in order

    return Code(run, type)


_QUANTIFIERS: dict[str, Callable[[Code, int, Code, Type], Code]] = {
    "filter_obj": _filter,
    "All": partial(_quantifier, True),
    "Any": partial(_quantifier, False),
    "all_same_attribute": _same_attribute,
    "min": partial(_extreme, 1),
    "max": partial(_extreme, -1),
    "sum": _sum,
}


def quantifier(call: tree.Call, collection: Code, depth: int, body: Code) -> Code:
    """Compiles a function of a set and a lambda, whose parameter is the value at `depth`."""
    if are_sets(body.type):
        raise Unsupported("a function whose value is a set of sets")
    found = _QUANTIFIERS[call.function.bulk[0]](collection, depth, body, call.type)
    cost = collection.cost + collection.charge + collection.most * (1 + body.cost + body.charge)
    body_of = call.arguments[-1].body  # type: ignore[attr-defined]
    operators = collection.operators + collection.most * (tree.operators_in(body_of) + body.operators)
    return replace(found, cost=cost, operators=operators, total=found.total and collection.total and body.total)
