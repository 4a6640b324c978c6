"""Data walks through the package in one direction: a room imports only from the rooms above it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "veriscene"
ROOMS = ("scenes", "meaning", "tensors", "models", "training", "evaluation", "experiments", "serving")
FOR_ALL = {"errors", "config"}  # and the package itself, for its version


def imported_rooms(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "veriscene":
            names |= {alias.name for alias in node.names if alias.name != "__version__"}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("veriscene."):
            names.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("veriscene.")}
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_the_rooms_above_it(room: str) -> None:
    allowed = {*ROOMS[: ROOMS.index(room) + 1], *FOR_ALL}
    for path in (SOURCE / room).rglob("*.py"):
        assert imported_rooms(path) <= allowed, path


@pytest.mark.parametrize("room", ["scenes", "meaning"])
def test_the_first_two_rooms_do_without_torch(room: str) -> None:
    for path in (SOURCE / room).rglob("*.py"):
        assert not re.search(r"^\s*(import|from) torch\b", path.read_text(encoding="utf-8"), re.MULTILINE), path
