"""The figures of a paper, from judged examples: learned order, attention, contrasts with a baseline, errors.

Needs matplotlib (`veriscene[plot]`). Sizes are those of a two-column paper, in inches, with y downwards. Colours differ
in lightness, for colour-blind readers and black-and-white print, and no fact is given by colour alone. Text is embedded
in PDF as TrueType, and drawn as outlines in SVG, so that it looks the same where the font is missing.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import matplotlib as mpl
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.patches import Circle, Ellipse, Patch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path as Curve
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.metrics.judged import Judged, contrasts, first_per_statement, mistakes, typical
from veriscene.world.drawing import BOX_FILL, SHAPES, Point, arrange, arrow, center, corners, look
from veriscene.world.scene import Item, Scene
from veriscene.world.schema import World

FORMATS = ("pdf", "svg")
POINT = 1 / 72
SIZE, SMALL = 8, 7  # of text, in points
LEADING = 1.3
MARGIN = 0.08  # around the figure; arrows reach beyond a box
ARROW = "#d55e00"  # vermilion of Okabe and Ito's palette, on a white outline
FONT = "DejaVu Sans"  # comes with matplotlib
_STYLE: dict[Any, Any] = {"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "veriscene"}
COLUMN, TEXT_WIDTH = 3.3, 7.0
GAP = 0.15  # between examples
QUIET, RULE = "#555555", "#b5b5b5"
HEAT = colormaps["Blues"]
ROW = SMALL * LEADING * POINT  # the height of a heat map's row
LEGEND = ROW + 0.08  # the height of the legend, with the space above it
LONGEST_WORD = 20  # characters beside a heat map
NARROWEST_CELL, WIDEST_CELL, BOX_GAP, MAP_GAP = 0.01, 0.24, 0.08, 0.3
ALPHA, BETA = "words to items (each row sums to 1)", "items to words (each column sums to 1)"


TITLES = {
    "order": "Order of items chosen by {}",
    "attention": "Attention of {}",
    "contrast": "{} compared with {}",
    "errors": "Errors of {}",
}
KINDS = tuple(TITLES)


@dataclass(frozen=True)
class Page:
    """States the space for a figure, in inches; examples that do not fit go to further pages."""

    width: float | None = None  # None: a column; for attention, the text
    height: float = float("inf")
    font: str = FONT

    def check(self) -> None:
        """Raises InputError if the font is not on this machine."""
        try:
            findfont(self.font, fallback_to_default=False)
        except ValueError:
            allowed = "name a font of this machine, as DejaVu Serif, which comes with matplotlib"
            raise InputError(f"there is no font {self.font!r:.60}", allowed=allowed) from None

    @property
    def style(self) -> dict[Any, Any]:
        """Returns matplotlib's settings; characters that the font lacks are taken from the usual one."""
        return _STYLE | {"font.family": list(dict.fromkeys((self.font, FONT)))}


def candidates(kind: str, judged: Sequence[Sequence[Judged]]) -> list[tuple[Judged, ...]]:
    """Returns the examples that a figure may show, the clearest first, each with the verdict of every model.

    `judged` are the verdicts of the model and, for a contrast, of its baseline on the same examples.
    """
    if kind == "contrast":
        return list(contrasts(*judged))
    return [(each,) for each in (mistakes(judged[0]) if kind == "errors" else judged[0])]


def choose(kind: str, judged: Sequence[Sequence[Judged]], count: int) -> list[tuple[Judged, ...]]:
    """Returns up to `count` candidates of different statements: right ones for order and attention."""
    if kind in ("order", "attention"):
        return [(each,) for each in typical(judged[0], count)]
    return first_per_statement(candidates(kind, judged), lambda verdicts: verdicts[0].example.statement)[:count]


