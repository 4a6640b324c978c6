"""Random scenes of any world, random small edits of them, and near misses, many at once: what a teacher's statements
are about.

A scene's items have the values of small palettes, of the whole scene or of each box, and scenes differ in how full
they are. Otherwise "all products on the left shelf are red" is hardly ever true.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from veriscene.language.bulk.arrays import EMPTY, ITEM, NO_BOX, STATE, Array, SceneArrays, layout_of
from veriscene.world.random_scenes import decimals, no_room
from veriscene.world.schema import Attribute, World

TOWER, SCATTER = "tower", "scatter"  # kinds of scenes of worlds with towers; the grammar knows the first
PALETTE = 4  # the largest number of values of an attribute in one palette
FREE_NUMBERS = 0.5  # share of numbers that come from no palette
AT_WALL, BESIDE = 0.15, 0.15  # chances of each coordinate to lie at a wall, and of an item to lie beside another
PLACING_TRIES, DRAWING_TRIES = 16, 50
Generator = np.random.Generator


def by_kind(scenes: SceneArrays) -> dict[str | None, SceneArrays]:
    """Returns the scenes of each kind that statements can be about; worlds without towers have a single one, None."""
    if scenes.world.towers is None:
        return {None: scenes}
    from_floor_up = np.where(scenes.mask, -scenes.bottom, 0).argsort(axis=2, kind="stable")
    upright = SceneArrays(scenes.world, np.take_along_axis(scenes.fields, from_floor_up[None], axis=3))
    is_tower = _are_towers(upright)
    return {TOWER: upright[np.flatnonzero(is_tower)], SCATTER: scenes[np.flatnonzero(~is_tower)]}


def _are_towers(scenes: SceneArrays) -> Array:
    """Returns (n,): whether every box is a tower without gaps whose blocks are listed from the floor up."""
    if scenes.world.towers is None:
        return np.zeros(len(scenes), bool)
    heights = np.arange(scenes.layout.items) * scenes.world.towers.step
    stacked = (scenes.bottom == scenes.world.canvas[1] - heights) | ~scenes.mask
    return ((scenes.is_tower & stacked.all(axis=2)) | ~scenes.box_mask).all(axis=1)


def draw_scenes(world: World, rng: Generator, kind: str | None, count: int) -> SceneArrays:
    """Returns valid random scenes; raises InputError if the world's boxes are too small for its items."""
    found = [SceneArrays.of(world, ())]
    for _ in range(DRAWING_TRIES):
        drawn = _Boxes.drawn(world, rng, count, is_tower=kind == TOWER)
        found.append(drawn.scenes[np.flatnonzero(drawn.has_enough)])
        if sum(map(len, found)) >= count:
            return SceneArrays.concatenated(found)[:count]
    raise no_room(world)


def edit_scenes(rng: Generator, scenes: SceneArrays) -> SceneArrays:
    """Returns each scene with one small edit, or as it is where the drawn edit is not possible: a value of an item is
    changed, or an item is moved, added or removed. Towers remain towers."""
    boxes = _Boxes(scenes.world, scenes.fields.copy())
    is_tower = _are_towers(scenes)
    which = np.arange(len(scenes)) * boxes.per_scene + pick(rng, scenes.box_mask.sum(axis=1))
    kinds = rng.integers(0, 5, len(scenes))
    for number, edit in enumerate((boxes.change, boxes.add, boxes.remove, boxes.move)):
        some = np.flatnonzero(kinds == number if number else kinds % 4 == 0)  # changes are twice as frequent
        edit(rng, which[some], is_tower[some])
    return boxes.scenes


def pick(rng: Generator, counts: Array) -> Array:
    """Draws a random number below each count; 0 where the count is 0."""
    return (rng.random(len(counts)) * counts).astype(np.intp)


