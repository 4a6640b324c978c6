"""The figures of a paper, from judged examples: learned order, attention, contrasts with a baseline, errors.

Needs matplotlib (`veriscene[plot]`). Sizes are those of a two-column paper, in inches. Colours differ in lightness, for
colour-blind readers and black-and-white print, and no fact is given by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from matplotlib import colormaps
from matplotlib.patches import Rectangle

from veriscene.metrics.judged import Judged
from veriscene.report.sheet import LEADING, MARGIN, POINT, SMALL, Sheet, shape, text_width
from veriscene.world.drawing import center
from veriscene.world.scene import Color, Item, Shape, Size
from veriscene.worlds.nlvr.raster import BOX_PITCH, WIDTH

COLUMN, TEXT_WIDTH = 3.3, 7.0
GAP = 0.15  # between examples
QUIET, RULE = "#555555", "#b5b5b5"
HEAT = colormaps["Blues"]
ROW = SMALL * LEADING * POINT  # the height of a heat map's row
LONGEST_WORD = 20  # characters beside a heat map
WIDEST_CELL, BOX_GAP, MAP_GAP = 0.24, 0.08, 0.3
ALPHA, BETA = "words to items (each row sums to 1)", "items to words (each column sums to 1)"


def order(judged: Sequence[Judged], *, model: str) -> dict[str, bytes]:
    """Figure 4 of the paper: arrows from each item to the one that the model read next, a dot on the first."""
    sheet = Sheet(COLUMN)
    for each in _in_turn(sheet, judged):
        _example(sheet, each, _said(each, model), order=each.order)
    return sheet.save(title=f"Order of items chosen by {model}", description=_description(judged))


def contrast(pairs: Sequence[tuple[Judged, Judged]], *, model: str, baseline: str) -> dict[str, bytes]:
    """Figure 1 of the paper: examples with the verdicts of a model and of its baseline."""
    sheet, ours = Sheet(COLUMN), [own for own, _ in pairs]
    for own, (_, other) in zip(_in_turn(sheet, ours), pairs, strict=True):
        _example(sheet, own, f"{_said(own, model)}; {baseline}: {_verdict(other)}")
    return sheet.save(title=f"{model} compared with {baseline}", description=_description(ours))


def errors(judged: Sequence[Judged], *, model: str) -> dict[str, bytes]:
    """Figure 3 of the paper: examples that the model gets wrong."""
    sheet = Sheet(COLUMN)
    for each in _in_turn(sheet, judged):
        _example(sheet, each, _said(each, model))
    return sheet.save(title=f"Errors of {model}", description=_description(judged))


def attention(judged: Sequence[Judged], *, model: str) -> dict[str, bytes]:
    """Heat maps of words x items, per box and direction; items are numbered in the order that the model chose, or as
    listed."""
    sheet = Sheet(TEXT_WIDTH)
    for each in _in_turn(sheet, judged):
        _attention(sheet, each, model)
    _legend(sheet)
    return sheet.save(title=f"Attention of {model}", description=_description(judged))


# ---------------------------------------------------------------- parts


def _in_turn(sheet: Sheet, judged: Sequence[Judged]) -> Iterator[Judged]:
    for number, each in enumerate(judged):
        sheet.y += GAP if number else 0
        yield each


def _example(sheet: Sheet, judged: Judged, said: str, *, order: Sequence[Sequence[int]] | None = None) -> None:
    width = sheet.width - 2 * MARGIN
    sheet.paragraph(judged.example.statement, x=MARGIN, width=width)
    sheet.y += 0.03
    sheet.scene(judged.example.scene, order, x=MARGIN, width=width)
    sheet.y += 0.02
    sheet.paragraph(said, x=MARGIN, width=width, size=SMALL, color=QUIET)


def _attention(sheet: Sheet, judged: Judged, model: str) -> None:
    """The scene with numbered items beside the statement, then the maps."""
    top, width, scene = sheet.y, sheet.width / 2 - MARGIN, judged.example.scene
    sheet.scene(scene, None, x=MARGIN, width=width)
    read = _columns(judged)
    for number, box in enumerate(scene.boxes):
        for place, index in enumerate(read[number], 1):
            _number(sheet, box.items[index], place, x=MARGIN, y=top, box=number, scale=width / WIDTH)
    bottom, left = sheet.y, sheet.width / 2 + 0.15
    sheet.y = top
    sheet.paragraph(judged.example.statement, x=left, width=sheet.width - MARGIN - left)
    sheet.paragraph(_said(judged, model), x=left, width=sheet.width - MARGIN - left, size=SMALL, color=QUIET)
    sheet.y = max(bottom, sheet.y) + 0.08
    _maps(sheet, judged, read)


def _columns(judged: Judged) -> list[Sequence[int]]:
    """Per box, item indices as they were read; as listed if the model does not choose an order."""
    listed = [range(len(box.items)) for box in judged.example.scene.boxes]
    return list(listed if judged.order is None else judged.order)


def _number(sheet: Sheet, item: Item, number: int, *, x: float, y: float, box: int, scale: float) -> None:
    """A number on an item of a scene drawn at (x, y)."""
    right, down = center(item)
    if item.shape is Shape.TRIANGLE:  # there is more room near its base
        down += item.size.value / 6
    size, color = 4.5 if item.size is Size.SMALL else SMALL, "white" if item.color is Color.BLACK else "black"
    at = x + (box * BOX_PITCH + right) * scale, y + down * scale
    sheet.text(*at, str(number), size=size, color=color, align="center")


def _maps(sheet: Sheet, judged: Judged, read: Sequence[Sequence[int]]) -> None:
    words = [word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…" for word in judged.words or ()]
    maps = []
    if judged.words_to_items is not None:
        maps.append((ALPHA, judged.words_to_items, False))
    if judged.items_to_words is not None:
        maps.append((BETA, judged.items_to_words, True))
    label = max(text_width(word, SMALL) for word in words) + 0.08
    columns = sum(map(len, read))
    gaps = len(maps) * 2 * BOX_GAP + (len(maps) - 1) * MAP_GAP
    cell = min(WIDEST_CELL, (sheet.width - 2 * MARGIN - label - gaps) / (columns * len(maps)))
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
                _icon(sheet, box.items[index], place + 1, x=x + place * cell, y=top + len(words) * ROW, width=cell)
            x += len(read[number]) * cell + BOX_GAP
        # Where boxes have few items, the title is wider than the map.
        x = max(x - BOX_GAP, left + text_width(title, SMALL)) + MAP_GAP
    sheet.y = top + len(words) * ROW + cell + ROW


def _icon(sheet: Sheet, item: Item, number: int, *, x: float, y: float, width: float) -> None:
    """The item below its column, and its number."""
    scale = width / 36  # a large item is 30 wide
    middle = 18 - item.size.value / 2
    sheet.patch(shape(replace(item, x=0, y=0)), x=x + middle * scale, y=y + middle * scale, scale=scale)
    sheet.text(x + width / 2, y + width + ROW / 2, str(number), size=SMALL, align="center", color=QUIET)


def _legend(sheet: Sheet) -> None:
    sheet.y += 0.08
    x, steps, width = MARGIN, 20, 0.05
    sheet.text(x, sheet.y + ROW / 2, "weight 0", size=SMALL, color=QUIET)
    x += text_width("weight 0", SMALL) + 0.06
    for step in range(steps):
        sheet.patch(Rectangle((x + step * width, sheet.y), width, ROW, fc=HEAT(step / (steps - 1)), lw=0))
    sheet.patch(Rectangle((x, sheet.y), steps * width, ROW, fc="none", ec=RULE, lw=0.3))
    sheet.text(x + steps * width + 0.06, sheet.y + ROW / 2, "1", size=SMALL, color=QUIET)
    sheet.y += ROW


def _said(judged: Judged, model: str) -> str:
    label = judged.example.label
    return f"{'' if label is None else f'label: {str(label).lower()}; '}{model}: {_verdict(judged)}"


def _verdict(judged: Judged) -> str:
    return f"{str(judged.verdict).lower()} (p = {judged.probability:.2f})"


def _description(judged: Sequence[Judged]) -> str:
    return "\n".join(f"{each.example.identifier}: {each.example.statement.strip()}" for each in judged)
