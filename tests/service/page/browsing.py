"""What a person sees of the page and does on it."""

from __future__ import annotations

import re
from typing import NamedTuple

from playwright.sync_api import Locator, Page, expect

expect.set_options(timeout=60_000)  # explanations take many seconds on a busy machine

LABEL = re.compile(r"(.+), (\w+) (\d+), ([\d.]+) from the left, ([\d.]+) from the top")


class Seen(NamedTuple):
    """An item as a screen reader tells it."""

    look: str  # "small black square"
    x: float
    y: float


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
        expect(page.locator("figure").first).to_be_visible()

    def items(self, box: int | None = None) -> Locator:
        boxes = self.page.locator("figure") if box is None else self.page.locator("figure").nth(box)
        return boxes.locator(".item")

    def scene(self) -> list[list[Seen]]:
        """Returns the items of each box, in the order of the page."""
        scene: list[list[Seen]] = [[] for _ in range(self.page.locator("figure").count())]
        for label in self.items().evaluate_all("items => items.map((item) => item.ariaLabel)"):
            box, item = _seen(label)
            scene[box].append(item)
        return scene

    def counts(self) -> list[int]:
        return [len(box) for box in self.scene()]

    def focused(self) -> Seen:
        """Returns the item that has the focus."""
        return _seen(self.page.evaluate("document.activeElement.ariaLabel"))[1]

    @property
    def link(self) -> str:
        """The part of the address that restores what is seen."""
        return f"#{self.page.url.partition('#')[2]}"

    def list_of_models(self, name: str) -> Locator:
        """Opens the menu of models; returns one of its lists: model or other-model."""
        if not self.page.locator("#models").evaluate("menu => menu.open"):
            self.page.locator("#models summary").click()
        return self.page.locator(f"#{name}")

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
        """Returns where a place of a box is in the window."""
        frame = self.page.locator("figure > svg").nth(box).bounding_box()
        assert frame
        canvas = self.page.locator("figure > svg").nth(box).evaluate("picture => picture.viewBox.baseVal.width")
        scale = frame["width"] / canvas
        return Point(frame["x"] + x * scale, frame["y"] + y * scale)

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
        expect(self.page.locator(".arrow")).to_have_count(sum(max(count - 1, 0) for count in self.counts()))
        expect(self.change).to_have_text(re.compile(r"\w.* \d"))
        assert self.page.locator(".ghost").count() > 0


def _seen(label: str) -> tuple[int, Seen]:
    found = LABEL.fullmatch(label)
    assert found, label
    look, _, box, x, y = found.groups()
    return int(box) - 1, Seen(look, float(x), float(y))
