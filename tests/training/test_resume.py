"""Interrupted and resumed equals uninterrupted, bit for bit."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file

from samples import UNTUNED, write_corpus, yellow_circle_examples
from veriscene.config import Config, load_preset
from veriscene.errors import InputError
from veriscene.training import run, trainer
from veriscene.training.progress import read_log
from veriscene.training.trainer import Trainer

# Everything that is drawn or kept from step to step.
REGULARISED = [
    "training.average=0.9",
    "training.weight_decay=0.1",
    "training.label_smoothing=0.1",
    "training.agreement=1.0",
    "training.sharpness=0.05",
    "training.policy_weight=0.5",
    "data.minimum_count=1",
    "data.recolor=true",
    "data.mirror=true",
    "data.jitter=1.0",
    "data.word_dropout=0.1",
]
SMALL = ["model.hidden=6", "model.embedding=8", "model.item=5", "model.joint=10", "model.mlp=8", "model.dropout=0.3"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus", yellow_circle_examples(44), yellow_circle_examples(12, seed=1))


def small(*changes: str) -> Config:
    settings = [
        *UNTUNED,
        *SMALL,
        "training.batch=8",
        "training.epochs=3",
        "training.cooldown=0.5",
        "training.patience=99",
    ]
    return load_preset("biatt-pointer", [*settings, *changes])


def start(corpus: Path, folder: Path, config: Config) -> Trainer:
    return run.start(config, preset="biatt-pointer", data=corpus, folder=folder, accelerator=Accelerator(), quiet=True)


def weights_and_scores(folder: Path) -> tuple[dict[str, torch.Tensor], list[tuple[Any, ...]]]:
    scores = [(line["step"], line["loss"], line["dev_accuracy"], line["learning_rate"]) for line in read_log(folder)]
    return load_file(folder / "last" / "model.safetensors"), scores


@pytest.mark.parametrize(
    ("stop_at", "changes"),  # within an epoch, at its end, in a later one
    [(4, []), (6, []), (13, []), (13, REGULARISED)],
)
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(
    corpus: Path, tmp_path: Path, stop_at: int, changes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = start(corpus, tmp_path / "whole", small(*changes))
    assert not whole.fit().interrupted

    broken = start(corpus, tmp_path / "broken", small(*changes))
    plain_learn = Trainer._learn

    def learn_with_ctrl_c(self: Trainer, *arguments: Any) -> None:
        if self.position.step == stop_at - 1:
            signal.raise_signal(signal.SIGINT)
        plain_learn(self, *arguments)

    monkeypatch.setattr(Trainer, "_learn", learn_with_ctrl_c)
    outcome = broken.fit()
    assert outcome.interrupted and outcome.position.step == stop_at
    monkeypatch.undo()

    torch.manual_seed(12345)  # whatever the process did in between must not matter
    torch.rand(17)
    resumed = run.resume(tmp_path / "broken", accelerator=Accelerator(), quiet=True)
    assert not resumed.fit().interrupted

    whole_weights, whole_scores = weights_and_scores(tmp_path / "whole")
    weights, scores = weights_and_scores(tmp_path / "broken")
    assert scores == whole_scores
    assert weights.keys() == whole_weights.keys()
    for name, tensor in whole_weights.items():
        assert torch.equal(tensor, weights[name]), name
    if whole.average is not None:
        for kept, again in zip(whole.average.weights, resumed.average.weights, strict=True):
            assert torch.equal(kept, again)
    best = [load_file(tmp_path / name / "best" / "model.safetensors") for name in ("whole", "broken")]
    assert all(torch.equal(tensor, best[1][name]) for name, tensor in best[0].items())


def test_a_crash_after_a_save_goes_back_to_it_and_cuts_the_log(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(corpus, tmp_path / "whole", small()).fit()
    monkeypatch.setattr(trainer, "SECONDS_BETWEEN_SAVES", -1.0)
    broken = start(corpus, tmp_path / "broken", small())
    plain_save = Trainer._save_last

    def save_until_the_crash(self: Trainer) -> None:
        if self.position.step == 5:
            plain_save(self)
        if self.position.step >= 9:
            raise MemoryError("the machine went down")

    monkeypatch.setattr(Trainer, "_save_last", save_until_the_crash)
    with pytest.raises(MemoryError):
        broken.fit()
    assert [line["step"] for line in read_log(tmp_path / "broken")] == [6]
    monkeypatch.undo()
    resumed = run.resume(tmp_path / "broken", accelerator=Accelerator(), quiet=True)
    assert resumed.position.step == 5
    resumed.fit()
    assert weights_and_scores(tmp_path / "broken")[1] == weights_and_scores(tmp_path / "whole")[1]


def test_other_seeds_give_other_runs(corpus: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        start(corpus, tmp_path / str(seed), small(f"training.seed={seed}")).fit()
    first, second = (load_file(tmp_path / str(seed) / "last" / "model.safetensors") for seed in (1, 2))
    assert not torch.equal(first["pointer.point.weight"], second["pointer.point.weight"])


def test_patience_and_the_time_limit_end_a_run(corpus: Path, tmp_path: Path) -> None:
    patient = start(corpus, tmp_path / "a", small("training.patience=1", "training.learning_rate=1e-9")).fit()
    assert patient.position.finished and patient.position.step < patient.steps_planned
    short = start(corpus, tmp_path / "b", small("training.minutes=1e-6")).fit()
    assert short.position.finished and short.position.step == 1 and short.position.best_step == 1


def test_what_cannot_be_resumed_says_so(corpus: Path, tmp_path: Path) -> None:
    start(corpus, tmp_path / "run", small("training.epochs=1")).fit()
    with pytest.raises(InputError, match="is finished"):
        run.resume(tmp_path / "run", accelerator=Accelerator(), quiet=True).fit()
    with pytest.raises(InputError, match="is there already"):
        start(corpus, tmp_path / "run", small())
    with pytest.raises(InputError, match="not a run"):
        run.resume(tmp_path, accelerator=Accelerator())
    (tmp_path / "run" / "last" / "trainer.pt").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(InputError, match=r"trainer\.pt: damaged"):
        run.resume(tmp_path / "run", accelerator=Accelerator(), quiet=True)


@pytest.mark.parametrize(
    "ending",
    [[], ["training.patience=1", "training.learning_rate=1e-9"], ["training.minutes=1e-6"]],
    ids=["last step", "patience", "time"],
)
def test_a_finished_run_whose_state_was_thrown_away_is_still_finished(
    ending: list[str], corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    start(corpus, folder, small(*ending)).fit()
    shutil.rmtree(folder / "last")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="is finished"):
        run.resume(folder, accelerator=Accelerator(), quiet=True).fit()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    shutil.rmtree(folder / "best")  # of what is lost nothing can be used, so it is trained again
    assert not run.resume(folder, accelerator=Accelerator(), quiet=True).position.finished


def test_a_crash_between_a_score_and_the_first_save_starts_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(corpus, tmp_path / "whole", small()).fit()
    broken = start(corpus, tmp_path / "broken", small())
    plain_learn = Trainer._learn

    def learn_until_the_crash(self: Trainer, *arguments: Any) -> None:
        if self.position.step == 7:
            raise MemoryError("the machine went down")
        plain_learn(self, *arguments)

    monkeypatch.setattr(Trainer, "_learn", learn_until_the_crash)
    with pytest.raises(MemoryError):
        broken.fit()
    monkeypatch.undo()
    assert read_log(tmp_path / "broken") and (tmp_path / "broken" / "best").is_dir()
    assert not (tmp_path / "broken" / "last").exists()
    resumed = run.resume(tmp_path / "broken", accelerator=Accelerator(), quiet=True)
    assert not resumed.position.finished
    resumed.fit()
    assert weights_and_scores(tmp_path / "broken")[1] == weights_and_scores(tmp_path / "whole")[1]


@pytest.mark.parametrize("damage", [b"\xff", b"5\n", b"{}\n", b'{"step": 0, "loss": 1, "dev_accuracy": 1}\n', b"[[["])
def test_a_log_ends_where_it_is_damaged(damage: bytes, tmp_path: Path) -> None:
    good = b'{"step": 3, "loss": 0.5, "dev_accuracy": 0.75, "seconds": 1.0}\n'
    (tmp_path / "log.jsonl").write_bytes(good + damage + b"\n" + good)
    assert [line["step"] for line in read_log(tmp_path)] == [3]


def test_ctrl_c_on_the_command_line_saves_and_says_how_to_go_on(corpus: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "veriscene", "train", "biatt-pointer", "--data", str(corpus)]
    settings = [part for change in [*SMALL, "training.epochs=100000"] for part in ("--set", change)]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "run"), *settings], stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("step"):
            break
    process.send_signal(signal.SIGINT)
    lines += list(process.stderr)
    assert process.wait(timeout=60) == 130
    assert f"go on with: veriscene train --resume {tmp_path / 'run'}" in lines[-1]
    assert "Traceback" not in "".join(lines)
    assert run.resume(tmp_path / "run", accelerator=Accelerator(), quiet=True).position.step > 0
