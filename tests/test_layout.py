"""Dependencies point one way: a package imports only from itself and from the packages listed before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "veriscene"
PACKAGES = (
    *(
        "errors",
        "files",
        "output",
        "config",
        "world",
        "language",
        "english",
        "worlds",
        "data",
        "models",
        "metrics",
        "judge",
    ),
    *("plugins", "training", "report", "service", "lab", "cli"),
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


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_from_those_listed_before_it(package: str) -> None:
    allowed = {*PACKAGES[: PACKAGES.index(package) + 1]}
    paths = [*(SOURCE / package).rglob("*.py"), *SOURCE.glob(f"{package}.py")]
    assert paths
    for path in paths:
        assert imported_packages(path) <= allowed, path


# A docstring that begins like this is no sentence.
OPENINGS_OF_FRAGMENTS = {"The", "A", "An", "Of", "Whether", "What", "How", "That", "Where", "As"}


def documented(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yields the names and docstrings of public functions, and of public methods of public classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and not child.name.startswith("_"):
            yield child.name, ast.get_docstring(child) or ""
        elif isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from documented(child)


def test_docstrings_of_public_functions_are_sentences() -> None:
    found = []
    for path in SOURCE.rglob("*.py"):
        every = documented(ast.parse(path.read_text(encoding="utf-8")))
        found += [f"{path.name}: {name}" for name, text in every if text.split(" ")[0] in OPENINGS_OF_FRAGMENTS]
    assert not found


@pytest.mark.parametrize("package", ["world", "language", "english", "worlds"])
def test_scenes_and_their_meanings_do_without_torch(package: str) -> None:
    for path in (SOURCE / package).rglob("*.py"):
        assert not re.search(r"^\s*(import|from) torch\b", path.read_text(encoding="utf-8"), re.MULTILINE), path


# Words that only a world may know, and the packages that may use them: plans and commands name corpora, and the drawing
# says what shapes look like.
OF_A_WORLD = re.compile(
    r"nlvr|cornell|lilgym|yellow|\bblue\b|\bblack\b|circle|square|triangle|structured_rep|[xy]_loc", re.IGNORECASE
)
MAY_NAME_THEM = ("worlds", "lab", "cli", "__init__.py", "drawing.py", "figures.py", "page.py")


def test_nothing_outside_worlds_names_a_colour_a_shape_or_a_corpus() -> None:
    found = []
    for path in SOURCE.rglob("*.py"):
        if {path.name, path.relative_to(SOURCE).parts[0]} & {*MAY_NAME_THEM}:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        statements = (node for node in ast.walk(tree) if isinstance(node, ast.Expr))
        documentation = {id(node.value) for node in statements if isinstance(node.value, ast.Constant)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in documentation else None
            text = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else text
            if isinstance(node, ast.ImportFrom):
                text = f"{node.module} {' '.join(alias.name for alias in node.names)}"
            if isinstance(text, str) and OF_A_WORLD.search(text) and text != "square":  # a method of tensors
                found.append(f"{path.relative_to(SOURCE)}: {text[:60]}")
    assert not found


def test_wordings_of_the_english_grammar_name_no_colour_and_no_shape() -> None:
    files = [
        path for path in (SOURCE / "english").glob("*.txt") if path.name != "outside.txt"
    ]  # which has other topics
    assert files
    for path in files:
        said = re.sub("^#.*", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert not OF_A_WORLD.search(said), path
