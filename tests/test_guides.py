"""The guides run as they are written, and their Python passes mypy --strict."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from samples import write_corpus, yellow_circle_examples
from veriscene.scenes import nlvr

ROOT = Path(__file__).resolve().parent.parent
GUIDES = [ROOT / "README.md", *(ROOT / "docs" / name for name in ("hub.md", "own-data.md", "serving.md"))]
BLOCK = re.compile(r"(?:<!-- (?P<marker>[^\n]*) -->\n)?```(?P<language>python|sh)\n(?P<code>.*?)```", re.DOTALL)


def python_of(guide: Path) -> list[str]:
    found = BLOCK.finditer(guide.read_text(encoding="utf-8"))
    return [block["code"] for block in found if block["language"] == "python"]


def run(guide: str, folder: Path) -> str:
    """Runs the guide's marked blocks in order, in a folder; consecutive Python blocks share their variables. Returns
    what the last block printed."""
    bin_folder = folder / ".bin"
    bin_folder.mkdir()
    (bin_folder / "veriscene").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m veriscene "$@"\n')
    (bin_folder / "veriscene").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),  # whatever the folder in which the tests were started
    }
    parts: list[list[str]] = []
    for block in BLOCK.finditer((ROOT / "docs" / guide).read_text(encoding="utf-8")):
        if "that the tests run" not in (block["marker"] or ""):
            continue
        if parts and parts[-1][0] == block["language"]:
            parts[-1][1] += block["code"]
        else:
            parts.append([block["language"], block["code"]])
    printed = ""
    for language, code in parts:
        command = [sys.executable, "-c", code] if language == "python" else ["bash", "-e", "-c", code]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        printed = done.stdout
    return printed


def test_own_data_from_table_to_saved_model(tmp_path: Path) -> None:
    assert 0 < float(run("own-data.md", tmp_path)) < 1
    train, dev = (nlvr.read(tmp_path / f"corpus/{split}/{split}.json") for split in ("train", "dev"))
    assert len(train) + len(dev) == 360
    assert not {example.statement for example in train} & {example.statement for example in dev}
    assert {path.name for path in (tmp_path / "own-model").iterdir()} == {
        *("model.safetensors", "config.json", "vocabulary.json", "metrics.json", "README.md")
    }
    card = (tmp_path / "own-model" / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\| dev .*\| \d+\.\d \| \d+\.\d \| \d+\.\d to \d+\.\d \|", card) and "Supervision: labels" in card
    assert "veriscene train quick --data CORPUS" in card and str(tmp_path) not in card
    assert (tmp_path / "dev.csv").read_text().count("\n") == len(dev)


def test_hub_guide_runs(tmp_path: Path) -> None:
    examples = yellow_circle_examples(8)
    write_corpus(tmp_path / "corpus", examples, examples)
    assert len(run("hub.md", tmp_path).splitlines()) == 2 + len(examples)
    assert (tmp_path / "mine" / "README.md").is_file()


def test_python_of_the_guides_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    paths = [tmp_path / f"guide_{guide.stem.replace('-', '_')}.py" for guide in GUIDES]
    for guide, path in zip(GUIDES, paths, strict=True):
        path.write_text("\n".join(python_of(guide)), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *map(str, paths)]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
