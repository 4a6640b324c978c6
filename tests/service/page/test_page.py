"""What a person can do on the page, in a real browser."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from samples import drawn_scene
from veriscene.world.scene import Color, Shape, Size, parse_scene
from veriscene.worlds.nlvr.raster import pixels

if TYPE_CHECKING:
    from browsing import Desk
    from playwright.sync_api import Route

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[dev]'").expect

SCATTER = "#s=There+is+a+yellow+circle.&b=cy2.10.10-sk2.60.60_sb2.40.40-tk3.5.65_sk1.50.50-sb3.10.10"
PHONE = {"viewport": {"width": 400, "height": 800}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
FLIPPED = {"True": "False", "False": "True"}


def apply_change(desk: Desk) -> None:
    """Applies the offered change, after which the verdict is the other one."""
    before = desk.verdict.inner_text()
    desk.page.get_by_role("button", name="Apply").press("Enter")
    expect(desk.verdict).to_have_text(FLIPPED[before])


def test_a_scene_is_built_by_dragging_and_changed_by_what_flips_the_verdict(
    open_page: Callable[..., Desk],
) -> None:
    desk = open_page(SCATTER)
    desk.drag(desk.point(0, 20, 20), desk.point(0, 170, -30))  # past the corner
    circle, square = desk.scene()[0]
    assert (circle.x, circle.y) == (80, 0), "walls stop an item"
    desk.drag(desk.point(0, 90, 10), desk.point(0, 72, 65))  # onto the square
    circle, square = desk.scene()[0]
    assert circle.distance(square) == 1, "an item that is dragged onto another ends up beside it"
    desk.page.get_by_title("blue").click()
    assert desk.scene()[0][0].color is Color.BLUE, "the colour of the dragged item, which is selected, changes"
    desk.page.get_by_role("button", name="Add an item to box 3").click()
    added = desk.focused()
    desk.drag(desk.point(2, added.x + 5, added.y + 5), desk.point(1, 85, 20))
    assert [len(box) for box in desk.scene()] == [2, 3, 2]
    desk.statement.fill("There is a black triangle.")
    desk.expect_explained()
    apply_change(desk)
    assert all(box for box in desk.scene())


def test_everything_works_with_the_keyboard_alone(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER)
    desk.tab_to(desk.statement)
    desk.press("Control+a")
    desk.page.keyboard.type("There is a black triangle.")
    desk.tab_to(desk.items(0).first)
    desk.press("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowDown")
    assert (desk.focused().x, desk.focused().y) == (12, 21)
    desk.press("c", "s", "+")
    assert (desk.focused().color, desk.focused().shape, desk.focused().size) == (
        Color.BLACK,
        Shape.TRIANGLE,
        Size.LARGE,
    )
    desk.press("3")
    assert [len(box) for box in desk.scene()] == [1, 2, 3]
    desk.press("a", "Delete", "Control+z", "Control+z", "Control+z")
    assert [len(box) for box in desk.scene()] == [2, 2, 2]
    desk.tab_to(desk.items(0).first)
    desk.press("Delete")
    assert [len(box) for box in desk.scene()] == [1, 2, 2]
    desk.press("Delete")
    expect(desk.message).to_have_text("Box 1 must keep at least one item.")
    desk.expect_explained()
    expect(desk.page.locator("#spoken")).to_contain_text(re.compile(r"(True|False), \d+ % sure"))
    apply_change(desk)


def test_a_narrow_touch_screen(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER, **PHONE)
    assert desk.page.evaluate("document.documentElement.scrollWidth") <= 400
    desk.expect_explained()
    desk.items(1).first.scroll_into_view_if_needed()
    start = desk.page.evaluate("scrollY")
    desk.touch_drag(desk.point(1, 50, 50), desk.point(1, 90, 10))
    assert (desk.scene()[1][0].x, desk.scene()[1][0].y) == (80, 0)
    assert desk.page.evaluate("scrollY") == start, "the page does not scroll under a finger that drags"
    desk.page.get_by_role("button", name="Add an item to box 2").tap()
    assert len(desk.scene()[1]) == 3
    desk.statement.fill("There is a black triangle.")
    desk.expect_explained()
    assert desk.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_towers_stay_towers(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER)
    desk.page.get_by_label("Towers").check(force=True)
    assert [item.color for item in desk.scene()[0]] == [Color.BLACK, Color.YELLOW], "lowest first"
    desk.drag(desk.point(0, 50, 90), desk.point(1, 50, 5))
    desk.page.get_by_role("button", name="Add an item to box 2").click()
    desk.press("ArrowDown", "c")
    for box in desk.scene():
        assert sorted((item.x, -item.y, item.size, item.shape) for item in box) == [
            (40, -y, Size.MEDIUM, Shape.SQUARE) for y in (80, 59, 38, 17)[: len(box)]
        ]
    assert [len(box) for box in desk.scene()] == [1, 4, 2]
    expect(desk.page.get_by_role("button", name="Add an item to box 2")).to_be_disabled()


def test_undo_and_redo(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER)
    states = [desk.scene()]
    desk.drag(desk.point(0, 20, 20), desk.point(0, 40, 40))
    states.append(desk.scene())
    desk.press("Delete")
    states.append(desk.scene())
    desk.page.get_by_role("button", name="Random towers").click()
    expect(desk.statement).not_to_have_value("There is a yellow circle.")
    states.append(desk.scene())
    for state in states[-2::-1]:
        desk.page.get_by_role("button", name="Undo").click()
        assert desk.scene() == state, "a whole drag is one step"
    expect(desk.page.get_by_role("button", name="Undo")).to_be_disabled()
    expect(desk.statement).to_have_value("There is a yellow circle.")
    for state in states[1:]:
        desk.press("Control+Shift+z")
        assert desk.scene() == state


def test_the_link_restores_what_is_seen(open_page: Callable[..., Desk], origin: str) -> None:
    desk = open_page()
    desk.page.get_by_role("button", name="Random scatter").click()
    expect(desk.page.get_by_label("Scatter", exact=True)).to_be_checked()
    desk.statement.fill("Übergröße & 100 %: #tower + “wall”?")
    desk.page.get_by_label("Compare with").select_option("best")
    desk.page.get_by_role("button", name="Copy link").click()
    copy = open_page(desk.page.url.removeprefix(f"{origin}/"))
    assert copy.scene() == desk.scene()
    expect(copy.statement).to_have_value("Übergröße & 100 %: #tower + “wall”?")
    expect(copy.page.locator("h2.model")).to_have_text(["biatt-pointer", "best"])
    damaged = open_page("#b=sy2.40.80-sy2.40.81_sy2.40.80_sy2.40.80")
    expect(damaged.message).to_have_text("This link holds no valid scene.")


@pytest.mark.parametrize("way", ["drop", "choose"])
def test_a_picture_becomes_a_scene(open_page: Callable[..., Desk], way: str) -> None:
    scene = drawn_scene(5, "scatter")
    stream = io.BytesIO()
    Image.fromarray(pixels(scene)).save(stream, "PNG")
    desk = open_page()
    if way == "choose":
        file = {"name": "scene.png", "mimeType": "image/png", "buffer": stream.getvalue()}
        desk.page.locator("#picture").set_input_files(file)
    else:
        transfer = desk.page.evaluate_handle(
            """text => {
                const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
                const transfer = new DataTransfer();
                transfer.items.add(new File([bytes], "scene.png", { type: "image/png" }));
                return transfer;
            }""",
            base64.b64encode(stream.getvalue()).decode(),
        )
        desk.page.dispatch_event("body", "drop", {"dataTransfer": transfer})
    expect(desk.items()).to_have_count(len(scene.items))
    assert [set(box) for box in desk.scene()] == [set(box.items) for box in scene.boxes]


def test_words_and_items_highlight_each_other_and_unknown_words_get_an_offer(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER)
    strongest = "things => Math.max(...things.map((thing) => thing.style.getPropertyValue('--weight') || 0))"
    words = desk.page.locator(".word")
    expect(desk.page.locator(".arrow")).to_have_count(3)
    words.filter(has_text="yellow").hover()
    assert desk.items().evaluate_all(strongest) == 1
    desk.items(0).first.focus()
    assert words.evaluate_all(strongest) == 1
    desk.statement.fill("There is a yelow circle.")
    expect(desk.page.locator(".unknown")).to_have_text("yelow")
    desk.page.get_by_role("button", name="Use yellow in place of yelow").click()
    expect(desk.statement).to_have_value("There is a yellow circle.")
    expect(desk.page.locator(".unknown")).to_have_count(0)


def test_two_models_answer_side_by_side_and_either_is_drawn(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER + "&m=best+biatt-pointer")
    expect(desk.page.locator(".verdict")).to_have_text([re.compile("True|False")] * 2)
    expect(desk.page.locator(".arrow")).to_have_count(0)  # best has no order
    expect(desk.page.get_by_label("Reading order")).to_be_disabled()
    second = desk.page.get_by_role("button", name="Show on picture").nth(1)
    second.click()
    expect(second).to_have_attribute("aria-pressed", "true")
    expect(desk.page.get_by_label("Reading order")).to_be_enabled()
    expect(desk.page.locator(".arrow")).to_have_count(3)


def test_a_busy_service_is_asked_again(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER)
    expect(desk.verdict).to_have_text(re.compile("True|False"))

    def refuse(route: Route) -> None:
        route.fulfill(status=503, headers={"Retry-After": "1"}, json={"detail": "too many requests"})

    for path in ("judge", "explain"):
        desk.page.route(f"**/api/{path}", refuse, times=1)
    desk.statement.fill("There is a black triangle.")
    expect(desk.page.locator(".sure")).to_have_text("too many requests")
    expect(desk.page.locator(".sure")).to_have_text(re.compile("sure"))


def test_no_sequence_of_edits_makes_an_invalid_scene(open_page: Callable[..., Desk]) -> None:
    desk = open_page()
    edits = Path(__file__).with_name("random_edits.js").read_text(encoding="utf-8")
    scenes = json.loads(desk.page.evaluate(edits))
    for scene in scenes:
        parse_scene(scene)
    assert max(len(box) for scene in scenes for box in scene) == 8
