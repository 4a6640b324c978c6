"""`veriscene checks` tells what works here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

import veriscene
from veriscene.cli import checks
from veriscene.cli.app import app
from veriscene.errors import EXTRAS, InputError

ROOT = Path(__file__).resolve().parents[2]


def test_every_shipped_model_judges_and_versions_are_shown() -> None:
    done = CliRunner().invoke(app, ["checks", "--json"])
    found = json.loads(done.stdout)
    assert done.exit_code == 0 and found["veriscene"] == veriscene.__version__
    assert {"best", "best-pixels", "biatt-pointer", "shapeworld"} <= found["models"].keys()
    assert all(model["works"] for model in found["models"].values())
    assert found["packages"]["numpy"] and found["cache"]["folder"]
    shown = CliRunner().invoke(app, ["checks"])
    assert shown.exit_code == 0 and all(name in shown.stdout for name in (*found["models"], *found["extras"]))


def test_one_command_adds_all_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = {"torch", "fastapi"}
    monkeypatch.setattr(checks, "find_spec", lambda name: None if name in absent else object())
    monkeypatch.setattr(checks, "_models", dict)
    done = CliRunner().invoke(app, ["checks", "--json"])
    found = json.loads(done.stdout)
    assert found["install"] == "pip install 'veriscene[train,onnx,serve]'"
    assert not found["extras"]["train"]["installed"] and found["extras"]["plot"]["installed"]


def test_a_model_that_does_not_work_is_named_and_the_status_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise InputError("damaged", where=name)

    monkeypatch.setattr("veriscene.judge.load", refuse)
    done = CliRunner().invoke(app, ["checks"])
    assert done.exit_code == 1 and "best: damaged" in done.stdout


def test_extras_are_those_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for extra, modules in EXTRAS.items():
        (line,) = re.findall(rf"^{extra} = (\[.*\])", text, re.MULTILINE)
        named = {Requirement(each).name for each in json.loads(line)}
        assert named == {checks.DISTRIBUTIONS.get(module, module) for module in modules}
    assert set(checks.COMMANDS) == set(EXTRAS)
