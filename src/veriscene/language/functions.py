"""The functions of the language, and the values that they compute with on one scene.

At run time, collections are tuples, which keep their order so that programs do not depend on hashes. A `collected`
parameter always receives a tuple: the items of a box, or a tuple of one for a single value.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from veriscene.language import expression as takes
from veriscene.language.expression import FOUND_ITEMS, NUMBER_RESULT, TRUTH, Form, Function, Kind, Many, Type, always
from veriscene.world.scene import Box, Item, Number, Scene, Side
from veriscene.world.schema import Attribute, World

Members = tuple[Any, ...]


class Undefined(Exception):
    """Is raised for an expression without a value on this scene, as `unique` of a set without exactly one member."""


# ---------------------------------------------------------------- scenes prepared for evaluation

_WALL = {Side.TOP: 0, Side.BOTTOM: 1, Side.LEFT: 2, Side.RIGHT: 3}  # indices into PlacedItem.gaps


class PlacedItem:
    """Holds an item with its edges and a reference to its box; y grows downwards.

    Items and boxes are compared by identity, because two items that look the same are still two items.
    """

    __slots__ = ("bottom", "box", "gaps", "item", "left", "right", "top", "values")

    def __init__(self, item: Item, box: PlacedBox, canvas: tuple[int, int], values: tuple[Number, ...]) -> None:
        self.item, self.box, self.values = item, box, values
        self.left, self.right = item.x, item.x + item.width
        self.top, self.bottom = item.y, item.y + item.height
        self.gaps = (self.top, canvas[1] - self.bottom, self.left, canvas[0] - self.right)

    @property
    def center(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def touches_wall(self, side: Side | None, margin: Number) -> bool:
        return (min(self.gaps) if side is None else self.gaps[_WALL[side]]) <= margin

    def touches_corner(self, side: Side | None, margin: Number) -> bool:
        return sum(gap <= margin for gap in self.gaps) == 2 and self.touches_wall(side, margin)

    def distance(self, other: PlacedItem) -> Number:
        return max(self.left - other.right, other.left - self.right, self.top - other.bottom, other.top - self.bottom)


Items = tuple[PlacedItem, ...]


class PlacedBox:
    """Holds a box with what follows from its items; compared by identity."""

    items: Items = ()
    scene_items: Items = ()
    is_tower = False
    highest: Number = 0
    lowest: Number = 0
    leftmost: Number = 0
    rightmost: Number = 0

    def content(self) -> Hashable:
        """Returns what the box contains, in any order."""
        return frozenset(Counter(item.item for item in self.items).items())


Placed = tuple[tuple[PlacedBox, ...], Items]


class Placing:
    """Prepares the scenes of a world. The most recent scenes are cached."""

    # Keyed by identity, because hashing a scene takes longer than most programs. The entry also refers to the scene, so
    # its id cannot be reused while it is cached.
    CACHED_SCENES = 64

    def __init__(self, world: World) -> None:
        self.world = world
        self._ranks = [None if attribute.kind == "numeric" else attribute.rank for attribute in world.attributes]
        self._cache: dict[int, tuple[Scene, Placed]] = {}

    def __call__(self, scene: Scene) -> Placed:
        """Returns the scene's boxes and all its items."""
        known = self._cache.get(id(scene))
        if known is not None:
            return known[1]
        boxes = tuple([self._box(box) for box in scene.boxes])
        items = tuple([item for box in boxes for item in box.items])
        for box in boxes:
            box.scene_items = items
        if len(self._cache) >= self.CACHED_SCENES:
            self._cache.clear()
        self._cache[id(scene)] = (scene, (boxes, items))
        return boxes, items

    def _box(self, box: Box) -> PlacedBox:
        found, canvas = PlacedBox(), self.world.canvas
        found.items = items = tuple([PlacedItem(item, found, canvas, self._values(item)) for item in box.items])
        if items:
            tops = [item.top for item in items]
            found.highest, found.lowest = min(tops), max(tops)
            found.leftmost, found.rightmost = min(item.left for item in items), max(item.right for item in items)
            found.is_tower = self.world.is_tower(box)
        return found

    def _values(self, item: Item) -> tuple[Number, ...]:
        pairs = zip(self._ranks, item.values, strict=False)
        return tuple([value if rank is None else rank[value] for rank, (_, value) in pairs])  # type: ignore[misc]


