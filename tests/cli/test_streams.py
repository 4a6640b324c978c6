"""Closed pipes, full devices, narrow encodings and Ctrl-C: no traceback, and the exit status a shell expects."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from shell import shell

from veriscene.cli import output
from veriscene.output import Terminal


@pytest.mark.parametrize(
    "command",
    ["--help", "data stats corpus", "score corpus/dev/dev.json good.csv", "predict model < corpus/dev/dev.json"],
)
def test_output_survives_ascii_and_a_reader_that_leaves(command: str, place: Path) -> None:
    done = shell(f"veriscene {command}", cwd=place, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.isascii() and done.stdout
    done = shell(f"veriscene {command} | true", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["--help", "score corpus/dev/dev.json good.csv"])
def test_a_full_device_as_standard_output_is_one_clear_line(command: str, place: Path) -> None:
    done = shell(f"veriscene {command} > /dev/full", cwd=place)
    assert done.returncode == 1
    assert done.stderr.startswith("veriscene: standard output: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&-"])
def test_messages_that_cannot_be_written_change_nothing(stream: str, place: Path) -> None:
    done = shell(f"veriscene predict model --statement 'a sqare' --scene scene.json --json {stream}", cwd=place)
    assert done.returncode == 0 and done.stdout.count("\n") == 1
    assert shell(f"veriscene score none.json good.csv {stream}", cwd=place).returncode == 1
    assert shell(f"veriscene fly {stream}", cwd=place).returncode == 2


@pytest.mark.parametrize("library", ["typer", "torch"])
def test_control_c_is_silent_while_libraries_are_imported(library: str, place: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "veriscene", "predict", "model"]
    with subprocess.Popen(command, cwd=place, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        next(line for line in running.stderr if line.split("|")[-1].strip().startswith(f"{library}."))
        running.send_signal(signal.SIGINT)
        rest = [line for line in running.stderr if not line.startswith("import time:")]
    assert (running.returncode, rest) == (130, [])


def test_each_stage_of_a_preparation_has_its_own_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    terminal = Terminal()
    terminal.console = Console(file=shown, force_terminal=True, width=80)
    monkeypatch.setattr(output, "terminal", lambda: terminal)
    with output.progress_bar("preparing") as progress:
        for done, total in ((0, 2), (2, 2), (0, 30), (30, 30)):
            progress(done, total)
    assert "2/2" in shown.getvalue() and "30/30" in shown.getvalue()
