"""What a person sees of the page and does on it."""

from __future__ import annotations

import re
from typing import NamedTuple

from playwright.sync_api import Locator, Page, expect

from veriscene.world.scene import Color, Item, Shape, Size

expect.set_options(timeout=60_000)  # explanations take many seconds on a busy machine

SIZES = {"small": Size.SMALL, "medium": Size.MEDIUM, "large": Size.LARGE}
COLORS = {"yellow": Color.YELLOW, "black": Color.BLACK, "blue": Color.BLUE}
LABEL = re.compile(r"(\w+) (\w+) (\w+), box (\d), (\d+) from the left, (\d+) from the top")


class Point(NamedTuple):
    x: float
    y: float


class Desk:
    """A page with the editor."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.statement = page.get_by_role("textbox", name="Statement")
        self.verdict = page.locator(".verdict").first
        self.change = page.locator(".flip").first
        self.message = page.locator("#message")
        expect(self.items().first).to_be_visible()

    def items(self, box: int | None = None) -> Locator:
        boxes = self.page.locator("figure") if box is None else self.page.locator("figure").nth(box)
        return boxes.locator(".item")

    def scene(self) -> list[list[Item]]:
        """As a screen reader tells it, the items of each box in the order of the page."""
        scene: list[list[Item]] = [[], [], []]
        for label in self.items().evaluate_all("items => items.map((item) => item.ariaLabel)"):
            found = LABEL.fullmatch(label)
            assert found, label
            size, color, shape, box, x, y = found.groups()
            scene[int(box) - 1].append(Item(int(x), int(y), SIZES[size], Shape.parse(shape), COLORS[color]))
        return scene

    def focused(self) -> Item:
        """The item that has the focus."""
        label = self.page.evaluate("document.activeElement.ariaLabel")
        return next(item for box in self.scene() for item in box if label.endswith(_place(item)))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, target: Locator) -> None:
        """Presses Tab until the target has the focus."""
        for _ in range(80):
            if target.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError("Tab does not reach it")

    def point(self, box: int, x: float, y: float) -> Point:
        """A place of a box in the window."""
        frame = self.page.locator("figure > svg").nth(box).bounding_box()
        assert frame
        return Point(frame["x"] + x * frame["width"] / 100, frame["y"] + y * frame["height"] / 100)

    def drag(self, start: Point, end: Point) -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=6)
        mouse.up()

    def touch_drag(self, start: Point, end: Point) -> None:
        """With one finger."""
        device = self.page.context.new_cdp_session(self.page)
        steps = [Point(start.x + (end.x - start.x) * at / 6, start.y + (end.y - start.y) * at / 6) for at in range(7)]
        for number, (x, y) in enumerate(steps):
            kind = "touchMove" if number else "touchStart"
            device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        device.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def expect_explained(self) -> None:
        """Verdict, arrows between all items, and a change that is shown as a ghost too."""
        expect(self.verdict).to_have_text(re.compile("True|False"))
        expect(self.page.get_by_role("button", name="Apply")).to_be_visible()
        expect(self.page.locator(".arrow")).to_have_count(sum(len(box) - 1 for box in self.scene()))
        expect(self.change).to_have_text(re.compile(r"\w.* box \d"))
        assert self.page.locator(".ghost").count() > 0


def _place(item: Item) -> str:
    return f"{item.x} from the left, {item.y} from the top"
