"""What a person can do on the page, in a real browser."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from http_service import Client, parse, running, tree_of
from shelf import SCENE, STATEMENT, ShelfService, problem

from veriscene.world.examples import Example

if TYPE_CHECKING:
    from browsing import Desk
    from playwright.sync_api import Browser, Page, Route

    from veriscene.judge.judge import Judge

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[dev]'").expect


EDITS = Path(__file__).with_name("random_edits.js").read_text(encoding="utf-8")
SCATTER = "#s=There+is+a+yellow+circle.&b=1.1.0.10.10-1.0.1.60.60_1.0.2.40.40-2.2.1.5.65_0.0.1.50.50-2.0.2.10.10"
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
    apart = max(abs(circle.x - square.x), abs(circle.y - square.y)) - 20
    assert apart == 1, "an item that is dragged onto another ends up beside it"
    desk.page.get_by_title("blue").click()
    assert "blue" in desk.scene()[0][0].look, "the colour of the dragged item, which is selected, changes"
    desk.page.get_by_role("button", name="Add an item to box 3").click()
    added = desk.focused()
    desk.drag(desk.point(2, added.x + 5, added.y + 5), desk.point(1, 85, 20))
    assert desk.counts() == [2, 3, 2]
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
    assert desk.focused().look == "large black triangle"
    desk.press("3")
    assert desk.counts() == [1, 2, 3]
    desk.press("a", "Delete", "Control+z", "Control+z", "Control+z")
    assert desk.counts() == [2, 2, 2]
    desk.tab_to(desk.items(0).first)
    desk.press("Delete")
    assert desk.counts() == [1, 2, 2]
    desk.press("Delete")
    assert desk.counts() == [1, 2, 2], "a box of this world must not be empty"
    expect(desk.message).not_to_be_empty()
    desk.expect_explained()
    expect(desk.page.locator("#spoken")).to_contain_text(re.compile(r"(True|False), \d+ % sure"))
    apply_change(desk)


def test_a_narrow_touch_screen(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER, **PHONE)
    assert desk.page.evaluate("document.documentElement.scrollWidth") <= 400
    desk.expect_explained()
    boxes = [box.bounding_box() for box in desk.page.locator("figure > svg").all()]
    assert all(box and box["y"] + box["height"] <= 800 for box in boxes), "the scene is on the first screen"
    desk.page.touchscreen.tap(*desk.point(1, 20, 20))
    picture, palette = (desk.page.locator(place).bounding_box() for place in ("figure:nth-of-type(2) > svg", "#look"))
    assert picture and palette and picture["width"] > 250, "a tapped box is enlarged"
    assert 0 <= palette["y"] - picture["y"] - picture["height"] < 50, "the palette is next to it"
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
    scene = desk.scene()
    for answer, kind in (("Keep the scene", "Scatter"), ("Build towers", "Towers")):
        assert desk.scene() == scene, "nothing is discarded unasked"
        desk.page.get_by_label("Towers", exact=True).click(force=True)
        desk.page.get_by_role("button", name=answer).click()
        expect(desk.page.get_by_label(kind, exact=True)).to_be_checked()
    expect(desk.items(0).first).to_have_attribute("aria-label", re.compile("medium black square"))
    assert [item.look for item in desk.scene()[0]] == ["medium black square", "medium yellow square"], "lowest first"
    desk.drag(desk.point(0, 50, 90), desk.point(1, 50, 5))
    desk.page.get_by_role("button", name="Add an item to box 2").click()
    desk.press("ArrowDown", "c")
    for box in desk.scene():
        assert sorted((item.x, -item.y) for item in box) == [(40, -y) for y in (80, 59, 38, 17)[: len(box)]]
        assert all(re.fullmatch("medium .* square", item.look) for item in box)
    assert desk.counts() == [1, 4, 2]
    for kind in ("Scatter", "Towers"):
        desk.page.get_by_label(kind, exact=True).click(force=True)  # which loses nothing
        expect(desk.page.get_by_label(kind, exact=True)).to_be_checked()
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
    desk = open_page(SCATTER)
    desk.page.get_by_role("button", name="Random scatter").click()
    expect(desk.statement).not_to_have_value("There is a yellow circle.")
    desk.statement.fill("Übergröße & 100 %: #tower + “wall”?")
    desk.list_of_models("other-model").select_option("best")
    desk.page.get_by_role("button", name="Copy link").click()
    copy = open_page(desk.page.url.removeprefix(f"{origin}/"))
    assert copy.scene() == desk.scene()
    expect(copy.statement).to_have_value("Übergröße & 100 %: #tower + “wall”?")
    expect(copy.page.locator("h2.model")).to_have_text(["biatt-pointer", "best"])
    damaged = open_page("#b=1.0.0.40.80-1.0.0.40.81_1.0.0.40.80_1.0.0.40.80")  # items overlap
    expect(damaged.message).not_to_be_empty()
    assert damaged.counts(), "an example is shown"


@pytest.mark.parametrize("way", ["drop", "choose"])
def test_a_picture_becomes_a_scene(open_page: Callable[..., Desk], origin: str, way: str) -> None:
    service = Client(int(origin.rpartition(":")[2]))
    scene = service.get("/api/scenes/random?kind=scatter")[1]["scene"]
    picture = base64.b64decode(service.post("/api/render", {"scene": scene})[1]["image"])
    desk = open_page()
    if way == "choose":
        file = {"name": "scene.png", "mimeType": "image/png", "buffer": picture}
        desk.page.locator("#picture").set_input_files(file)
    else:
        transfer = desk.page.evaluate_handle(
            """text => {
                const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
                const transfer = new DataTransfer();
                transfer.items.add(new File([bytes], "scene.png", { type: "image/png" }));
                return transfer;
            }""",
            base64.b64encode(picture).decode(),
        )
        desk.page.dispatch_event("body", "drop", {"dataTransfer": transfer})
    expect(desk.page.get_by_role("button", name="Undo")).to_be_enabled()
    seen = [{(item.x, item.y) for item in box} for box in desk.scene()]
    assert seen == [{(item["x_loc"], item["y_loc"]) for item in box} for box in scene]


def test_words_and_items_highlight_each_other_and_unknown_words_get_an_offer(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER)
    strongest = "things => Math.max(...things.map((thing) => thing.style.getPropertyValue('--weight') || 0))"
    words = desk.page.locator(".word")
    expect(desk.page.locator(".arrow")).to_have_count(3)
    words.filter(has_text="yellow").hover()
    assert desk.items().evaluate_all(strongest) == 1
    desk.items(0).first.focus()
    assert words.evaluate_all(strongest) == 1
    desk.statement.fill("Is there a yelow circle?")
    expect(desk.page.locator(".unknown")).to_have_text("yelow")
    expect(words).to_have_text(["Is", "there", "a", "yelow", "circle"])
    desk.statement.fill("There is a yelow circle.")
    desk.page.get_by_role("button", name="Use yellow in place of yelow").click()
    expect(desk.statement).to_have_value("There is a yellow circle.")
    expect(desk.page.locator(".unknown")).to_have_count(0)


def test_a_picture_of_what_is_seen_can_be_copied(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER, permissions=["clipboard-read", "clipboard-write"])  # under the service's security policy
    desk.page.get_by_role("button", name="Copy as picture").click()
    expect(desk.message).to_have_text("The picture is copied.")


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


def test_a_failed_search_is_tried_again_on_demand(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER)
    desk.expect_explained()
    desk.page.route("**/api/explain", lambda route: route.fulfill(status=503, json={"detail": "late"}), times=1)
    desk.statement.fill("There is a black triangle.")
    expect(desk.change).to_have_text("late")
    expect(desk.verdict).to_have_text(re.compile("True|False"))
    desk.page.get_by_role("button", name="Try again").click()
    desk.expect_explained()


def test_no_sequence_of_edits_makes_an_invalid_scene(open_page: Callable[..., Desk]) -> None:
    desk = open_page()
    arguments = {"tree": tree_of("nlvr"), "code": "1.0.0.40.80_2.1.2.0.0_0.2.1.90.90"}
    scenes = json.loads(desk.page.evaluate(EDITS, arguments))
    for scene in scenes:
        parse(scene)
    assert max(len(box) for scene in scenes for box in scene) == 8


# ---------------------------------------------------------------- another world


def test_the_page_follows_the_world(open_page: Callable[..., Desk]) -> None:
    desk = open_page(service=lambda page: ShelfService(page, is_default=True))
    assert desk.counts() == [3, 2, 0]
    assert desk.scene()[0][1].look == "red bottle, price 12€, on offer"
    for gone in ("Towers", "Open picture…", "Random towers"):
        expect(desk.page.get_by_text(gone, exact=True)).to_be_hidden()
    desk.expect_explained()
    desk.page.get_by_role("button", name="Add a product to shelf 3").click()
    desk.page.get_by_title("jar").click()
    desk.page.get_by_title("purple").click()
    desk.page.get_by_role("spinbutton", name="Price").fill("19")
    desk.page.get_by_title("not on offer").click()
    assert [item.look for item in desk.scene()[2]] == ["purple jar, price 19€, not on offer"]
    desk.page.get_by_role("spinbutton", name="Price").fill("21")
    assert "19€" in desk.scene()[2][0].look, "a number out of range is not taken"
    desk.drag(desk.point(2, 60, 20), desk.point(1, 82.3, 33))  # onto the carton
    assert desk.counts() == [3, 3, 0]
    desk.page.get_by_role("button", name="Remove shelf 1").click()
    assert desk.counts() == [3, 0]
    for _ in range(2):
        desk.page.get_by_role("button", name="Add a shelf").click()
    expect(desk.page.get_by_role("button", name="Add a shelf")).to_be_disabled()
    assert desk.counts() == [3, 0, 0, 0]
    desk.items(0).first.focus()
    desk.press("k", "c", "Shift+C", "+", "o", "4", "ArrowLeft")
    assert [item.look for item in desk.scene()[3]] == ["purple carton, price 8€, on offer"]
    desk.press("Delete")
    assert desk.counts() == [2, 0, 0, 0], "a shelf may be empty"
    for _ in range(3):
        desk.page.get_by_role("button", name="Remove shelf 2").click()
    expect(desk.page.get_by_role("button", name="Remove shelf 1")).to_be_disabled()
    desk.page.get_by_role("button", name="Copy link").click()
    assert open_page(desk.link, service=lambda page: ShelfService(page, is_default=True)).scene() == desk.scene()


def test_a_model_of_another_world_brings_an_example_of_it(open_page: Callable[..., Desk]) -> None:
    desk = open_page(SCATTER, service=lambda page: ShelfService(page, is_default=False))
    desk.list_of_models("other-model").select_option("best")
    assert desk.page.get_by_label("Compare with").locator("option").count() == 3, "none, and the models of this world"
    desk.list_of_models("model").select_option("products")
    expect(desk.statement).to_have_value(STATEMENT)
    assert desk.counts() == [3, 2, 0]
    expect(desk.page.get_by_role("button", name="Undo")).to_be_disabled()
    assert desk.page.get_by_label("Compare with").locator("option").count() == 2, "none, and the model itself"
    expect(desk.verdict).to_have_text("True")
    desk.list_of_models("model").select_option("biatt-pointer")
    expect(desk.page.get_by_label("Towers")).to_be_attached()
    assert len(desk.counts()) == 3
    expect(desk.verdict).to_have_text(re.compile("True|False"))


def test_a_trained_model_of_another_world_answers(chromium: Browser, shelf_judge: Judge) -> None:
    from browsing import Desk

    world = shelf_judge.world
    example = Example("0-0", STATEMENT, world.parse(SCENE), world=world)
    with running(shelf_judge, examples=[example]) as client:
        page = chromium.new_page(viewport={"width": 1200, "height": 1000})
        errors = list[str]()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"http://127.0.0.1:{client.port}/")
        desk = Desk(page)
        expect(desk.statement).to_have_value(STATEMENT)
        assert desk.counts() == list(map(len, SCENE))
        expect(desk.verdict).to_have_text(re.compile("True|False"))
        page.get_by_role("button", name="Add a product to shelf 3").click()
        expect(page.locator(".arrow")).to_have_count(3)
        expect(desk.change).not_to_be_empty()
        page.get_by_role("button", name="Random", exact=True).click()
        expect(desk.verdict).to_have_text(re.compile("True|False"))
        page.close()
    assert errors == []


def test_the_page_of_shapeworld_shades_and_turns_shapes_and_asks(chromium: Browser) -> None:
    import veriscene

    with running(veriscene.load("shapeworld")) as client:
        page = chromium.new_page(viewport={"width": 1200, "height": 1000})
        page.goto(f"http://127.0.0.1:{client.port}/")
        expect(page.get_by_role("textbox", name="Statement")).not_to_have_value("")
        expect(page.locator(".verdict").first).to_have_text(re.compile("True|False"))
        assert page.locator(".label").count() == 0
        turns = page.locator(".item .body").evaluate_all(
            "shapes => shapes.map((shape) => shape.attributes.transform.value)"
        )
        assert all(turn.startswith("rotate(") for turn in turns) and len({turn.split()[0] for turn in turns}) > 1
        floor = page.locator(".floor").evaluate("floor => getComputedStyle(floor).fill")
        assert floor == "rgb(0, 0, 0)"
        page.get_by_role("button", name="You against the model").click()
        expect(page.locator("#guess-true")).to_be_visible()
        page.close()


def test_a_narrow_screen_with_wide_boxes(open_page: Callable[..., Desk]) -> None:
    desk = open_page(service=lambda page: ShelfService(page, is_default=True), **PHONE)
    assert desk.page.evaluate("document.documentElement.scrollWidth") <= 400
    desk.items(1).first.scroll_into_view_if_needed()
    desk.touch_drag(desk.point(1, 34, 16), desk.point(1, 200, -20))
    assert desk.scene()[1][0][1:] == (111, 0)


def test_edits_of_items_that_overlap_and_state_their_extent(open_page: Callable[..., Desk]) -> None:
    attribute = {"kind": "numeric", "field": "heat", "words": ["heat"], "range": [-1, 1], "step": 0.25}
    own = {"canvas": [7, 5], "boxes": [1, 1], "items": [2, 3], "overlap": True, "attributes": {"heat": attribute}}
    tree = {key: value for key, value in {**tree_of("shelf"), **own}.items() if key != "extent"}
    desk = open_page()
    code = "0p25.0.0.1.1-n1.0p5.0.2p5.1"
    scenes = json.loads(desk.page.evaluate(EDITS, {"tree": tree, "code": code}))
    for (box,) in scenes:
        assert 2 <= len(box) <= 3
        for item in box:
            assert item.keys() == {"x", "y", "width", "height", "heat"}
            assert 0 <= item["x"] <= 7 - item["width"] and 0 <= item["y"] <= 5 - item["height"]
            assert item["width"] > 0 and item["height"] > 0 and -1 <= item["heat"] <= 1 and item["heat"] * 4 % 1 == 0


def test_a_service_without_examples_starts_with_a_plain_scene(open_page: Callable[..., Desk]) -> None:
    def refusing(page: Page) -> ShelfService:
        service = ShelfService(page, is_default=True)
        page.route("**/api/scenes/**", lambda route: route.fulfill(status=422, json={"detail": []}))
        return service

    desk = open_page(service=refusing)
    desk.page.get_by_role("button", name="Add a product to shelf 1").click()
    assert desk.counts() == [1]


def test_no_sequence_of_edits_makes_an_invalid_scene_of_another_world(open_page: Callable[..., Desk]) -> None:
    desk = open_page()
    scenes = json.loads(desk.page.evaluate(EDITS, {"tree": tree_of("shelf"), "code": "0.0.5.1.3.20_"}))
    assert [found for found in map(problem, scenes) if found] == []
    assert {len(scene) for scene in scenes} == {1, 2, 3, 4}
    assert max(len(box) for scene in scenes for box in scene) == 12