# ---------------------------------------------------------------- sets


def keys(members: Sequence[Any], contents: bool = False) -> Sequence[Hashable]:
    """Returns the members as set operations compare them: nested collections are equal if they have the same members.

    Boxes are compared by identity, or by what they contain.
    """
    if members and isinstance(members[0], tuple):
        return [frozenset(keys(member, contents)) for member in members]
    if contents and members and isinstance(members[0], PlacedBox):
        return [box.content() for box in members]
    return members


def distinct(values: Iterable[Any]) -> Members:
    """Returns each value once, in order of first appearance."""
    members = tuple(values)
    compared = keys(members)
    if compared is members:
        return tuple(dict.fromkeys(members))
    found: dict[Hashable, Any] = {}
    for key, member in zip(compared, members, strict=True):
        found.setdefault(key, member)
    return tuple(found.values())


def same_members(a: Members, b: Members) -> bool:
    return set(keys(a)) == set(keys(b))


def equal(a: Any, b: Any) -> bool:
    """Returns whether two values are the same. A set has no order; a box is compared with a set by its items."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return same_members(*_flat((a, b)))
    return bool(a == b)


def contains(member: Any, members: Members | PlacedBox) -> bool:
    return keys((member,))[0] in keys(*_flat((members,)))


def _all_same(members: Members) -> bool:
    """Whether there is exactly one distinct member. Boxes are compared by their contents."""
    return len(set(keys(members, contents=True))) == 1


def _intersection(sets: Sequence[Members]) -> Members:
    if not sets:
        return ()
    first = distinct(sets[0])
    common = set(keys(first)).intersection(*map(keys, sets[1:]))
    return tuple(member for key, member in zip(keys(first), first, strict=True) if key in common)


def _flat(sets: Sequence[Any]) -> list[Any]:
    """The sets, with boxes replaced by their items."""
    return [each.items if isinstance(each, PlacedBox) else each for each in sets]


def _unique(members: Members) -> Any:
    if len(members) != 1:
        raise Undefined(f"unique needs a set of one member, not of {len(members)}")
    return members[0]


def _extreme(choose: Callable[..., Any], members: Members, key: Callable[[Any], Number] | None = None) -> Any:
    if not members:
        raise Undefined("an empty set has no least or greatest member")
    return choose(members, key=key)


def _sum(members: Members, key: Callable[[Any], Number]) -> Number:
    total: Number = 0
    for member in members:  # Not `sum`, which rounds differently from numpy.
        total += key(member)
    return total


def whole(number: Number) -> int:
    """Returns a number that can count members; others have no place in an index."""
    if number < 0 or number != int(number):
        raise Undefined(f"{number} does not count anything")
    return int(number)


def _subscript(members: Members, index: Number) -> Any:
    if index < 0 or not whole(index) < len(members):
        raise Undefined(f"there is no member {index} among {len(members)}")
    return members[int(index)]


def _slice(members: Members, start: Number, stop: Number | None = None) -> Members:
    return members[whole(start) : None if stop is None else whole(stop)]


def _remainder(dividend: Number, divisor: Number) -> Number:
    if divisor == 0:
        raise Undefined("there is no remainder of a division by 0")
    return dividend % divisor


def _set_functions() -> dict[str, Function]:
    one, two, nested = (takes.SET,), (takes.SET, takes.SET_LIKE_FIRST), (takes.SET_OF_SETS,)
    tested, mapped, keyed = (takes.SET, takes.TEST), (takes.SET, takes.EACH), (takes.ORDERED_OR_KEYED, takes.KEY)
    alike, numbers = (takes.ANYTHING, takes.LIKE_FIRST), (takes.NUMBER_OR_NUMBERS, takes.NUMBER_OR_NUMBERS)
    first_member, first_set = takes.first_member, takes.first_set

    def subsets(types: Sequence[Type]) -> Type:
        return Many(first_set(types))

    def members_union(types: Sequence[Type]) -> Type:
        return first_set([first_member(types)])

    return {
        "filter_obj": Function(tested, first_set, lambda members, test: tuple(filter(test, members))),
        "exist": Function(one, TRUTH, bool),
        "count": Function(one, NUMBER_RESULT, lambda members: len(set(keys(members)))),
        "len": Function(one, NUMBER_RESULT, len),
        "unique": Function(one, first_member, _unique),
        "last": Function(one, first_member, lambda members: _subscript(members, len(members) - 1)),
        "set": Function(one, first_set, distinct),
        "all": Function((takes.TRUTHS,), TRUTH, all),
        "min": Function(keyed, first_member, partial(_extreme, min)),
        "max": Function(keyed, first_member, partial(_extreme, max)),
        "sum": Function((takes.SET, takes.QUANTITY), NUMBER_RESULT, _sum),
        "combinations": Function((takes.SET, takes.NUMBER), subsets, None),
        "select": Function((takes.NUMBER, takes.SET), lambda types: subsets(types[1:]), None),
        "union": Function(two, first_set, lambda a, b: distinct(a + b)),
        "intersect": Function(two, first_set, lambda a, b: _intersection((a, b))),
        "union_all": Function(nested, members_union, lambda each: distinct(chain(*_flat(each)))),
        "intersect_all": Function(nested, members_union, lambda each: _intersection(_flat(each))),
        "contained": Function(two, TRUTH, lambda a, b: set(keys(a)) <= set(keys(b))),
        "member_of": Function((takes.MEMBER, takes.SET_OF_FIRST), TRUTH, contains),
        "equal": Function(alike, TRUTH, same_members),
        "equal_set": Function(alike, TRUTH, same_members, bulk=("equal",)),
        "equal_int": Function(numbers, TRUTH, same_members, bulk=("equal",)),
        "All": Function(tested, TRUTH, lambda members, test: bool(members) and all(map(test, members))),
        "Any": Function(tested, TRUTH, lambda members, test: any(map(test, members))),
        "all_same": Function(one, TRUTH, _all_same),
        "all_same_attribute": Function(mapped, TRUTH, lambda members, of: _all_same(tuple(map(of, members)))),
    }


def _logic_and_numbers() -> dict[str, Function]:
    condition, numbers, sliced = (takes.CONDITION,), (takes.NUMBER, takes.NUMBER), (takes.SET, takes.NUMBER, takes.STOP)
    orderings = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt}
    return {
        "AND": Function(condition * 2, TRUTH, None),
        "OR": Function(condition * 2, TRUTH, None),
        "NOT": Function(condition, TRUTH, operator.not_, bulk=("not",)),
        **{name: Function(numbers, TRUTH, value, bulk=("ordering", value)) for name, value in orderings.items()},
        # Operators are named by their symbols; `and`, `or` and comparisons are nodes of their own.
        "not": Function(condition, TRUTH, operator.not_, Form.OPERATOR),
        "%": Function(numbers, NUMBER_RESULT, _remainder, Form.OPERATOR),
        "*": Function(numbers, NUMBER_RESULT, operator.mul, Form.OPERATOR),
        "[]": Function((takes.SET, takes.NUMBER), takes.first_member, _subscript, Form.OPERATOR),
        "[:]": Function(sliced, takes.first_set, _slice, Form.OPERATOR),
        "+": Function(
            (takes.NUMBER_OR_SET, takes.ADDEND),
            lambda types: types[0] if types[0] is Kind.NUMBER else takes.first_set(types),
            lambda a, b: operator.add(*_flat((a, b))),
            Form.OPERATOR,
        ),
    }


# ---------------------------------------------------------------- items and boxes


def _places(world: World) -> dict[str, Function]:
    """Where an item is in its box."""
    one = (takes.ITEM,)

    def level(steps: int) -> Function:
        height = world.towers.step * steps if world.towers else 0
        value = lambda item: item.box.is_tower and item.gaps[1] == height  # noqa: E731
        return Function(one, TRUTH, value, bulk=("level", height))

    def wall(test: Callable[[PlacedItem, Side | None, Number], bool], margin: Number) -> Function:
        bulk = ("walls", test is PlacedItem.touches_corner, margin)
        return Function((takes.ITEM, takes.SIDE), TRUTH, lambda item, side=None: test(item, side, margin), bulk=bulk)

    def corner_of(item: PlacedItem, a: Side | None = None, b: Side | None = None) -> bool:
        return item.touches_corner(a, world.close) and item.touches_wall(b, world.close)

    def end(beyond: Relation) -> Function:
        return Function(one, TRUTH, lambda x: not any(beyond(x, y) for y in x.box.items))

    found = {
        "is_top": Function(one, TRUTH, lambda x: x.top == x.box.highest, bulk=("end", "top", 1)),
        "is_bottom": Function(one, TRUTH, lambda x: x.top == x.box.lowest, bulk=("end", "top", -1)),
        "is_leftmost": Function(one, TRUTH, lambda x: x.left == x.box.leftmost, bulk=("end", "left", 1)),
        "is_rightmost": Function(one, TRUTH, lambda x: x.right == x.box.rightmost, bulk=("end", "right", -1)),
        # What statements say of items that this world cannot contain, such as a colour that it lacks.
        "is_foreign": Function(one, TRUTH, lambda x: False),
        "box": Function(one, always(Kind.BOX), operator.attrgetter("box"), Form.ATTRIBUTE),
        "all_items_in_box": Function((takes.BOX,), FOUND_ITEMS, operator.attrgetter("items"), Form.METHOD),
    }
    if world.centers:
        ends = {"is_top": (1, -1), "is_bottom": (1, 1), "is_leftmost": (0, -1), "is_rightmost": (0, 1)}
        found |= {name: end(_beyond(axis, sign)) for name, (axis, sign) in ends.items()}
    if world.towers:
        is_tower = Function((takes.BOX,), TRUTH, operator.attrgetter("is_tower"), Form.METHOD)
        found |= {"is_second": level(1), "is_third": level(2), "is_tower": is_tower}
    if world.walls:
        two_sides = (takes.ITEM, takes.SIDE_A, takes.SIDE_B)
        found |= {
            "is_touching_wall": wall(PlacedItem.touches_wall, 0),
            "is_closely_touching_wall": wall(PlacedItem.touches_wall, world.close),
            "is_touching_corner": wall(PlacedItem.touches_corner, 0),
            "is_closely_touching_corner": wall(PlacedItem.touches_corner, world.close),
            "is_closely_touching_specific_corner": Function(
                two_sides, TRUTH, corner_of, bulk=("walls", True, world.close)
            ),
        }
    return found


Relation = Callable[[PlacedItem, PlacedItem], bool]  # whether the second item is what is asked for of the first


def _beyond(axis: int, sign: int) -> Relation:
    """The second item's center is further right or down (1), or further left or up (-1)."""
    return lambda x, y: sign * (y.center[axis] - x.center[axis]) > 0


