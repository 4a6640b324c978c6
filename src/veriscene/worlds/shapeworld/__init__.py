"""ShapeWorld as a world: its files, the areas and overlaps of its shapes, and its wordings."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# What a model card says about a model that the grammar taught.
GRAMMAR_NOTE = "Their wordings were written with the statements of a development part of ShapeWorld in view.\n"

# The abilities that `worlds.ability` finds, and the functions that implement them, imported when they are used.
_ABILITIES = {
    "extend_language": "shapes.extend_language",
    "is_own_record": "lines.is_own",
    "records": "lines.records",
    "draw_statement": "dialect.draw",
}


def __getattr__(name: str) -> Any:
    if name not in _ABILITIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, function = _ABILITIES[name].partition(".")
    return getattr(import_module(f"{__name__}.{module}"), function)
