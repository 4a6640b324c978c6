"""`veriscene figures`: two files per figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import veriscene

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install -e '.[dev]'")

DEV = "corpus/dev/dev.json"


@pytest.mark.parametrize("kind", ["order", "attention", "errors"])
def test_a_figure_is_written_as_pdf_and_svg_and_replaces_an_earlier_one(kind: str, place: Path, tmp_path: Path) -> None:
    contents = []
    for _ in range(2):
        done = veriscene("figures", kind, "model", DEV, "--count", "2", "--out", str(tmp_path / "new"), cwd=place)
        assert done.returncode == 0, done.stderr
        files = [Path(line) for line in done.stdout.splitlines()]
        assert files == [tmp_path / "new" / f"{kind}.pdf", tmp_path / "new" / f"{kind}.svg"]
        contents.append([file.read_bytes() for file in files])
    assert contents[0] == contents[1] and contents[0][0].startswith(b"%PDF")


def test_pages_are_numbered(place: Path, tmp_path: Path) -> None:
    options = ("--count", "3", "--width", "3", "--height", "2.5", "--font", "DejaVu Serif", "--out", str(tmp_path))
    done = veriscene("figures", "order", "model", DEV, *options, cwd=place)
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert names == [f"order-{number}.{kind}" for number in range(1, len(names) // 2 + 1) for kind in ("pdf", "svg")]
    assert len(names) >= 4 and {path.name for path in tmp_path.iterdir()} == set(names)


def test_examples_asked_for_are_those_shown(place: Path, tmp_path: Path) -> None:
    done = veriscene("figures", "order", "model", DEV, "--identifiers", "2-1, 0-3", "--out", str(tmp_path), cwd=place)
    text = (tmp_path / "order.svg").read_text()
    assert done.returncode == 0 and 0 < text.index("2-1: There is") < text.index("0-3: There is")
    assert "1-0: There is" not in text
