"""Scenes in which items often just touch or just miss, and helpers to evaluate expressions on them."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

from veriscene import worlds
from veriscene.language.execution import compile_expression
from veriscene.language.functions import PlacedItem
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds.nlvr.looks import Color, Shape, Size, make_item

LANGUAGE = worlds.language("nlvr")

Where = set[tuple[int, int]]


def tower(rng: random.Random) -> Box:
    heights = range(rng.randint(1, 4))
    return Box(
        tuple(make_item(40, 80 - 21 * floor, Size.MEDIUM, Shape.SQUARE, rng.choice(list(Color))) for floor in heights)
    )


def scatter(rng: random.Random) -> Box:
    """Items at and near walls, and 0 to 6 pixels from one another."""
    items: list[Item] = []
    for _ in range(rng.randint(1, 8)):
        size, last = rng.choice(list(Size)), 100
        last -= size.extent
        corner = [rng.choice([0, 1, 4, 5, last - 5, last - 4, last, rng.randint(0, last)]) for _ in "xy"]
        if items and rng.random() < 0.7:
            other, axis = rng.choice(items), rng.randrange(2)
            gap = rng.randint(0, 6)
            start = (other.x, other.y)[axis]
            corner[axis] = rng.choice([start + other.width + gap, start - size.extent - gap])
            corner[1 - axis] = (other.y, other.x)[axis] + rng.randint(-5, 5)
        x, y = corner
        item = make_item(x, y, size, rng.choice(list(Shape)), rng.choice(list(Color)))
        if 0 <= x <= last and 0 <= y <= last and all(item.distance(other) >= 0 for other in items):
            items.append(item)
    return Box(tuple(items)) if items else scatter(rng)


def crooked_tower(rng: random.Random) -> Box:
    """Squares above one another whose right edges are equal or one pixel apart."""
    x = rng.randint(1, 70)
    return Box(
        tuple(make_item(x + rng.choice([0, 0, 0, 1]), y, Size.SMALL, Shape.SQUARE, Color.BLUE) for y in (90, 69, 48))
    )


def draw_scene(seed: int) -> Scene:
    rng = random.Random(seed)
    draw = rng.choice([tower, scatter, scatter, crooked_tower])
    return Scene((draw(rng), draw(rng), draw(rng)))


SCENES = [draw_scene(seed) for seed in range(120)]
some_scenes = st.builds(draw_scene, st.integers(0, 2**32))
ITEMS_ALIKE = Scene((Box((make_item(0, 0, Size.SMALL, Shape.SQUARE, Color.BLUE),)),) * 3)


def value(text: str, scene: Scene) -> Any:
    return compile_expression(LANGUAGE.expression(text), LANGUAGE.place)(scene)


def where(items: tuple[PlacedItem, ...], scene: Scene) -> Where:
    """The box and the index of each item; fails if an item occurs twice."""
    boxes, _ = LANGUAGE.place(scene)
    found = [(boxes.index(item.box), item.box.items.index(item)) for item in items]
    assert len(found) == len(set(found))
    return set(found)
