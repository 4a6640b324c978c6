"""Scenes of the world that a judge knows: tables, pictures and examples. The rest of the service knows no world."""

from __future__ import annotations

import base64
import random
from functools import cache
from importlib import import_module
from typing import Any

from veriscene.errors import InputError
from veriscene.judge.judge import Judge
from veriscene.judge.question import parse_image
from veriscene.models.vision.eyes import Eyes
from veriscene.world import drawing
from veriscene.world.scene import Scene, not_allowed, parse_scene, scene_to_json
from veriscene.worlds.nlvr import decode, picture, raster
from veriscene.worlds.nlvr.grammar import draw
from veriscene.worlds.nlvr.near_miss import labelled_scenes
from veriscene.worlds.nlvr.scene_drawing import SCENE_KINDS

FORMATS = ("png", "svg")


def world_tree(judge: Judge) -> dict[str, Any]:
    """Returns the tables of the judge's world, as in a world file."""
    # `to_tree(judge.world)`, as soon as judges have a world.
    return dict(import_module("veriscene.world.world_file").to_tree(getattr(judge, "world", None)))


def abilities(judge: Judge) -> dict[str, bool]:
    """Returns what can be done in the judge's world besides editing scenes.

    `pictures`: pictures of scenes can be read.
    """
    return {"pictures": True}


def parse(judge: Judge, value: object) -> Scene:
    """Returns the scene that a JSON value describes; raises InputError with the first problem."""
    return parse_scene(value)


def render(judge: Judge, scene: Scene, kind: object) -> dict[str, str]:
    """Returns a picture of the scene: `image`, the base64 text of a PNG file, or `svg`."""
    if kind not in FORMATS:
        raise not_allowed(kind, f"choose from {', '.join(FORMATS)}").at("format")
    if kind == "svg":
        return {"svg": drawing.svg(scene)}
    return {"image": base64.b64encode(picture.to_png(raster.pixels(scene))).decode("ascii")}


def read_picture(judge: Judge, image: object, *, with_eyes: bool) -> list[Any]:
    """Returns the scene in the base64 text of a PNG or JPEG file; without eyes, it must be exactly a rendered one."""
    pixels = parse_image(image)
    try:
        scene = _eyes().scenes([pixels])[0] if with_eyes else decode.scene(pixels)
    except InputError as error:
        raise error.at("image") from None
    return scene_to_json(scene)


def draw_example(judge: Judge, rng: random.Random, kind: str | None = None) -> dict[str, Any]:
    """Returns a random scene with a statement about it, and whether it is true.

    The scene was made such that the statement may well be false. In worlds with towers, `kind` is tower or scatter.
    """
    if kind is not None and kind not in SCENE_KINDS:
        raise not_allowed(kind, f"choose from {', '.join(SCENE_KINDS)}").at("kind")
    wanted = kind or rng.choice(SCENE_KINDS)
    while True:
        statement = draw(rng)
        scenes = labelled_scenes(rng, statement) if statement.kind == wanted else None
        if scenes:
            return to_json(statement.text, *rng.choice(scenes))


def to_json(statement: str, scene: Scene, label: bool | None) -> dict[str, Any]:
    """Returns an example as the page receives it."""
    return {"statement": statement, "scene": scene_to_json(scene), "label": label}


@cache
def _eyes() -> Eyes:
    return Eyes.load()
