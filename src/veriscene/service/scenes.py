"""Scenes of the world that a judge knows: tables, pictures and examples. The rest of the service knows no world."""

from __future__ import annotations

import base64
import random
from functools import cache
from typing import Any

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.judge.judge import Judge
from veriscene.judge.question import parse_image
from veriscene.models.vision.eyes import Eyes
from veriscene.world import drawing
from veriscene.world.random_scenes import random_scene
from veriscene.world.scene import Scene
from veriscene.world.schema import World, not_allowed
from veriscene.world.world_file import to_tree

FORMATS = ("png", "svg")


def world_tree(judge: Judge) -> dict[str, Any]:
    """Returns the tables of the judge's world, as in a world file."""
    return to_tree(judge.world)


def abilities(judge: Judge) -> dict[str, bool]:
    """Returns what can be done in the judge's world besides editing scenes.

    `pictures`: pictures of scenes can be read.
    """
    return {"pictures": worlds.ability(judge.world, "decode") is not None}


def parse(judge: Judge, value: object) -> Scene:
    """Returns the scene that a JSON value describes; raises InputError with the first problem."""
    return judge.world.parse(value)


def render(judge: Judge, scene: Scene, kind: object) -> dict[str, str]:
    """Returns a picture of the scene: `image`, the base64 text of a PNG file, or `svg`."""
    if kind not in FORMATS:
        raise not_allowed(kind, f"choose from {', '.join(FORMATS)}").at("format")
    if kind == "svg":
        return {"svg": drawing.svg(judge.world, scene)}
    draw = worlds.ability(judge.world, "png")
    if draw is None:
        what = f"the world {judge.world.name} has no exact pictures"
        raise InputError(what, where="format", allowed="choose svg")
    return {"image": base64.b64encode(draw(scene)).decode("ascii")}


def read_picture(judge: Judge, image: object, *, with_eyes: bool) -> list[Any]:
    """Returns the scene in the base64 text of a PNG or JPEG file; without eyes, it must be exactly a rendered one."""
    pixels = parse_image(image, judge.world)
    try:
        decode = worlds.require(judge.world, "decode", "pictures that can be decoded")
        scene = _eyes().scenes([pixels])[0] if with_eyes else decode(pixels)
    except InputError as error:
        raise error.at("image") from None
    return judge.world.to_json_scene(scene)


def draw_example(judge: Judge, rng: random.Random, kind: str | None = None) -> dict[str, Any]:
    """Returns a random scene with a statement about it, and whether it is true.

    The scene was made such that the statement may well be false. `kind` is one of the world's kinds of scenes. A world
    without statements of its own has a scene only.
    """
    draw = worlds.ability(judge.world, "draw_example")
    if draw is None and kind is not None:
        raise not_allowed(kind, f"the world {judge.world.name} has one kind of scenes").at("kind")
    if draw is None:
        return to_json(judge.world, None, random_scene(judge.world, rng), None)
    statement, scene, label = draw(rng, kind)
    return to_json(judge.world, statement, scene, label)


def to_json(world: World, statement: str | None, scene: Scene, label: bool | None) -> dict[str, Any]:
    """Returns an example as the page receives it."""
    return {"statement": statement, "scene": world.to_json_scene(scene), "label": label}


@cache
def _eyes() -> Eyes:
    return Eyes.load()
