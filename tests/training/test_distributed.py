"""Two processes give the scores of one, and count each identifier once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file

from samples import UNTUNED, write_corpus, yellow_circle_examples
from veriscene.config import load_preset
from veriscene.scenes import nlvr
from veriscene.training import run
from veriscene.training.effect import with_effect
from veriscene.training.progress import read_log

SMALL = ["model.hidden=6", "model.embedding=8", "model.item=5", "model.joint=10", "model.mlp=8", "model.dropout=0.0"]
# Without dropout and with items as in the file, nothing is left to chance that processes would draw differently.
SETTINGS = [
    *UNTUNED,
    *SMALL,
    "data.order=file",
    "training.batch=10",
    "training.epochs=2",
    "training.learning_rate=0.01",
]


def veriscene(*arguments: str, processes: int) -> str:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(launcher if processes > 1 else []), "-m", "veriscene", *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    except subprocess.CalledProcessError as error:
        error.add_note(error.stderr)  # else nobody would ever know why
        raise


def test_two_processes_train_and_score_as_one(tmp_path: Path) -> None:
    # 41 examples in batches of 10: the last batch holds one example, fewer than there are processes.
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(41), yellow_circle_examples(13, seed=1))
    matter = with_effect(SETTINGS, load_preset("biatt").model, corpus_given=True)
    settings = [part for change in matter for part in ("--set", change)]
    for processes in (1, 2):
        out = str(tmp_path / str(processes))
        veriscene("train", "biatt", "--data", str(corpus), "--out", out, *settings, processes=processes)
    single, double = read_log(tmp_path / "1"), read_log(tmp_path / "2")
    assert [line["dev_accuracy"] for line in double] == [line["dev_accuracy"] for line in single]
    weights = [load_file(tmp_path / run / "last" / "model.safetensors") for run in ("1", "2")]
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, atol=2e-5, rtol=1e-3)

    dev = corpus / "dev" / "dev.json"
    scores = {}
    for processes in (1, 2):
        csv = tmp_path / f"{processes}.csv"
        arguments = ("evaluate", str(tmp_path / "1"), str(dev), "--predictions", str(csv), "--json")
        scores[processes] = json.loads(veriscene(*arguments, processes=processes))
    assert scores[1] == scores[2]
    assert scores[2]["examples"] == 13
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert list(nlvr.read_predictions(tmp_path / "2.csv")) == [example.identifier for example in nlvr.read(dev)]


def test_bad_input_under_several_processes_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as error:
        veriscene("evaluate", str(tmp_path), str(tmp_path / "none.json"), processes=2)
    assert error.value.stderr.count("not a checkpoint") == 1


def test_the_pointer_network_trains_and_resumes_in_two_processes(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(21), yellow_circle_examples(7, seed=1))
    settings = [part for change in SETTINGS for part in ("--set", change)]
    out = tmp_path / "run"
    veriscene("train", "biatt-pointer", "--data", str(corpus), "--out", str(out), *settings, processes=2)
    assert [line["step"] for line in read_log(out)] == [3, 6]
    with pytest.raises(subprocess.CalledProcessError) as error:
        veriscene("train", "--resume", str(out), processes=1)
    assert "was trained by 2 processes" in error.value.stderr


def test_what_the_first_process_is_refused_ends_the_others_without_a_word(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(9), yellow_circle_examples(7, seed=1))
    for out, refusal, seeds in (
        (corpus, "is there already", []),
        (corpus, "is there already", ["--seeds", "2"]),
        (tmp_path / ("a" * 300), "File name too long", []),  # what the system refuses
    ):
        with pytest.raises(subprocess.CalledProcessError) as error:
            veriscene("train", "bienc", "--data", str(corpus), "--out", str(out), *seeds, processes=2)
        assert error.value.stderr.count(refusal) == 1
        assert "[rank1]: Traceback" not in error.value.stderr
    trainer = run.start(
        load_preset("bienc"), preset="bienc", data=corpus, folder=tmp_path / "run", accelerator=Accelerator()
    )
    with pytest.raises(subprocess.CalledProcessError) as error:
        veriscene("train", "--resume", str(trainer.run), processes=2)
    assert error.value.stderr.count(f"veriscene: {trainer.run}: another command is at work") == 1
    assert "[rank1]: Traceback" not in error.value.stderr
