"""An interrupted main job prints the command that completes it."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from samples import write_corpus, yellow_circle_examples
from veriscene.cli.app import app
from veriscene.errors import InputError
from veriscene.lab.quickstart import quickstart
from veriscene.output import Output
from veriscene.training.distributed import Machine
from veriscene.training.spec import Spec


class Kept(Output):
    def __init__(self, said: list[str]) -> None:
        self.said = said

    def say(self, text: str) -> None:
        self.said.append(text)


def run(commands: str) -> str:
    """Runs commands that are joined by &&; returns the last line that was printed."""
    for command in commands.split(" && "):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
    return str(done.stdout.splitlines()[-1])


@contextmanager
def interrupted_at_once() -> Iterator[threading.Event]:
    event = threading.Event()
    event.set()
    yield event


def test_the_command_printed_by_an_interrupted_job_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = yellow_circle_examples(16)
    corpus, folder = write_corpus(tmp_path / "corpus", examples, examples), tmp_path / "a run"
    said: list[str] = []

    def job() -> dict[str, object] | None:
        spec = Spec.of("quick", data=corpus, changes=["training.epochs=2", "training.batch=8"])
        return quickstart(spec, folder, machine=Machine(Kept(said)))

    with monkeypatch.context() as context:
        context.setattr("veriscene.training.train.interruptible", interrupted_at_once)
        assert job() is None
    rest = said[-1].partition(": ")[2]
    with pytest.raises(InputError) as caught:
        job()
    assert caught.value.where == folder and rest in str(caught.value.allowed)
    assert run(rest) == str(folder / "report.html") and (folder / "report.html").is_file()
    with pytest.raises(InputError) as caught:
        job()
    assert rest not in str(caught.value.allowed)
    (folder / "report.html").unlink()  # as if it had been interrupted after training
    run(rest)
    assert (folder / "report.html").is_file()


def test_a_job_interrupted_after_training_prints_the_report_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = yellow_circle_examples(16)
    said: list[str] = []

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("veriscene.lab.quickstart.report_run", interrupted)
    corpus = write_corpus(tmp_path / "corpus", examples, examples)
    spec = Spec.of("quick", data=corpus, changes=["training.epochs=1", "training.batch=8"])
    assert quickstart(spec, tmp_path / "a run", machine=Machine(Kept(said))) is None
    assert said[-1] == f"interrupted; continue with: veriscene report '{tmp_path}/a run'"
