"""Scenes of a world as one array, and the geometry that programs ask about."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from veriscene.world.scene import Box, Item, Number, Scene
from veriscene.world.schema import World

Array = Any  # a numpy array: to the type checker, what indexing one returns is Any

STATE = 0  # the column that says what is in a slot:
EMPTY, ITEM, NO_BOX = range(3)  # the last one in every slot of a box that the scene does not have

INVERSES = {"below": "above", "all_below": "all_above", "all_right": "all_left", "directly_below": "directly_above"}


@dataclass(frozen=True)
class Layout:
    """Says how the scenes of a world are stored: sizes, columns and number types.

    Column 0 is STATE; the others are x, y, width and height if items state them, and the attributes. A value of a
    categorical or ordered attribute is its place among the choices.
    """

    boxes: int  # the largest number of boxes in a scene
    items: int  # of items in a box
    columns: dict[str, int]  # the place of each column but STATE
    dtype: Any  # of the columns: the smallest type that holds all values exactly
    length: Any  # of edges and distances

    @property
    def slots(self) -> int:
        """Places for items in a scene."""
        return self.boxes * self.items


@lru_cache(maxsize=64)
def layout_of(world: World) -> Layout:
    """Returns how the scenes of a world are stored. The most recent layouts are cached."""
    extents = [choice.extent for choice in world.sizes.choices] if world.sizes else [world.extent]
    is_whole = world.whole and all(extent and all(side == int(side) for side in extent) for extent in extents)
    has_numbers = any(attribute.kind == "numeric" for attribute in world.attributes)
    most = max([*world.canvas, *(len(attribute.choices) for attribute in world.attributes)])
    dtype = np.float64 if not is_whole or has_numbers else np.uint8 if most < 256 else np.int16
    columns = {name: place for place, name in enumerate(world.columns, 1)}
    return Layout(world.boxes[1], world.items[1], columns, dtype, np.int16 if is_whole else np.float64)


@dataclass(frozen=True, eq=False)
class SceneArrays:
    """n scenes of a world. `fields` is (column, n, box, slot), with the columns and the number type of `layout_of`.

    The items of a box fill its first slots, in the scene's own order; all columns but STATE of the other slots are 0.
    Values derived from `fields` are computed once, so it must not be changed.
    """

    world: World
    fields: Array

    @classmethod
    def of(cls, world: World, scenes: Sequence[Scene]) -> SceneArrays:
        """Returns scenes that are valid in the world as arrays."""
        layout = layout_of(world)
        fields = np.zeros((len(scenes), layout.boxes, layout.items, 1 + len(layout.columns)), layout.dtype)
        ranks = [None if attribute.kind == "numeric" else attribute.rank for attribute in world.attributes]

        def row(item: Item) -> list[Any]:
            extent = (item.width, item.height) if world.has_free_extents else ()
            values = [v if rank is None else rank[v] for rank, (_, v) in zip(ranks, item.values, strict=True)]
            return [ITEM, item.x, item.y, *extent, *values]

        for number, scene in enumerate(scenes):
            for box, place in zip(scene.boxes, fields[number], strict=False):
                if box.items:
                    place[: len(box.items)] = [row(item) for item in box.items]
            fields[number, len(scene.boxes) :, :, STATE] = NO_BOX
        return cls(world, np.ascontiguousarray(np.moveaxis(fields, 3, 0)))

    @classmethod
    def concatenated(cls, parts: Iterable[SceneArrays]) -> SceneArrays:
        """Returns the scenes of at least one part, all of one world, one after the other."""
        parts = list(parts)
        return cls(parts[0].world, np.concatenate([part.fields for part in parts], axis=1))

    def scenes(self) -> list[Scene]:
        """Returns the scenes of which `of` makes these arrays."""
        world, has_extents = self.world, self.world.has_free_extents
        choices = {attribute.name: [choice.name for choice in attribute.choices] for attribute in world.attributes}

        def item(x: float, y: float, *others: float) -> Item:
            extent = {"width": _number(others[0]), "height": _number(others[1])} if has_extents else {}
            numbers = others[len(extent) :]
            values: dict[str, Any] = {
                name: names[int(number)] if names else _number(number)
                for (name, names), number in zip(choices.items(), numbers, strict=True)
            }
            return world.make(_number(x), _number(y), **extent, **values)

        def box(slots: list[list[float]]) -> Box:
            return Box(tuple(item(*values) for state, *values in slots if state == ITEM))

        per_scene = np.moveaxis(self.fields, 0, 3).tolist()
        return [Scene(tuple(box(slots) for slots in boxes if slots[0][STATE] != NO_BOX)) for boxes in per_scene]

    def __reduce__(self) -> tuple[type[SceneArrays], tuple[World, Array]]:
        return SceneArrays, (self.world, self.fields)  # What was derived takes many times as much space.

    def __len__(self) -> int:
        return int(self.fields.shape[1])

    def __getitem__(self, which: slice | Array) -> SceneArrays:
        return SceneArrays(self.world, self.fields[:, which])

    def derived(self, name: Hashable, make: Callable[[SceneArrays], Array]) -> Array:
        """Returns what `make` returns, computed once under this name."""
        found = self._derived.get(name)
        if found is None:
            found = self._derived[name] = make(self)
        return found

    @cached_property
    def _derived(self) -> dict[Hashable, Array]:
        return {}

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.world)

    def column(self, name: str) -> Array:
        """Returns x, y, or an attribute, (n, box, slot)."""
        return self.fields[self.layout.columns[name]]

    # ------------------------------------------------------------ (n, box, slot)

    @cached_property
    def mask(self) -> Array:
        """Says whether there is an item."""
        return self.fields[STATE] == ITEM

    @cached_property
    def box_mask(self) -> Array:
        """(n, box): whether the scene has the box."""
        return self.fields[STATE, :, :, 0] != NO_BOX

    def values(self, attribute: str) -> Array:
        """Returns the values of an attribute; places of choices are small integers, whatever the type of `fields`.

        `area` is like one, in a world whose items state their own extents.
        """
        if attribute not in self.layout.columns:
            return self.area
        column = self.column(attribute)
        if column.dtype != np.float64 or self.world.by_name[attribute].kind == "numeric":
            return column
        return self.derived(("values", attribute), lambda scenes: column.astype(np.int16))

    @cached_property
    def left(self) -> Array:
        return self.column("x").astype(self.layout.length)

    @cached_property
    def right(self) -> Array:
        return self.left + self._extent(0)

    @cached_property
    def center_x(self) -> Array:
        return (self.left.astype(np.float64) + self.right) / 2

    @cached_property
    def center_y(self) -> Array:
        return (self.top.astype(np.float64) + self.bottom) / 2

    @cached_property
    def top(self) -> Array:
        """Returns the y of upper edges; y grows downwards."""
        return self.column("y").astype(self.layout.length)

    @cached_property
    def bottom(self) -> Array:
        return self.top + self._extent(1)

    def _extent(self, axis: int) -> Array:
        """Width or height; 0 in empty slots if items state their own, and meaningless there otherwise."""
        if self.world.has_free_extents:
            return self.column(("width", "height")[axis])
        if self.world.sizes is None:
            assert self.world.extent is not None
            return self.layout.length(self.world.extent[axis])
        extents = [choice.extent[axis] for choice in self.world.sizes.choices if choice.extent]
        return np.array(extents, self.layout.length)[self.values(self.world.sizes.name)]

    @cached_property
    def area(self) -> Array:
        return (self.right - self.left) * (self.bottom - self.top)

    @cached_property
    def gaps(self) -> Array:
        """(side, n, box, slot): distances to the walls, in the order of Side."""
        width, height = self.world.canvas
        return np.stack([self.top, height - self.bottom, self.left, width - self.right])

    def is_at_end(self, edge: str, sign: int) -> Array:
        """Returns whether this edge of no other item of the box is smaller (sign 1), or greater (-1)."""
        edges = sign * getattr(self, edge)
        return edges == np.where(self.mask, edges, 2 * max(self.world.canvas)).min(axis=2, keepdims=True)

    @cached_property
    def is_tower(self) -> Array:
        """(n, box): as `World.is_tower`."""
        if self.world.towers is None:
            return np.zeros(self.mask.shape[:2], bool)
        are_blocks = self.right == self.right[:, :, :1]
        for name, value in self.world.towers.values:
            are_blocks = are_blocks & (self.values(name) == self.world.by_name[name].rank[value])
        return (are_blocks | ~self.mask).all(axis=2) & self.mask[:, :, 0]

    @cached_property
    def items_of_box(self) -> Array:
        """(n * box, slots): whether there is an item, and in that box."""
        own = np.eye(self.layout.boxes, dtype=bool)[None, :, :, None]
        return (own & self.mask[:, None]).reshape(-1, self.layout.slots)

    # ------------------------------------------------------------ (n, box, slot, slot): pairs of items of one box

    def related(self, relation: str) -> Array:
        """Returns whether the second item is in a relation to the first: one of those below, or the inverse of one."""
        inverse = INVERSES.get(relation)
        found: Array = getattr(self, inverse or relation)
        return found.swapaxes(2, 3) if inverse else found

    @cached_property
    def distance(self) -> Array:
        """Is computed as `Item.distance`; meaningless for an empty slot."""
        sideways = self.left[..., None] - self.right[..., None, :]
        upwards = self.top[..., None] - self.bottom[..., None, :]
        return np.maximum(np.maximum(sideways, sideways.swapaxes(2, 3)), np.maximum(upwards, upwards.swapaxes(2, 3)))

    @cached_property
    def are_pairs(self) -> Array:
        """Says whether both slots have items."""
        return self.mask[..., None] & self.mask[..., None, :]

    @cached_property
    def touching(self) -> Array:
        return self._within(self.world.touching)

    @cached_property
    def closely_touching(self) -> Array:
        return self._within(self.world.close)

    def _within(self, margin: Number) -> Array:
        return (self.distance <= margin) & self.are_pairs & ~np.eye(self.layout.items, dtype=bool)

    @cached_property
    def all_above(self) -> Array:
        """Says whether the second item is wholly above the first."""
        return (self.top[..., None] >= self.bottom[..., None, :]) & self.are_pairs

    @cached_property
    def all_left(self) -> Array:
        """Says whether the second item is wholly to the left of the first."""
        return (self.left[..., None] >= self.right[..., None, :]) & self.are_pairs

    @cached_property
    def directly_above(self) -> Array:
        return self.all_above & (self.distance <= self.world.touching)

    @cached_property
    def above(self) -> Array:
        """In a tower only the adjacent one."""
        return self.all_above & ((self.distance <= self.world.touching) | ~self.is_tower[:, :, None, None])


def _number(value: float) -> Number:
    """As scenes are read from files: whole numbers are int."""
    return int(value) if value == int(value) else value
