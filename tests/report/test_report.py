"""The report page: complete, self-contained, and readable on a phone."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import pairwise
from math import hypot
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pytest import approx

from narrow_screen import BROWSER, width_on_a_phone
from samples import random_scene, yellow_circle_examples
from veriscene.language.program import Statement
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import difference, mcnemar
from veriscene.metrics.judged import Judged, by_sentence, expected_calibration_error, mistakes, reliability
from veriscene.report.page import STYLE, ReportedRun, majority, page, ticks
from veriscene.training.log import LogLine
from veriscene.world.drawing import HEAD, svg
from veriscene.world.examples import Example
from veriscene.worlds import parse
from veriscene.worlds.nlvr.looks import WORLD

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_shows_every_item_and_an_arrow_to_each_next_one() -> None:
    scene = random_scene(random.Random(5))
    order = [list(reversed(range(len(box.items)))) for box in scene.boxes]
    root = ElementTree.fromstring(svg(WORLD, scene, order))
    arrows, heads = list(root.iter(f"{SVG}path")), [e for e in root.iter(f"{SVG}polygon") if e.get("fill") == "#d11"]
    assert len(arrows) == len(heads) == len(scene.items) - len(scene.boxes)
    start, end = scene.boxes[0].items[-1], scene.boxes[0].items[-2]
    points = [float(number) for number in re.findall(r"-?[\d.]+", arrows[0].get("d", ""))]
    assert points[:2] == [start.x + start.width / 2, start.y + start.height / 2]
    assert points[-2:] == [end.x + end.width / 2, end.y + end.height / 2]
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
EXAMPLES = [NASTY, *yellow_circle_examples(60)]


def run(name: str = "a <run>", *, seed: int = 1, steps: int = 8, order: bool = False) -> ReportedRun:
    """Verdicts with known statistics, but no order unless asked for."""
    rng = random.Random(seed)
    judged = [
        Judged(example, min(1.0, max(0.0, rng.gauss(0.7 if example.label else 0.4, 0.3)))) for example in EXAMPLES
    ]
    listed = [list(range(len(box.items))) for box in NASTY.scene.boxes]
    return ReportedRun(
        name=name,
        facts=[("command", "veriscene train quick --data <folder>"), ("commit", "6fd040a" * 20)],
        settings={"model.name": "quick", "model.hidden": 16, "training.seed": seed},
        log=[LogLine(step, step / 8, 0.9 / step, 0.5 + step / 20, 1e-3, 100.0, step) for step in range(1, steps + 1)],
        judged=judged,
        mistakes=mistakes(judged)[:4],
        typical=[Judged(NASTY, 0.9, None if order else [0.1, 0.2, 0.9], listed if order else None)],
        box_caption="the verdict is the highest of them",
    )


def text_of(html: str) -> str:
    return " ".join("".join(ElementTree.fromstring(html).itertext()).split())


def test_the_page_is_self_contained_and_escapes_what_users_wrote() -> None:
    html = page("two <runs>", "dev & more", [run(), run("b", seed=2)], {})
    root = ElementTree.fromstring(html)
    assert not list(root.iter("script")) and "&lt;script&gt;" in html
    assert not any(e.get("src") or not e.get("href", "#").startswith("#") for e in root.iter())
    assert "@import" not in html and "url(" not in html
    names = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(names) == len(set(names)) and {e.get("href")[1:] for e in root.iter("use")} <= set(names)


def test_the_numbers_are_those_of_the_metrics() -> None:
    one, other = run(), run("b", seed=2)
    text = text_of(page("t", "s", [one, other]))
    for each in (one, other):
        scores = metrics.score(EXAMPLES, each.verdicts)
        low, high = scores.interval
        assert (
            f"{scores.accuracy:.1%} accuracy on {len(EXAMPLES)} examples (95 % interval {low:.1%} to {high:.1%})"
            in text
        )
        assert f"Consistency: {scores.consistency:.1%} of {scores.presentations} presentations" in text
        assert f"calibration error: {expected_calibration_error(reliability(each.judged)):.1%}" in text
    found = difference(EXAMPLES, [one.verdicts], [other.verdicts])
    assert f"{100 * found.mean:+.1f} points" in text and f"{100 * found.interval[0]:+.1f} to" in text
    test = mcnemar(EXAMPLES, one.verdicts, other.verdicts)
    assert f"exact test: p = {test.p:.2g}" in text and "independent" in text
    assert f"more frequent label: {majority(EXAMPLES):.1%}" in text


def test_the_breakdown_is_that_of_the_metrics() -> None:
    one = run()
    root = ElementTree.fromstring(page("t", "s", [one]))
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    for each in metrics.breakdown(EXAMPLES, one.verdicts):
        low, high = (100 * bound for bound in each.scores.interval)
        cells = [each.name, f"{each.scores.examples:,}", f"{each.scores.accuracy:.1%}{low:.1f} – {high:.1f}"]
        assert cells in rows


def test_the_page_names_run_configuration_and_what_differs() -> None:
    root = ElementTree.fromstring(page("t", "s", [run()]))
    rows = dict(["".join(cell.itertext()) for cell in row] for row in root.iter("tr") if len(row) == 2)
    assert rows["command"] == "veriscene train quick --data <folder>" and rows["commit"] == "6fd040a" * 20
    (folded,) = (d for d in root.iter("details") if "Configuration" in "".join(d.itertext()))
    settings = dict(["".join(cell.itertext()) for cell in row] for row in folded.iter("tr"))
    assert settings == {"model.name": "quick", "model.hidden": "16", "training.seed": "1"}
    assert "training.seed1 / 2" in text_of(page("t", "s", [run(), run("b", seed=2)]))


@pytest.mark.parametrize("steps", [1, 2, 8])
def test_each_series_of_the_learning_curve_ends_in_a_visible_point_inside_the_chart(steps: int) -> None:
    chart = ElementTree.fromstring(page("t", "s", [run(steps=steps)])).find(".//svg[@class='chart curve']")
    width, height = (float(number) for number in chart.get("viewBox").split()[2:])
    for kind in ("first", "second"):
        group = chart.find(f"g[@class='{kind}']")
        points = [
            [float(number) for number in pair.split(",")] for pair in group.find("polyline").get("points").split()
        ]
        marker = group.find("circle")
        assert len(points) == steps and float(marker.get("r")) > 2
        assert points[-1] == [float(marker.get("cx")), float(marker.get("cy"))]
        assert all(0 < x < width and 0 < y < height for x, y in points)


def test_an_empty_log_is_no_error() -> None:
    assert "log is empty" in page("t", "s", [run(steps=0)])


def test_box_scores_and_order_are_explained_only_where_the_model_has_them() -> None:
    scored, ordered = page("t", "s", [run()]), page("t", "s", [run(order=True)])
    assert "highest of them" in scored and "0.10, 0.20, 0.90" in scored and "arrows" not in scored
    assert "arrows" in ordered and "box scores" not in ordered.lower() and "highest of them" not in ordered


def test_every_mistake_is_drawn_once_with_its_statement() -> None:
    runs = [run(), run("b", seed=2)]
    root = ElementTree.fromstring(page("t", "s", runs))
    (folded,) = (d for d in root.iter("details") if "Show them" in "".join(d.itertext()))
    shown = re.findall(r"(\d+-\d+), label", "".join(folded.itertext()))
    wrong = {each.example.identifier for each in (*runs[0].judged, *runs[1].judged) if not each.is_right}
    assert sorted(shown) == sorted(wrong) and len(list(folded.iter(f"{SVG}svg"))) == len(wrong)


def test_programs_attribute_each_mistake_to_the_model_or_to_label_or_program() -> None:
    one = run()
    wrong = mistakes(one.judged)
    meanings = {
        color: f"exist(filter_obj(all_items, lambda x: is_circle(x) and is_{color}(x)))"
        for color in ("yellow", "black", "blue")
    }
    known = [
        Statement(f"There  is a {color} circle. ", "scatter", parse(text)) for color, text in meanings.items()
    ]  # labels of the samples follow from these
    sentences = {" ".join(each.text.split()) for each in known}
    covered = [each for each in wrong if each.example.statement in sentences]
    root = ElementTree.fromstring(page("t", "s", [one], by_sentence(known)))
    rows = dict(["".join(cell.itertext()) for cell in row] for row in root.iter("tr") if len(row) == 2)
    assert rows["model"] == str(len(covered)) and rows["label or program"] == "0"
    assert rows["no program"] == str(len(wrong) - len(covered)) and rows["all mistakes"] == str(len(wrong))
    codes = {"".join(code.itertext()) for code in root.iter("code")}
    assert codes and codes <= {parse(text).text for text in meanings.values()}
    # A wrong label that the model contradicts: the program sides with the model.
    target = next(e for e in one.judged if e.is_right and e.example.statement in sentences)
    mislabelled = [
        replace(e, example=replace(e.example, label=not e.example.label)) if e is target else e for e in one.judged
    ]
    root = ElementTree.fromstring(page("t", "s", [replace(one, judged=mislabelled)], by_sentence(known)))
    rows = dict(["".join(cell.itertext()) for cell in row] for row in root.iter("tr") if len(row) == 2)
    assert rows["label or program"] == "1"


def test_the_report_shares_the_colours_of_the_served_page() -> None:
    served = Path(__file__).parents[2] / "src" / "veriscene" / "service" / "page" / "style.css"
    find = re.compile(r"--(\w+):\s*(#\w+)")
    own, page_colours = (
        find.findall(STYLE.read_text(encoding="utf-8")),
        find.findall(served.read_text(encoding="utf-8")),
    )
    assert len(own) > 10 and set(own) - set(page_colours) == {(n, c) for n, c in own if n == "second"}


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize("count", [1, 2])
def test_a_400_pixel_screen_needs_no_horizontal_scrolling(count: int, tmp_path: Path) -> None:
    html = page("t", "s", [run(), run("another-run-" * 8, seed=2)][:count], {})
    assert width_on_a_phone(html, tmp_path) <= 400


@pytest.mark.parametrize(
    ("low", "high"), [(0.5, 1), (0.443, 1), (0, 0.7), (0, 0.6931), (0, 3), (0, 184_000), (0, 1e-3)]
)
def test_ticks_are_round_evenly_spaced_and_few(low: float, high: float) -> None:
    found = ticks(low, high)
    steps = {round(b - a, 9) for a, b in pairwise(found)}
    assert 3 <= len(found) <= 7 and len(steps) == 1 and low <= found[0] and found[-1] <= high
    (step,) = steps
    assert f"{step:e}".startswith(("1.0", "2.0", "2.5", "5.0")) and found[0] - low < step > high - found[-1]


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_short_run_has_each_step_on_its_axis_at_most_once(steps: int) -> None:
    chart = ElementTree.fromstring(page("t", "s", [run(steps=steps)])).find(".//svg[@role='img']")
    assert chart is not None
    bottom = max(float(each.get("y", 0)) for each in chart.findall("text") if each.text == "0")
    labels = [each.text for each in chart.findall("text") if float(each.get("y", 0)) == bottom]
    assert len(labels) == len(set(labels)) > 1


def test_the_charts_of_one_run_have_labelled_ticks_inside_the_picture() -> None:
    document = ElementTree.fromstring(page("t", "s", [run(steps=5)]))
    charts = document.findall(".//svg[@role='img']")[:2]
    for chart in charts:
        width, height = map(float, chart.get("viewBox").split()[2:])
        labels = [(each.text, float(each.get("x")), float(each.get("y"))) for each in chart.findall("text")]
        assert sum("%" in text for text, _, _ in labels) >= 4
        for text, x, y in labels:
            assert 0 < y < height and 7 * len(text) < width and 0 < x < width, text
