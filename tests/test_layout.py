"""Dependencies point one way: a package imports only from itself and from the packages listed before it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "veriscene"
PACKAGES = (
    *("errors", "files", "output", "config", "world", "language", "worlds", "data", "models", "metrics", "judge"),
    *("training", "report", "service", "lab", "cli"),
)


def imported_packages(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "veriscene":
            names |= {alias.name for alias in node.names if alias.name != "__version__"}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("veriscene."):
            names.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("veriscene.")}
    return names


# Imports that still point the other way; the list only ever gets shorter.
STILL_BACKWARDS = {
    "data": {"models"},
}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_from_those_listed_before_it(package: str) -> None:
    allowed = {*PACKAGES[: PACKAGES.index(package) + 1], *STILL_BACKWARDS.get(package, ())}
    paths = [*(SOURCE / package).rglob("*.py"), *SOURCE.glob(f"{package}.py")]
    assert paths
    for path in paths:
        assert imported_packages(path) <= allowed, path


@pytest.mark.parametrize("package", ["world", "language", "worlds"])
def test_scenes_and_their_meanings_do_without_torch(package: str) -> None:
    for path in (SOURCE / package).rglob("*.py"):
        assert not re.search(r"^\s*(import|from) torch\b", path.read_text(encoding="utf-8"), re.MULTILINE), path
