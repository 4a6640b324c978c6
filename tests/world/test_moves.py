"""Enumerated edits: valid scenes only, towers stay towers, and texts that name one item."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samples import drawn_scene
from strategies import scenes
from veriscene.world import moves as scene_moves
from veriscene.world.edit import Edit, name
from veriscene.world.scene import Box, Color, Item, Scene, Shape, Size, parse_scene, scene_to_json
from veriscene.worlds.nlvr import kinds as drawing

drawn = st.builds(
    drawn_scene,
    st.integers(0, 2**32),
    st.sampled_from(drawing.SCENE_KINDS),
)
CIRCLE = Item(x=10, y=70, size=Size.MEDIUM, shape=Shape.CIRCLE, color=Color.YELLOW)
SQUARE = Item(x=50, y=40, size=Size.SMALL, shape=Shape.SQUARE, color=Color.BLACK)
OTHER_SQUARE = Item(x=80, y=40, size=Size.SMALL, shape=Shape.SQUARE, color=Color.BLACK)


@settings(max_examples=25)
@given(drawn | scenes)
def test_edits_lead_to_other_valid_scenes_of_the_same_kind(scene: Scene) -> None:
    are_towers = all(drawing.tower_colors(box) for box in scene.boxes)
    for edit, edited in scene_moves.edits(scene):
        assert parse_scene(scene_to_json(edited)) == edited
        assert set(edited.boxes[edit.box].items) != set(scene.boxes[edit.box].items)
        assert all(edited.boxes[box] == scene.boxes[box] for box in range(3) if box != edit.box)
        assert not are_towers or all(drawing.tower_colors(box) for box in edited.boxes)


@settings(max_examples=25)
@given(drawn | scenes)
def test_an_edit_is_what_it_says(scene: Scene) -> None:
    """`before` becomes `after`, which differs in what the kind names, and no other item of a scatter box changes."""
    are_towers = all(drawing.tower_colors(box) for box in scene.boxes)
    for edit, edited in scene_moves.edits(scene):
        before, after = set(scene.boxes[edit.box].items), set(edited.boxes[edit.box].items)
        gone, new = {edit.before} - {None}, {edit.after} - {None}
        assert gone <= before and new <= after
        assert are_towers or (before - gone == after - new)
        assert (edit.kind == "add") == (edit.before is None) and (edit.kind == "remove") == (edit.after is None)
        if edit.before is not None and edit.after is not None:
            same = {
                "color": edit.before.color is edit.after.color,
                "shape": edit.before.shape is edit.after.shape,
                "size": edit.before.size is edit.after.size,
                "place": (edit.before.x, edit.before.y) == (edit.after.x, edit.after.y),
            }
            changed = {what for what, is_same in same.items() if not is_same} - (
                {"place"} if edit.kind == "resize" else set()
            )
            assert changed == {{"recolor": "color", "reshape": "shape", "resize": "size", "move": "place"}[edit.kind]}


@settings(max_examples=25)
@given(drawn | scenes)
def test_the_same_scene_has_the_same_edits_and_no_edit_twice(scene: Scene) -> None:
    found = list(scene_moves.edits(scene))
    assert found == list(scene_moves.edits(scene))
    assert len({edit for edit, _ in found}) == len(found)


@settings(max_examples=200)
@given(drawn | scenes)
def test_no_two_items_of_a_box_have_the_same_name(scene: Scene) -> None:
    for box in scene.boxes:
        assert len({name(item, box.items) for item in box.items}) == len(box.items)


@settings(max_examples=25)
@given(drawn | scenes)
def test_texts_of_edits_that_are_not_moves_or_additions_are_all_different(scene: Scene) -> None:
    texts = [edit.text for edit, _ in scene_moves.edits(scene) if edit.kind not in ("move", "add")]
    assert len(set(texts)) == len(texts)


def test_every_kind_of_edit_of_a_tower_and_of_scattered_items_is_there() -> None:
    for kind in drawing.SCENE_KINDS:
        kinds = {edit.kind for edit, _ in scene_moves.edits(drawn_scene(6, kind))}
        assert kinds == {"recolor", "move", "remove", "add"} | ({"reshape", "resize"} if kind == "scatter" else set())


def test_the_last_item_of_a_box_stays_and_a_full_tower_does_not_grow() -> None:
    full, single = drawing.tower((Color.BLUE,) * drawing.MAX_BLOCKS), drawing.tower((Color.BLUE,))
    for edit, edited in scene_moves.edits(Scene((full, single, single))):
        assert 1 <= len(edited.boxes[edit.box].items) <= drawing.MAX_BLOCKS


BLACK_TOWER = drawing.tower((Color.BLACK, Color.YELLOW, Color.BLACK, Color.BLACK)).items


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (Edit("move", 1, CIRCLE, Item(80, 70, Size.MEDIUM, Shape.CIRCLE, Color.YELLOW), (CIRCLE, SQUARE)),
         "move the yellow circle in box 2 to the right wall"),
        (Edit("move", 1, CIRCLE, Item(80, 80, Size.MEDIUM, Shape.CIRCLE, Color.YELLOW), (CIRCLE, SQUARE)),
         "move the yellow circle in box 2 to the bottom right corner"),
        (Edit("move", 1, CIRCLE, Item(29, 35, Size.MEDIUM, Shape.CIRCLE, Color.YELLOW), (CIRCLE, SQUARE, OTHER_SQUARE)),
         "move the yellow circle in box 2 to just left of the leftmost black square"),
        (Edit("recolor", 0, OTHER_SQUARE, Item(80, 40, Size.SMALL, Shape.SQUARE, Color.BLUE), (SQUARE, OTHER_SQUARE)),
         "paint the rightmost black square in box 1 blue"),
        (Edit("add", 2, None, Item(45, 0, Size.SMALL, Shape.TRIANGLE, Color.BLUE), (CIRCLE,)),
         "add a small blue triangle to box 3, at the top wall"),
        (Edit("add", 2, None, Item(31, 75, Size.SMALL, Shape.TRIANGLE, Color.BLUE), (CIRCLE,)),
         "add a small blue triangle to box 3, just right of the yellow circle"),
        (Edit("remove", 0, SQUARE, None, (SQUARE, replace(SQUARE, x=0, size=Size.LARGE))),
         "remove the small black square in box 1"),
        (Edit("remove", 2, BLACK_TOWER[2], None, BLACK_TOWER),
         "remove the second black block from the bottom in box 3"),
        (Edit("move", 0, BLACK_TOWER[1], BLACK_TOWER[3], BLACK_TOWER), "move the yellow block in box 1 to the top"),
        (Edit("move", 0, BLACK_TOWER[1], BLACK_TOWER[2], BLACK_TOWER),
         "move the yellow block in box 1 to the third place from the bottom"),
    ],
)  # fmt: skip
def test_edits_in_plain_english(edit: Edit, text: str) -> None:
    assert edit.text == text


def test_tower_colors_is_the_inverse_of_tower() -> None:
    colors = (Color.BLUE, Color.BLACK, Color.BLUE)
    items = drawing.tower(colors).items
    assert drawing.tower_colors(Box(items[::-1])) == colors
    assert drawing.tower_colors(Box(items[1:])) is None and drawing.tower_colors(Box((CIRCLE,))) is None
