"""Scenes of any world as SVG, with the order in which items are read as red arrows.

A world file says how values look: a fill, an outline, a shape, a label. An item without a shape is a labelled tile.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veriscene.world.scene import Item, Scene
    from veriscene.world.schema import World

Point = tuple[float, float]
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text: str) -> str:
    """Returns text as it stands in XML and HTML; a replacement character stands for what neither can hold."""
    return html.escape(_NOT_XML.sub("\ufffd", text))


def _around(*radii: float) -> tuple[Point, ...]:
    """Corners at these distances from the middle, clockwise from the top."""
    turns = [(radius, 2 * math.pi * number / len(radii)) for number, radius in enumerate(radii)]
    return tuple((0.5 + radius * math.sin(turn), 0.5 - radius * math.cos(turn)) for radius, turn in turns)


_SQUARE: tuple[Point, ...] = ((0, 0), (1, 0), (1, 1), (0, 1))
# The corners of each shape, in parts of the item's width and height; without corners it is an ellipse.
SHAPES: dict[str, tuple[Point, ...]] = {
    "square": _SQUARE,
    "rectangle": _SQUARE,
    "circle": (),
    "ellipse": (),
    "triangle": ((0.5, 0), (0, 1), (1, 1)),
    "diamond": ((0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5)),
    "pentagon": _around(*[0.5] * 5),
    "hexagon": _around(*[0.5] * 6),
    "star": _around(*[0.5, 0.2] * 5),
    "cross": tuple(
        (x / 3, y / 3)
        for x, y in ((1, 0), (2, 0), (2, 1), (3, 1), (3, 2), (2, 2), (2, 3), (1, 3), (1, 2), (0, 2), (0, 1), (1, 1))
    ),
    "semicircle": tuple(
        (0.5 - 0.5 * math.cos(math.pi * number / 16), 1 - math.sin(math.pi * number / 16)) for number in range(17)
    ),
}
BACKGROUND, BOX_FILL, TILE_FILL, TILE_OUTLINE, ARROW = "#808080", "#d3d3d3", "#f4f4f4", "#777777", "#d11"
HEAD = 7.0  # length of an arrow head, in pixels of the scene
BOW = 0.6  # distance of a curve's control point from the straight line, relative to the arrow's length
MAX_BOW = 24.0  # of that distance, in pixels: a longer curve would leave its box
WIDE = 2.0  # boxes that are this many times as wide as high are drawn one below the other


@dataclass(frozen=True)
class Look:
    """Says how an item is drawn."""

    shape: str | None  # a name of SHAPES; None: a tile with a label
    fill: str
    outline: str | None
    label: str
    turn: float = 0.0  # clockwise, in parts of a full turn

    @property
    def ink(self) -> str:
        """Returns the colour of the label: black or white, whichever can be read on the fill."""
        dark = self.fill.lower() in ("black", "navy", "blue", "purple", "maroon", "green", "brown")
        if self.fill.startswith("#"):
            digits = self.fill[1:] if len(self.fill) == 7 else "".join(2 * digit for digit in self.fill[1:])
            red, green, blue = (int(digits[start : start + 2], 16) for start in (0, 2, 4))
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 128
        return "white" if dark else "black"


def look(world: World, item: Item) -> Look:
    """Returns how the world says that an item looks. Numbers are written on the item, unless they shade or turn it."""
    hints: dict[str, str] = {}
    drawn: dict[str, float] = {}
    labels, tile = [], ""
    for attribute, (_, value) in zip(world.attributes, item.values, strict=True):
        if attribute.kind == "numeric":
            if attribute.draw:
                drawn[attribute.draw] = float(value)
            else:
                labels.append(attribute.say(value))
            continue
        choice = attribute.by_name[value]
        for key in ("fill", "shape", "outline"):
            if getattr(choice, key):
                hints[key] = getattr(choice, key)
        if choice.label:
            labels.append(choice.label)
        if attribute.is_noun or (not tile and not choice.fill and not choice.shape):
            tile = choice.word
    shape = hints.get("shape")
    if shape is None:
        labels.insert(0, tile)
    fill = _shaded(hints.get("fill", TILE_FILL if shape is None else "#444444"), drawn.get("shade", 0.0))
    return Look(shape, fill, hints.get("outline"), " ".join(filter(None, labels)), drawn.get("turn", 0.0))


def _shaded(color: str, shade: float) -> str:
    """Mixes a colour, #rrggbb, with white (of which 1 leaves nothing else) or, below 0, with black."""
    if not re.fullmatch("#[0-9a-fA-F]{6}", color):
        return color
    other, share = (255 if shade > 0 else 0), min(abs(shade), 1.0)
    return "#" + "".join(f"{math.floor(part + (other - part) * share + 0.5):02x}" for part in bytes.fromhex(color[1:]))


