"""Worlds for tests: the shipped one, the guide's shelves, and one in which everything is as different as possible."""

from __future__ import annotations

import random
from pathlib import Path

from veriscene import worlds
from veriscene.world.random_scenes import random_scene
from veriscene.world.scene import Scene
from veriscene.world.schema import World
from veriscene.world.world_file import world_of

NLVR: World = worlds.get("nlvr")
SHELF: World = World.read(Path(__file__).resolve().parent.parent / "examples" / "shelf" / "shelf.toml")
# Items state their own extent and may overlap; letters of another script; a number without a step; one box.
ODD: World = world_of(
    {
        "name": "Ferme",
        "canvas": [37, 91],
        "boxes": 1,
        "items": [0, 5],
        "overlap": True,
        "attributes": {
            "животное": {"values": ["корова", "コウモリ"], "noun": True},
            "weight": {"range": [-2.5, 800.25]},
            "age": {"kind": "ordered", "values": ["young", "old", "very old"]},
        },
    },
    where="tests",
)
WORLDS = (NLVR, SHELF, ODD)


def scenes_of(world: World, count: int, seed: int = 1) -> list[Scene]:
    rng = random.Random(seed)
    return [random_scene(world, rng) for _ in range(count)]
