"""The closed list of functions: what each takes, what it gives, and its value.

Collections are tuples at run time. A parameter that is `collected` gets a tuple whatever was written there: a box
gives its items, a single value a tuple of one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from veriscene.meaning.language import signatures as takes
from veriscene.meaning.language.constants import AnySide
from veriscene.meaning.language.kinds import Kind, Many
from veriscene.meaning.language.placed import CLOSE, SECOND_FLOOR, THIRD_FLOOR, PlacedItem
from veriscene.meaning.language.signatures import COUNT, FOUND_ITEMS, TRUTH, Form, Function, always, member, members
from veriscene.scenes.scene import Color, Shape, Side, Size

Items = tuple[PlacedItem, ...]


class Undefined(Exception):
    """An expression has no value on this scene, as `unique` of a set without exactly one member."""


def distinct(values: Iterable[Hashable]) -> tuple[Any, ...]:
    """Each value once, in the order of first appearance, so that programs do not depend on hashes."""
    return tuple(dict.fromkeys(values))


def same_members(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return set(a) == set(b)


def _unique(members: tuple[Any, ...]) -> Any:
    if len(members) != 1:
        raise Undefined(f"unique needs a set of one member, not of {len(members)}")
    return members[0]


def _least(numbers: tuple[int, ...]) -> int:
    if not numbers:
        raise Undefined("there is no least number of an empty set")
    return min(numbers)


def _item_predicates() -> dict[str, Function]:
    def has(attribute: str, value: object) -> Callable[[PlacedItem], bool]:
        of = operator.attrgetter(attribute)
        return lambda item: of(item) is value

    def on_floor(bottom: int) -> Callable[[PlacedItem], bool]:
        return lambda item: item.box.is_tower and item.bottom == bottom

    named: dict[str, Callable[[PlacedItem], bool]] = {
        "is_yellow": has("color", Color.YELLOW),
        "is_black": has("color", Color.BLACK),
        "is_blue": has("color", Color.BLUE),
        "is_square": has("shape", Shape.SQUARE),
        "is_circle": has("shape", Shape.CIRCLE),
        "is_triangle": has("shape", Shape.TRIANGLE),
        "is_small": has("size", Size.SMALL),
        "is_medium": has("size", Size.MEDIUM),
        "is_big": has("size", Size.LARGE),
        "is_top": lambda item: item.top == item.box.highest,
        "is_bottom": lambda item: item.top == item.box.lowest,
        "is_second": on_floor(SECOND_FLOOR),
        "is_third": on_floor(THIRD_FLOOR),
    }
    return {name: Function((takes.ITEM,), TRUTH, value) for name, value in named.items()}


def _walls() -> dict[str, Function]:
    def at(touches: Callable[[PlacedItem, Side | None, int], bool], margin: int) -> Function:
        def value(item: PlacedItem, side: Side | AnySide = AnySide.ANY) -> bool:
            return touches(item, None if isinstance(side, AnySide) else side, margin)

        return Function((takes.ITEM, takes.SIDE), TRUTH, value)

    return {
        "is_touching_wall": at(PlacedItem.touches_wall, 0),
        "is_closely_touching_wall": at(PlacedItem.touches_wall, CLOSE),
        "is_touching_corner": at(PlacedItem.touches_corner, 0),
        "is_closely_touching_corner": at(PlacedItem.touches_corner, CLOSE),
    }


def _relations() -> dict[str, Function]:
    def related(find: Callable[[PlacedItem], Items]) -> Function:
        def value(items: Items) -> Items:
            return find(items[0]) if len(items) == 1 else distinct(other for item in items for other in find(item))

        return Function((takes.ITEM_OR_ITEMS,), FOUND_ITEMS, value)

    def is_closely_touching(x: PlacedItem, y: PlacedItem) -> bool:
        gaps = (x.top - y.bottom, x.left - y.right, y.top - x.bottom, y.left - x.right)
        return any(abs(gap) <= CLOSE for gap in gaps)

    return {
        "get_touching": related(PlacedItem.touching),
        "get_closely_touching": related(lambda item: item.touching(CLOSE)),
        "get_above": related(PlacedItem.above),
        "get_below": related(PlacedItem.below),
        "get_box_all_above": related(PlacedItem.all_above),
        "get_box_all_below": related(PlacedItem.all_below),
        "is_closely_touching": Function((takes.ITEM, takes.ITEM), TRUTH, is_closely_touching),
    }


def _looks(attribute: str, kind: Kind, one: takes.Parameter, some: takes.Parameter) -> dict[str, Function]:
    """The functions that exist for colour, shape and size alike."""
    of = operator.attrgetter(attribute)

    def keep(items: Items, value: object) -> Items:
        return tuple([item for item in items if of(item) is value])

    looks = always(Many(kind))
    return {
        f"filter_{attribute}": Function((takes.ITEMS, one), FOUND_ITEMS, keep),
        f"query_{attribute}": Function((takes.ITEM_OR_ITEMS,), looks, lambda items: tuple(map(of, items))),
        f"get_set_{attribute}s": Function((takes.ITEMS,), looks, lambda items: distinct(map(of, items))),
        f"equal_{attribute}": Function((some, some), TRUTH, same_members),
        f"all_same_{attribute}": Function((takes.ITEMS,), TRUTH, lambda items: len(set(map(of, items))) == 1),
        attribute: Function((takes.ITEM,), always(kind), of, Form.ATTRIBUTE),
    }


def _sets() -> dict[str, Function]:
    pair = (takes.SOME, takes.SET_LIKE_FIRST)
    return {
        "filter_obj": Function((takes.SOME, takes.TEST), members, None),
        "exist": Function((takes.SOME,), TRUTH, bool),
        "count": Function((takes.SOME,), COUNT, lambda members: len(set(members))),
        "len": Function((takes.SOME,), COUNT, len),
        "unique": Function((takes.SOME,), member, _unique),
        "set": Function((takes.SOME,), members, distinct),
        "all": Function((takes.SOME,), TRUTH, all),
        "min": Function((takes.NUMBERS_OR_KEYED, takes.KEY), member, _least),
        "combinations": Function((takes.SOME, takes.NUMBER), lambda types: Many(members(types)), None),
        "union": Function(pair, members, lambda a, b: distinct(a + b)),
        "intersect": Function(pair, members, lambda a, b: tuple(x for x in distinct(a) if x in b)),
        "contained": Function(pair, TRUTH, lambda a, b: all(x in b for x in a)),
        "equal_set": Function(pair, TRUTH, same_members),
        "equal": Function((takes.ANYTHING, takes.LIKE_FIRST), TRUTH, same_members),
        "member_of": Function((takes.SINGLE, takes.SET_OF_FIRST), TRUTH, lambda x, members: x in members),
        "All": Function((takes.SOME, takes.TEST), TRUTH, None),
        "Any": Function((takes.SOME, takes.TEST), TRUTH, None),
        "all_same_attribute": Function((takes.SOME, takes.ATTRIBUTE), TRUTH, None),
    }


def _logic_and_numbers() -> dict[str, Function]:
    named = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt, "equal_int": operator.eq}
    return {
        "AND": Function((takes.CONDITION, takes.CONDITION), TRUTH, None),
        "OR": Function((takes.CONDITION, takes.CONDITION), TRUTH, None),
        "NOT": Function((takes.CONDITION,), TRUTH, operator.not_),
        **{name: Function((takes.NUMBER, takes.NUMBER), TRUTH, value) for name, value in named.items()},
    }


FUNCTIONS: dict[str, Function] = {
    **_item_predicates(),
    **_walls(),
    **_relations(),
    **_looks("color", Kind.COLOR, takes.COLOR, takes.COLORS),
    **_looks("shape", Kind.SHAPE, takes.SHAPE, takes.SHAPES),
    **_looks("size", Kind.SIZE, takes.SIZE, takes.SIZES),
    **_sets(),
    **_logic_and_numbers(),
    "box": Function((takes.ITEM,), always(Kind.BOX), operator.attrgetter("box"), Form.ATTRIBUTE),
    "all_items_in_box": Function((takes.BOX,), FOUND_ITEMS, operator.attrgetter("items"), Form.METHOD),
    "is_tower": Function((takes.BOX,), TRUTH, operator.attrgetter("is_tower"), Form.METHOD),
}