@dataclass(frozen=True)
class Arrangement:
    """Says where the boxes of a scene are drawn, and how large the whole picture is."""

    corners: tuple[Point, ...]
    width: int
    height: int


def arrange(world: World, boxes: int) -> Arrangement:
    """Places boxes side by side, half a box apart, or wide ones one below the other."""
    width, height = world.canvas
    if width >= WIDE * height:
        step = height + max(2, height // 4)
        corners = [(0, step * number) for number in range(boxes)]
    else:
        step = width + width // 2
        corners = [(step * number, 0) for number in range(boxes)]
    x, y = corners[-1]
    return Arrangement(tuple(corners), x + width, y + height)


def svg(world: World, scene: Scene, order: Sequence[Sequence[int]] | None = None, *, title: str = "") -> str:
    """Returns an SVG element. `order` (per box, item indices in reading order) adds arrows from item to item."""
    (width, height), place = world.canvas, arrange(world, len(scene.boxes))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {place.width} {place.height}"'
        f' width="{place.width}" height="{place.height}" role="img"'
        f' aria-label="{escape(title or "scene")}">',
        f'<rect width="{place.width}" height="{place.height}" fill="{BACKGROUND}"/>',
    ]
    for number, (box, (x, y)) in enumerate(zip(scene.boxes, place.corners, strict=True)):
        parts.append(f'<g transform="translate({x:g} {y:g})">')
        parts.append(f'<rect width="{width}" height="{height}" fill="{escape(world.background or BOX_FILL)}"/>')
        parts.extend(item_svg(world, item) for item in box.items)
        if order is not None:
            parts.extend(_arrows([box.items[index] for index in order[number]]))
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def item_svg(world: World, item: Item) -> str:
    """Returns the SVG elements of one item."""
    seen = look(world, item)
    paint = f'fill="{escape(seen.fill)}"'
    outline = seen.outline or (TILE_OUTLINE if seen.shape is None else None)
    if outline:
        paint += f' stroke="{escape(outline)}" stroke-width="{min(item.width, item.height) / 20:g}"'
    if seen.turn:
        x, y = center(item)
        paint += f' transform="rotate({360 * seen.turn:g} {x:g} {y:g})"'
    shape = SHAPES.get(seen.shape or "square", _SQUARE)
    if not shape:
        (x, y), rx, ry = center(item), item.width / 2, item.height / 2
        if rx == ry:
            drawn = f'<circle cx="{x:g}" cy="{y:g}" r="{rx:g}" {paint}/>'
        else:
            drawn = f'<ellipse cx="{x:g}" cy="{y:g}" rx="{rx:g}" ry="{ry:g}" {paint}/>'
    elif shape is _SQUARE:
        drawn = f'<rect x="{item.x:g}" y="{item.y:g}" width="{item.width:g}" height="{item.height:g}" {paint}/>'
    else:
        drawn = f'<polygon points="{_points(corners(item, shape))}" {paint}/>'
    return drawn + (_label(item, seen) if seen.label else "")


