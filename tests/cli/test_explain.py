"""`veriscene explain`: readable text, one JSON object, a drawing."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from shell import veriscene

from veriscene.world.examples import read_scene_file
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import to_png
from veriscene.worlds.nlvr.raster import pixels

EXPLAIN = ("explain", "best", "--statement", "There is a blue triangle.", "--scene", "scene.json")


@pytest.mark.parametrize("model", ["best", "biatt-pointer"])
def test_the_verdict_the_items_read_and_what_would_change_it_in_words(model: str, place: Path, tmp_path: Path) -> None:
    done = veriscene(EXPLAIN[0], model, *EXPLAIN[2:], "--svg", str(tmp_path / "out.svg"), cwd=place)
    assert done.returncode == 0, done.stderr
    first, *boxes, last = done.stdout.splitlines()
    if model == "best":
        assert boxes.pop(0).startswith("  read as: ")
    assert first.startswith(("true (probability ", "false (probability "))
    assert [line[:7] for line in boxes if "attention: " not in line] == ["  box 1", "  box 2", "  box 3"]
    chosen = sum("items in the order chosen: " in line for line in boxes)
    assert chosen == (3 if model == "biatt-pointer" else 0)
    assert any("attention: " in line for line in boxes)
    assert " if you " in last and last.split()[0] != first.split()[0]
    assert len(ElementTree.parse(tmp_path / "out.svg").getroot()) == 2


def test_json_is_the_object_of_the_service_for_a_scene_and_for_its_picture(place: Path, tmp_path: Path) -> None:
    scene = read_scene_file(place / "scene.json", WORLD)
    (tmp_path / "scene.png").write_bytes(to_png(pixels(scene)))
    for source in (("--scene", "scene.json"), ("--image", str(tmp_path / "scene.png"))):
        done = veriscene(*EXPLAIN[:4], *source, "--json", cwd=place)
        record = json.loads(done.stdout)
        assert record.keys() == {"scene", "verdict", "counterfactual", "searched"} and "attention" in record["verdict"]
        assert record["counterfactual"]["verdict"]["verdict"] != record["verdict"]["verdict"]
        assert WORLD.parse(record["counterfactual"]["scene"]) != scene


def test_a_search_that_gives_up_says_so(place: Path) -> None:
    done = veriscene(*EXPLAIN, "--judgements", "1", cwd=place)
    assert done.stdout.splitlines()[-1] == "nothing that would change the verdict was found (judgements: 1)"
