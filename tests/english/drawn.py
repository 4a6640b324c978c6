"""Statements of the grammar about several worlds, and scenes to judge them on, drawn once for all tests."""

from __future__ import annotations

import os
import random
from functools import lru_cache

import numpy as np
import pytest

from some_worlds import NLVR, ODD, SHELF, scenes_of
from veriscene import worlds
from veriscene.english.grammar import draw
from veriscene.language.program import Statement
from veriscene.world.scene import Scene
from veriscene.world.schema import World
from veriscene.world.world_file import world_of
from veriscene.worlds.nlvr.scenes import draw_scenes

STATEMENTS = int(os.environ.get("VERISCENE_GRAMMAR_STATEMENTS", "5000"))  # of each world
SCENES = 200
# One box, as ODD has, but with nouns, colours and sizes as most worlds have them.
TRAY: World = world_of(
    {
        "name": "tray",
        "canvas": [60, 60],
        "boxes": 1,
        "items": [0, 6],
        "attributes": {
            "shape": {"values": ["bead", "button"], "noun": True},
            "color": {"values": ["red", "green"]},
            "size": {"kind": "ordered", "values": ["small", "large"]},
        },
    },
    where="tests",
)
SHAPES: World = worlds.get("shapeworld")
each_world = pytest.mark.parametrize("world", (NLVR, SHELF, SHAPES, ODD, TRAY), ids=lambda world: world.name)


def draw_statements(world: World, count: int, seed: int = 1) -> list[Statement]:
    rng, language = random.Random(seed), worlds.language(world)
    return [draw(rng, language) for _ in range(count)]


@lru_cache
def statements(world: World) -> list[Statement]:
    return draw_statements(world, STATEMENTS)


@lru_cache
def scenes(world: World, kind: str | None) -> list[Scene]:
    """Scenes of a kind; without one, scenes of all kinds that the world has."""
    if world != NLVR:
        return scenes_of(world, SCENES)
    rng = np.random.default_rng(1)
    if kind is not None:
        return list(draw_scenes(rng, kind, SCENES).scenes())
    return [*draw_scenes(rng, "scatter", SCENES * 3 // 4).scenes(), *draw_scenes(rng, "tower", SCENES // 4).scenes()]
