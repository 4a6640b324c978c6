"""The help of every command shows how it is called."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise

import click
import pytest
import typer
from typer.testing import CliRunner

from veriscene.cli.app import app
from veriscene.models import load_preset

pytest.importorskip("optuna")
from veriscene.lab.tune import Search
from veriscene.training.spec import Spec


def commands(command: click.Command, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield names, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, *names, name)


ALL = dict(commands(typer.main.get_command(app)))


def examples(names: tuple[str, ...]) -> list[list[str]]:
    """The arguments of each example of `veriscene NAMES`, in the text that --help prints last."""
    command = ALL[names]
    text = command.epilog or (command.help or "").split("\n\n")[-1]
    found = re.match(r"Examples?: (.*)", " ".join(text.split()))
    assert found, f"the help of `veriscene {' '.join(names)}` does not end with an example"
    lines = re.split(r", (?:or|then) (?=veriscene |open )", found[1])
    return [shlex.split(line)[1:] for line in lines if line.startswith("veriscene ")]


@pytest.mark.parametrize("names", ALL, ids=" ".join)
def test_help_ends_with_an_example_that_the_command_accepts(names: tuple[str, ...]) -> None:
    shown = examples(names)
    assert shown
    for arguments in shown:
        assert tuple(arguments[: len(names)]) == names
        command, depth = ALL[()], 0
        while arguments[depth : depth + 1] and tuple(arguments[: depth + 1]) in ALL:
            depth += 1
            command = ALL[tuple(arguments[:depth])]
        # Raises a usage error for an unknown option, a missing argument or a wrong type; runs nothing.
        command.make_context("veriscene", arguments[depth:])


@pytest.mark.parametrize("names", ALL, ids=" ".join)
def test_help_prints_the_example(names: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*names, "--help"])
    assert shown.exit_code == 0 and "Example" in shown.output


def test_examples_name_settings_that_exist() -> None:
    ((_, preset, *options),) = examples(("train",))
    load_preset(preset, [value for option, value in pairwise(options) if option == "--set"])
    ((_, preset, *options),) = examples(("tune",))
    space = [value for option, value in pairwise(options) if option == "--space"]
    assert Search.of(Spec(load_preset(preset), preset=preset), space, fixed=()).space
