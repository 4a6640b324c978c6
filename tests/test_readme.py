"""What the README names exists, and its tables are the measured ones. Its commands run in test_guides.py."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z]+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_results_tables_match_results_json() -> None:
    script = ROOT / "benchmarks" / "results_table.py"
    assert subprocess.run([sys.executable, str(script), "--check"]).returncode == 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_exist(path: Path) -> None:
    text = re.sub(r"^    .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)  # code has brackets of its own
    links = re.findall(r"\]\(([^)#\s]+)", text)
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if "log" not in path.parts], ids=lambda path: path.name)
def test_files_that_documents_name_exist(path: Path) -> None:
    """Those of the package may be named from its root, `training/step.py`; what a guide adds is not there yet."""
    named = re.findall(r"`((?:\w+/)+\w+\.(?:py|toml|tsv|js))`", path.read_text(encoding="utf-8"))
    folders = (ROOT, ROOT / "src" / "veriscene")
    new = {"deep_sets.py", "deep-sets.toml", "mine.py", "mine.toml"}
    found = {name for name in named if any((folder / name).is_file() for folder in folders)}
    assert [name for name in named if name not in found and Path(name).name not in new] == []


def test_readme_is_short() -> None:
    assert len(README.split()) <= 1000


def test_ci_runs_the_make_targets() -> None:
    called = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert "make test" in called and "make lint" in called
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert all(f"run: make {target}" in workflow for target in ("lint", "test", "run"))