def is_later(x: PlacedItem, y: PlacedItem) -> bool:
    """Returns whether the second item is drawn after the first."""
    return x.box.items.index(y) > x.box.items.index(x)


def related(relation: Relation, bulk: tuple[Any, ...], *, scans: int, in_scene: bool = False) -> Function:
    """Returns a function that gives the items of its box, or of its scene, that are in a relation to an item, or to any
    item of a set. `bulk`: its rule for many scenes."""

    def of_item(x: PlacedItem) -> Items:
        return tuple([y for y in (x.box.scene_items if in_scene else x.box.items) if relation(x, y)])

    def value(items: Items) -> Items:
        return of_item(items[0]) if len(items) == 1 else distinct(y for x in items for y in of_item(x))

    return Function((takes.ITEM_OR_ITEMS,), FOUND_ITEMS, value, bulk=bulk, scans=scans)


def _relations(world: World) -> dict[str, Function]:
    near, close = world.touching, world.close

    def found_by(relation: Relation, pairs: str = "", in_scene: bool = False) -> Function:
        scanned = world.items[1] * (world.boxes[1] if in_scene else 1)
        # Comparing with eight items takes about as long as a step.
        scans = (scanned - 1) // 8
        return related(relation, ("related", pairs) if pairs else (), scans=scans, in_scene=in_scene)

    def above(x: PlacedItem, y: PlacedItem) -> bool:
        return y.bottom <= x.top

    def below(x: PlacedItem, y: PlacedItem) -> bool:
        return y.top >= x.bottom

    def adjacent(x: PlacedItem, y: PlacedItem) -> bool:
        return not x.box.is_tower or x.distance(y) <= near

    def is_closely_touching(x: PlacedItem, y: PlacedItem) -> bool:
        gaps = (x.top - y.bottom, x.left - y.right, y.top - x.bottom, y.left - x.right)
        return any(abs(gap) <= close for gap in gaps)

    def others(find: Callable[[PlacedItem], Items]) -> Function:
        return Function((takes.ITEM,), FOUND_ITEMS, lambda x: tuple([other for other in find(x) if other is not x]))

    found = {
        "get_touching": found_by(lambda x, y: y is not x and x.distance(y) <= near, "touching"),
        "get_closely_touching": found_by(lambda x, y: y is not x and x.distance(y) <= close, "closely_touching"),
        "get_above": found_by(lambda x, y: above(x, y) and adjacent(x, y), "above"),
        "get_below": found_by(lambda x, y: below(x, y) and adjacent(x, y), "below"),
        "get_box_all_above": found_by(above, "all_above"),
        "get_box_all_below": found_by(below, "all_below"),
        "get_box_all_left": found_by(lambda x, y: y.right <= x.left, "all_left"),
        "get_box_all_right": found_by(lambda x, y: y.left >= x.right, "all_right"),
        "get_directly_above": found_by(lambda x, y: above(x, y) and x.distance(y) <= near, "directly_above"),
        "get_directly_below": found_by(lambda x, y: below(x, y) and x.distance(y) <= near, "directly_below"),
        "get_img_all_above": found_by(above, in_scene=True),
        "get_img_all_below": found_by(below, in_scene=True),
        "get_box_inclusive": Function((takes.ITEM,), FOUND_ITEMS, lambda x: x.box.items),
        "get_box_exclusive": others(lambda x: x.box.items),
        "get_img_exclusive": others(lambda x: x.box.scene_items),
        "is_closely_touching": Function((takes.ITEM, takes.ITEM), TRUTH, is_closely_touching),
    }
    if world.centers:
        for words, axis, sign in (("above", 1, -1), ("below", 1, 1), ("left", 0, -1), ("right", 0, 1)):
            names = found.keys() & {f"get_{words}", f"get_box_all_{words}", f"get_img_all_{words}"}
            found |= dict.fromkeys(names, found_by(_beyond(axis, sign)))
    if world.overlap:
        found |= {
            "get_in_front": found_by(lambda x, y: x.distance(y) < 0 and is_later(x, y)),
            "get_behind": found_by(lambda x, y: x.distance(y) < 0 and is_later(y, x)),
        }
    return found


