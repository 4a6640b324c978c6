"""A real browser (Debian's Chromium) in front of the real service."""

from __future__ import annotations

import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from browsing import Desk
    from playwright.sync_api import Browser, Page
    from shelf import ShelfService

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = (
    *("--no-sandbox", "--headless=new", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
START_SECONDS = 30


@pytest.fixture(scope="session")
def origin() -> Iterator[str]:
    """The address of a service with two models: one that chooses an order and sees boxes, and one that does neither."""
    import torch

    import veriscene

    uvicorn = pytest.importorskip("uvicorn", reason="the page's tests need the service: pip install -e '.[dev]'")
    from veriscene.service.app import make_app

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    judges = {name: veriscene.load(name) for name in ("biatt-pointer", "best")}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = make_app(judges)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not server.started:
            assert thread.is_alive() and time.monotonic() < deadline, "the service did not start"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")  # while it is open, no other test can use asyncio
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("the page's tests need Chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, origin: str) -> Iterator[Callable[..., Desk]]:
    """Opens the page: `open_page(link="", service=None, **options of a browser context)`.

    `service(page)` makes a ShelfService, whose problems must be none. In the end, checks for every page that no request
    left the service and that no error was logged.
    """
    from browsing import Desk

    contexts, requests, errors, services = [], [], [], []

    def open_it(link: str = "", service: Callable[[Page], ShelfService] | None = None, **options: Any) -> Desk:
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 1000}} | options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        if service is not None:
            services.append(service(page))
        page.goto(f"{origin}/{link}")
        return Desk(page)

    yield open_it
    for context in contexts:
        context.close()
    assert [problem for service in services for problem in service.problems] == []
    assert [url for url in requests if not url.startswith((f"{origin}/", "blob:"))] == []
    assert [error for error in errors if not re.search("422|503", error)] == []
