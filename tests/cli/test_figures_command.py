"""`veriscene figures`: two files per figure; one clear line for invalid input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shell import veriscene

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install -e '.[dev]'")

DEV = "corpus/dev/dev.json"
# The line must name what is wrong.
BAD_INPUT = {
    f"figures order pairs {DEV} --out out": "pairs: does not choose an order",
    f"figures order best-pixels {DEV} --out out": "best-pixels: does not choose an order of the scene's items",
    f"figures attention pairs {DEV} --out out": "pairs: has no attention",
    f"figures order nothing {DEV} --out out": "nothing",
    "figures order model none.json --out out": "none.json",
    "figures errors model unlabelled.json --out out": "unlabelled.json:1: '0-0' has no label",
    f"figures errors model {DEV} --identifiers 77-0 --out out": f"{DEV}: no example '77-0'",
    f"figures order model {DEV} --identifiers , --out out": "--identifiers: names 0 examples",
    f"figures contrast model {DEV} --baseline model --out out": f"{DEV}: has no example that model gets right",
    f"figures contrast model {DEV} --baseline model --identifiers 0-0 --out out": "'0-0' is not an example",
    f"figures order model {DEV} --count 1 --out good.csv": "good.csv",
    f"figures order model {DEV} --font Nothing --out out": "there is no font 'Nothing'",
}


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


@pytest.mark.parametrize("command", BAD_INPUT)
def test_invalid_input_is_one_clear_line(command: str, place: Path) -> None:
    done = veriscene(*command.split(), cwd=place)
    assert done.returncode == 1 and done.stdout == "", done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("veriscene: ") and BAD_INPUT[command] in line, line
    assert not (place / "out").exists()


def test_a_missing_library_is_one_line_that_says_how_to_install_it(place: Path) -> None:
    script = "import sys; sys.modules['matplotlib'] = None; from veriscene.cli import main; main()"
    command = [sys.executable, "-c", script, "figures", "order", "model", DEV, "--out", "out"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, timeout=120)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "pip install 'veriscene[plot]'" in done.stderr
