"""The README's commands and code run, print what it shows, and its tables are the measured ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from veriscene.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def block(marker: str, language: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n```{language}\n(.*?)```", README, re.DOTALL)
    assert found, f"the README has no block marked {marker!r}"
    return found[1]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Where the README's short commands have been run, one after the other, and what each printed."""
    folder, printed = tmp_path_factory.mktemp("readme"), {}
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in block("commands that the tests run", "sh").splitlines():
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout or ">" in command, f"{command} printed nothing"
        printed[command] = done.stdout
    return folder, printed


def test_commands_run(session: tuple[Path, dict[str, str]]) -> None:
    folder, _ = session
    assert (folder / "runs" / "first" / "report.html").is_file()
    assert (folder / "test.csv").read_text().count("\n") == 12


def test_shipped_model_prints_what_the_readme_shows(session: tuple[Path, dict[str, str]]) -> None:
    printed = json.loads(next(text for command, text in session[1].items() if "predict best" in command))
    (shown,) = map(json.loads, re.findall(r"```json\n(.*?)```", README, re.DOTALL))
    assert printed.keys() <= shown.keys()
    assert printed.pop("probability") == pytest.approx(shown["probability"], abs=1e-3)
    assert printed.pop("per_box") == pytest.approx(shown["per_box"], abs=1e-3)
    assert all(shown[key] == value for key, value in printed.items())


def test_python_runs(session: tuple[Path, dict[str, str]]) -> None:
    code = block("Python that the tests run", "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=session[0], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] in ("True", "False")


def test_commands_make_targets_and_presets_exist() -> None:
    commands = re.findall(r"^veriscene ((?:data )?[a-z]+)", README, re.MULTILINE)
    for command in sorted(set(commands)):
        assert CliRunner().invoke(app, [*command.split(), "--help"]).exit_code == 0, command
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z]+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    presets = {path.stem for path in (ROOT / "src" / "veriscene" / "presets").glob("*.toml")}
    trained = set(re.findall(r"^veriscene train ([a-z-]+)", README, re.MULTILINE))
    assert trained and trained <= presets


def test_results_tables_match_results_json() -> None:
    script = ROOT / "benchmarks" / "results_table.py"
    assert subprocess.run([sys.executable, str(script), "--check"]).returncode == 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_exist(path: Path) -> None:
    text = re.sub(r"^    .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)  # code has brackets of its own
    links = re.findall(r"\]\(([^)#\s]+)", text)
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


def test_readme_is_short() -> None:
    assert len(README.split()) <= 900


def test_ci_runs_the_make_targets() -> None:
    called = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert "make test" in called and "make lint" in called
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert all(f"run: make {target}" in workflow for target in ("lint", "test", "run"))
