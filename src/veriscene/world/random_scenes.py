"""Random scenes of any world: for `veriscene world show`, for the page's first scene and for examples in guides."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from veriscene.errors import InputError
from veriscene.world.edits import fits
from veriscene.world.scene import Box, Item, Scene, Value
from veriscene.world.schema import Attribute, World

MAX_TRIES = 30  # places that are tried for an item before the box stays as it is
MAX_BOXES_TRIED = 100  # before a world is said to be too crowded
AT_WALL = 0.15  # the chance of each coordinate to lie at one of its two walls


def random_scene(world: World, rng: random.Random) -> Scene:
    """Returns a valid scene; all numbers of boxes are equally likely, as are all numbers of items.

    Raises InputError if the boxes are too small for the items that they must have.
    """
    return Scene(tuple(_random_box(world, rng) for _ in range(rng.randint(*world.boxes))))


def _random_box(world: World, rng: random.Random) -> Box:
    for _ in range(MAX_BOXES_TRIED):
        items: list[Item] = []
        for _ in range(rng.randint(*world.items)):
            item = _place(world, rng, random_item(world, rng), items)
            if item is None:
                break
            items.append(item)
        if len(items) >= world.items[0]:  # else too crowded: begin again with an empty box
            return Box(tuple(items))
    raise no_room(world)


def no_room(world: World) -> InputError:
    """Returns the error of a world whose boxes are too small for the items that they must have."""
    what = f"no room for {world.items[0]} {world.item.plural} in a {world.box.singular}"
    return InputError(what, where=f"world {world.name}", allowed="make the canvas larger, or items fewer or smaller")


def random_item(world: World, rng: random.Random) -> Item:
    """Returns an item with random values, in the upper left corner."""
    values: dict[str, Any] = {attribute.name: _value(attribute, rng) for attribute in world.attributes}
    if world.has_free_extents:
        values |= {
            name: rng.randint(max(1, side // 10), max(1, side // 3))
            for name, side in zip(("width", "height"), world.canvas, strict=True)
        }
    return world.make(0, 0, **values)


def _place(world: World, rng: random.Random, item: Item, others: Sequence[Item]) -> Item | None:
    """The item at a random free place, or None if none was found."""
    for _ in range(MAX_TRIES):
        x, y = (_along(rng, int(room)) for room in (world.canvas[0] - item.width, world.canvas[1] - item.height))
        placed = item.at(x, y)
        if fits(world, placed, others):
            return placed
    return None


def _value(attribute: Attribute, rng: random.Random) -> Value:
    if attribute.kind != "numeric":
        return rng.choice(attribute.choices).name
    if not attribute.step:
        low, high = attribute.low, attribute.high
        return min(max(round(rng.uniform(low, high), decimals(attribute)), low), high)
    steps = int((attribute.high - attribute.low) / attribute.step + 1e-9)
    return round(attribute.low + rng.randint(0, steps) * attribute.step, 6)


def decimals(attribute: Attribute) -> int:
    """Returns the decimals of a random number without steps: two, or more where that would leave too few numbers."""
    return min(max(2, 2 - math.floor(math.log10(attribute.high - attribute.low))), 12)


def _along(rng: random.Random, room: int) -> int:
    chance = rng.random()
    if chance < AT_WALL:
        return 0 if chance < AT_WALL / 2 else room
    return rng.randint(0, room)
