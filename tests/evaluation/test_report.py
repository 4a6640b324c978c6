"""The report page: complete, self-contained, and readable on a phone."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from html import escape
from math import hypot
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pytest import approx

from samples import random_scene, yellow_circle_examples
from veriscene.evaluation import metrics, report
from veriscene.scenes.nlvr import Example
from veriscene.scenes.render import HEAD, svg
from veriscene.training.progress import LogLine

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_shows_every_item_and_an_arrow_to_each_next_one() -> None:
    scene = random_scene(random.Random(5))
    order = [list(reversed(range(len(box.items)))) for box in scene.boxes]
    root = ElementTree.fromstring(svg(scene, order))
    arrows, heads = list(root.iter(f"{SVG}path")), [e for e in root.iter(f"{SVG}polygon") if e.get("fill") == "#d11"]
    assert len(arrows) == len(heads) == len(scene.items) - len(scene.boxes)
    start, end = scene.boxes[0].items[-1], scene.boxes[0].items[-2]
    points = [float(number) for number in re.findall(r"-?[\d.]+", arrows[0].get("d", ""))]
    assert points[:2] == [start.x + start.size.value / 2, start.y + start.size.value / 2]
    assert points[-2:] == [end.x + end.size.value / 2, end.y + end.size.value / 2]
    tip, left, right = ([float(x) for x in corner.split(",")] for corner in heads[0].get("points", "").split())
    along = [points[-2] - points[2], points[-1] - points[3]]  # the direction of a curve at its end
    assert tip == points[-2:]
    back = [tip[axis] - (left[axis] + right[axis]) / 2 for axis in (0, 1)]
    assert hypot(*back) == approx(HEAD, abs=0.01) and back[0] * along[1] == approx(back[1] * along[0], abs=0.1)
    assert back[0] * along[0] + back[1] * along[1] > 0
    across = [left[axis] - right[axis] for axis in (0, 1)]
    assert hypot(*across) == approx(HEAD, abs=0.01) and across[0] * back[0] + across[1] * back[1] == approx(0, abs=0.1)
    assert not any(e.get("id") for e in root.iter())  # several pictures share a page
    shapes = [e for e in root.iter() if e.get("fill") in ("#ffff00", "#000000", "#0099ff")]
    assert len(shapes) == len(scene.items)


NASTY = Example("99-0", "<script>alert('x')</script> & " + "more" * 50, yellow_circle_examples(1)[0].scene, True)


def page(steps: int = 8, shown: Sequence[report.Shown] = (report.Shown(NASTY, 0.9, [0.1, 0.2, 0.9], None),)) -> str:
    examples = [NASTY, *yellow_circle_examples(40)]
    verdicts = {example.identifier: True for example in examples}
    return report.page(
        title="veriscene: quick",
        subtitle="dev split",
        facts=[("command", "veriscene train quick --data <folder>"), ("commit", "6fd040a" * 20)],
        settings={"model.name": "quick", "model.hidden": 16, "training.seed": 7},
        log=[LogLine(step, step / 8, 0.9 / step, 0.5 + step / 20, 1e-3, 100.0, step) for step in range(1, steps + 1)],
        scores=metrics.score(examples, verdicts),
        majority=0.5625,
        slices=metrics.breakdown(examples, verdicts),
        shown=shown,
        box_caption="the verdict is the highest of them",
    )


def test_the_page_is_self_contained_and_escapes_what_users_wrote() -> None:
    html = page()
    root = ElementTree.fromstring(html)
    assert not list(root.iter("script")) and "&lt;script&gt;" in html
    assert not any(e.get("src") or e.get("href") for e in root.iter()) and "@import" not in html and "url(" not in html


def test_the_page_names_run_configuration_and_baseline() -> None:
    root = ElementTree.fromstring(page())
    rows = dict(["".join(cell.itertext()) for cell in row][:2] for row in root.iter("tr"))
    assert rows["command"] == "veriscene train quick --data <folder>" and rows["commit"] == "6fd040a" * 20
    settings = dict(["".join(cell.itertext()) for cell in row] for row in root.find(".//details").iter("tr"))
    assert settings == {"model.name": "quick", "model.hidden": "16", "training.seed": "7"}
    assert "56.2%" in "".join(root.itertext())


@pytest.mark.parametrize("steps", [1, 2, 8])
def test_each_series_of_the_learning_curve_ends_in_a_visible_point_inside_the_chart(steps: int) -> None:
    chart = ElementTree.fromstring(page(steps)).find(".//svg[@class='curve']")
    width, height = (float(number) for number in chart.get("viewBox").split()[2:])
    for kind in ("accuracy", "loss"):
        group = chart.find(f"g[@class='{kind}']")
        points = [
            [float(number) for number in pair.split(",")] for pair in group.find("polyline").get("points").split()
        ]
        marker = group.find("circle")
        assert len(points) == steps and float(marker.get("r")) > 2
        assert points[-1] == [float(marker.get("cx")), float(marker.get("cy"))]
        assert all(0 < x < width and 0 < y < height for x, y in points)


def test_an_empty_log_is_no_error() -> None:
    assert "log is empty" in page(steps=0)


def test_box_scores_and_order_are_explained_only_where_the_model_has_them() -> None:
    order = [list(range(len(box.items))) for box in NASTY.scene.boxes]
    assert "highest of them" in page() and "0.10, 0.20, 0.90" in page() and "arrows" not in page()
    without = page(shown=[report.Shown(NASTY, 0.9, None, order)])
    assert "arrows" in without and "box scores" not in without.lower() and "highest of them" not in without


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_400_pixel_screen_needs_no_horizontal_scrolling(tmp_path: Path) -> None:
    # In a frame, since a browser window has a minimum width.
    opened = escape(page().replace("<details>", "<details open='open'>"))
    frame = f'<iframe style="width:400px;border:0" srcdoc="{opened}"></iframe>'
    measure = "document.title = 'width ' + document.querySelector('iframe').contentDocument.documentElement.scrollWidth"
    (tmp_path / "frame.html").write_text(f"<body>{frame}<script>onload = () => {{ {measure} }}</script>")
    command = [str(BROWSER), "--headless", "--no-sandbox", f"--user-data-dir={tmp_path}", "--dump-dom"]
    shown = subprocess.run([*command, f"file://{tmp_path}/frame.html"], capture_output=True, text=True, timeout=60)
    width = re.search(r"<title>width (\d+)", shown.stdout)
    assert width is not None and int(width[1]) <= 400


def test_eight_examples_of_different_statements_some_of_them_wrong() -> None:
    examples = [
        Example(f"{n}-0", f"statement {n}", example.scene, example.label)
        for n, example in enumerate(yellow_circle_examples(60))
    ]
    probabilities = {e.identifier: 0.9 if (n % 5 > 0) == e.label else 0.1 for n, e in enumerate(examples)}
    chosen = report.choose_examples(examples, probabilities)
    wrong = [e for e in chosen if (probabilities[e.identifier] > 0.5) != e.label]
    assert len(chosen) == 8 and len({e.statement for e in chosen}) == 8 and len(wrong) == 2
