"""axe-core finds nothing serious on the page, in any of its looks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from shelf import ShelfService

if TYPE_CHECKING:
    from browsing import Desk

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core: pip install -e '.[dev]'")
expect = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[dev]'").expect

SCENE = "&b=1.1.0.10.10-1.0.1.60.60_1.0.2.40.40-2.2.1.5.65_0.0.1.50.50-2.0.2.10.10"
LINK = f"#s=There+is+a+black+triangle.{SCENE}"
COMPARED = f"#s=There+is+a+yelow+circle.{SCENE}&m=biatt-pointer+best"
PHONE = {"width": 400, "height": 800}
DESKTOP = {"width": 1200, "height": 900}


@pytest.mark.parametrize(("link", "viewport"), [(LINK, DESKTOP), (COMPARED, PHONE)], ids=["desktop", "phone"])
def test_no_serious_issue(open_page: Callable[..., Desk], link: str, viewport: dict[str, int]) -> None:
    desk = open_page(link, viewport=viewport)
    expect(desk.change).to_have_text(re.compile(r"\w.*\."))
    check(desk)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_serious_issue_in_another_world(open_page: Callable[..., Desk], viewport: dict[str, int]) -> None:
    desk = open_page(viewport=viewport, service=lambda page: ShelfService(page, is_default=True))
    desk.expect_explained()
    check(desk)


def check(desk: Desk) -> None:
    desk.items().first.focus()
    for scheme in ("light", "dark"):
        desk.page.emulate_media(color_scheme=scheme)
        found = axe.Axe().run(desk.page).response
        serious = [
            (scheme, issue["help"], [node["html"] for node in issue["nodes"]])
            for issue in found["violations"]
            if issue["impact"] in ("serious", "critical")
        ]
        assert found["passes"]
        assert serious == []


def test_motion_is_reduced_where_asked_for(open_page: Callable[..., Desk]) -> None:
    desk = open_page(reduced_motion="reduce")
    assert desk.page.locator(".mark").first.evaluate("mark => getComputedStyle(mark).transitionDuration") == "0s"
