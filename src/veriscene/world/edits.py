"""All small edits of a scene of any world, in a fixed order, and how each is said in English.

Scattered items: change a value, move, remove or add an item, at places that statements are about: walls, corners,
beside others, a free place near the middle. In scenes of towers, blocks are changed, moved, removed or added, and the
blocks above follow, so that it remains such a scene. Moving an item to another box is two edits: remove it, and add it
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, Literal

from veriscene.world.scene import Box, Item, Number, Scene, Side, Value
from veriscene.world.schema import Attribute, World

EditKind = Literal["change", "move", "remove", "add"]
Place = tuple[Number, Number]  # x and y of an item, also an extent

MAX_KINDS_ADDED = 64  # kinds of items that are tried as additions; in worlds with more, only single values vary
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_WALLS = {
    Side.TOP: ("at ", "the top wall"),
    Side.BOTTOM: ("on ", "the floor"),
    Side.LEFT: ("at ", "the left wall"),
    Side.RIGHT: ("at ", "the right wall"),
}


@dataclass(frozen=True)
class Edit:
    """One edit of one box. `before` is None for an added item, `after` for a removed one.

    In a tower, the blocks above close the gap or make room; `before` and `after` are the block that is meant.
    """

    kind: EditKind
    box: int  # index in the scene
    before: Item | None
    after: Item | None
    attribute: str | None  # that is changed
    items: tuple[Item, ...] = field(compare=False, repr=False)  # of the box before this edit
    world: World = field(compare=False, repr=False)

    @property
    def cost(self) -> int:
        """Ranks a change: first those of values, the world's last attribute before its first; then the others."""
        count = len(self.world.attributes)
        if self.attribute is not None:
            return count - 1 - list(self.world.by_name).index(self.attribute)
        return count + ("move", "remove", "add").index(self.kind)

    @property
    def text(self) -> str:
        """Gives the instruction. It names an item so that no other item of the box can be meant."""
        world = self.world
        where = f"{world.box.singular} {self.box + 1}"
        if self.before is None:
            assert self.after is not None
            preposition, place = self._place(world, self.after)
            look = _look(world, self.after, world.attributes, tower_of(world, self.items) is not None)
            return f"add a {look} to {where}, {preposition}{place}"
        item = f"the {name(world, self.before, self.items)} in {where}"
        if self.after is None:
            return f"remove {item}"
        if self.attribute is None:
            return f"move {item} to {self._place(world, self.after)[1]}"
        attribute = world.by_name[self.attribute]
        template = attribute.change or f"set the {attribute.words[0]} of {{item}} to {{value}}"
        return template.replace("{item}", item).replace("{value}", attribute.say(self.after[self.attribute]))

    def to_json(self) -> dict[str, Any]:
        """Returns the edit with items as in files; boxes are counted from 0."""
        before, after = (None if item is None else self.world.to_json_item(item) for item in (self.before, self.after))
        shown = {"kind": self.kind, "attribute": self.attribute, "box": self.box, "before": before, "after": after}
        return {**shown, "text": self.text}

    def _place(self, world: World, after: Item) -> tuple[str, str]:
        """Where an item comes to be: a preposition and the place."""
        others = [item for item in self.items if item != self.before]
        if world.towers is not None and tower_of(world, self.items) is not None:
            level = int((world.canvas[1] - after.lower) // world.towers.step)
            if level in (0, len(others)):
                return "at ", "the top" if level else "the bottom"
            return "in ", f"the {_ORDINALS[level]} place from the bottom"
        touched = world.walls_of(after)
        walls = [side for side in Side if side in touched]
        if self.before is None or not touched <= world.walls_of(self.before):
            if len(walls) == 1:
                return _WALLS[walls[0]]
            if walls:
                return "in ", f"the {' '.join(side.value for side in walls)} corner"
        for other in others:
            if world.touches(after, other):
                return "", f"just {_direction(after, other)} the {name(world, other, self.items)}"
        width, height = world.canvas
        middle = ((width - after.width) // 2, (height - after.height) // 2)
        return ("in ", "the middle") if (after.x, after.y) == middle else ("at ", "a free place near the middle")


# ---------------------------------------------------------------- names


def name(world: World, item: Item, items: Sequence[Item]) -> str:
    """Names this item of a box so that no other can be meant: "black square", "small black square",
    "leftmost black square", "second black block from the bottom"."""
    said = [
        each
        for each in world.attributes
        if each.kind == "categorical" and (each.is_noun or all(" " not in choice.word for choice in each.choices))
    ]
    for extra in [each for each in world.attributes if each not in said]:
        if len({other[extra.name] for other in _alike(item, items, said)}) > 1:  # it tells some of them apart
            said.append(extra)
    alike = _alike(item, items, said)
    look = _look(world, item, said, tower_of(world, items) is not None)
    if len(alike) == 1:
        return look
    height = world.canvas[1]
    for values, value, low, high in (
        ([other.x for other in alike], item.x, "left", "right"),
        ([height - other.lower for other in alike], height - item.lower, "bottom", "top"),
    ):
        if values.count(value) == 1:
            return _ranked(look, sorted(values), value, low, high)
    return f"{look} whose upper left corner is at ({item.x:g}, {item.y:g})"


def _alike(item: Item, items: Sequence[Item], said: Sequence[Attribute]) -> list[Item]:
    return [other for other in items if all(other[each.name] == item[each.name] for each in said)]


def _look(world: World, item: Item, said: Sequence[Attribute], is_tower: bool) -> str:
    """The values of some attributes before and after a noun: "small black square", "red bottle, price 3€"."""
    fixed = {each for each, _ in world.towers.values} if is_tower and world.towers else set()
    if is_tower and world.sizes is not None:
        fixed.add(world.sizes.name)  # the blocks of a tower have one size
    noun = world.item.singular if world.noun is None else world.noun.say(item[world.noun.name])
    noun = "block" if is_tower else noun
    before, after = [], []
    for attribute in sorted(said, key=lambda each: each.kind != "ordered"):
        if attribute is world.noun or attribute.name in fixed:
            continue
        word = attribute.say(item[attribute.name])
        if attribute.kind == "numeric":
            after.append(f"{attribute.words[0]} {word}")
        elif " " in word:
            after.append(word)
        else:
            before.append(word)
    return ", ".join([" ".join([*before, noun]), *after])


def _ranked(look: str, values: list[Number], value: Number, low: str, high: str) -> str:
    """The look with the rank of `value`, which is there once, among values that grow from `low` to `high`."""
    if value == values[0]:
        return f"{'leftmost' if low == 'left' else 'lowest'} {look}"
    if value == values[-1]:
        return f"{high}most {look}"
    rank = sum(other < value for other in values)
    return f"{_ORDINALS[rank] if rank < len(_ORDINALS) else f'{rank + 1}th'} {look} from the {low}"


def _direction(item: Item, other: Item) -> str:
    if item.lower <= other.y:
        return "above"
    if other.lower <= item.y:
        return "below"
    return "left of" if item.right <= other.x else "right of"


# ---------------------------------------------------------------- enumeration

# What an edit does to a box: kind, attribute, the item before and after, all items after.
_Change = tuple[EditKind, str | None, Item | None, Item | None, tuple[Item, ...]]


def edits(world: World, scene: Scene, *, only_changes: bool = False) -> Iterator[tuple[Edit, Scene]]:
    """Yields each edit with the scene that it leads to, which is valid and not the same scene; with `only_changes`,
    those that change a value, without the time that the others take."""
    towers = [blocks for box in scene.boxes if (blocks := tower_of(world, box.items))]
    are_towers = len(towers) == len(scene.boxes)
    for number, box in enumerate(scene.boxes):
        if are_towers:
            changes = _tower_edits(world, towers[number], only_changes)
        else:
            changes = _scatter_edits(world, box.items, only_changes)
        for kind, attribute, before, after, items in changes:
            if set(items) != set(box.items):
                boxes = (*scene.boxes[:number], Box(items), *scene.boxes[number + 1 :])
                yield Edit(kind, number, before, after, attribute, box.items, world), Scene(boxes)


# ---------------------------------------------------------------- towers


def tower_of(world: World, items: Sequence[Item]) -> tuple[Item, ...] | None:
    """Returns the blocks from the floor up if the items are a tower of blocks of one size without gaps, else None."""
    if world.towers is None or not world.is_tower(Box(tuple(items))):
        return None
    blocks = tuple(sorted(items, key=lambda item: -item.lower))
    places = {(item.width, item.height) for item in blocks}
    floor = world.canvas[1]
    at_steps = all(item.lower == floor - level * world.towers.step for level, item in enumerate(blocks))
    return blocks if at_steps and len(places) == 1 else None


def _restacked(world: World, blocks: Sequence[Item]) -> tuple[Item, ...]:
    """The blocks on top of each other, from the floor up."""
    assert world.towers is not None
    floor, step = world.canvas[1], world.towers.step
    return tuple(
        world.changed(block, x=blocks[0].x, y=floor - block.height - level * step) for level, block in enumerate(blocks)
    )


def _tower_edits(world: World, blocks: tuple[Item, ...], only_changes: bool) -> Iterator[_Change]:
    assert world.towers is not None
    fixed = {each for each, _ in world.towers.values} | ({world.sizes.name} if world.sizes else set())
    free = [attribute for attribute in reversed(world.attributes) if attribute.name not in fixed]
    for attribute in free:
        for level, value in product(range(len(blocks)), _values(attribute, blocks)):
            changed = world.changed(blocks[level], **{attribute.name: value})
            yield "change", attribute.name, blocks[level], changed, (*blocks[:level], changed, *blocks[level + 1 :])
    if only_changes:
        return
    for level, block in enumerate(blocks):
        rest = (*blocks[:level], *blocks[level + 1 :])
        if len(rest) >= max(1, world.items[0]):
            yield "remove", None, block, None, _restacked(world, rest)
        for to in range(len(blocks)):
            items = _restacked(world, (*rest[:to], block, *rest[to:]))
            yield "move", None, block, items[to], items
    has_room = len(blocks) * world.towers.step + blocks[0].height <= world.canvas[1]
    if has_room and len(blocks) < world.items[1]:
        new = [dict(zip((each.name for each in free), values, strict=True)) for values in product(*map(_values, free))]
        for level, values in product(reversed(range(len(blocks) + 1)), new[:MAX_KINDS_ADDED]):
            items = _restacked(world, (*blocks[:level], world.changed(blocks[0], **values), *blocks[level:]))
            yield "add", None, None, items[level], items


def _values(attribute: Attribute, items: Sequence[Item] = ()) -> list[Value]:
    """The values that are tried: all choices; of numbers the extremes, the middle, those of other items and nearby."""
    if attribute.kind != "numeric":
        return [choice.name for choice in attribute.choices]
    low, high = attribute.low, attribute.high
    step = attribute.step or (high - low) / 10
    middle = low + round((high - low) / 2 / step) * step
    own = [attribute.number(item[attribute.name]) for item in items]
    near = [each for value in own for each in (value, round(value - step, 6), round(value + step, 6))]
    return [value for value in dict.fromkeys([low, high, middle, *near]) if low <= value <= high]


# ---------------------------------------------------------------- scattered items


def _scatter_edits(world: World, items: tuple[Item, ...], only_changes: bool) -> Iterator[_Change]:
    for position, item in enumerate(items):
        before, after = items[:position], items[position + 1 :]
        for attribute, changed in _changes(world, item, [*before, *after]):
            if only_changes and attribute is None:
                break
            kind: EditKind = "move" if attribute is None else "change"
            yield kind, attribute, item, changed, (*before, changed, *after)
        if len(items) > world.items[0] and not only_changes:
            yield "remove", None, item, None, (*before, *after)
    if len(items) < world.items[1] and not only_changes:
        for item in _additions(world, list(items)):
            yield "add", None, None, item, (*items, item)


def _changes(world: World, item: Item, others: list[Item]) -> Iterator[tuple[str | None, Item]]:
    width, height = world.canvas
    for attribute in reversed(world.attributes):
        for value in _values(attribute, [item, *others]):
            changed = world.changed(item, **{attribute.name: value})
            if attribute.has_extents:
                # An item at the right wall or on the floor stays there.
                x = width - changed.width if item.right == width else item.x
                y = height - changed.height if item.lower == height else item.y
                changed = world.changed(changed, x=x, y=y)
                if not fits(world, changed, others):
                    continue
            yield attribute.name, changed
    far_x, far_y = width - item.width, height - item.height
    at_walls = [(0, item.y), (far_x, item.y), (item.x, 0), (item.x, far_y)]
    places: list[Place] = [*at_walls, *product((0, far_x), (0, far_y)), *_beside(world, item, others)]
    free = [place for place in places if fits(world, item.at(*place), others)]
    for place in dict.fromkeys([*free, *_near_middle(world, item, others)]):
        yield None, item.at(*place)


def _additions(world: World, others: list[Item]) -> Iterator[Item]:
    """Every kind of item near the middle; those of middle size also at each wall and beside another item."""
    for kinds in _kinds(world, others):
        sample = kinds[0]
        places = _near_middle(world, sample, others)
        if world.sizes is None or world.sizes.rank[sample[world.sizes.name]] == (len(world.sizes.choices) - 1) // 2:
            width, height = world.canvas
            far_x, far_y = width - sample.width, height - sample.height
            across, down = (_from_middle(world.canvas, (sample.width, sample.height), axis) for axis in range(2))
            right, left = ([(x, y) for y in down] for x in (far_x, 0))
            floor, top = ([(x, y) for x in across] for y in (far_y, 0))
            for options in (floor, right, left, top, _beside(world, sample, others)):
                places += [place for place in options if fits(world, sample.at(*place), others)][:1]
        for place, kind in product(dict.fromkeys(places), kinds):
            yield kind.at(*place)


def _kinds(world: World, others: list[Item]) -> list[list[Item]]:
    """The items that may be added, grouped by extent. Numbers are those of the middle; a world's own extents are those
    of the box's first item."""
    options = {each.name: _values(each)[2:3] if each.kind == "numeric" else _values(each) for each in world.attributes}
    if prod(map(len, options.values())) <= MAX_KINDS_ADDED:
        combinations = [dict(zip(options, values, strict=True)) for values in product(*options.values())]
    else:
        usual = {name: values[0] for name, values in options.items()}
        combinations = [{**usual, name: value} for name, values in options.items() for value in values]
    side = max(1, min(world.canvas) // 5)
    width, height = (others[0].width, others[0].height) if others else (side, side)
    groups: dict[tuple[Number, Number], list[Item]] = {}
    for values in combinations:
        item = world.make(0, 0, width=width, height=height, **values)
        groups.setdefault((item.width, item.height), []).append(item)
    return list(groups.values())


def fits(world: World, item: Item, others: Sequence[Item]) -> bool:
    """Returns whether the item is inside the box and leaves the gap of touching items to all others."""
    width, height = world.canvas
    x, y = (item.width / 2, item.height / 2) if world.centers else (0, 0)  # how far it may reach beyond the walls
    inside = item.x >= -x and item.y >= -y and item.right - x <= width and item.lower - y <= height
    return inside and (world.overlap or all(item.distance(other) >= world.touching for other in others))


def _beside(world: World, item: Item, others: list[Item]) -> list[Place]:
    """Right of, left of, above and below each of the others: touching it, centred on it as far as walls permit."""
    gap, (width, height) = world.touching, world.canvas
    places: list[Place] = []
    for other in others:
        x = min(max(other.x + (other.width - item.width) // 2, 0), width - item.width)
        y = min(max(other.y + (other.height - item.height) // 2, 0), height - item.height)
        left, right = other.x - item.width - gap, other.x + other.width + gap
        above, below = other.y - item.height - gap, other.y + other.height + gap
        places += [(right, y), (left, y), (x, above), (x, below)]
    return places


def _near_middle(world: World, item: Item, others: list[Item]) -> list[Place]:
    """The place nearest to the middle that is apart from the others and from the walls, if there is one."""
    apart = world.close + 1
    for place in _places(world.canvas, (item.width, item.height), apart):
        placed = item.at(*place)
        if not any(world.touches(placed, other, apart) for other in others):
            return [place]
    return []


@lru_cache(maxsize=256)
def _places(canvas: Place, extent: Place, apart: Number) -> list[Place]:
    """Places of an item that are apart from the walls, from the middle outwards."""
    across, down = _from_middle(canvas, extent, 0), _from_middle(canvas, extent, 1)
    places = sorted(product(across, down), key=lambda at: (at[0] - across[0]) ** 2 + (at[1] - down[0]) ** 2)
    return [at for at in places if all(apart < at[k] < canvas[k] - extent[k] - apart for k in range(2))]


def _from_middle(canvas: Place, extent: Place, axis: int) -> list[Number]:
    """Coordinates of an item along an axis, from the middle outwards."""
    room, grid = int(canvas[axis] - extent[axis]), int(max(1, min(canvas) // 20))
    middle = room // 2
    return sorted(range(middle % grid, room + 1, grid), key=lambda start: abs(start - middle)) or [0]
