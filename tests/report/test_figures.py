"""Figures hold every item and every word, in print size, and are the same each time."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install -e '.[dev]'")

from matplotlib.patches import PathPatch, Polygon, Rectangle

from samples import random_scene, yellow_circle_examples
from veriscene.data.vocabulary import tokenize
from veriscene.errors import InputError
from veriscene.metrics.judged import Judged, contrasts, first_per_statement, mistakes, spread, typical
from veriscene.report import figures
from veriscene.report.figures import FORMATS, SIZE, Page, Sheet, draw, text_width, wrapped
from veriscene.world.drawing import look
from veriscene.world.examples import Example
from veriscene.worlds.nlvr.looks import WORLD

STATEMENT = "There is a $ yellow$ circle & a <blue> square, touching a wall."


def judged(seed: int = 5, statement: str = STATEMENT, **changes: object) -> Judged:
    """A verdict with order and attention maps that differ in every cell."""
    rng = random.Random(seed)
    scene = random_scene(rng)
    words, counts = tokenize(statement), [len(box.items) for box in scene.boxes]
    noise = np.random.default_rng(seed)
    facts = {
        "example": Example(f"{seed}-0", statement, scene, True),
        "probability": 0.75,
        "order": [rng.sample(range(count), count) for count in counts],
        "words": words,
        "words_to_items": [noise.dirichlet(np.ones(count), len(words)).tolist() for count in counts],
        "items_to_words": [noise.dirichlet(np.ones(len(words)), count).tolist() for count in counts],
    }
    return Judged(**{**facts, **changes})


@pytest.fixture
def sheets(monkeypatch: pytest.MonkeyPatch) -> list[Sheet]:
    """The sheets that figures are drawn on."""
    made: list[Sheet] = []
    original = Sheet.__init__
    monkeypatch.setattr(Sheet, "__init__", lambda sheet, width: (made.append(sheet), original(sheet, width))[1])
    return made


def shown_words(sheet: Sheet) -> list[str]:
    return [word for text in sheet.axes.texts for word in text.get_text().split()]


def items_drawn(sheet: Sheet) -> list[str]:
    fills = [patch.get_facecolor()[:3] for patch in sheet.axes.patches if patch.get_linewidth() == 0]
    known = [choice.fill for choice in WORLD.by_name["color"].choices if choice.fill]
    names = {tuple(round(int(fill[i : i + 2], 16) / 255, 4) for i in (1, 3, 5)): fill for fill in known}
    return [names[key] for fill in fills if (key := tuple(round(x, 4) for x in fill)) in names]


def test_every_item_word_and_step_of_the_order_is_drawn(sheets: list[Sheet]) -> None:
    each = judged()
    draw("order", [(each,)], ["m"])
    (sheet,) = sheets
    assert sorted(items_drawn(sheet)) == sorted(look(WORLD, item).fill for item in each.example.scene.items)
    assert shown_words(sheet)[: len(STATEMENT.split())] == STATEMENT.split()
    curves = [patch for patch in sheet.axes.patches if isinstance(patch, PathPatch)]
    steps = sum(len(box.items) - 1 for box in each.example.scene.boxes)
    assert len(curves) == 2 * steps  # each with its white outline
    starts = {tuple(curve.get_path().vertices[0]) for curve in curves}
    expected = set()
    for box, order in zip(each.example.scene.boxes, each.order, strict=True):
        middles = [(item.x + item.width / 2, item.y + item.height / 2) for item in box.items]
        expected |= {middles[first] for first, _ in pairwise(order)}
    assert starts == expected


def test_a_heat_map_has_a_cell_for_every_word_and_item_in_its_colour(sheets: list[Sheet]) -> None:
    each = judged()
    draw("attention", [(each,)], ["m"])
    (sheet,) = sheets
    assert [text.get_text() for text in sheet.axes.texts if text.get_ha() == "right"] == each.words
    cells = [p for p in sheet.axes.patches if isinstance(p, Rectangle) and p.get_linewidth() == 0.3][:-1]
    expected = [
        [each.words_to_items[box][word][item] for item in order for word in range(len(each.words))]
        for box, order in enumerate(each.order)
    ] + [
        [each.items_to_words[box][item][word] for item in order for word in range(len(each.words))]
        for box, order in enumerate(each.order)
    ]
    weights = [weight for part in expected for weight in part]
    assert np.allclose([cell.get_facecolor() for cell in cells], [figures.HEAT(weight) for weight in weights])
    assert all(cell.get_x() >= 0 and cell.get_x() + cell.get_width() <= figures.TEXT_WIDTH for cell in cells)
    # In the scene, and below the column of each of the two maps.
    assert sorted(items_drawn(sheet)) == sorted(3 * [look(WORLD, item).fill for item in each.example.scene.items])


def test_a_model_with_one_direction_of_attention_and_no_order_gets_one_map(sheets: list[Sheet]) -> None:
    each = judged(order=None, items_to_words=None)
    draw("attention", [(each,)], ["m"])
    assert len(items_drawn(sheets[0])) == 2 * len(each.example.scene.items)


def test_files_are_of_print_size_with_embedded_fonts_and_the_same_each_time() -> None:
    pairs = [(judged(seed), judged(seed, probability=0.1)) for seed in range(3)]
    (files,) = draw("contrast", pairs, ["m", "b"])
    assert [files] == draw("contrast", pairs, ["m", "b"]) and files.keys() == set(FORMATS)
    (width,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ", files["pdf"])
    assert float(width) == pytest.approx(72 * figures.COLUMN)
    assert b"/FontFile2" in files["pdf"] and b"/Type3" not in files["pdf"]  # TrueType
    root = ElementTree.fromstring(files["svg"])
    assert root.get("width") == f"{72 * figures.COLUMN:g}pt"
    assert not list(root.iter("{http://www.w3.org/2000/svg}text"))  # outlines need no font
    said = "".join(root.itertext())
    assert all(f"{seed}-0: {STATEMENT}" in said for seed in range(3))


@pytest.mark.parametrize("kind", ["order", "attention"])
def test_pages_are_no_higher_than_asked_and_have_every_example_once(kind: str, sheets: list[Sheet]) -> None:
    shown = [(judged(seed, f"Statement {seed} about a circle."),) for seed in range(9)]
    whole = draw(kind, shown, ["m"])
    pages = draw(kind, shown, ["m"], Page(width=6, height=7, font="DejaVu Serif"))
    assert len(whole) == 1 and len(pages) > 1 and len(sheets) == 1 + len(pages)
    for page in pages:
        (width, height) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+)", page["pdf"])[0]
        assert float(width) == 6 * 72 and float(height) <= 7 * 72
        assert b"DejaVuSerif" in page["pdf"] and b"DejaVuSans" not in page["pdf"]
    assert [len(items_drawn(sheet)) > 0 for sheet in sheets] == [True] * len(sheets)
    said = ["".join(ElementTree.fromstring(page["svg"]).itertext()) for page in pages]
    for (each,) in shown:
        assert sum(each.example.statement in text for text in said) == 1
    numbers = [word for sheet in sheets[1:] for word in shown_words(sheet) if word in map(str, range(9))]
    if kind == "order":  # where no other numbers are drawn
        assert numbers == [str(seed) for seed in range(9)]


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InputError, match=r"\b1 inches"):
        draw("attention", [(judged(),)], ["m"], Page(width=1.0))
    with pytest.raises(InputError, match="'No Such Font'"):
        Page(font="No Such Font").check()


def test_no_line_is_wider_than_the_column(sheets: list[Sheet]) -> None:
    long = "There are many words in this statement about a yellow triangle " * 4
    draw("errors", [(judged(statement=long, probability=0.2),)], ["a-model-with-a-long-name"])
    lines = [(text.get_text(), text.get_fontsize()) for text in sheets[0].axes.texts]
    assert len(lines) > 4 and all(text_width(text, size) <= figures.COLUMN for text, size in lines)
    assert wrapped("one", 0.01, SIZE) == ["one"] and wrapped(" ", 1, SIZE) == []


def test_towers_and_circles_keep_their_shapes(sheets: list[Sheet]) -> None:
    each = judged()
    draw("errors", [(each,)], ["m"])
    drawn = [patch for patch in sheets[0].axes.patches if patch.get_linewidth() == 0]
    boxes = [patch for patch in drawn if isinstance(patch, Rectangle) and patch.get_width() < 1]  # in inches
    items = [patch for patch in drawn if patch not in boxes]
    assert len(boxes) == 3
    corners = {"square": 4, "circle": 0, "triangle": 3}
    drawn_corners = [len(patch.get_xy()) - 1 if isinstance(patch, Polygon) else 0 for patch in items]
    assert drawn_corners == [corners[item["shape"]] for item in each.example.scene.items]


# ---------------------------------------------------------------- which examples


def verdicts(count: int = 60) -> list[Judged]:
    rng = random.Random(1)
    return [Judged(example, rng.random()) for example in yellow_circle_examples(count)]


def test_typical_examples_are_right_of_different_statements_and_of_both_kinds() -> None:
    pool = [
        Judged(Example(each.example.identifier, f"statement {n // 2}", each.example.scene, each.verdict), 0.9)
        for n, each in enumerate(verdicts())
    ]
    shown = typical(pool, 4)
    assert shown == typical(pool, 4)
    assert len({each.example.statement for each in shown}) == len(shown) == 4
    assert all(each.is_right for each in shown)
    assert all(len(box.items) > 1 for each in shown for box in each.example.scene.boxes)


def test_mistakes_are_the_wrong_ones_the_most_confident_first() -> None:
    pool = verdicts()
    found = mistakes(pool)
    assert {e.example.identifier for e in found} == {e.example.identifier for e in pool if not e.is_right}
    assert all(a.confidence >= b.confidence for a, b in pairwise(found))


def test_contrasts_are_right_here_and_wrong_there() -> None:
    pool = verdicts()
    other = [Judged(each.example, 1 - each.probability) for each in pool]
    found = contrasts(pool, other)
    assert found and all(own.is_right and not theirs.is_right for own, theirs in found)
    assert len(found) == sum(bool(each.is_right) for each in pool)
    assert len(first_per_statement(["A b", "a  B ", "c"], str)) == 2


@pytest.mark.parametrize("count", [1, 3, 10, 50])
def test_spread_takes_different_members_in_order(count: int) -> None:
    members = list(range(20))
    found = spread(members, count)
    assert len(found) == min(count, 20) and found == sorted(set(found)) and found[0] == 0


def test_a_very_long_word_leaves_room_for_the_maps(sheets: list[Sheet]) -> None:
    draw("attention", [(judged(statement="There is a " + "very" * 60 + "long word."),)], ["m"])
    cells = [p for p in sheets[0].axes.patches if isinstance(p, Rectangle) and p.get_linewidth() == 0.3]
    assert min(cell.get_width() for cell in cells) > 0.05
    assert max(cell.get_x() + cell.get_width() for cell in cells) <= figures.TEXT_WIDTH
