"""ShapeWorld as a world: its files, the areas and overlaps of its shapes, and its wordings.

A line of a file is a scene with several statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from veriscene.errors import InputError

# What a model card says about a model that the grammar taught.
GRAMMAR_NOTE = "Their wordings were written with the statements of a development part of ShapeWorld in view.\n"
ABILITIES = {"extend_language": "shapes.extend_language", "draw_statement": "dialect.draw"}

SIDE = 100  # of the canvas; the files' coordinates are from 0 to 1
_NUMBERS = ("x", "y", "half_width", "half_height", "rotation")


def is_own_record(record: Mapping[str, Any]) -> bool:
    """Whether a line is one of ShapeWorld's: items and several statements."""
    return isinstance(record.get("items"), list) and isinstance(record.get("statements"), list)


def records(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields a line as usual records, one for each statement; any other line as it is."""
    if not is_own_record(record):
        yield record
        return
    scene = [[_item(item) for item in record["items"]]]
    name = str(record.get("identifier", "")).replace("-", "_")
    for number, statement in enumerate(record["statements"]):
        if not isinstance(statement, Mapping):
            raise InputError(f"statement {number + 1} is no object", allowed="it must have text, and may have a label")
        yield {
            "identifier": f"{name}-{number}",
            "statement": statement.get("text"),
            "label": statement.get("label"),
            "directory": record.get("set"),
            "scene": scene,
        }


def _item(item: object) -> object:
    """An item as the world's scenes have it: the corner of the shape before it is turned, and its extent."""
    if not isinstance(item, Mapping):
        return item
    numbers: list[float] = []
    for name in _NUMBERS:
        value = item.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e6:
            raise InputError(f"{name} of an item is {value!r:.20}", allowed="it must be a number")
        numbers.append(value)
    x, y, width, height, rotation = numbers
    return {
        "shape": item.get("shape"),
        "color": item.get("color"),
        "shade": item.get("shade"),
        # The file's shapes point downwards where those of this package point upwards.
        "rotation": (rotation + 0.5) % 1,
        "x": round(SIDE * (x - width), 6),
        "y": round(SIDE * (y - height), 6),
        "width": round(2 * SIDE * width, 6),
        "height": round(2 * SIDE * height, 6),
    }