def measure(number: Callable[[PlacedItem], Number], *bulk: str) -> Function:
    """Returns a function that gives a number of an item, or the numbers of items. `bulk`: its rule for many scenes."""

    def value(given: Any) -> Any:
        return number(given) if isinstance(given, PlacedItem) else tuple(map(number, _flat((given,))[0]))

    def gives(types: Sequence[Type]) -> Type:
        return Kind.NUMBER if types[0] is Kind.ITEM else Many(Kind.NUMBER)

    return Function((replace(takes.ITEM_OR_ITEMS, collected=False),), gives, value, bulk=bulk or ("plain",))


def _measures(world: World) -> dict[str, Function]:
    """Numbers that follow from the place and the extent of items."""

    def distance(a: PlacedItem, b: PlacedItem) -> float:
        if a.box is not b.box:
            raise Undefined("there is no distance between items of different boxes")
        return math.dist(a.center, b.center)

    one = (takes.ITEM,)
    found = {
        "center_x": Function(one, NUMBER_RESULT, lambda x: x.center[0], bulk=("item", "center_x")),
        "center_y": Function(one, NUMBER_RESULT, lambda x: x.center[1], bulk=("item", "center_y")),
        "distance": Function(one * 2, NUMBER_RESULT, distance),
    }
    if world.has_free_extents:
        found["area"] = measure(lambda x: (x.right - x.left) * (x.bottom - x.top), "attribute", "area")
    return found


def attribute_function(world: World, attribute: Attribute) -> Function:
    """Returns the function that gives the value of an item, or the values of items, each as often as it occurs."""
    at, type = world.attributes.index(attribute), takes.type_of(attribute)

    def value(given: Any) -> Any:
        if isinstance(given, PlacedItem):
            return given.values[at]
        return tuple([item.values[at] for item in _flat((given,))[0]])

    def gives(types: Sequence[Type]) -> Type:
        return type if types[0] is Kind.ITEM else Many(type)

    parameter = replace(takes.ITEM_OR_ITEMS, collected=False)
    return Function((parameter,), gives, value, bulk=("attribute", attribute.name))


def core_functions(world: World) -> dict[str, Function]:
    """Returns the functions that do not depend on the attributes of a world."""
    found = {**_places(world), **_relations(world), **_measures(world), **_set_functions(), **_logic_and_numbers()}
    return {name: replace(function, bulk=function.bulk or (name,)) for name, function in found.items()}