def _label(item: Item, seen: Look) -> str:
    """The words of the label one below the other, as large as the item permits."""
    words = seen.label.split()
    longest = max(map(len, words))
    size = min(0.9 * item.height / len(words), 1.6 * item.width / longest, item.height / 2)
    x, y = center(item)
    first = y - size * (len(words) - 1) / 2 + size * 0.35
    lines = "".join(
        f'<tspan x="{x:g}" y="{first + size * row:g}">{escape(word)}</tspan>' for row, word in enumerate(words)
    )
    return (
        f'<text font-family="sans-serif" font-size="{size:.3g}" text-anchor="middle" fill="{seen.ink}">{lines}</text>'
    )


def corners(item: Item, shape: tuple[Point, ...], *, turn: float = 0.0) -> list[Point]:
    """Returns the corners of a shape where the item is, turned clockwise around its middle."""
    if not turn:
        return [(item.x + x * item.width, item.y + y * item.height) for x, y in shape]
    (right, down), sine, cosine = center(item), math.sin(2 * math.pi * turn), math.cos(2 * math.pi * turn)
    sides = [((x - 0.5) * item.width, (y - 0.5) * item.height) for x, y in shape]
    return [(right + x * cosine - y * sine, down + x * sine + y * cosine) for x, y in sides]


def center(item: Item) -> Point:
    return item.x + item.width / 2, item.y + item.height / 2


def arrow(start: Point, end: Point) -> tuple[Point, tuple[Point, Point, Point]]:
    """Returns the control point of an arrow's quadratic curve, and the corners of its head, the tip first.

    Curved to the right of its direction: straight arrows would overlap along a tower.
    """
    (x1, y1), (x2, y2) = start, end
    bow = min(BOW, MAX_BOW / (math.hypot(x2 - x1, y2 - y1) or 1.0))
    bow_x, bow_y = (x1 + x2) / 2 - (y2 - y1) * bow, (y1 + y2) / 2 + (x2 - x1) * bow
    length = math.hypot(x2 - bow_x, y2 - bow_y) or 1.0
    ahead_x, ahead_y = HEAD * (x2 - bow_x) / length, HEAD * (y2 - bow_y) / length
    back_x, back_y = x2 - ahead_x, y2 - ahead_y
    sides = (back_x - ahead_y / 2, back_y + ahead_x / 2), (back_x + ahead_y / 2, back_y - ahead_x / 2)
    return (bow_x, bow_y), ((x2, y2), *sides)


def _arrows(items: Sequence[Item]) -> list[str]:
    centers = [center(item) for item in items]
    parts = [f'<circle cx="{x:g}" cy="{y:g}" r="2.5" fill="{ARROW}"/>' for x, y in centers[:1]]
    for (x1, y1), (x2, y2) in pairwise(centers):
        (bow_x, bow_y), head = arrow((x1, y1), (x2, y2))
        path = f"M{x1:g} {y1:g}Q{bow_x:g} {bow_y:g} {x2:g} {y2:g}"
        parts.append(f'<path d="{path}" fill="none" stroke="{ARROW}" stroke-width="1.4"/>')
        # The head is a polygon: an SVG marker needs an id, which would not be unique on a page with several pictures.
        parts[-1] += f'<polygon points="{_points(head)}" fill="{ARROW}"/>'
    return parts


def _points(corners: Iterable[Point]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in corners)


def contact_sheet(world: World, scenes: Sequence[Scene]) -> str:
    """Returns one SVG picture of several scenes, two in a row, at twice their size."""
    places = [arrange(world, len(scene.boxes)) for scene in scenes]
    gap = max(4, min(world.canvas) // 5)
    width = max(place.width for place in places) + gap
    drawn, y = [], gap
    for start in range(0, len(scenes), 2):
        row = list(zip(scenes, places, strict=True))[start : start + 2]
        for column, (scene, _) in enumerate(row):
            drawn.append(f'<g transform="translate({gap + column * width} {y})">{svg(world, scene)}</g>')
        y += max(place.height for _, place in row) + gap
    whole = gap + 2 * width
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {y}" width="{2 * whole}"'
        f' height="{2 * y}"><rect width="{whole}" height="{y}" fill="white"/>{"".join(drawn)}</svg>\n'
    )
