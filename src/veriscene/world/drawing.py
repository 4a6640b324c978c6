"""Scenes as pictures: SVG, and (from raster.py) the corpus's exact pixels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import hypot

from veriscene.world.scene import BOX_EXTENT, BOXES_PER_SCENE, Color, Item, Scene, Shape, Size
from veriscene.worlds.nlvr.raster import BOX_PITCH, RGB, WIDTH, pixels

__all__ = ["FILL", "arrow", "center", "definitions", "pixels", "short_svg", "svg"]

HEAD = 7.0  # length of an arrow head, in pixels of the scene
BOW = 0.6  # distance of a curve's control point from the straight line, relative to the arrow's length
MOST_BOW = 24.0  # of that distance, in pixels: a longer curve would leave its box
FILL = {color: f"#{red:02x}{green:02x}{blue:02x}" for color, (red, green, blue) in RGB.items()}
Point = tuple[float, float]


def svg(scene: Scene, order: Sequence[Sequence[int]] | None = None, *, scale: float = 1.0) -> str:
    """An SVG element; `order` (per box, item indices in reading order) adds red arrows from each item to the next."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {BOX_EXTENT}"'
        f' width="{WIDTH * scale:g}" height="{BOX_EXTENT * scale:g}" role="img">',
        f'<rect width="{WIDTH}" height="{BOX_EXTENT}" fill="#808080"/>',
    ]
    for number, box in enumerate(scene.boxes):
        parts.append(f'<g transform="translate({number * BOX_PITCH} 0)">')
        parts.append(f'<rect width="{BOX_EXTENT}" height="{BOX_EXTENT}" fill="#d3d3d3"/>')
        parts.extend(_shape(item) for item in box.items)
        if order is not None:
            parts.extend(_arrows([box.items[index] for index in order[number]]))
        parts.append("</g>")
    parts.append("</svg>")
    return "".join(parts)


def definitions() -> str:
    """What the pictures of `short_svg` refer to: an invisible SVG element, once per page."""
    kinds = [Item(0, 0, size, shape, color) for size in Size for shape in Shape for color in Color]
    boxes = (f"M{number * BOX_PITCH} 0h{BOX_EXTENT}v{BOX_EXTENT}h-{BOX_EXTENT}z" for number in range(BOXES_PER_SCENE))
    return (
        '<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>'
        f'<path id="boxes" d="{"".join(boxes)}" fill="#d3d3d3"/>{"".join(_shape(kind, _name(kind)) for kind in kinds)}'
        "</defs></svg>"
    )


def short_svg(scene: Scene, order: Sequence[Sequence[int]] | None = None) -> str:
    """As `svg`, in fewer characters, for an HTML page that holds many and, once, `definitions`."""
    parts = [f'<svg viewBox="0 0 {WIDTH} {BOX_EXTENT}" role="img" aria-label="scene">']
    parts.append('<use href="#boxes"/>')
    for number, box in enumerate(scene.boxes):
        left = number * BOX_PITCH
        parts.extend(f'<use href="#{_name(item)}" x="{left + item.x}" y="{item.y}"/>' for item in box.items)
        if order is not None:
            arrows = "".join(_arrows([box.items[index] for index in order[number]]))
            parts.append(f'<g transform="translate({left} 0)">{arrows}</g>')
    return "".join(parts) + "</svg>"


def _name(item: Item) -> str:
    return f"{item.color.name.lower()}-{item.shape.value}-{item.size.value}"


def _shape(item: Item, name: str = "") -> str:
    size, fill = item.size.value, f'fill="{FILL[item.color]}"' + (f' id="{name}"' if name else "")
    if item.shape is Shape.SQUARE:
        return f'<rect x="{item.x}" y="{item.y}" width="{size}" height="{size}" {fill}/>'
    if item.shape is Shape.CIRCLE:
        radius = size / 2
        return f'<circle cx="{item.x + radius:g}" cy="{item.y + radius:g}" r="{radius:g}" {fill}/>'
    base = item.y + size
    points = f"{item.x + size / 2:g},{item.y} {item.x},{base} {item.x + size},{base}"
    return f'<polygon points="{points}" {fill}/>'


def center(item: Item) -> Point:
    return item.x + item.size.value / 2, item.y + item.size.value / 2


def arrow(start: Point, end: Point) -> tuple[Point, tuple[Point, Point, Point]]:
    """The control point of an arrow's quadratic curve, and the corners of its head, the tip first.

    Curved to the right of its direction: straight arrows would overlap along a tower.
    """
    (x1, y1), (x2, y2) = start, end
    bow = min(BOW, MOST_BOW / (hypot(x2 - x1, y2 - y1) or 1.0))
    bow_x, bow_y = (x1 + x2) / 2 - (y2 - y1) * bow, (y1 + y2) / 2 + (x2 - x1) * bow
    length = hypot(x2 - bow_x, y2 - bow_y) or 1.0
    ahead_x, ahead_y = HEAD * (x2 - bow_x) / length, HEAD * (y2 - bow_y) / length
    back_x, back_y = x2 - ahead_x, y2 - ahead_y
    sides = (back_x - ahead_y / 2, back_y + ahead_x / 2), (back_x + ahead_y / 2, back_y - ahead_x / 2)
    return (bow_x, bow_y), ((x2, y2), *sides)


def _arrows(items: Sequence[Item]) -> list[str]:
    centers = [center(item) for item in items]
    first = [f'<circle cx="{x:g}" cy="{y:g}" r="2.5" fill="#d11"/>' for x, y in centers[:1]]
    return first + [_arrow(start, end) for start, end in pairwise(centers)]


def _arrow(start: Point, end: Point) -> str:
    (x1, y1), (x2, y2) = start, end
    (bow_x, bow_y), head = arrow(start, end)
    curve = f'<path d="M{x1:g} {y1:g}Q{bow_x:g} {bow_y:g} {x2:g} {y2:g}" fill="none" stroke="#d11" stroke-width="1.4"/>'
    # The head is a polygon: an SVG marker needs an id, which would not be unique on a page with several pictures.
    return curve + f'<polygon points="{" ".join(f"{x:g},{y:g}" for x, y in head)}" fill="#d11"/>'
