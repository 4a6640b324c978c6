"""Every command and all Python of the README and the guides run where veriscene is installed from its wheel.

They run as they are written, but for what guide_exceptions.py lists. `nlvr` is a tiny corpus.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
import typer
from PIL import Image

from environment import Environment
from guide_exceptions import ADDED, LEFT_OUT, ONLY_MENTIONED, SMALL
from guides import GUIDES, ROOT, Printed, blocks, follow, hidden, mentioned, run
from veriscene import worlds
from veriscene.cli.app import app
from veriscene.judge import load
from veriscene.judge.judge import Verdict
from veriscene.worlds.nlvr import synthetic
from veriscene.worlds.nlvr.raster import pixels

RUNNABLE = [
    name
    for name, text in GUIDES.items()
    if any(block.language == "python" or set(block.commands) - LEFT_OUT.keys() for block in blocks(text))
    and name != "extending.md"  # test_extending.py
]
GIVEN = {  # what a guide takes to be there
    "figures.md": [f"veriscene train {name} --data nlvr --out runs/{name} {SMALL}" for name in ("biatt", "bienc")],
    # With fewer items on a shelf; a pointer network is exported item by item.
    "own-world.md": [f"cp '{ROOT}'/examples/shelf/* .", "sed -i 's/^items = .*/items = [0, 4]/' shelf.toml"],
    "vision.md": ["veriscene data render nlvr/dev/dev.json nlvr/dev/images"],
}
Follow = Callable[[str], tuple[Path, Printed]]


@pytest.fixture(scope="module")
def follow_guide(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Follow]:
    """Follows a guide in a new folder, once; returns the folder, and what was printed."""
    corpus, done = synthetic.build(30, seed=3, level="simple"), dict[str, tuple[Path, Printed]]()
    with environment.preloaded(tmp_path_factory.mktemp("commands") / "bin") as variables:

        def follow_once(guide: str) -> tuple[Path, Printed]:
            if guide not in done:
                folder = tmp_path_factory.mktemp(Path(guide).stem)
                synthetic.write(folder / "nlvr", corpus)
                (folder / "nlvr" / "corpus.json").unlink()  # real corpora have none
                (folder / "own.jsonl").write_bytes((folder / "nlvr/programs/train.jsonl").read_bytes())
                photo = Image.fromarray(pixels(corpus["dev"][0].scene)).convert("RGB")
                photo.resize((600, 150)).save(folder / "photo.jpg")
                for command in GIVEN.get(guide, []):
                    run(["bash", "-c", command], folder, variables)
                done[guide] = folder, follow(guide, folder, environment, variables)
            return done[guide]

        yield follow_once


@pytest.mark.parametrize("guide", RUNNABLE)
def test_every_command_runs(guide: str, follow_guide: Follow) -> None:
    assert follow_guide(guide)[1]


def test_the_readme_shows_what_is_printed(follow_guide: Follow) -> None:
    folder, printed = follow_guide("README.md")
    answer = json.loads(next(text for command, text in printed.items() if "predict best" in command))
    (shown,) = map(json.loads, re.findall(r"```json\n(.*?)```", GUIDES["README.md"], re.DOTALL))
    assert answer.keys() <= shown.keys()
    assert answer.pop("probability") == pytest.approx(shown["probability"], abs=1e-3)
    assert all(shown[key] == value for key, value in answer.items())
    assert (folder / "runs" / "first" / "report.html").is_file()
    assert (folder / "test.csv").read_text().count("\n") == 12
    (code,) = (code for code in printed if code.startswith("import veriscene"))
    probability, reading = printed[code].splitlines()[-1].split(maxsplit=1)
    assert 0 < float(probability) < 1 and reading != "None"


def test_own_data_from_table_to_saved_model(follow_guide: Follow) -> None:
    folder, printed = follow_guide("own-data.md")
    assert 0 < float(list(printed.values())[-1]) < 1
    train, dev = (worlds.read(folder / f"corpus/{split}/{split}.json") for split in ("train", "dev"))
    assert len(train) + len(dev) == 360
    assert not {example.statement for example in train} & {example.statement for example in dev}
    assert {path.name for path in (folder / "own-model").iterdir()} == {
        *("model.safetensors", "config.json", "vocabulary.json", "world.json", "metrics.json", "README.md")
    }
    card = (folder / "own-model" / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\| dev .*\| \d+\.\d \| \d+\.\d \| \d+\.\d to \d+\.\d \|", card) and "Supervision: labels" in card
    assert "veriscene train quick --data CORPUS" in card and str(folder) not in card
    assert (folder / "dev.csv").read_text().count("\n") == len(dev)


def test_own_world_from_its_file_to_a_served_model(follow_guide: Follow) -> None:
    folder, printed = follow_guide("own-world.md")
    (shown,) = re.findall(r"^```toml\n(.*?)^```", GUIDES["own-world.md"], re.DOTALL | re.MULTILINE)
    assert tomllib.loads(shown) == tomllib.loads((ROOT / "examples/shelf/shelf.toml").read_text(encoding="utf-8"))
    world, judge = worlds.get(folder / "shelf.toml"), load(folder / "shelf.onnx")
    assert judge.world == world != worlds.get()
    examples = worlds.read(folder / "shelf/test/test.json")
    assert all(isinstance(answer, Verdict) for answer in judge(examples))
    assert {len(example.scene.boxes) for example in examples} == {1, 2, 3, 4}
    assert list(printed.values())[-1] == "shelf\n"  # the world that the page follows
    assert {example.label for example in examples} == {True, False}
    for file in ("mine.toml", "shelf.svg", "explained.svg", "runs/shelf/report.html"):
        assert (folder / file).is_file(), file
    assert [*(folder / "figures").glob("order*.pdf")]  # of one page, or of several
    assert printed[next(code for code in printed if code.startswith("import random"))] in ("True\n", "False\n")


def test_the_service_answers_as_the_guide_says(follow_guide: Follow) -> None:
    _, printed = follow_guide("serving.md")
    answers = [json.loads(text) for command, text in printed.items() if command.startswith("curl") and text]
    assert len(answers) == 3 and not any("detail" in answer for answer in answers)
    probability, is_same = list(printed.values())[-1].split()
    assert 0 < float(probability) < 1 and is_same == "True"


def test_lists_of_exceptions_are_up_to_date() -> None:
    commands = {command for text in GUIDES.values() for block in blocks(text) for command in block.commands}
    first_lines = {line for text in GUIDES.values() for line in re.findall(r"^```python\n(.*)", text, re.MULTILINE)}
    assert not ADDED.keys() - commands and not LEFT_OUT.keys() - commands - first_lines
    for guide, text in GUIDES.items():
        assert not hidden(text), f"{guide}: put commands into blocks that start with ```sh or ```python"


def test_commands_in_the_text_exist_and_others_are_run() -> None:
    """With their options; and each has a block that shows how it is called, which the tests run."""
    root = typer.main.get_command(app)
    run = [command for text in GUIDES.values() for block in blocks(text) for command in block.commands]
    for text in GUIDES.values():
        for mention in mentioned(text):
            command, names = root, []
            for word in mention.split()[1:]:
                if word not in getattr(command, "commands", {}):
                    break
                command, names = command.commands[word], [*names, word]  # type: ignore[attr-defined]
            options = {option for parameter in command.params for option in parameter.opts}
            assert names and not isinstance(command, click.Group), f"`{mention}`: no such command"
            assert set(re.findall(r"--[a-z-]+", mention)) <= options, f"`{mention}`: no such option"
            name = " ".join(names)
            shown = any(each.startswith(f"veriscene {name} ") or each == f"veriscene {name}" for each in run)
            assert shown or name in ONLY_MENTIONED, f"no block has `veriscene {name}`"


def test_python_of_the_guides_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    for guide, text in GUIDES.items():
        code = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if guide == "extending.md":
            code = code[:1]  # a file; what follows is a line of another one
        programs: list[str] = []
        for block in code:
            if programs and not re.match(r"import .*\bveriscene\b", block):
                programs[-1] += f"\n{block}"
            else:
                programs.append(block)
        for number, program in enumerate(programs):
            name = f"guide_{Path(guide).stem.replace('-', '_')}_{number}.py"
            (tmp_path / name).write_text(program, encoding="utf-8")
    paths = [str(path) for path in tmp_path.glob("*.py")]
    settings = ("--config-file", str(ROOT / "pyproject.toml"), "--ignore-missing-imports")  # trackers are missing
    command = [sys.executable, "-m", "mypy", *settings, *paths]
    variables = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
