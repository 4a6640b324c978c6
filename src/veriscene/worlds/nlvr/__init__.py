"""The NLVR corpus as a world: its files, exact pixels, programs and wordings."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from veriscene.worlds.nlvr.looks import SCENE_KINDS as SCENE_KINDS
from veriscene.worlds.nlvr.looks import WORLD as WORLD

# What a model card says about a model that the grammar taught.
GRAMMAR_NOTE = (
    "Their wordings were written with NLVR's train sentences, the public programs of these and errors on dev in view.\n"
)

# The abilities that `worlds.ability` finds, and the functions that implement them. They are imported when they are
# used, because `veriscene --help` must not wait for them.
_ABILITIES = {
    "extend_language": "notation.lilgym",
    "layout": "layout_rules.layout",
    # pictures
    "pixels": "raster.pixels",
    "box_pixels": "raster.boxes",
    "png": "pictures.png",
    "cut": "pictures.cut",
    "read_picture": "pictures.read",
    "picture_from_file": "pictures.of_any_size",
    "picture_from_bytes": "pictures.from_bytes",
    "with_pictures": "pictures.with_pictures",
    "check_picture": "decoder.check_size",
    "decode": "decoder.scene",
    "decode_file": "pictures.decode_file",
    # statements and scenes
    "draw_statement": "grammar.draw",
    "draw_scenes": "scenes.draw_scenes",
    "scenes_by_kind": "scenes.by_kind",
    "edit_scenes": "scenes.edit_scenes",
    "draw_example": "near_miss.draw_example",
    "make_corpus": "synthetic.make_corpus",
}


def __getattr__(name: str) -> Any:
    if name not in _ABILITIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, function = _ABILITIES[name].partition(".")
    return getattr(import_module(f"{__name__}.{module}"), function)
