"""How wide a page gets in a real browser with a narrow window."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import escape
from pathlib import Path

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def width_on_a_phone(html: str, folder: Path) -> int:
    """Of the page on a screen of 400 pixels, with everything unfolded: more means horizontal scrolling."""
    # In a frame, since a browser window has a minimum width.
    opened = escape(html.replace("<details>", "<details open='open'>"))
    frame = f'<iframe style="width:400px;border:0" srcdoc="{opened}"></iframe>'
    measure = "document.title = 'width ' + document.querySelector('iframe').contentDocument.documentElement.scrollWidth"
    (folder / "frame.html").write_text(f"<body>{frame}<script>onload = () => {{ {measure} }}</script>")
    command = [str(BROWSER), "--headless", "--no-sandbox", f"--user-data-dir={folder}", "--dump-dom"]
    shown = subprocess.run([*command, f"file://{folder}/frame.html"], capture_output=True, text=True, timeout=60)
    width = re.search(r"<title>width (\d+)", shown.stdout)
    assert width is not None, shown.stderr
    return int(width[1])
