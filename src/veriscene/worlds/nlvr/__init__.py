"""The NLVR corpus as a world: its files, exact pixels, programs and wordings."""

from __future__ import annotations

from veriscene.worlds.nlvr.looks import SCENE_KINDS as SCENE_KINDS
from veriscene.worlds.nlvr.looks import WORLD as WORLD

# What a model card says about a model that the grammar taught.
GRAMMAR_NOTE = (
    "Their wordings were written with NLVR's train sentences, the public programs of these and errors on dev in view.\n"
)

ABILITIES = {  # as `worlds.ability` finds them
    "extend_language": "notation.lilgym",
    "layouts": "layout_rules.layouts",
    # pictures
    "pixels": "raster.pixels",
    "box_pixels": "raster.boxes",
    "png": "pictures.png",
    "cut": "pictures.cut",
    "read_picture": "pictures.read",
    "picture_from_file": "pictures.of_any_size",
    "picture_from_bytes": "pictures.from_bytes",
    "with_pictures": "pictures.with_pictures",
    "check_picture": "raster.check_size",
    "decode": "raster.decode",
    "decode_file": "pictures.decode_file",
    # statements and scenes
    "draw_statement": "grammar.draw",
    "draw_scenes": "scenes.draw_scenes",
    "edit_scenes": "scenes.edit_scenes",
    "draw_example": "synthetic.draw_example",
    "make_corpus": "synthetic.make_corpus",
}
