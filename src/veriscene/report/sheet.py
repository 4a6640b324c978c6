"""A sheet of paper for figures: lines of text, scenes and items, as PDF and SVG. Needs matplotlib (`veriscene[plot]`).

Lengths are in inches, y downwards. Text is embedded in PDF as TrueType, and drawn as outlines in SVG, so that it looks
the same where the font is missing.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, Patch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path as Curve
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from veriscene.world.drawing import FILL, Point, arrow, center
from veriscene.world.scene import BOX_EXTENT, Item, Scene, Shape
from veriscene.worlds.nlvr.raster import BACKGROUND, BOX_PITCH, WIDTH

FORMATS = ("pdf", "svg")
POINT = 1 / 72
SIZE, SMALL = 8, 7  # of text, in points
LEADING = 1.3
MARGIN = 0.08  # around the figure; arrows reach beyond a box
ARROW = "#d55e00"  # vermilion of Okabe and Ito's palette, on a white outline
FONT = "DejaVu Sans"  # comes with matplotlib
_STYLE: dict[Any, Any] = {"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "veriscene", "font.family": FONT}


class Sheet:
    """Of fixed width, filled from top to bottom: `y` is where the next thing goes."""

    def __init__(self, width: float) -> None:
        self.width, self.y = width, MARGIN
        self.figure = Figure(figsize=(width, 1))
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()

    def patch(self, patch: Patch, *, x: float = 0, y: float = 0, scale: float = 1) -> None:
        """Adds a shape that is given in units of `scale` from (x, y) on."""
        patch.set_transform(Affine2D().scale(scale).translate(x, y) + self.axes.transData)
        self.axes.add_artist(patch)

    def text(
        self, x: float, y: float, text: str, *, size: float = SIZE, color: str = "black", align: str = "left"
    ) -> None:
        """One line; `y` is its middle."""
        style = FontProperties(family=FONT, size=size)
        # "$" is a character like any other.
        self.axes.text(x, y, text, fontproperties=style, color=color, ha=align, va="center_baseline", parse_math=False)

    def paragraph(self, text: str, *, x: float, width: float, size: float = SIZE, color: str = "black") -> None:
        """Lines no wider than `width`; advances y."""
        step = size * LEADING * POINT
        for line in wrapped(text, width, size):
            self.text(x, self.y + step / 2, line, size=size, color=color)
            self.y += step

    def scene(self, scene: Scene, order: Sequence[Sequence[int]] | None, *, x: float, width: float) -> None:
        """A scene at the present y, with arrows along `order` as in render.svg; advances y."""
        scale = width / WIDTH
        for number, box in enumerate(scene.boxes):
            left = x + number * BOX_PITCH * scale
            grey = str(BACKGROUND / 255)
            self.patch(Rectangle((left, self.y), BOX_EXTENT * scale, BOX_EXTENT * scale, fc=grey, lw=0))
            for item in box.items:
                self.patch(shape(item), x=left, y=self.y, scale=scale)
            if order is not None:
                self._arrows([center(box.items[index]) for index in order[number]], x=left, scale=scale)
        self.y += BOX_EXTENT * scale

    def _arrows(self, centers: Sequence[Point], *, x: float, scale: float) -> None:
        for start, end in pairwise(centers):
            control, head = arrow(start, end)
            # The curve ends inside the head, else its square end would blunt the tip.
            neck = tuple((head[1][axis] + head[2][axis]) / 2 for axis in (0, 1))
            curve = Curve([start, control, neck], [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3])
            for color, line, outline in (("white", 2.2, 1.2), (ARROW, 1.0, 0.0)):
                self.patch(PathPatch(curve, fc="none", ec=color, lw=line), x=x, y=self.y, scale=scale)
                self.patch(Polygon(head, fc=color, ec=color, lw=outline), x=x, y=self.y, scale=scale)
        for first in centers[:1]:
            self.patch(Circle(first, 3.2, fc=ARROW, ec="white", lw=0.6), x=x, y=self.y, scale=scale)

    def save(self, *, title: str, description: str) -> dict[str, bytes]:
        """The files by format: the same bytes for the same drawing."""
        height = self.y + MARGIN
        self.figure.set_size_inches(self.width, height)
        self.axes.set(xlim=(0, self.width), ylim=(height, 0))
        metadata = {
            "pdf": {"Title": title, "Subject": description, "CreationDate": None},
            "svg": {"Title": title, "Description": description, "Date": None},
        }
        files = {}
        for kind in FORMATS:
            stream = io.BytesIO()
            with mpl.rc_context(_STYLE):
                self.figure.savefig(stream, format=kind, metadata=metadata[kind])
            files[kind] = stream.getvalue()
        return files


def shape(item: Item) -> Patch:
    """An item in the pixels of its box."""
    size, fill = item.size.value, FILL[item.color]
    if item.shape is Shape.SQUARE:
        return Rectangle((item.x, item.y), size, size, fc=fill, lw=0)
    if item.shape is Shape.CIRCLE:
        return Circle(center(item), size / 2, fc=fill, lw=0)
    base = item.y + size
    return Polygon([(item.x + size / 2, item.y), (item.x, base), (item.x + size, base)], fc=fill, lw=0)


def text_width(text: str, size: float) -> float:
    """Inches that a line takes."""
    return float(TextPath((0, 0), text, size=size, prop=FontProperties(family=FONT)).get_extents().width) * POINT


def wrapped(text: str, width: float, size: float) -> list[str]:
    """The words of a text in lines no wider than `width`, except for a word that is wider by itself."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
