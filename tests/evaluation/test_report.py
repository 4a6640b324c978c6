from __future__ import annotations

import random
import re
from math import hypot
from xml.etree import ElementTree

from pytest import approx

from samples import random_scene, yellow_circle_examples
from veriscene.evaluation import metrics, report
from veriscene.scenes.nlvr import Example
from veriscene.scenes.render import HEAD, svg

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
    along = [points[-2] - points[2], points[-1] - points[3]]  # where a curve goes at its end
    assert tip == points[-2:]
    back = [tip[axis] - (left[axis] + right[axis]) / 2 for axis in (0, 1)]
    assert hypot(*back) == approx(HEAD, abs=0.01) and back[0] * along[1] == approx(back[1] * along[0], abs=0.1)
    assert back[0] * along[0] + back[1] * along[1] > 0
    across = [left[axis] - right[axis] for axis in (0, 1)]
    assert hypot(*across) == approx(HEAD, abs=0.01) and across[0] * back[0] + across[1] * back[1] == approx(0, abs=0.1)
    assert not any(e.get("id") for e in root.iter())  # several pictures share a page
    shapes = [e for e in root.iter() if e.get("fill") in ("#ffff00", "#000000", "#0099ff")]
    assert len(shapes) == len(scene.items)


def test_the_page_is_self_contained_and_escapes_what_users_wrote() -> None:
    examples = yellow_circle_examples(40)
    nasty = Example("99-0", "<script>alert('x')</script> & more", examples[0].scene, True)
    examples = [nasty, *examples]
    probabilities = {example.identifier: 0.9 for example in examples}
    verdicts = dict.fromkeys(probabilities, True)
    html = report.page(
        title="t",
        subtitle="s",
        log=[{"step": step, "loss": 0.7 / step, "dev_accuracy": 0.5 + step / 20} for step in range(1, 9)],
        scores=metrics.score(examples, verdicts),
        slices=metrics.breakdown(examples, verdicts),
        shown=[report.Shown(nasty, 0.9, [0.1, 0.2, 0.3], None)],
    )
    assert "<script" not in html and "&lt;script&gt;" in html
    outside = [u for u in re.findall(r'(?:src|href)="([^"]*)"', html) if not u.startswith("#")]
    assert outside == [] and "@import" not in html


def test_eight_examples_of_different_statements_some_of_them_wrong() -> None:
    examples = [
        Example(f"{n}-0", f"statement {n}", example.scene, example.label)
        for n, example in enumerate(yellow_circle_examples(60))
    ]
    probabilities = {e.identifier: 0.9 if (n % 5 > 0) == e.label else 0.1 for n, e in enumerate(examples)}
    chosen = report.choose_examples(examples, probabilities)
    wrong = [e for e in chosen if (probabilities[e.identifier] > 0.5) != e.label]
    assert len(chosen) == 8 and len({e.statement for e in chosen}) == 8 and len(wrong) == 2
