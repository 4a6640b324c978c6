"""The functions of the language: parameters, result type and value of each.

At run time, collections are tuples. A `collected` parameter always receives a tuple: the items of a box, or a tuple of
one for a single value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import chain
from typing import Any

from veriscene.language import sets
from veriscene.language import signatures as takes
from veriscene.language.placed import CLOSE, PlacedItem
from veriscene.language.sets import Members, Undefined
from veriscene.language.signatures import COUNT, FOUND_ITEMS, TRUTH, Form, Function, always
from veriscene.language.types import CONSTANTS, Kind, Many
from veriscene.world.scene import Side

Items = tuple[PlacedItem, ...]


def _sets() -> dict[str, Function]:
    one, two, nested = (takes.SET,), (takes.SET, takes.SET_LIKE_FIRST), (takes.SET_OF_SETS,)
    tested, mapped = (takes.SET, takes.TEST), (takes.SET, takes.ATTRIBUTE)
    alike, numbers = (takes.ANYTHING, takes.LIKE_FIRST), (takes.NUMBER_OR_NUMBERS, takes.NUMBER_OR_NUMBERS)
    return {
        "filter_obj": Function(tested, takes.first_set, lambda members, test: tuple(filter(test, members))),
        "exist": Function(one, TRUTH, bool),
        "count": Function(one, COUNT, lambda members: len(set(sets.keys(members)))),
        "len": Function(one, COUNT, len),
        "unique": Function(one, takes.first_member, sets.unique),
        "set": Function(one, takes.first_set, sets.distinct),
        "all": Function(one, TRUTH, all),
        "min": Function((takes.NUMBERS_OR_KEYED, takes.KEY), takes.first_member, sets.least),
        "combinations": Function((takes.SET, takes.NUMBER), takes.set_of_sets, None),
        "select": Function((takes.NUMBER, takes.SET), lambda types: takes.set_of_sets(types[1:]), None),
        "union": Function(two, takes.first_set, lambda a, b: sets.distinct(a + b)),
        "intersect": Function(two, takes.first_set, lambda a, b: sets.intersection((a, b))),
        "union_all": Function(nested, takes.members_union, lambda each: sets.distinct(chain(*sets.flat(each)))),
        "intersect_all": Function(nested, takes.members_union, lambda each: sets.intersection(sets.flat(each))),
        "contained": Function(two, TRUTH, lambda a, b: set(sets.keys(a)) <= set(sets.keys(b))),
        "member_of": Function((takes.MEMBER, takes.SET_OF_FIRST), TRUTH, sets.contains),
        "equal": Function(alike, TRUTH, sets.same_members),
        "equal_set": Function(alike, TRUTH, sets.same_members),
        "equal_int": Function(numbers, TRUTH, sets.same_members),
        "All": Function(tested, TRUTH, lambda members, test: bool(members) and all(map(test, members))),
        "Any": Function(tested, TRUTH, lambda members, test: any(map(test, members))),
        "all_same": Function(one, TRUTH, sets.all_same),
        "all_same_attribute": Function(mapped, TRUTH, lambda members, of: sets.all_same(tuple(map(of, members)))),
    }


def _item_predicates() -> dict[str, Function]:
    def has(kind: Kind, value: object) -> Callable[[PlacedItem], bool]:
        of = operator.attrgetter(kind.name.lower())
        return lambda item: of(item) is value

    looks = {name.split(".")[1].lower(): look for name, look in CONSTANTS.items() if look[0] is not Kind.SIDE}
    values: dict[str, Callable[[PlacedItem], bool]] = {
        **{f"is_{name}": has(*look) for name, look in looks.items()},  # is_yellow, is_square, is_big, …
        "is_top": lambda item: item.top == item.box.highest,
        "is_bottom": lambda item: item.top == item.box.lowest,
        "is_second": lambda item: item.box.is_tower and item.bottom == 21,  # Blocks of 20 pixels, one pixel apart.
        "is_third": lambda item: item.box.is_tower and item.bottom == 42,
    }
    return {name: Function((takes.ITEM,), TRUTH, value) for name, value in values.items()}


def _walls() -> dict[str, Function]:
    def touching(test: Callable[[PlacedItem, Side | None, int], bool], margin: int) -> Function:
        return Function((takes.ITEM, takes.SIDE), TRUTH, lambda item, side=None: test(item, side, margin))

    def corner_of(item: PlacedItem, a: Side | None = None, b: Side | None = None) -> bool:
        return item.touches_corner(a, CLOSE) and item.touches_wall(b, CLOSE)

    return {
        "is_touching_wall": touching(PlacedItem.touches_wall, 0),
        "is_closely_touching_wall": touching(PlacedItem.touches_wall, CLOSE),
        "is_touching_corner": touching(PlacedItem.touches_corner, 0),
        "is_closely_touching_corner": touching(PlacedItem.touches_corner, CLOSE),
        "is_closely_touching_specific_corner": Function((takes.ITEM, takes.SIDE_A, takes.SIDE_B), TRUTH, corner_of),
    }


def _relations() -> dict[str, Function]:
    def related(find: Callable[[PlacedItem], Items]) -> Function:
        def value(items: Items) -> Items:
            return find(items[0]) if len(items) == 1 else sets.distinct(other for item in items for other in find(item))

        return Function((takes.ITEM_OR_ITEMS,), FOUND_ITEMS, value)

    def is_closely_touching(x: PlacedItem, y: PlacedItem) -> bool:
        gaps = (x.top - y.bottom, x.left - y.right, y.top - x.bottom, y.left - x.right)
        return any(abs(gap) <= CLOSE for gap in gaps)

    one, two = (takes.ITEM,), (takes.ITEM, takes.ITEM)
    return {
        "get_touching": related(PlacedItem.touching),
        "get_closely_touching": related(lambda x: x.touching(CLOSE)),
        "get_above": related(lambda x: x.adjacent_in_tower(x.all_above(x.box.items))),
        "get_below": related(lambda x: x.adjacent_in_tower(x.all_below(x.box.items))),
        "get_box_all_above": related(lambda x: x.all_above(x.box.items)),
        "get_box_all_below": related(lambda x: x.all_below(x.box.items)),
        "get_img_all_above": related(lambda x: x.all_above(x.box.scene_items)),
        "get_img_all_below": related(lambda x: x.all_below(x.box.scene_items)),
        "get_box_inclusive": Function(one, FOUND_ITEMS, lambda x: x.box.items),
        "get_box_exclusive": Function(
            one, FOUND_ITEMS, lambda x: tuple(other for other in x.box.items if other is not x)
        ),
        "get_img_exclusive": Function(
            one, FOUND_ITEMS, lambda x: tuple(other for other in x.box.scene_items if other is not x)
        ),
        "is_closely_touching": Function(two, TRUTH, is_closely_touching),
    }


def _looks(attribute: str, kind: Kind, example: str) -> dict[str, Function]:
    """The functions that colour, shape and size have in common."""
    of, looks, name = operator.attrgetter(attribute), always(Many(kind)), kind.value.removesuffix("s")
    one, some = (
        takes.one(kind, f"a {name}, as {example}"),
        takes.one_or_more(kind, f"a {name} or a set of {kind.value}"),
    )

    def keep(items: Items, value: object) -> Items:
        return tuple([item for item in items if of(item) is value])

    return {
        f"filter_{attribute}": Function((takes.ITEMS, one), FOUND_ITEMS, keep),
        f"query_{attribute}": Function((takes.ITEM_OR_ITEMS,), looks, lambda items: tuple(map(of, items))),
        f"get_set_{attribute}s": Function((takes.ITEMS,), looks, lambda items: sets.distinct(map(of, items))),
        f"equal_{attribute}": Function((some, some), TRUTH, sets.same_members),
        f"all_same_{attribute}": Function((takes.ITEMS,), TRUTH, lambda items: len(set(map(of, items))) == 1),
        attribute: Function((takes.ITEM,), always(kind), of, Form.ATTRIBUTE),
    }


def _subscript(members: Members, index: int) -> Any:
    if index >= len(members):
        raise Undefined(f"there is no member {index} among {len(members)}")
    return members[index]


def _remainder(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise Undefined("there is no remainder of a division by 0")
    return dividend % divisor


def _logic_and_numbers() -> dict[str, Function]:
    condition, numbers, sliced = (takes.CONDITION,), (takes.NUMBER, takes.NUMBER), (takes.SET, takes.NUMBER, takes.STOP)
    orderings = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt}
    return {
        "AND": Function(condition * 2, TRUTH, None),
        "OR": Function(condition * 2, TRUTH, None),
        "NOT": Function(condition, TRUTH, operator.not_),
        **{name: Function(numbers, TRUTH, value) for name, value in orderings.items()},
        # Operators are named by their symbols; `and`, `or` and comparisons are nodes of their own.
        "not": Function(condition, TRUTH, operator.not_, Form.OPERATOR),
        "%": Function(numbers, COUNT, _remainder, Form.OPERATOR),
        "[]": Function((takes.SET, takes.NUMBER), takes.first_member, _subscript, Form.OPERATOR),
        "[:]": Function(sliced, takes.first_set, lambda members, start, stop=None: members[start:stop], Form.OPERATOR),
        "+": Function(
            (takes.NUMBER_OR_SET, takes.ADDEND),
            lambda types: types[0] if types[0] is Kind.NUMBER else takes.first_set(types),
            lambda a, b: operator.add(*sets.flat((a, b))),
            Form.OPERATOR,
        ),
    }


FUNCTIONS: dict[str, Function] = {
    **_item_predicates(),
    **_walls(),
    **_relations(),
    **_looks("color", Kind.COLOR, "Color.BLACK"),
    **_looks("shape", Kind.SHAPE, "Shape.SQUARE"),
    **_looks("size", Kind.SIZE, "Size.BIG"),
    **_sets(),
    **_logic_and_numbers(),
    "box": Function((takes.ITEM,), always(Kind.BOX), operator.attrgetter("box"), Form.ATTRIBUTE),
    "all_items_in_box": Function((takes.BOX,), FOUND_ITEMS, operator.attrgetter("items"), Form.METHOD),
    "is_tower": Function((takes.BOX,), TRUTH, operator.attrgetter("is_tower"), Form.METHOD),
}
