"""Scenes as one array, and the geometry that programs ask about."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veriscene.language.placed import CLOSE
from veriscene.world.scene import (
    BOX_EXTENT,
    BOXES_PER_SCENE,
    MOST_ITEMS,
    TOUCHING,
    Attribute,
    Box,
    Color,
    Item,
    Scene,
    Shape,
    Size,
)
from veriscene.worlds.nlvr.kinds import scene_of

Array = Any  # a numpy array: to the type checker, what indexing one returns is Any
SLOTS = BOXES_PER_SCENE * MOST_ITEMS  # places for items in a scene
FIELDS = X, Y, SIZE, SHAPE, COLOR = range(5)
COLORS, SHAPES, SIZES = tuple(Color), tuple(Shape), tuple(Size)

_NUMBER_OF: dict[Attribute, int] = {look: n for looks in (SHAPES, COLORS) for n, look in enumerate(looks)}


@dataclass(frozen=True)
class SceneArrays:
    """n scenes. `fields` (5, n, box, slot), uint8: x, y, size in pixels, number of the shape, number of the colour.

    The items of a box fill its first slots, in the scene's own order; all fields of an empty slot are 0, as no item's
    size is. Values derived from `fields` are computed once, so it must not be changed.
    """

    fields: Array

    @classmethod
    def of(cls, scenes: Sequence[Scene]) -> SceneArrays:
        fields = np.zeros((len(scenes), BOXES_PER_SCENE, MOST_ITEMS, len(FIELDS)), np.uint8)
        for number, scene in enumerate(scenes):
            for box, place in zip(scene.boxes, fields[number], strict=True):
                place[: len(box.items)] = [
                    (item.x, item.y, item.size.value, _NUMBER_OF[item.shape], _NUMBER_OF[item.color])
                    for item in box.items
                ]
        return cls(np.ascontiguousarray(np.moveaxis(fields, 3, 0)))

    @classmethod
    def concatenated(cls, parts: Iterable[SceneArrays]) -> SceneArrays:
        return cls(np.concatenate([part.fields for part in parts], axis=1))

    def scenes(self) -> list[Scene]:
        """The inverse of `of`."""

        def item(x: int, y: int, size: int, shape: int, color: int) -> Item:
            return Item(x=x, y=y, size=Size(size), shape=SHAPES[shape], color=COLORS[color])

        per_scene = np.moveaxis(self.fields, 0, 3).tolist()
        return [
            scene_of([Box(tuple(item(*values) for values in box if values[SIZE])) for box in boxes])
            for boxes in per_scene
        ]

    def __reduce__(self) -> tuple[type[SceneArrays], tuple[Array]]:
        return SceneArrays, (self.fields,)  # What was derived takes many times as much space.

    def __len__(self) -> int:
        return int(self.fields.shape[1])

    def derived(self, name: Hashable, make: Callable[[SceneArrays], Array]) -> Array:
        """What `make` returns, computed once under this name."""
        found = self._derived.get(name)
        if found is None:
            found = self._derived[name] = make(self)
        return found

    @cached_property
    def _derived(self) -> dict[Hashable, Array]:
        return {}

    def __getitem__(self, which: slice | Array) -> SceneArrays:
        return SceneArrays(self.fields[:, which])

    # ------------------------------------------------------------ (n, box, slot)

    @cached_property
    def mask(self) -> Array:
        """Whether there is an item."""
        return self.fields[SIZE] > 0

    @property
    def counts(self) -> Array:
        """(n, box): items of each box."""
        return self.mask.sum(axis=2)

    @property
    def shape(self) -> Array:
        return self.fields[SHAPE]

    @property
    def color(self) -> Array:
        return self.fields[COLOR]

    @cached_property
    def size(self) -> Array:
        """The number of the size, in the order of Size."""
        return (self.fields[SIZE] - SIZES[0].value) // (SIZES[1].value - SIZES[0].value)

    @cached_property
    def left(self) -> Array:
        return self.fields[X].astype(np.int16)

    @cached_property
    def right(self) -> Array:
        return self.left + self.fields[SIZE]

    @cached_property
    def top(self) -> Array:
        """Edges have y growing upwards, as in `Item`."""
        return BOX_EXTENT - self.fields[Y].astype(np.int16)

    @cached_property
    def bottom(self) -> Array:
        return self.top - self.fields[SIZE]

    @cached_property
    def gaps(self) -> Array:
        """(side, n, box, slot): distances to the walls, in the order of Side."""
        return np.stack([BOX_EXTENT - self.top, self.bottom, self.left, BOX_EXTENT - self.right])

    @cached_property
    def is_top(self) -> Array:
        return self.top == np.where(self.mask, self.top, -1).max(axis=2, keepdims=True)

    @cached_property
    def is_bottom(self) -> Array:
        return self.top == np.where(self.mask, self.top, 2 * BOX_EXTENT).min(axis=2, keepdims=True)

    @cached_property
    def is_tower(self) -> Array:
        """(n, box): as `Box.is_tower`."""
        squares = (self.shape == _NUMBER_OF[Shape.SQUARE]) | ~self.mask
        aligned = (self.right == self.right[:, :, :1]) | ~self.mask
        return (squares & aligned).all(axis=2) & self.mask[:, :, 0]

    @cached_property
    def is_second(self) -> Array:
        """Blocks of a tower have 20 pixels, and are one pixel apart."""
        return self.is_tower[:, :, None] & (self.bottom == 21)

    @cached_property
    def is_third(self) -> Array:
        return self.is_tower[:, :, None] & (self.bottom == 42)

    @cached_property
    def items_of_box(self) -> Array:
        """(n * box, SLOTS): whether there is an item, and in that box."""
        own = np.eye(BOXES_PER_SCENE, dtype=bool)[None, :, :, None]
        return (own & self.mask[:, None]).reshape(-1, SLOTS)

    # ------------------------------------------------------------ (n, box, slot, slot): pairs of items of one box

    @cached_property
    def distance(self) -> Array:
        """As `Item.distance`; meaningless for an empty slot."""
        sideways = _first(self.left) - _second(self.right)
        upwards = _first(self.bottom) - _second(self.top)
        return np.maximum(np.maximum(sideways, sideways.swapaxes(2, 3)), np.maximum(upwards, upwards.swapaxes(2, 3)))

    @cached_property
    def are_pairs(self) -> Array:
        """Whether both slots have items."""
        return _first(self.mask) & _second(self.mask)

    @cached_property
    def touching(self) -> Array:
        return self._within(TOUCHING)

    @cached_property
    def closely_touching(self) -> Array:
        return self._within(CLOSE)

    def _within(self, margin: int) -> Array:
        return (self.distance <= margin) & self.are_pairs & ~np.eye(MOST_ITEMS, dtype=bool)

    @cached_property
    def all_above(self) -> Array:
        """Whether the second item is wholly above the first."""
        return (_first(self.top) <= _second(self.bottom)) & self.are_pairs

    @cached_property
    def above(self) -> Array:
        """In a tower only the adjacent one."""
        return self.all_above & ((self.distance <= TOUCHING) | ~self.is_tower[:, :, None, None])

    @cached_property
    def all_below(self) -> Array:
        return self.all_above.swapaxes(2, 3)

    @cached_property
    def below(self) -> Array:
        return self.above.swapaxes(2, 3)


def _first(values: Array) -> Array:
    return values[..., :, None]


def _second(values: Array) -> Array:
    return values[..., None, :]
