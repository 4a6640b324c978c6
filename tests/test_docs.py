"""The documentation builds without a warning, and its home page's code runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_documentation_builds_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|link)[^>]*\s(?:src|href)="(http[^"]*)', text)
        assert not loaded, f"{page} loads {loaded}"
    api = (tmp_path / "site" / "api" / "index.html").read_text(encoding="utf-8")
    assert all(f'id="veriscene.{name}"' in api for name in ("load", "judge.judge.Judge", "worlds.read", "train"))


def test_code_of_the_home_page_runs_without_importing_torchs_compiler() -> None:
    """The import would take as long as that of torch itself, in every command that judges."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    code += "import sys; assert 'torch._dynamo' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 0 <= float(done.stdout) <= 1
