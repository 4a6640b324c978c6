"""Pictures of scenes: well-formed SVG in which every item of any world is drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from some_worlds import NLVR, SHELF, WORLDS, scenes_of
from veriscene import worlds
from veriscene.world.drawing import Look, arrange, contact_sheet, corners, look, svg
from veriscene.world.scene import Box, Scene
from veriscene.world.schema import World

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_every_item_is_drawn_in_its_box_and_arrows_are_added(world: World) -> None:
    for scene in scenes_of(world, 20):
        order = [list(range(len(box.items))) for box in scene.boxes]
        plain, arrows = (ElementTree.fromstring(svg(world, scene, each)) for each in (None, order))
        for own, with_arrows, box in zip(plain.findall(f"{SVG}g"), arrows.findall(f"{SVG}g"), scene.boxes, strict=True):
            drawn = [element for element in own if element.tag != f"{SVG}text"]
            assert len(drawn) == 1 + len(box.items)  # the box itself comes first
            assert len(with_arrows) - len(own) == (2 * len(box.items) - 1 if box.items else 0)


def test_an_item_without_a_shape_is_a_labelled_tile() -> None:
    item = SHELF.make(0, 0, kind="jar", color="red", price=7, offer="no")
    seen = look(SHELF, item)
    assert seen.shape is None and seen.label == "jar 7€" and seen.fill == "#d62728"


def test_numbers_that_shade_or_turn_an_item_are_not_written_on_it() -> None:
    world = worlds.get("shapeworld")
    given = {"shape": "square", "color": "red", "rotation": 0.25}
    lighter, darker = (world.make(10, 20, width=20, height=10, **given, shade=shade) for shade in (0.5, -0.5))
    assert look(world, lighter) == Look("square", "#ff8080", None, "", 0.25)
    assert look(world, darker).fill == "#800000"
    drawn = ElementTree.fromstring(svg(world, Scene((Box((lighter,)),))))
    box, item = drawn.findall(f"{SVG}g/{SVG}rect")
    assert item.get("transform") == "rotate(90 20 25)" and box.get("fill") == world.background == "#000000"
    square = ((0, 0), (1, 0), (1, 1), (0, 1))
    turned = [(round(x, 6), round(y, 6)) for x, y in corners(lighter, square, turn=0.25)]
    assert turned == [(25, 15), (25, 35), (15, 35), (15, 15)]


def test_wide_boxes_are_drawn_one_below_the_other() -> None:
    assert arrange(NLVR, 3).width == 400 and arrange(NLVR, 3).height == 100
    shelves = arrange(SHELF, 3)
    assert shelves.width == 120 and shelves.height > 3 * 40


def test_text_from_a_world_file_cannot_break_the_picture() -> None:
    scene = Scene(scenes_of(SHELF, 1)[0].boxes)
    root = ElementTree.fromstring(svg(SHELF, scene, title='<script>"&'))
    assert root.get("aria-label") == '<script>"&'


def test_a_contact_sheet_holds_all_scenes() -> None:
    root = ElementTree.fromstring(contact_sheet(SHELF, scenes_of(SHELF, 5)))
    assert len(root.findall(f"{SVG}g/{SVG}svg")) == 5
