"""The README's own commands and code run, its tables are the measured ones, and its commands exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(marker: str, language: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n```{language}\n(.*?)```", README, re.DOTALL)
    assert found, f"the README has no block marked {marker!r}"
    return found[1]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the README's short commands have been run, one after the other, as a person would."""
    folder = tmp_path_factory.mktemp("readme")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in block("commands that the tests run", "sh").splitlines():
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout or ">" in command, f"{command} printed nothing"
    return folder


def test_the_commands_of_the_readme_run(place: Path) -> None:
    assert (place / "runs" / "first" / "report.html").is_file()
    assert (place / "test.csv").read_text().count("\n") == 12


def test_the_shipped_model_says_what_the_readme_shows(place: Path) -> None:
    found = re.search(r"```\n\$ (veriscene predict best .*)\n([^`]*)```", README)
    assert found
    command = [sys.executable, "-m", *shlex.split(found[1])]
    told = subprocess.run(command, cwd=place, capture_output=True, text=True).stdout
    decimal = r"\d\.\d+"
    figures = [[float(figure) for figure in re.findall(decimal, text)] for text in (told, found[2])]
    assert figures[0] == pytest.approx(figures[1], abs=2e-3)
    assert re.sub(decimal, "#", told) == re.sub(decimal, "#", found[2])


def test_the_python_of_the_readme_runs(place: Path) -> None:
    code = block("Python that the tests run", "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] in ("True", "False")


def test_every_command_that_the_readme_names_exists() -> None:
    help_of = {
        words: subprocess.run(
            [sys.executable, "-m", "veriscene", *words.split(), "--help"], capture_output=True, text=True
        ).returncode
        for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
        for words in sorted(set(re.findall(r"^veriscene ((?:data )?[a-z]+)", block, re.MULTILINE)))
    }
    assert help_of and set(help_of.values()) == {0}, help_of
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z]+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_presets_that_the_readme_names_are_there() -> None:
    from veriscene.config import presets

    table = README.split("| preset |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)) == set(presets())


def test_the_printed_run_is_that_of_the_preset() -> None:
    from veriscene.config import load_preset

    quick = load_preset("quick")
    train_examples = quick.data.statements * 8 // 10 * 4
    steps = quick.training.epochs * -(-train_examples // quick.training.batch)
    assert f"step {steps:>6}/{steps}  epoch {quick.training.epochs:>5.1f}" in README
    assert f"{train_examples:,} train and" in README


def test_both_counts_of_unseen_statements_are_those_of_the_corpus() -> None:
    from veriscene.config import load_preset
    from veriscene.corpora import synthetic as corpus
    from veriscene.corpora.statistics import describe

    settings = load_preset("quick").data
    unseen = corpus.build(settings.statements, seed=settings.corpus_seed, level=settings.level)["test"]
    wordings = {corpus.normalized(example.statement) for example in unseen}
    text = " ".join(README.split())
    assert f"judges {len(unseen):,} examples of {len(wordings)} statements" in text
    assert f"`veriscene data stats` counts {describe(unseen)['different statements']} statements" in text


def test_the_results_tables_are_those_of_results_json() -> None:
    script = ROOT / "benchmarks" / "results_table.py"
    assert subprocess.run([sys.executable, str(script), "--check"]).returncode == 0


def test_ci_calls_the_commands_of_the_readme() -> None:
    called = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert "make test" in called and "make lint" in called
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert all(f"run: make {target}" in workflow for target in ("lint", "test", "run"))
