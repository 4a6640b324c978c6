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
    all_items,
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


def _of_values(value: Callable[..., Any], *, most: str = "") -> Compile:
    """The rule of a function of the rows, the arguments' values and the rule's arguments. `most`: it returns as many
    items as a box has ("items") or a scene has ("slots"); otherwise a single value."""

    def compile(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
        own = call.function.bulk[1:]
        run = lambda rows: value(rows, *(code.run(rows) for code in codes), *own)  # noqa: E731
        return Code(run, call.type, most=getattr(layout, most) if most else 1)

    return compile


def _of_members(value: Callable[..., Any]) -> Compile:
    """Like `_of_values`, but arguments are passed as collections."""
    return lambda call, codes, layout: Code(
        lambda rows: value(rows, *(as_members(rows, code) for code in codes), *call.function.bulk[1:]), call.type
    )


def _require_distinct(members: Code) -> None:
    if not members.distinct:
        raise Unsupported("a list may contain an item twice")


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


def _exist(rows: Rows, sets: Any) -> Array:
    return _count(rows, sets) > 0 if isinstance(sets, Subsets) else any_member(sets)


def _count(rows: Rows, sets: Any) -> Array:
    """The number of distinct members."""
    return np.bincount(sets.origin, minlength=len(rows)) if isinstance(sets, Subsets) else count_members(sets)


def _not(rows: Rows, value: Any) -> Array:
    return ~(_exist(rows, value) if isinstance(value, Subsets) else np.broadcast_to(truth(value), len(rows)))


def _len(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    _require_distinct(codes[0])
    count = (lambda rows, sets: sets.sum(axis=1)) if is_values(codes[0].type) else _count
    return _of_members(count)(call, codes, layout)


def _nth(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    """`members[index]` and `last(members)`, undefined if there is no such member; `unique(members)`, if there is not
    exactly one."""
    (collection, *index), type, is_last = codes, call.type, call.function.name == "last"
    _require_distinct(collection)
    if (index or is_last) and (not collection.ordered or (is_last and is_values(collection.type))):
        raise Unsupported("the order of the members is not known")
    if isinstance(type, Many):
        raise Unsupported("a member that is a set")

    def run(rows: Rows) -> Any:
        sets, at = as_members(rows, collection), np.broadcast_to(index[0].run(rows) if index else 0, len(rows))
        total = sets.sum(axis=1) if is_values(collection.type) else count_members(sets)
        if at.dtype.kind == "f":  # Numbers from attributes may be negative or fractions, which are no indices.
            rows.mark_undefined((at < 0) | (at != np.floor(at)))
        if is_last:
            at = np.maximum(total, 1) - 1  # The index 0 of an empty set is past its end.
        rows.mark_undefined(at >= total if index or is_last else total != 1)
        number = ((sets.cumsum(axis=1) > at[:, None]) & (sets > 0)).argmax(axis=1)
        return number + rows.scene * width_of(type, layout) if type in (Kind.ITEM, Kind.BOX) else number

    return Code(run, type, total=False)


def _combined(combine: Callable[..., Array], call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    """A set whose members follow from whether they are in each of some sets; at most as large as the first."""

    def run(rows: Rows) -> Any:
        found = combine(*(as_members(rows, code) > 0 for code in codes))
        return found.astype(np.int8) if is_values(call.type) else found

    return Code(run, call.type, most=codes[0].most, ordered=codes[0].ordered)


def _union(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    found = _combined(np.logical_or, call, codes, layout)
    return replace(found, most=codes[0].most + codes[1].most, ordered=False)


def _plus(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    a, b = codes
    if call.type is Kind.NUMBER:
        return Code(lambda rows: a.run(rows) + b.run(rows), call.type)
    if is_values(call.type):
        # Wider numbers than those of a display: adding a set to itself again and again must not overflow.
        run = lambda rows: a.run(rows).astype(np.int64) + b.run(rows)  # noqa: E731
        return Code(run, call.type, most=a.most + b.most, ordered=False)
    return replace(_union(call, codes, layout), distinct=False)


def _remainder(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    def run(rows: Rows) -> Any:
        dividend, divisor = (np.broadcast_to(code.run(rows), len(rows)) for code in codes)
        rows.mark_undefined(divisor == 0)
        return dividend % np.where(divisor == 0, 1, divisor)

    return Code(run, call.type, total=False)


def _combinations(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    members, size = codes[0], call.arguments[1]
    _require_distinct(members)
    if not isinstance(size, tree.Number) or not isinstance(size.value, int):
        raise Unsupported("subsets of a size that is not known")
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


def _compared(
    comparison: Callable[[Code, Code], Callable[..., Any]], call: tree.Call, codes: Sequence[Code], layout: Layout
) -> Code:
    compare = comparison(codes[0], codes[1])
    return Code(lambda rows: compare(rows, *(code.run(rows) for code in codes)), call.type)


# ---------------------------------------------------------------- items, boxes and attributes


def _level(rows: Rows, item: Array, height: float) -> Array:
    """Whether an item is a block of a tower, at a height above the floor."""
    floor = list(Side).index(Side.BOTTOM)
    levels = lambda scenes: scenes.is_tower[:, :, None] & (scenes.gaps[floor] == height)  # noqa: E731
    return rows.scenes.derived(("level", height), levels).reshape(-1)[item]


def _walls(rows: Rows, item: Array, *given: Any) -> Array:
    """Whether an item is at a wall, or at exactly two of them; and at each of the given sides."""
    *sides, corner, margin = given
    wanted = tuple(list(Side).index(side) for side in sides if side is not None)

    def touches(scenes: SceneArrays) -> Array:
        walls = scenes.gaps <= margin
        found = walls.sum(axis=0) == 2 if corner else walls.any(axis=0)
        for side in wanted:
            found = found & walls[side]
        return found

    return rows.scenes.derived(("walls", corner, margin, *wanted), touches).reshape(-1)[item]


def _related(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    """The items related to an item, by one of the relations of SceneArrays. For a set, the union."""
    (code,), (_, relation), (boxes, items) = codes, call.function.bulk, (layout.boxes, layout.items)

    def of_item(rows: Rows) -> Any:
        item = code.run(rows)
        found = np.zeros((len(rows), boxes, items), bool)
        own_box = item // items % boxes
        found[np.arange(len(rows)), own_box] = rows.scenes.related(relation).reshape(-1, items)[item]
        return found.reshape(len(rows), layout.slots)

    def of_set(rows: Rows) -> Any:
        members = as_members(rows, code).reshape(len(rows), boxes, items, 1)
        return (members & rows.scenes.related(relation)[rows.scene]).any(axis=2).reshape(len(rows), layout.slots)

    if code.type is Kind.ITEM:
        return Code(of_item, call.type, most=items, operators=call.function.scans)
    operators = call.function.scans * code.most
    return Code(of_set, call.type, most=layout.slots, cost=layout.slots * items, operators=operators, ordered=False)


def _box(rows: Rows, item: Array) -> Array:
    return item // rows.scenes.layout.items


def _without(rows: Rows, sets: Array, item: Array) -> Array:
    sets[np.arange(len(rows)), item % rows.scenes.layout.slots] = False
    return sets


def _end(rows: Rows, item: Array, edge: str, sign: int) -> Array:
    """Whether an item is the uppermost of its box, or the like."""
    found = rows.scenes.derived(("end", edge, sign), lambda scenes: scenes.is_at_end(edge, sign))
    return found.reshape(-1)[item]


def _attribute(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    if codes[0].type is not Kind.ITEM:
        return _values(call, codes, layout)
    return _of_values(lambda rows, item, name: rows.scenes.values(name).reshape(-1)[item])(call, codes, layout)


def _keep(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    (_, name), (items, value) = call.function.bulk, codes

    def run(rows: Rows) -> Any:
        wanted = np.broadcast_to(value.run(rows), len(rows))[:, None]
        return as_members(rows, items) & (rows.scenes.values(name).reshape(-1, layout.slots)[rows.scene] == wanted)

    return replace(items, run=run, type=call.type)


def _count_values(rows: Rows, items: Array, name: str) -> Array:
    """(R, choices): how often each value occurs among the items."""
    found = rows.scenes.values(name).reshape(-1, rows.scenes.layout.slots)[rows.scene]
    choices = range(len(rows.scenes.world.by_name[name].choices))
    return np.stack([(items & (found == number)).sum(axis=1) for number in choices], axis=1)


def _values(call: tree.Call, codes: Sequence[Code], layout: Layout) -> Code:
    (items,), (_, name, *once) = codes, call.function.bulk  # `once`: whether each value is given once
    if not any(once):
        _require_distinct(items)

    def run(rows: Rows) -> Any:
        counts = _count_values(rows, as_members(rows, items), name)
        return (counts > 0).astype(np.int8) if any(once) else counts

    most = min(items.most, width_of(tree.element_type(call.type), layout)) if any(once) else items.most
    return Code(run, call.type, most=most, ordered=False)


def of_values(call: tree.Call, items: Code, layout: Layout) -> Code:
    """Compiles `min`, `max` or, of distinct ones, `count` of the values that an attribute has on a set of items."""
    assert isinstance(call.arguments[0], tree.Call)
    name, which = call.arguments[0].function.bulk[1], call.function.name

    def run(rows: Rows) -> Any:
        sets = as_members(rows, items)
        values = rows.scenes.values(name).reshape(-1, layout.slots)[rows.scene]
        beyond = -np.inf if which == "max" else np.inf
        found = np.where(sets, values, beyond)
        if which == "count":
            found.sort(axis=1)
            is_other = np.concatenate([np.full((len(rows), 1), True), found[:, 1:] != found[:, :-1]], axis=1)
            return (is_other & (found < beyond)).sum(axis=1)
        exists = any_member(sets)
        rows.mark_undefined(~exists)
        extreme = found.max(axis=1) if which == "max" else found.min(axis=1)
        return np.where(exists, extreme, 0).astype(values.dtype)

    return joined([items], Code(run, call.type, cost=items.most, total=which == "count"))


OF_SUBSETS = ("exist", "count", "len", "not")  # the rules that accept sets of sets

RULES: dict[str, Compile] = {
    "exist": _of_members(_exist),
    "count": _of_members(_count),
    "len": _len,
    "not": _of_values(_not),
    "unique": _nth,
    "set": partial(_combined, lambda members: members),
    "all": _of_members(lambda rows, sets: np.full(len(rows), True)),  # Items and boxes are true, as objects in Python.
    "combinations": _combinations,
    "union": _union,
    "intersect": partial(_combined, np.logical_and),
    "contained": _of_members(lambda rows, a, b: ~((a > 0) & ~(b > 0)).any(axis=1)),
    "member_of": partial(_compared, membership),
    "equal": partial(_compared, partial(same, always_sets=True)),
    "ordering": _of_values(lambda rows, a, b, compare: compare(a, b)),
    "%": _remainder,
    "+": _plus,
    "[]": _nth,
    "last": _nth,
    "end": _of_values(_end),
    "is_foreign": _of_values(lambda rows, item: np.zeros(len(rows), bool)),
    "level": _of_values(_level),
    "walls": _of_values(_walls),
    "related": _related,
    "box": _of_values(_box),
    "is_tower": _of_values(lambda rows, box: rows.scenes.is_tower.reshape(-1)[box]),
    "all_items_in_box": _of_values(lambda rows, box: rows.scenes.items_of_box[box], most="items"),
    "get_box_inclusive": _of_values(lambda rows, item: rows.scenes.items_of_box[_box(rows, item)], most="items"),
    "get_box_exclusive": _of_values(
        lambda rows, item: _without(rows, rows.scenes.items_of_box[_box(rows, item)], item), most="items"
    ),
    "get_img_exclusive": _of_values(lambda rows, item: _without(rows, all_items(rows), item), most="slots"),
    "attribute": _attribute,
    "has": _of_values(lambda rows, item, name, number: rows.scenes.values(name).reshape(-1)[item] == number),
    "keep": _keep,
    "values": _values,
    "one_value": _of_members(lambda rows, items, name: (_count_values(rows, items, name) > 0).sum(axis=1) == 1),
}

# ---------------------------------------------------------------- functions of a set and a lambda

# The body of a lambda is evaluated once, on rows that are the members of all sets.


def _each(rows: Rows, collection: Code, depth: int, body: Code, *, is_lazy: bool = False) -> tuple[Rows, Any, Any]:
    """Returns a row for each member, the body's values on them, and the sets. A repeated value has one row.

    Rows one of whose members has no value are marked as undefined, unless the caller stops early (`is_lazy`).
    """
    sets = as_members(rows, collection)
    if isinstance(sets, Subsets):
        inner = rows.members(depth, sets.origin, sets.members)
    else:
        origin, values = np.divmod(np.flatnonzero(sets), sets.shape[1])  # faster than np.nonzero
        if tree.element_type(collection.type) in (Kind.ITEM, Kind.BOX):
            values = values + rows.scene[origin] * sets.shape[1]
        inner = rows.members(depth, origin, values)
    found = body.run(inner)
    if inner.undefined is not None and not is_lazy:
        rows.mark_undefined(_per_row(rows, inner, inner.undefined))
    return inner, np.broadcast_to(found, (len(inner), *np.shape(found)[1:])), sets


def _per_row(rows: Rows, inner: Rows, where: Array) -> Array:
    """Whether `where` is true of a member of each row's set."""
    return np.bincount(inner.origin[where], minlength=len(rows)) > 0


def _filter(collection: Code, depth: int, body: Code, type: Type) -> Code:
    def run(rows: Rows) -> Any:
        _, value, sets = _each(rows, collection, depth, body)
        kept = truth(value)
        if isinstance(sets, Subsets):
            return Subsets(sets.origin[kept], sets.members[kept])
        result, where = np.zeros_like(sets), np.flatnonzero(sets)[kept]
        result.reshape(-1)[where] = sets.reshape(-1)[where]
        return result

    return replace(collection, run=run, type=type)


def _quantifier(universal: bool, collection: Code, depth: int, body: Code, type: Type) -> Code:
    """`All`, which is false of an empty set, and `Any`."""
    if not body.total and not collection.ordered:
        raise Unsupported("the members before the deciding one must have a value, and their order is not known")

    def run(rows: Rows) -> Any:
        inner, value, _ = _each(rows, collection, depth, body, is_lazy=True)
        decides = truth(value) != universal
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
        inner, value, _ = _each(rows, collection, depth, body)
        if are_values:
            value = (value > 0) @ (1 << np.arange(value.shape[1]))  # equal sets have equal numbers
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
        inner, value, _ = _each(rows, collection, depth, body)
        key = sign * value.astype(np.float64)
        undefined = np.ones(len(rows), bool)
        undefined[inner.origin] = False
        rows.mark_undefined(undefined)
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
        inner, numbers, _ = _each(rows, collection, depth, body)
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