def _values(attribute: Attribute, rng: Generator, shape: tuple[int, ...]) -> Array:
    """Draws values of an attribute, as SceneArrays stores them."""
    if attribute.kind != "numeric":
        return rng.integers(0, len(attribute.choices), shape)
    if not attribute.step:
        drawn = rng.uniform(attribute.low, attribute.high, shape)
        return drawn.round(decimals(attribute)).clip(attribute.low, attribute.high)
    steps = int((attribute.high - attribute.low) / attribute.step + 1e-9)
    return (attribute.low + rng.integers(0, steps + 1, shape) * attribute.step).round(6)


class _Boxes:
    """The boxes of many scenes, which are filled and changed in place: `fields` is (column, box, slot)."""

    def __init__(self, world: World, fields: Array) -> None:
        self.world, self.layout, self.per_scene = world, layout_of(world), fields.shape[2]
        self.fields = fields.reshape(len(fields), -1, fields.shape[3])
        self.columns = self.layout.columns

    @property
    def scenes(self) -> SceneArrays:
        return SceneArrays(self.world, self.fields.reshape(len(self.fields), -1, self.per_scene, self.layout.items))

    @property
    def has_enough(self) -> Array:
        """(scene,): whether no box has fewer items than the world demands."""
        enough = (self._counts() >= self.world.items[0]) | (self.fields[STATE, :, 0] == NO_BOX)
        return enough.reshape(-1, self.per_scene).all(axis=1)

    def _counts(self, which: Array | slice = slice(None)) -> Array:
        return np.count_nonzero(self.fields[STATE, which] == ITEM, axis=1)

    # ------------------------------------------------------------ drawing

    @classmethod
    def drawn(cls, world: World, rng: Generator, count: int, *, is_tower: bool) -> _Boxes:
        layout, most = layout_of(world), world.items[1]
        least = max(world.items[0], int(is_tower))  # a tower has a block
        fields = np.zeros((1 + len(layout.columns), count, layout.boxes, layout.items), layout.dtype)
        exists = np.arange(layout.boxes) < rng.integers(world.boxes[0], world.boxes[1] + 1, count)[:, None]
        fields[STATE] = np.where(exists, EMPTY, NO_BOX)[..., None]
        boxes = cls(world, fields)
        fullest = rng.integers(least, most + 1, count).repeat(layout.boxes)
        wanted = (least + pick(rng, fullest - least + 1)) * exists.reshape(-1)
        palettes, sizes = boxes._palettes(rng)
        for number in range(wanted.max(initial=0)):
            some = np.flatnonzero(wanted > number)
            item = boxes._item(rng, some)
            for attribute in world.attributes:
                choice = palettes[attribute.name][some, pick(rng, sizes[attribute.name][some])]
                is_free = rng.random(len(some)) < FREE_NUMBERS * (attribute.kind == "numeric")
                item[attribute.name] = np.where(is_free, item[attribute.name], choice)
            boxes._put(rng, some, item, np.full(len(some), is_tower))
        return boxes

    def _palettes(self, rng: Generator) -> tuple[dict[str, Array], dict[str, Array]]:
        """Returns values of each attribute (box, value) and how many of them are used (box,), in half of the scenes
        the same ones for all boxes."""
        count = self.fields.shape[1]
        own = np.arange(count)
        is_shared = np.repeat(rng.random(count // self.per_scene) < 0.5, self.per_scene)
        source = np.where(is_shared, own - own % self.per_scene, own)
        names = [attribute.name for attribute in self.world.attributes]
        palettes = {each.name: _values(each, rng, (count, PALETTE))[source] for each in self.world.attributes}
        return palettes, {name: rng.integers(1, PALETTE + 1, count)[source] for name in names}

    def _item(self, rng: Generator, which: Array) -> dict[str, Array]:
        """One new item for each of some boxes, by column; it has no place yet."""
        item = {each.name: _values(each, rng, (len(which),)) for each in self.world.attributes}
        if self.world.has_free_extents:
            for name, side in zip(("width", "height"), self.world.canvas, strict=True):
                item[name] = rng.integers(max(1, side // 10), max(1, side // 3) + 1, len(which))
        return item

    # ------------------------------------------------------------ places

    def _extents(self, values: dict[str, Array] | Array) -> list[Array]:
        """Width and height of items, whose columns are given by name, or all as one array."""
        get = values.__getitem__ if isinstance(values, dict) else lambda name: values[self.columns[name]]
        if self.world.has_free_extents:
            return [get("width"), get("height")]
        if self.world.sizes is None:
            assert self.world.extent is not None
            some = get(next(iter(values))) if isinstance(values, dict) else values[STATE]
            return [np.full(some.shape, side) for side in self.world.extent]
        known = np.array([choice.extent for choice in self.world.sizes.choices])
        return [known[get(self.world.sizes.name).astype(np.intp), axis] for axis in (0, 1)]

    def _put(self, rng: Generator, which: Array, item: dict[str, Array], is_tower: Array) -> None:
        """Adds an item to each of some boxes, in its first free slot, where a free place is found."""
        slots = self._counts(which)
        has_slot = slots < self.layout.items
        which, slots, is_tower = which[has_slot], slots[has_slot], is_tower[has_slot]
        item = {name: values[has_slot] for name, values in item.items()}
        self._as_block(which, slots, item, is_tower)
        x, y, found = self._place(rng, self.fields[:, which], item, is_tower)
        for name, values in {**item, "x": x, "y": y}.items():
            self.fields[self.columns[name], which[found], slots[found]] = values[found]
        self.fields[STATE, which[found], slots[found]] = ITEM

    def _as_block(self, which: Array, slots: Array, item: dict[str, Array], is_tower: Array) -> None:
        """Gives the blocks of towers what all of them have in common: fixed values, and an extent that fits a step."""
        world, towers = self.world, self.world.towers
        if towers is None or not is_tower.any():
            return
        for name, value in towers.values:
            attribute = world.by_name[name]
            stored = value if attribute.kind == "numeric" else attribute.rank[value]
            item[name] = np.where(is_tower, stored, item[name])
        if world.sizes is not None and world.sizes.name not in dict(towers.values):
            heights = [choice.extent[1] if choice.extent else 0 for choice in world.sizes.choices]
            highest = max(range(len(heights)), key=lambda rank: (heights[rank] <= towers.step, heights[rank]))
            item[world.sizes.name] = np.where(is_tower, highest, item[world.sizes.name])
        for name in ("width", "height") * world.has_free_extents:
            lowest = np.where(slots > 0, self.fields[self.columns[name], which, 0], item[name])
            limit = towers.step if name == "height" else np.inf
            item[name] = np.where(is_tower, np.minimum(lowest, limit), item[name])

    def _place(
        self, rng: Generator, others: Array, item: dict[str, Array], is_tower: Array
    ) -> tuple[Array, Array, Array]:
        """Finds a free place for one item in each of some boxes, whose items are `others` (column, box, slot): x, y and
        whether there is one. A block's place is on top of its tower."""
        extents = self._extents(item)
        rooms = [side - extent for side, extent in zip(self.world.canvas, extents, strict=True)]
        place = np.zeros((2, len(is_tower)))
        found = np.zeros(len(is_tower), bool)
        for _ in range(PLACING_TRIES):
            left = np.flatnonzero(~found)
            if not len(left):
                break
            some, own = others[:, left], [extent[left] for extent in extents]
            place[:, left] = self._drawn_place(rng, some, own, [room[left] for room in rooms])
            if is_tower[left].any():
                place[:, left] = np.where(is_tower[left], self._on_top(some, own, place[:, left]), place[:, left])
            found[left] = self._fits(place[:, left], own, some, is_tower[left])
        return place[0], place[1], found

    def _on_top(self, others: Array, extents: list[Array], drawn: Array) -> Array:
        """The place of the next block: right edges are aligned, and the first block may stand anywhere."""
        assert self.world.towers is not None
        height = np.count_nonzero(others[STATE] == ITEM, axis=1)
        right = others[self.columns["x"], :, 0] + self._extents(others)[0][:, 0]
        x = np.where(height > 0, right - extents[0], drawn[0])
        return np.stack([x, self.world.canvas[1] - extents[1] - height * self.world.towers.step])

    def _drawn_place(self, rng: Generator, others: Array, extents: list[Array], rooms: list[Array]) -> Array:
        """Draws a place at a wall, anywhere or, now and then, beside another item."""
        place = np.empty((2, others.shape[1]))
        for axis, room in enumerate(rooms):
            chance, anywhere = rng.random(len(room)), (rng.random(len(room)) * (room + 1)) // 1
            at_wall = np.where(chance < AT_WALL / 2, 0, room)
            place[axis] = np.where(chance < AT_WALL, at_wall, np.minimum(anywhere, room))
        counts = np.count_nonzero(others[STATE] == ITEM, axis=1)
        beside = np.flatnonzero((rng.random(len(counts)) < BESIDE) & (counts > 0))
        if len(beside):
            # Removed items leave an empty slot among the others; no place beside it is worse than another.
            neighbour = others[:, beside, pick(rng, counts[beside])]
            reach, sides = self._extents(neighbour), rng.integers(0, 2, len(beside))
            for way, name in enumerate(("x", "y")):
                own, corner = extents[way][beside], neighbour[self.columns[name]]
                is_before, gap = rng.random(len(beside)) < 0.5, self.world.touching
                apart = np.where(is_before, corner - own - gap, corner + reach[way] + gap)
                place[way, beside] = np.where(sides == way, apart, corner)
        return np.floor(place) if self.world.whole else place

    def _fits(self, place: Array, extents: list[Array], others: Array, is_tower: Array) -> Array:
        """Returns (box,): whether an item there is inside the box and leaves the gap of touching items to all others,
        which a block that is put on its tower need not do."""
        inside = np.ones(place.shape[1], bool)
        for corner, extent, side in zip(place, extents, self.world.canvas, strict=True):
            inside &= (corner >= 0) & (corner + extent <= side)
        if self.world.overlap:
            return inside
        apart = (others[STATE] != ITEM) | is_tower[:, None]
        for corner, extent, reach, name in zip(place, extents, self._extents(others), ("x", "y"), strict=True):
            other = others[self.columns[name]].astype(np.float64)
            before = corner[:, None] - (other + reach) >= self.world.touching
            apart = apart | before | (other - (corner + extent)[:, None] >= self.world.touching)
        return inside & apart.all(axis=1)

    # ------------------------------------------------------------ edits of some boxes

    def add(self, rng: Generator, which: Array, is_tower: Array) -> None:
        self._put(rng, which, self._item(rng, which), is_tower)

    def remove(self, rng: Generator, which: Array, is_tower: Array) -> None:
        """The last item takes the free slot; of a tower the highest block is removed."""
        counts = self._counts(which)
        least = np.where(is_tower, max(1, self.world.items[0]), self.world.items[0])
        which, is_tower, counts = (each[counts > least] for each in (which, is_tower, counts))
        slot = np.where(is_tower, counts - 1, pick(rng, counts))
        self.fields[:, which, slot] = self.fields[:, which, counts - 1]
        self.fields[:, which, counts - 1] = EMPTY

    def move(self, rng: Generator, which: Array, is_tower: Array) -> None:
        which = which[~is_tower & (self._counts(which) > 0)]
        slot = pick(rng, self._counts(which))
        item = {name: self.fields[at, which, slot] for name, at in self.columns.items()}
        others = self.fields[:, which]
        others[:, np.arange(len(which)), slot] = EMPTY
        x, y, found = self._place(rng, others, item, np.zeros(len(which), bool))
        for name, place in (("x", x), ("y", y)):
            self.fields[self.columns[name], which[found], slot[found]] = place[found]

    def change(self, rng: Generator, which: Array, is_tower: Array) -> None:
        """Numbers change by a step as often as to any other; an item that becomes larger must still fit."""
        drawn = rng.integers(0, max(1, len(self.world.attributes)), len(which))
        fixed = {name for name, _ in self.world.towers.values} if self.world.towers else set()
        for number, attribute in enumerate(self.world.attributes):
            is_free = ~is_tower | (attribute.name not in fixed and not attribute.has_extents)
            some = which[(drawn == number) & is_free]
            some = some[self._counts(some) > 0]
            slot, column = pick(rng, self._counts(some)), self.columns[attribute.name]
            item = {name: self.fields[at, some, slot] for name, at in self.columns.items()}
            new = _values(attribute, rng, (len(some),))
            if attribute.step:
                near = item[attribute.name] + attribute.step * rng.choice((-1, 1), len(some))
                near = near.round(6).clip(attribute.low, attribute.high)
                new = np.where(rng.random(len(some)) < 0.5, near, new)
            fits = np.ones(len(some), bool)
            if attribute.has_extents:
                others = self.fields[:, some]
                others[:, np.arange(len(some)), slot] = EMPTY
                place = np.stack([item["x"], item["y"]]).astype(np.float64)
                fits = self._fits(place, self._extents({**item, attribute.name: new}), others, ~fits)
            self.fields[column, some[fits], slot[fits]] = new[fits]


# ---------------------------------------------------------------- near misses

EditScenes = Callable[[np.random.Generator, SceneArrays], SceneArrays]  # each with one random small edit
# Whether the statement holds of the scenes with these numbers.
Holds = Callable[[SceneArrays, Array], Array]


@dataclass(frozen=True)
class Pairs:
    """Pairs of scenes, one small edit apart, of which a statement is true and false; `after` is `before` with one
    edit."""

    statements: Array  # (pair,): the statement's number
    before: SceneArrays
    after: SceneArrays
    truths: Array  # (pair,): whether the statement holds before; after, it is the other way round


def find_pairs(
    rng: np.random.Generator,
    edit_scenes: EditScenes,
    statements: Sequence[Holds],
    starts: SceneArrays,
    owners: Array,
    truths: Array,
    *,
    wanted: int,
    rounds: int,
) -> Pairs:
    """Walks by random small edits from the starting scenes; each walk ends where the truth of its statement changes.

    `owners` and `truths` (start,): each scene's statement, in ascending order, and whether it holds. Gives each
    statement up to `wanted` pairs (rounded up to an even number) within that many rounds of edits; there may be none.
    At most half of them begin with a true scene and half with a false one, if there are starts of both kinds, so that
    whether a scene was edited says little about its label.
    """
    world, fields, sides = starts.world, starts.fields.copy(), 2 * owners + truths
    from_side = np.bincount(sides, minlength=2 * len(statements)).reshape(-1, 2)
    room = np.where((from_side > 0).all(axis=1, keepdims=True), -(-wanted // 2), wanted).repeat(2, axis=1).reshape(-1)
    walking = np.arange(len(owners))
    pairs: list[tuple[Array, Array, Array]] = []  # (starts, before, after)
    for _ in range(rounds):
        walking = walking[room[sides[walking]] > 0]
        if not len(walking):
            break
        edited = edit_scenes(rng, SceneArrays(world, fields[:, walking]))
        turned = np.zeros(len(walking), bool)
        bounds = np.searchsorted(owners[walking], np.arange(len(statements) + 1))
        for number, holds in enumerate(statements):
            mine = np.arange(bounds[number], bounds[number + 1])
            if len(mine):
                turns = mine[holds(edited, mine) != truths[walking[mine]]]
                turned[turns] = True
                for side in (2 * number, 2 * number + 1):
                    kept = turns[sides[walking[turns]] == side][: room[side]]
                    room[side] -= len(kept)
                    pairs.append((walking[kept], fields[:, walking[kept]], edited.fields[:, kept]))
        fields[:, walking] = edited.fields
        walking = walking[~turned]
    begun = np.concatenate([np.empty(0, np.intp), *(pair[0] for pair in pairs)])
    before, after = (np.concatenate([fields[:, :0], *(pair[at] for pair in pairs)], axis=1) for at in (1, 2))
    return Pairs(owners[begun], SceneArrays(world, before), SceneArrays(world, after), truths[begun])