def draw(
    kind: str, shown: Sequence[tuple[Judged, ...]], models: Sequence[str], page: Page | None = None
) -> list[dict[str, bytes]]:
    """Draws a figure, each of its pages as PDF and SVG; `models` are the names of those whose verdicts are shown.

    order (Figure 4 of the paper): arrows from each item to the one that the model read next, a dot on the first.
    attention: heat maps of words x items, per box and direction; items are numbered in the order that the model chose,
    or as listed. contrast (Figure 1) and errors (Figure 3): examples with the verdicts.
    """
    page = page or Page()
    width = page.width or (TEXT_WIDTH if kind == "attention" else COLUMN)
    room = page.height - MARGIN - (LEGEND if kind == "attention" else 0)
    sheets, told = [Sheet(width)], list[list[str]]([[]])

    def add(verdicts: tuple[Judged, ...]) -> None:
        sheet, said = sheets[-1], _said(verdicts, models)
        sheet.y += GAP if told[-1] else 0
        if kind == "attention":
            _attention(sheet, verdicts[0], said)
        else:
            _example(sheet, verdicts[0], said, order=verdicts[0].order if kind == "order" else None)

    with mpl.rc_context(page.style):
        for verdicts in shown:
            parts, y = sheets[-1].parts, sheets[-1].y
            add(verdicts)
            if sheets[-1].y > room and told[-1]:
                sheets[-1].keep(parts, y)
                sheets.append(Sheet(width))
                told.append([])
                add(verdicts)
            example = verdicts[0].example
            told[-1].append(f"{example.identifier}: {example.statement.strip()}")
        for sheet in sheets if kind == "attention" else ():
            _legend(sheet)
        title = TITLES[kind].format(*models)
        return [sheet.save(title=title, description="\n".join(said)) for sheet, said in zip(sheets, told, strict=True)]


# ---------------------------------------------------------------- parts


def _said(verdicts: Sequence[Judged], models: Sequence[str]) -> str:
    label = verdicts[0].example.label
    told = [] if label is None else [f"label: {str(label).lower()}"]
    for name, each in zip(models, verdicts, strict=True):
        told.append(f"{name}: {str(each.verdict).lower()} (p = {each.probability:.2f})")
    return "; ".join(told)


def _example(sheet: Sheet, judged: Judged, said: str, *, order: Sequence[Sequence[int]] | None = None) -> None:
    width = sheet.width - 2 * MARGIN
    sheet.paragraph(judged.example.statement, x=MARGIN, width=width)
    sheet.y += 0.03
    sheet.scene(worlds.of_example(judged.example), judged.example.scene, order, x=MARGIN, width=width)
    sheet.y += 0.02
    sheet.paragraph(said, x=MARGIN, width=width, size=SMALL, color=QUIET)


def _attention(sheet: Sheet, judged: Judged, said: str) -> None:
    """The scene with numbered items beside the statement, then the maps."""
    top, width, scene = sheet.y, sheet.width / 2 - MARGIN, judged.example.scene
    world = worlds.of_example(judged.example)
    sheet.scene(world, scene, None, x=MARGIN, width=width)
    # Per box, item indices as they were read; as listed if the model does not choose an order.
    read = judged.order or [range(len(box.items)) for box in scene.boxes]
    place = arrange(world, len(scene.boxes))
    for number, (box, (left, upper)) in enumerate(zip(scene.boxes, place.corners, strict=True)):
        scale = width / place.width
        for turn, index in enumerate(read[number], 1):
            corner = MARGIN + left * scale, top + upper * scale
            _number(sheet, world, box.items[index], turn, corner=corner, scale=scale)
    bottom, beside = sheet.y, sheet.width / 2 + 0.15
    sheet.y = top
    room = sheet.width - MARGIN - beside
    sheet.paragraph(judged.example.statement, x=beside, width=room)
    sheet.paragraph(said, x=beside, width=room, size=SMALL, color=QUIET)
    sheet.y = max(bottom, sheet.y) + 0.08
    _maps(sheet, judged, read)


def _number(sheet: Sheet, world: World, item: Item, number: int, *, corner: Point, scale: float) -> None:
    """A number on an item of a box that is drawn from a corner on."""
    (right, down), seen = center(item), look(world, item)
    if len(SHAPES[seen.shape or "rectangle"]) == 3:  # a triangle has more room near its base
        down += item.height / 6
    size = 4.5 if item.height * scale < 0.1 else SMALL
    sheet.text(
        corner[0] + right * scale, corner[1] + down * scale, str(number), size=size, color=seen.ink, align="center"
    )


