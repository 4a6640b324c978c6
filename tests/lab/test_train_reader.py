"""Training a reader: it writes a usable file after each epoch, and resumes exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
import torch
import typer
from safetensors.torch import load_file
from typer.testing import CliRunner

from some_worlds import SHELF
from veriscene import worlds
from veriscene.cli.train import train_reader
from veriscene.config import ReaderTraining
from veriscene.errors import InputError
from veriscene.judge.folders import reader_file
from veriscene.lab import reader as lab
from veriscene.lab.reader import train
from veriscene.language.program import Statement
from veriscene.models.reader import Dropout, Reader
from veriscene.output import Output
from veriscene.worlds import nlvr

SETTINGS = ReaderTraining(epochs=2, statements=500, steps=2, batch=8, seed=3, workers=1)


def test_an_interrupted_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    train(SHELF, whole, SETTINGS)

    class Interrupting(Output):
        """Ends the training in its second epoch."""

        steps = 0
        said: ClassVar[list[str]] = []

        def say(self, text: str) -> None:
            self.said.append(text)

        def progress(self, done: int, total: int, *_: object, **__: object) -> None:
            self.steps += 1
            if self.steps > total:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SHELF, parts, SETTINGS, output=Interrupting())
    assert sum(" means: " in text for text in Interrupting.said) > 2
    assert Reader.load(parts).language.world == SHELF  # what was written before is usable
    with pytest.raises(InputError):
        train(SHELF, parts, SETTINGS, compact=True, resume=True)
    train(SHELF, parts, SETTINGS, resume=True)
    one, other = load_file(whole), load_file(parts)
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    assert [each.name for each in tmp_path.iterdir() if "state" in each.name] == []
    with pytest.raises(InputError):
        train(SHELF, parts, SETTINGS, resume=True)


def test_a_training_that_starts_from_a_reader_keeps_what_that_knows(tmp_path: Path) -> None:
    start, out = tmp_path / "start.safetensors", tmp_path / "out.safetensors"
    train(SHELF, start, SETTINGS)
    train(nlvr.WORLD, out, replace(SETTINGS, learning_rate=0.0, dim=64, epochs=1), start_from=start)
    before, after = Reader.load(start), Reader.load(out)
    assert after.language.world == nlvr.WORLD and after.words[: len(before.words)] == before.words
    assert len(after.words) > len(before.words) and len(after.tokens) > len(before.tokens)
    for name, weight in before.network.state_dict().items():
        assert torch.equal(after.network.state_dict()[name][: len(weight)], weight), name


def test_a_reader_learns_from_files_how_the_corpus_and_how_people_say_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "WARMUP_STEPS", 10)
    language, files = worlds.language("nlvr"), [tmp_path / "corpus.jsonl", tmp_path / "english.jsonl"]
    meanings = {"zork zork": "count(all_items) == 7", "plugh": "count(all_boxes) == 3"}
    for path, (text, meaning) in zip(files, meanings.items(), strict=True):
        path.write_text(Statement(text, None, language.parse(meaning)).to_line(), encoding="utf-8")
    settings = replace(SETTINGS, epochs=1, steps=300, batch=32, learning_rate=1e-2, dim=32, layers=1)
    settings = replace(settings, programs=0.5, examples=0.8)
    read = train(nlvr.WORLD, tmp_path / "out.safetensors", settings, programs=files[:1], examples=files[1:]).read(
        list(meanings)
    )
    assert [each.program and each.program.text for each in read] == list(meanings.values())
    assert read[0].dialect > 0.5 > read[1].dialect


def test_dropout_on_a_cpu_keeps_the_mean_and_drops_its_share() -> None:
    torch.manual_seed(0)
    dropout, ones = Dropout(0.1), torch.ones(300, 401, requires_grad=True)
    out = dropout(ones)
    assert abs(float((out == 0).float().mean()) - 0.1) < 0.005 and abs(float(out.mean()) - 1) < 0.005
    out.sum().backward()
    assert ones.grad is not None and torch.equal(ones.grad, out)
    assert torch.equal(dropout.eval()(ones), ones)


@pytest.mark.parametrize("name", ["taken.safetensors", "reader.bin"])
def test_the_command_refuses_names_that_are_taken_or_odd(name: str, tmp_path: Path) -> None:
    (tmp_path / "taken.safetensors").touch()
    with pytest.raises(InputError) as refused:
        train_reader(tmp_path / name)
    assert refused.value.where == tmp_path / name


@pytest.mark.parametrize("name", ["best", "shapeworld"])
def test_a_training_may_start_from_a_shipped_reader(name: str, tmp_path: Path) -> None:
    own = tmp_path / "own.safetensors"
    assert reader_file(str(own)) == own
    assert Reader.load(reader_file(name)).words


def test_the_commands_options_are_the_settings_and_compact_halves_the_file(tmp_path: Path) -> None:
    options = [*("--world", "shapeworld", "--epochs", "1", "--statements", "500", "--steps", "1", "--batch", "8")]
    options += [
        "--dim",
        "64",
        "--layers",
        "1",
        "--learning-rate",
        "0",
        "--dialect",
        "0",
        "--seed",
        "3",
        "--workers",
        "1",
    ]
    app, paths = typer.Typer(), [tmp_path / "plain.safetensors", tmp_path / "compact.safetensors"]
    app.command()(train_reader)
    for path, more in zip(paths, ([], ["--compact"]), strict=True):
        done = CliRunner().invoke(app, [str(path), *options, *more])
        assert done.exit_code == 0, done.exception
    plain, compact = map(Reader.load, paths)
    config = plain.network.config
    assert (config.dim, config.layers) == (64, 1) == (compact.network.config.dim, compact.network.config.layers)
    assert compact.is_compact and not plain.is_compact and plain.words == compact.words
    assert paths[1].stat().st_size < 0.7 * paths[0].stat().st_size
    refused = CliRunner().invoke(app, [str(tmp_path / "odd.safetensors"), "--dim", "12"])
    assert isinstance(refused.exception, InputError) and not (tmp_path / "odd.safetensors").exists()
