"""The page as static files: a plain file server, no other network, and the model in the browser."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

import veriscene
from packed import unpacked
from veriscene.errors import InputError
from veriscene.service.site import download_runtime, pack, write_site

if TYPE_CHECKING:
    from browsing import Desk
    from playwright.sync_api import Browser, Route

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core: pip install -e '.[dev]'")
expect = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[dev]'").expect

FIRST_LOAD = 20_000_000  # bytes
ON_DISK = 45_000_000
SCENE = "&b=1.1.0.10.10-1.0.1.60.60_1.0.2.40.40-2.2.1.5.65_0.0.1.50.50-2.0.2.10.10"
LINK = f"#s=There+is+a+black+triangle.{SCENE}"
PHONE = {"width": 400, "height": 800}
DESKTOP = {"width": 1200, "height": 900}
STATEMENTS = (
    "There is a black triangle.",
    "there is exactly one tower with a yellow block at the top",
    "every box has a blue itm",
    "My neighbour likes music.",
    "No circle touches the wall.",
    "there are two boxes with the same number of black items",
)
ASK = """async (questions) => {
  const { answers } = await import("./static/source.js");
  const found = [];
  for (const question of questions) found.push(await answers.judge(question));
  return found;
}"""
WEIGHTS = "items => items.map((item) => Number(item.style.getPropertyValue('--weight')))"
PICTURE = """async () => {
  const [copied] = await navigator.clipboard.read();
  return [...new Uint8Array(await (await copied.getType("image/png")).arrayBuffer())];
}"""
LOOK = "async (question) => (await import('./static/source.js')).answers.explain(question)"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("site")
    try:
        runtime = download_runtime(tmp_path_factory.mktemp("runtime"))
    except InputError as error:
        pytest.skip(f"onnxruntime-web cannot be had: {error}")
    size = write_site(found, runtime=runtime, code="https://github.com/someone/veriscene", url="https://someone.io/x/")
    assert size < FIRST_LOAD
    assert sum(path.stat().st_size for path in found.rglob("*") if path.is_file()) < ON_DISK
    return found


@pytest.fixture(scope="session")
def site(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()


@pytest.fixture
def open_site(chromium: Browser, site: str) -> Iterator[Callable[..., Desk]]:
    """Opens the static page; what is not on its server cannot be reached, and nothing tries to."""
    from browsing import Desk

    contexts, refused, errors = [], list[str](), []

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        route.abort()

    def open_it(link: str = "", **options: Any) -> Desk:
        context = chromium.new_context(**{"viewport": DESKTOP} | options)
        contexts.append(context)
        context.route(lambda url: not url.startswith(site), refuse)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.goto(f"{site}{link}")
        return Desk(page)

    yield open_it
    for context in contexts:
        context.close()
    assert refused == []
    assert errors == []


@pytest.fixture(scope="session")
def packed_judge(tmp_path_factory: pytest.TempPathFactory) -> veriscene.Judge:
    """The model with the weights that the browser has."""
    from veriscene.judge.folders import WEIGHTS, find
    from veriscene.judge.onnx_judge import OnnxJudge

    copy = tmp_path_factory.mktemp("packed")
    for path in find("best").iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / WEIGHTS).write_bytes(unpacked(*pack(copy / WEIGHTS)))
    return OnnxJudge.load(copy, threads=1)


def test_typing_editing_links_and_changes(open_site: Callable[..., Desk]) -> None:
    desk = open_site(LINK)
    expect(desk.verdict).to_have_text("True")
    expect(desk.page.locator(".reading").first).to_have_text("Read as: at least one black triangle")
    expect(desk.page.get_by_role("button", name="Apply")).to_be_visible()
    desk.page.get_by_role("button", name="Apply").click()
    expect(desk.verdict).to_have_text("False")
    desk.press("Control+z")
    expect(desk.verdict).to_have_text("True")
    desk.statement.fill("There is no black triangle.")
    expect(desk.verdict).to_have_text("False")
    expect(desk.page.locator(".answer").first).to_have_class(re.compile("is-false"))
    desk.page.locator(".word", has_text="black").hover()
    weights = desk.items().evaluate_all(WEIGHTS)
    assert max(weights) == 1
    desk.statement.fill("My neighbour likes music.")
    expect(desk.verdict).to_have_text("Not about this scene")
    expect(desk.page.locator(".sure").first).to_have_text("Say something that is true or false of it.")
    scene = desk.scene()
    desk.page.wait_for_function("location.hash.includes('neighbour')")
    again = open_site(desk.link)
    assert again.scene() == scene
    expect(again.verdict).to_have_text("Not about this scene")


def test_examples_and_random_scenes(open_site: Callable[..., Desk]) -> None:
    desk = open_site()
    chips = desk.page.locator("#chips button")
    expect(chips).to_have_count(6)
    truths = [True, True, False, True, True, True]
    for number, truth in enumerate(truths):
        chips.nth(number).click()
        fooled = chips.nth(number).locator(".fools").count() == 1
        expect(desk.verdict).to_have_text("True" if truth != fooled else "False")
    assert desk.page.locator(".fools").count() == 2
    before = desk.scene()
    desk.page.get_by_role("button", name="Random towers").click()
    expect(desk.page.get_by_label("Towers", exact=True)).to_be_checked()
    assert desk.scene() != before


def test_verdicts_are_those_of_python(open_site: Callable[..., Desk], packed_judge: veriscene.Judge) -> None:
    from veriscene import worlds

    world, draw = packed_judge.world, worlds.require(packed_judge.world, "draw_example", "examples")
    rng = random.Random(3)
    drawn = [draw(rng, None) for _ in range(24)]
    asked = [(statement, scene) for statement, scene, _ in drawn]
    asked += [(statement, drawn[at][1]) for at, statement in enumerate(STATEMENTS)]
    desk = open_site(LINK)
    questions = [{"statement": statement, "scene": world.to_json_scene(scene)} for statement, scene in asked]
    answers = desk.page.evaluate(ASK, questions)
    for expected, found in zip(packed_judge(asked), answers, strict=True):
        expected = expected.to_json(attention=True)
        for name in ("verdict", "understood", "reading", "disputed", "unknown_words", "order", "per_box"):
            assert found[name] == expected[name], (name, found)
        assert found["probability"] == pytest.approx(expected["probability"], abs=2e-3)
        for name in ("words_to_items", "items_to_words"):
            for ours, theirs in zip(found["attention"][name], expected["attention"][name], strict=True):
                for row, wanted in zip(ours, theirs, strict=True):
                    assert row == pytest.approx(wanted, abs=1e-3)
    explained = desk.page.evaluate(LOOK, questions[0])
    assert json.dumps(explained["scene"]) == json.dumps(questions[0]["scene"])
    if explained["counterfactual"] is not None:
        assert explained["counterfactual"]["verdict"]["verdict"] != explained["verdict"]["verdict"]


def test_a_dropped_picture_becomes_a_scene(open_site: Callable[..., Desk], tmp_path: Path) -> None:
    from veriscene import worlds

    world = worlds.get()
    scene = worlds.require(world, "draw_example", "examples")(random.Random(5), "scatter")[1]
    picture = tmp_path / "scene.png"
    picture.write_bytes(worlds.require(world, "png", "pictures")(scene))
    desk = open_site(LINK)
    desk.page.set_input_files("#picture", str(picture))
    expected = [sorted((item.x, item.y) for item in box.items) for box in scene.boxes]
    counts = "box => box.map((figure) => figure.querySelectorAll('.item').length).join()"
    wanted = ",".join(str(len(box)) for box in expected)
    desk.page.wait_for_function(f"() => ({counts})([...document.querySelectorAll('figure')]) === '{wanted}'")
    assert [sorted((seen.x, seen.y) for seen in box) for box in desk.scene()] == expected
    noise = tmp_path / "noise.txt"
    noise.write_text("no picture")
    desk.page.set_input_files("#picture", str(noise))
    expect(desk.message).to_have_text(re.compile("not a picture"))


def test_you_against_the_model_with_the_keyboard(open_site: Callable[..., Desk]) -> None:
    desk = open_site(LINK)
    expect(desk.verdict).to_have_text("True")
    page, focused = desk.page, "element => element === document.activeElement"
    # A question that the model gets wrong, if one believes its label.
    page.evaluate(
        """async () => {
            const { answers } = await import("./static/source.js");
            const { scene } = await answers.random("best", "scatter");
            answers.random = async () => ({ statement: "There is at least one item.", scene, label: false });
        }"""
    )
    desk.tab_to(page.get_by_role("button", name="You against the model"))
    desk.press("Enter")
    expect(desk.statement).to_have_value("There is at least one item.")
    expect(page.get_by_role("button", name="True", exact=True)).to_be_focused()
    page.wait_for_timeout(1500)  # in which the verdict comes
    expect(page.locator("#answers")).to_be_hidden()
    expect(page.locator("#spoken")).to_be_empty()
    assert page.locator(".ghost, .arrow").count() == 0
    desk.press("Tab", "Enter")
    expect(page.locator("#asked")).to_have_text("It is false. You: right. best: wrong.")
    expect(page.locator("#score")).to_have_text("You 1, best 0 of 1")
    expect(desk.verdict).to_have_text("True")
    expect(page.locator("#next")).to_be_focused()
    desk.press("Enter")
    expect(page.locator("#answers")).to_be_hidden()
    assert page.locator("#guess-true").evaluate(focused)
    desk.press("Enter")
    expect(page.locator("#score")).to_have_text("You 1, best 0 of 2")
    desk.statement.fill("There is a black triangle.")
    expect(page.locator("#game")).to_be_hidden()
    expect(desk.verdict).to_be_visible()


def test_title_python_and_picture_say_what_is_seen(open_site: Callable[..., Desk]) -> None:
    desk = open_site(LINK, permissions=["clipboard-read", "clipboard-write"])
    expect(desk.verdict).to_have_text("True")
    expect(desk.page).to_have_title("There is a black triangle. – veriscene")
    desk.page.get_by_role("button", name="Copy as Python").click()
    expect(desk.message).to_have_text("The Python is copied.")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(desk.page.evaluate("navigator.clipboard.readText()"), {})
    assert said.getvalue().startswith("True 0.9")
    desk.page.get_by_role("button", name="Copy as picture").click()
    expect(desk.message).to_have_text("The picture is copied.")
    with Image.open(io.BytesIO(bytes(desk.page.evaluate(PICTURE)))) as picture:
        assert picture.size == (1200, 630)
        colors = {color for _, color in picture.convert("RGB").getcolors(1 << 20) or ()}
    assert colors >= {(255, 255, 0), (0, 153, 255), (0, 0, 0)}, "items of all three colours"


def test_a_lone_item_does_not_glow_and_signs_are_no_words(open_site: Callable[..., Desk]) -> None:
    desk = open_site("#s=There+is+a+yellow+circle.&b=1.1.0.10.10_1.0.2.40.40_0.0.1.50.50-2.0.2.10.10")
    expect(desk.verdict).to_have_text("True")
    words = desk.page.locator(".word")
    for word in words.all():
        word.hover()
        glow = desk.items().evaluate_all(WEIGHTS)
        assert glow[:2] == [0, 0] and max(glow) == 1
    desk.statement.fill("Isn't there a yellow squre?")
    expect(desk.page.locator(".unknown")).to_have_text("squre")
    expect(words).to_have_text(["Isn't", "there", "a", "yellow", "squre"])


def test_a_phone_shows_the_scene_on_the_first_screen(open_site: Callable[..., Desk]) -> None:
    desk = open_site(viewport=PHONE, has_touch=True, is_mobile=True)
    expect(desk.change).to_have_text(re.compile(r"\w.*\."))
    for box in desk.page.locator("figure > svg").all():
        place = box.bounding_box()
        assert place and place["y"] + place["height"] < PHONE["height"]


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_accessibility_issue(open_site: Callable[..., Desk], viewport: dict[str, int]) -> None:
    desk = open_site(LINK, viewport=viewport)
    expect(desk.change).to_have_text(re.compile(r"\w.*\."))
    for statement, verdict in (("There is a black triangle.", "True"), ("There is no black triangle.", "False")):
        desk.statement.fill(statement)
        expect(desk.verdict).to_have_text(verdict)
        check(desk)
    assert desk.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    desk.page.get_by_label("Towers", exact=True).click(force=True)
    expect(desk.page.get_by_role("dialog")).to_be_visible()
    check(desk)
    desk.press("Escape")
    desk.page.get_by_role("button", name="You against the model").click()
    check(desk)
    desk.page.locator("#guess-false").click()
    expect(desk.page.locator("#next")).to_be_enabled()
    check(desk)


def check(desk: Desk) -> None:
    """axe-core finds nothing, in light and dark."""
    for scheme in ("light", "dark"):
        desk.page.emulate_media(color_scheme=scheme)
        found = axe.Axe().run(desk.page).response
        assert found["passes"]
        assert [(issue["help"], [node["html"] for node in issue["nodes"]]) for issue in found["violations"]] == []