def _maps(sheet: Sheet, judged: Judged, read: Sequence[Sequence[int]]) -> None:
    words = [word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…" for word in judged.words or ()]
    maps = []
    if judged.words_to_items is not None:
        maps.append((ALPHA, judged.words_to_items, False))
    if judged.items_to_words is not None:
        maps.append((BETA, judged.items_to_words, True))
    label = max(text_width(word, SMALL) for word in words) + 0.08
    columns = max(1, sum(map(len, read)))
    gaps = len(maps) * 2 * BOX_GAP + (len(maps) - 1) * MAP_GAP
    cell = min(WIDEST_CELL, (sheet.width - 2 * MARGIN - label - gaps) / (columns * len(maps)))
    if cell < NARROWEST_CELL:
        raise InputError(f"the maps do not fit into {sheet.width:g} inches", allowed="ask for a wider figure")
    top, x = sheet.y + ROW, MARGIN + label
    for row, word in enumerate(words):
        sheet.text(x - 0.04, top + (row + 0.5) * ROW, word, size=SMALL, align="right")
    for title, weights, is_transposed in maps:
        left = x
        sheet.text(left, sheet.y + ROW / 2, title, size=SMALL, color=QUIET)
        for number, box in enumerate(judged.example.scene.boxes):
            for place, index in enumerate(read[number]):
                for row in range(len(words)):
                    weight = weights[number][index][row] if is_transposed else weights[number][row][index]
                    at = x + place * cell, top + row * ROW
                    sheet.patch(Rectangle(at, cell, ROW, fc=HEAT(weight), ec=RULE, lw=0.3))
                at = x + place * cell, top + len(words) * ROW
                _icon(sheet, worlds.of_example(judged.example), box.items[index], place + 1, at=at, width=cell)
            x += len(read[number]) * cell + BOX_GAP
        # Where boxes have few items, the title is wider than the map.
        x = max(x - BOX_GAP, left + text_width(title, SMALL)) + MAP_GAP
    sheet.y = top + len(words) * ROW + cell + ROW


def _icon(sheet: Sheet, world: World, item: Item, number: int, *, at: Point, width: float) -> None:
    """The item below its column, and its number."""
    sizes = [choice.extent for choice in world.sizes.choices if choice.extent] if world.sizes else []
    largest = max([item.width, item.height, *(side for extent in sizes for side in extent)])
    scale = width / (1.2 * largest)
    (x, y), right, down = at, 0.6 * largest - item.width / 2, 0.6 * largest - item.height / 2
    sheet.patch(shape(world, replace(item, x=0, y=0)), x=x + right * scale, y=y + down * scale, scale=scale)
    sheet.text(x + width / 2, y + width + ROW / 2, str(number), size=SMALL, align="center", color=QUIET)


def _legend(sheet: Sheet) -> None:
    sheet.y += LEGEND - ROW
    x, steps, width = MARGIN, 20, 0.05
    sheet.text(x, sheet.y + ROW / 2, "weight 0", size=SMALL, color=QUIET)
    x += text_width("weight 0", SMALL) + 0.06
    for step in range(steps):
        sheet.patch(Rectangle((x + step * width, sheet.y), width, ROW, fc=HEAT(step / (steps - 1)), lw=0))
    sheet.patch(Rectangle((x, sheet.y), steps * width, ROW, fc="none", ec=RULE, lw=0.3))
    sheet.text(x + steps * width + 0.06, sheet.y + ROW / 2, "1", size=SMALL, color=QUIET)
    sheet.y += ROW


# ---------------------------------------------------------------- the sheet that figures are drawn on


class Sheet:
    """Draws on a sheet of fixed width from top to bottom: `y` is where the next thing goes."""

    def __init__(self, width: float) -> None:
        self.width, self.y = width, MARGIN
        self.figure = Figure(figsize=(width, 1))
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()

    @property
    def parts(self) -> list[Artist]:
        """Lists what was added so far."""
        return [*self.axes.patches, *self.axes.texts]

    def keep(self, parts: Sequence[Artist], y: float) -> None:
        """Removes what was added since there were only these parts, and goes back to where that began."""
        known, self.y = set(parts), y
        for part in self.parts:
            if part not in known:
                part.remove()

    def patch(self, patch: Patch, *, x: float = 0, y: float = 0, scale: float = 1) -> None:
        """Adds a shape that is given in units of `scale` from (x, y) on."""
        patch.set_transform(Affine2D().scale(scale).translate(x, y) + self.axes.transData)
        self.axes.add_artist(patch)

    def text(
        self, x: float, y: float, text: str, *, size: float = SIZE, color: str = "black", align: str = "left"
    ) -> None:
        """Adds one line of text; `y` is its middle."""
        style = FontProperties(size=size)
        # "$" is a character like any other.
        self.axes.text(x, y, text, fontproperties=style, color=color, ha=align, va="center_baseline", parse_math=False)

    def paragraph(self, text: str, *, x: float, width: float, size: float = SIZE, color: str = "black") -> None:
        """Adds text in lines no wider than `width`, and advances y."""
        step = size * LEADING * POINT
        for line in wrapped(text, width, size):
            self.text(x, self.y + step / 2, line, size=size, color=color)
            self.y += step

    def scene(
        self, world: World, scene: Scene, order: Sequence[Sequence[int]] | None, *, x: float, width: float
    ) -> None:
        """Adds a scene at the present y, with arrows along `order` as in the SVG drawing, and advances y."""
        place = arrange(world, len(scene.boxes))
        scale = width / place.width
        for number, (box, (right, down)) in enumerate(zip(scene.boxes, place.corners, strict=True)):
            left, upper = x + right * scale, self.y + down * scale
            sides = (side * scale for side in world.canvas)
            self.patch(Rectangle((left, upper), *sides, fc=world.background or BOX_FILL, lw=0))
            for item in box.items:
                self.patch(shape(world, item), x=left, y=upper, scale=scale)
                self._label(world, item, x=left, y=upper, scale=scale)
            if order is not None:
                self._arrows([center(box.items[index]) for index in order[number]], x=left, y=upper, scale=scale)
        self.y += place.height * scale

    def _label(self, world: World, item: Item, *, x: float, y: float, scale: float) -> None:
        seen, (right, down) = look(world, item), center(item)
        words = seen.label.split()
        size = (
            min(0.9 * item.height / max(1, len(words)), 1.6 * item.width / max([1, *map(len, words)])) * scale / POINT
        )
        for row, word in enumerate(words):
            at = down * scale + (row - (len(words) - 1) / 2) * size * POINT
            self.text(x + right * scale, y + at, word, size=size, color=seen.ink, align="center")

    def _arrows(self, centers: Sequence[Point], *, x: float, y: float, scale: float) -> None:
        for start, end in pairwise(centers):
            control, head = arrow(start, end)
            # The curve ends inside the head, else its square end would blunt the tip.
            neck = tuple((head[1][axis] + head[2][axis]) / 2 for axis in (0, 1))
            curve = Curve([start, control, neck], [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3])
            for color, line, outline in (("white", 2.2, 1.2), (ARROW, 1.0, 0.0)):
                self.patch(PathPatch(curve, fc="none", ec=color, lw=line), x=x, y=y, scale=scale)
                self.patch(Polygon(head, fc=color, ec=color, lw=outline), x=x, y=y, scale=scale)
        for first in centers[:1]:
            self.patch(Circle(first, 3.2, fc=ARROW, ec="white", lw=0.6), x=x, y=y, scale=scale)

    def save(self, *, title: str, description: str) -> dict[str, bytes]:
        """Returns the files by format: the same bytes for the same drawing."""
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
            self.figure.savefig(stream, format=kind, metadata=metadata[kind])
            files[kind] = stream.getvalue()
        return files


def shape(world: World, item: Item) -> Patch:
    """Returns an item in the pixels of its box."""
    seen = look(world, item)
    style: dict[str, Any] = {"fc": seen.fill, "lw": 0.6 if seen.outline else 0}
    if seen.outline:
        style["ec"] = seen.outline
    points = SHAPES[seen.shape or "rectangle"]
    if not points:
        return Ellipse(center(item), item.width, item.height, angle=360 * seen.turn, **style)
    return Polygon(corners(item, points, turn=seen.turn), **style)


def text_width(text: str, size: float) -> float:
    """Returns the inches that a line takes."""
    return float(TextPath((0, 0), text, size=size, prop=FontProperties()).get_extents().width) * POINT


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Breaks a text into lines no wider than `width`, except for a word that is wider by itself."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
