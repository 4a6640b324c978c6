"""The NLVR corpus as a world: its files, exact pixels, programs and wordings.

These functions are the abilities that worlds.ability finds. They import what they need when they are called, because
`veriscene --help` must not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from veriscene.worlds.nlvr.looks import WORLD as WORLD

# What a model card says about a model that the grammar taught.
GRAMMAR_NOTE = (
    "Their wordings were written with NLVR's train sentences, the public programs of these and errors on dev in view.\n"
)

if TYPE_CHECKING:
    import random
    from pathlib import Path

    import numpy as np

    from veriscene.language.bulk.arrays import SceneArrays
    from veriscene.language.language import Extension
    from veriscene.language.program import Statement
    from veriscene.world.examples import Example
    from veriscene.world.scene import Scene
    from veriscene.world.schema import World
    from veriscene.worlds.nlvr.looks import SceneKind
    from veriscene.worlds.nlvr.raster import Pixels


def pixels(scene: Scene) -> Pixels:
    """Returns the picture of a scene, (100, 400, RGBA), exactly as in the corpus's PNG files."""
    from veriscene.worlds.nlvr import raster

    return raster.pixels(scene)


def box_pixels(scenes: Sequence[Scene]) -> Pixels:
    """Returns the boxes of each scene as they appear in its picture, (n, 3, 100, 100, RGBA)."""
    from veriscene.worlds.nlvr import raster

    return raster.boxes(scenes)


def cut(picture: Pixels) -> Pixels:
    """Returns the boxes of a picture, (3, 100, 100, channel)."""
    from veriscene.worlds.nlvr import pictures

    return pictures.cut(picture)


def read_picture(path: Any) -> Pixels:
    """Returns the pixels of one of the corpus's PNG files."""
    from veriscene.worlds.nlvr import pictures as picture

    return picture.read(path)


def decode(pixels: Pixels) -> Scene:
    """Returns the scene whose picture this is; raises InputError unless every pixel is that of a rendered scene."""
    from veriscene.worlds.nlvr import decoder

    return decoder.scene(pixels)


def check_picture(pixels: Pixels) -> None:
    """Raises InputError unless a picture has the size of the corpus's."""
    from veriscene.worlds.nlvr import decoder

    decoder.check_size(pixels)


def layout(words: Sequence[str]) -> Any:
    """Returns the module layout of a statement, for neural module networks."""
    from veriscene.worlds.nlvr.layout_rules import layout as steps

    return steps(words)


def extend_language(world: World) -> Extension:
    """Returns lilGym's names for NLVR's attributes, in which the public programs are written."""
    from veriscene.worlds.nlvr import notation

    return notation.lilgym(world)


def with_pictures(examples: Sequence[Example], folder: Path, split: str) -> list[Example]:
    """Returns the examples of a split, each with its picture file below the folder."""
    from veriscene.worlds.nlvr.pictures import with_pictures as pictured

    return pictured(examples, folder, split)


def png(scene: Scene) -> bytes:
    """Returns the PNG file of a scene, with the corpus's exact pixels."""
    from veriscene.worlds.nlvr import pictures as picture
    from veriscene.worlds.nlvr import raster

    return picture.to_png(raster.pixels(scene))


def picture_from_bytes(content: bytes) -> Pixels:
    """Returns the pixels of a PNG or JPEG file of about the corpus's proportions."""
    from veriscene.worlds.nlvr import pictures as picture

    return picture.from_bytes(content)


def picture_from_file(path: Path) -> Pixels:
    """Like `picture_from_bytes`, from a file."""
    from veriscene.worlds.nlvr import pictures as picture

    return picture.of_any_size(path)


def draw_statement(rng: random.Random, level: str) -> Statement:
    """Returns a random statement of the grammar, with its program and the kind of scene that it is about."""
    from veriscene.worlds.nlvr import grammar

    return grammar.draw(rng, level)


def scenes_by_kind(scenes: SceneArrays) -> dict[SceneKind, SceneArrays]:
    """Returns the scenes of each kind. Towers get their blocks from the floor up."""
    from veriscene.worlds.nlvr import scene_drawing

    return scene_drawing.by_kind(scenes)


def draw_scenes(rng: np.random.Generator, kind: SceneKind, count: int) -> SceneArrays:
    """Returns random scenes of a kind."""
    from veriscene.worlds.nlvr import scene_drawing

    return scene_drawing.draw_scenes(rng, kind, count)


def edit_scenes(rng: np.random.Generator, scenes: SceneArrays) -> SceneArrays:
    """Returns each scene with one random small edit, which keeps its kind."""
    from veriscene.worlds.nlvr import scene_editing

    return scene_editing.edit_scenes(rng, scenes)


def draw_example(rng: random.Random, kind: str | None = None) -> tuple[str, Scene, bool]:
    """Returns a random statement with a scene, and whether it is true of the scene; `kind` is tower or scatter."""
    import numpy as np

    from veriscene.world.schema import not_allowed
    from veriscene.worlds.nlvr.grammar import draw
    from veriscene.worlds.nlvr.looks import SCENE_KINDS
    from veriscene.worlds.nlvr.near_miss import labelled_scenes

    if kind is not None and kind not in SCENE_KINDS:
        raise not_allowed(kind, f"choose from {', '.join(SCENE_KINDS)}").at("kind")
    wanted = kind or rng.choice(SCENE_KINDS)
    while True:
        statement = draw(rng)
        if statement.kind == wanted:
            (scenes,) = labelled_scenes(np.random.default_rng(rng.getrandbits(64)), [statement])
            if scenes:
                scene, label = rng.choice(scenes)
                return statement.text, scene, label


def decode_file(path: Path) -> Scene:
    """Returns the scene that a PNG file shows; raises InputError unless every pixel is that of a rendered scene."""
    from veriscene.worlds.nlvr.pictures import decode_file as decoded

    return decoded(path)


def make_corpus(folder: Path, statements: int, *, seed: int, level: str, progress: Callable[[int, int], None]) -> None:
    """Writes a synthetic corpus, drawn from the grammar, to a folder."""
    from veriscene.worlds.nlvr import synthetic

    synthetic.write(folder, synthetic.build(statements, seed=seed, level=level, progress=progress))
