"""ShapeWorld as a world: its files, the areas and overlaps of its shapes, and its wordings.

A line of a file is a scene with several statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from veriscene.errors import InputError
from veriscene.world.examples import Found, as_it_is
from veriscene.world.schema import not_allowed

# What a model card says about a model that the grammar taught.
GRAMMAR_NOTE = "Their wordings were written with the statements of a development part of ShapeWorld in view.\n"
ABILITIES = {"extend_language": "shapes.extend_language", "draw_statement": "dialect.draw"}

SIDE = 100  # of the canvas; the files' coordinates are from 0 to 1
_NUMBERS = ("x", "y", "half_width", "half_height", "rotation")


def is_own_record(record: Mapping[str, Any]) -> bool:
    """Says whether a line is one of ShapeWorld's: several statements in place of one."""
    return "statements" in record and not record.keys() & {"statement", "sentence"}


def records(record: Found) -> Iterator[tuple[object, Found]]:
    """Yields a line as usual records, one for each statement, or what is wrong with it; any other line as it is."""
    if isinstance(record, InputError) or not is_own_record(record):
        yield from as_it_is(record)
        return
    line, statements, scene = record.get("identifier"), record["statements"], _scene(record)
    if not isinstance(statements, list):
        yield line, not_allowed(statements, "it must be a list of objects with text").at("statements")
        return
    for number, statement in enumerate(statements):
        # Consistency is counted over what stands before the only "-" of an identifier.
        name = None if line is None else f"{str(line).replace('-', '_')}-{number}"
        if isinstance(scene, InputError):
            yield name, scene
        elif not isinstance(statement, Mapping):
            yield name, not_allowed(statement, "it must be an object with text").at(f"statement {number + 1}")
        else:
            own = {"statement": statement.get("text"), "label": statement.get("label"), "scene": scene}
            named = {} if name is None else {"identifier": name}
            yield name, {**named, **own, "directory": record.get("set")}


def _scene(record: Mapping[str, Any]) -> list[list[object]] | InputError:
    items = record.get("items")
    if not isinstance(items, list):
        return not_allowed(items, "it must be a list of objects").at("items")
    try:
        return [[_item(item) for item in items]]
    except InputError as error:
        return error


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
