"""Interrupted and resumed equals uninterrupted, bit for bit."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file

from samples import UNTUNED, write_corpus, yellow_circle_examples
from training_toys import NAME, BatchNormModel
from veriscene.config import Config, TrainingConfig
from veriscene.data.source import CorpusSource
from veriscene.errors import InputError
from veriscene.models import MODELS, load_preset
from veriscene.training import run, trainer
from veriscene.training.base import Outcome, Trainer
from veriscene.training.progress import read_log
from veriscene.training.state import TrainingState
from veriscene.training.trainer import StepTrainer
from veriscene.worlds.nlvr import corpus as nlvr

# Everything that is drawn or carried from step to step.
REGULARISED = [
    "training.ema=0.9",
    "training.weight_decay=0.1",
    "training.label_smoothing=0.1",
    "training.r_drop=1.0",
    "training.policy_weight=0.5",
    "data.minimum_count=1",
    "data.word_dropout=0.1",
]
SMALL = [
    *UNTUNED,
    *("model.hidden=6", "model.embedding=8", "model.item=5", "model.joint=10", "model.mlp=8", "model.dropout=0.3"),
    *("training.batch=8", "training.epochs=3", "training.cooldown=0.5", "training.patience=99"),
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus", yellow_circle_examples(44), yellow_circle_examples(12, seed=1))


def small(*changes: str) -> Config:
    return load_preset("biatt-pointer", [*SMALL, *changes])


def start(corpus: Path, folder: Path, config: Config) -> AbstractContextManager[Trainer]:
    return run.start(config, preset="biatt-pointer", data=corpus, folder=folder, accelerator=Accelerator(), quiet=True)


def resume(folder: Path) -> AbstractContextManager[Trainer]:
    return run.resume(folder, accelerator=Accelerator(), quiet=True)


def fit(corpus: Path, folder: Path, config: Config) -> Outcome:
    with start(corpus, folder, config) as trainer:
        return trainer.fit()


def fit_on(folder: Path) -> Outcome:
    with resume(folder) as trainer:
        return trainer.fit()


def interrupt_at(monkeypatch: pytest.MonkeyPatch, step: int, error: type[BaseException] | None = None) -> None:
    """Ctrl-C during the given step, or an error in its place."""
    plain_learn = StepTrainer._learn

    def learn(self: StepTrainer, *arguments: Any) -> None:
        if self.position.step == step - 1:
            if error is not None:
                raise error("the machine went down")
            signal.raise_signal(signal.SIGINT)
        plain_learn(self, *arguments)

    monkeypatch.setattr(StepTrainer, "_learn", learn)


def check_same(folder: Path, whole: Path) -> None:
    """The same scores, weights, buffers, averages and moments."""
    lines = [
        [(line.step, line.loss, line.dev_accuracy, line.learning_rate) for line in read_log(run)]
        for run in (folder, whole)
    ]
    assert lines[0] == lines[1]
    for part in ("last", "best"):
        one, other = (load_file(run / part / "model.safetensors") for run in (folder, whole))
        assert one.keys() == other.keys()
        for name, tensor in one.items():
            assert torch.equal(tensor, other[name]), f"{part}: {name}"
    one, other = (torch.load(run / "last" / "trainer.pt", weights_only=True) for run in (folder, whole))
    for mine, theirs in zip(one["ema"], other["ema"], strict=True):
        assert torch.equal(mine, theirs)
    for number, state in one["moments"].items():
        assert all(torch.equal(value, other["moments"][number][name]) for name, value in state.items())
    assert torch.equal(one["processes"][0]["cpu"], other["processes"][0]["cpu"])


@pytest.mark.parametrize(
    ("stop_at", "changes"),  # within an epoch, at its end, in a later one
    [(4, []), (6, []), (13, []), (13, REGULARISED), (13, ["training.optimizer=muon"])],
)
def test_a_resumed_run_equals_an_unbroken_one(
    corpus: Path, tmp_path: Path, stop_at: int, changes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not fit(corpus, tmp_path / "whole", small(*changes)).interrupted
    with monkeypatch.context() as context:
        interrupt_at(context, stop_at)
        outcome = fit(corpus, tmp_path / "broken", small(*changes))
    assert outcome.interrupted and outcome.position.step == stop_at
    torch.manual_seed(12345)  # what the process does in between must not matter
    assert not fit_on(tmp_path / "broken").interrupted
    check_same(tmp_path / "broken", tmp_path / "whole")


@pytest.mark.parametrize("epoch", [0, 1])
def test_a_run_can_be_stopped_while_an_epoch_is_being_made(
    epoch: int, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(corpus, tmp_path / "whole", small("training.ema=0.9"))

    def pending(_: CorpusSource, number: int) -> str:
        if number == epoch:
            signal.raise_signal(signal.SIGINT)
        return "making examples: 1%" if number == epoch else ""

    with monkeypatch.context() as context:
        context.setattr(CorpusSource, "pending", pending)
        outcome = fit(corpus, tmp_path / "broken", small("training.ema=0.9"))
    assert outcome.interrupted and outcome.position.step == epoch * outcome.steps_planned // 3
    assert not fit_on(tmp_path / "broken").interrupted
    check_same(tmp_path / "broken", tmp_path / "whole")


def test_waiting_for_an_epoch_is_no_training(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 2.0
    ready = time.monotonic() + 1e9

    def pending(_: CorpusSource, number: int) -> str:
        nonlocal ready
        ready = min(ready, time.monotonic() + seconds)
        return "making examples" if time.monotonic() < ready else ""

    monkeypatch.setattr(CorpusSource, "pending", pending)
    outcome = fit(corpus, tmp_path / "run", small("training.evaluate_every=1"))
    first = read_log(tmp_path / "run")[0]
    assert first.seconds < outcome.position.seconds < seconds, "so a time limit does not depend on it"
    assert first.examples_per_second > 8 / seconds, "of a batch of eight"


@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_running_statistics_are_resumed(
    ema: float, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, NAME, BatchNormModel)
    config = Config(BatchNormModel.Config(), training=TrainingConfig(batch=8, epochs=3, ema=ema, learning_rate=0.01))
    fit(corpus, tmp_path / "whole", config)
    with monkeypatch.context() as context:
        interrupt_at(context, 8)
        assert fit(corpus, tmp_path / "broken", config).interrupted
    saved = load_file(tmp_path / "broken" / "last" / "model.safetensors")
    assert saved["norm.num_batches_tracked"] == 8 and saved["norm.running_mean"].any()
    fit_on(tmp_path / "broken")
    check_same(tmp_path / "broken", tmp_path / "whole")


def test_a_crash_goes_back_to_the_last_save_and_truncates_the_log(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(corpus, tmp_path / "whole", small())
    with monkeypatch.context() as context:
        context.setattr(trainer, "SECONDS_BETWEEN_SAVES", -1.0)
        plain_save = TrainingState.save

        def save(self: TrainingState, folder: Path) -> None:
            if self.position.step == 5:
                plain_save(self, folder)

        context.setattr(TrainingState, "save", save)
        interrupt_at(context, 9, error=MemoryError)
        with pytest.raises(MemoryError):
            fit(corpus, tmp_path / "broken", small())
    assert [line.step for line in read_log(tmp_path / "broken")] == [6]
    with resume(tmp_path / "broken") as resumed:
        assert resumed.position.step == 5
        resumed.fit()
    check_same(tmp_path / "broken", tmp_path / "whole")


def test_a_crash_between_the_first_score_and_the_first_save_starts_over(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(corpus, tmp_path / "whole", small())
    with monkeypatch.context() as context:
        context.setattr(TrainingState, "save", lambda *_: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            fit(corpus, tmp_path / "broken", small())
    assert read_log(tmp_path / "broken") and (tmp_path / "broken" / "best").is_dir()
    assert not (tmp_path / "broken" / "last").exists()
    with resume(tmp_path / "broken") as resumed:
        assert resumed.position.step == 0 and not resumed.position.finished
        resumed.fit()
    check_same(tmp_path / "broken", tmp_path / "whole")


KILLED = """
import os, signal, sys
from pathlib import Path
from accelerate import Accelerator
from veriscene.models import load_preset
from veriscene.training import run
from veriscene.training.trainer import StepTrainer

plain_learn = StepTrainer._learn

def learn(self, *arguments):
    if self.position.best_step:  # the step after the first dev score
        os.kill(os.getpid(), signal.SIGKILL)
    plain_learn(self, *arguments)

StepTrainer._learn = learn
corpus, folder, *changes = sys.argv[1:]
config = load_preset("biatt-pointer", changes)
with run.start(
    config, preset="biatt-pointer", data=Path(corpus), folder=Path(folder), accelerator=Accelerator(), quiet=True
) as trainer:
    trainer.fit()
"""


def test_a_run_killed_in_its_first_minute_resumes_from_its_first_score(corpus: Path, tmp_path: Path) -> None:
    fit(corpus, tmp_path / "whole", small())
    command = [sys.executable, "-c", KILLED, str(corpus), str(tmp_path / "killed"), *SMALL]
    assert subprocess.run(command, timeout=120).returncode == -signal.SIGKILL
    with resume(tmp_path / "killed") as resumed:
        assert resumed.position.step == read_log(tmp_path / "killed")[0].step == 6
        resumed.fit()
    check_same(tmp_path / "killed", tmp_path / "whole")


def test_different_seeds_give_different_weights(corpus: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        fit(corpus, tmp_path / str(seed), small(f"training.seed={seed}", "training.epochs=1"))
    first, second = (load_file(tmp_path / str(seed) / "last" / "model.safetensors") for seed in (1, 2))
    assert not torch.equal(first["pointer.point.weight"], second["pointer.point.weight"])


def test_patience_and_the_time_limit_end_a_run(corpus: Path, tmp_path: Path) -> None:
    patient = fit(corpus, tmp_path / "a", small("training.patience=1", "training.learning_rate=1e-9"))
    assert patient.position.finished and patient.position.step < patient.steps_planned
    short = fit(corpus, tmp_path / "b", small("training.minutes=1e-6"))
    assert short.position.finished and short.position.step == 1 and short.position.best_step == 1


def test_what_cannot_be_resumed_is_refused(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    fit(corpus, folder, small("training.epochs=1"))
    with pytest.raises(InputError, match="is finished"):
        fit_on(folder)
    with pytest.raises(InputError, match=r"already exists; continue with: veriscene train --resume"):
        fit(corpus, folder, small())
    with pytest.raises(InputError, match=r"not a run of `veriscene train`, run\.json is missing"):
        fit_on(tmp_path)
    (folder / "last" / "trainer.pt").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(InputError, match=r"trainer\.pt: damaged"):
        fit_on(folder)
    for damage in ("[]", "{", '{"format": 2}', '{"format": 2, "source": 3}'):
        (folder / "run.json").write_text(damage, encoding="utf-8")
        with pytest.raises(InputError, match=r"run\.json: damaged"):
            fit_on(folder)


def test_a_run_is_not_resumed_on_other_data(tmp_path: Path) -> None:
    examples = yellow_circle_examples(40)
    folder = write_corpus(tmp_path / "corpus", examples, examples[:8])
    fit(folder, tmp_path / "run", small("training.epochs=1"))
    flipped = nlvr.Example(examples[0].identifier, examples[0].statement, examples[0].scene, not examples[0].label)
    write_corpus(folder, [flipped, *examples[1:]], examples[:8])
    with pytest.raises(InputError, match="data has changed"), resume(tmp_path / "run"):
        pass


def test_a_crash_between_the_renames_of_the_last_state_loses_nothing(corpus: Path, tmp_path: Path) -> None:
    fit(corpus, tmp_path / "run", small("training.epochs=1"))
    (tmp_path / "run" / "last").rename(tmp_path / "run" / "last.previous")
    with resume(tmp_path / "run") as resumed:
        assert resumed.position.step == 6


@pytest.mark.parametrize(
    "ending",
    [["training.epochs=1"], ["training.patience=1", "training.learning_rate=1e-9"], ["training.minutes=1e-6"]],
    ids=["last step", "patience", "time"],
)
def test_a_finished_run_whose_state_was_deleted_is_still_finished(
    ending: list[str], corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    fit(corpus, folder, small(*ending))
    shutil.rmtree(folder / "last")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="is finished"):
        fit_on(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    shutil.rmtree(folder / "best")  # nothing is left that could be used, so it is trained again
    with resume(folder) as resumed:
        assert not resumed.position.finished


def test_a_log_ends_where_it_is_damaged(corpus: Path, tmp_path: Path) -> None:
    fit(corpus, tmp_path / "run", small("training.epochs=1"))
    path = tmp_path / "run" / "log.jsonl"
    good = path.read_bytes()
    for damage in (b"\xff", b"5\n", b"{}\n", b"[[[", good[:20], good.replace(b'"step": 6', b'"step": 0')):
        path.write_bytes(good + damage + b"\n" + good)
        assert [line.step for line in read_log(tmp_path / "run")] == [6]


def test_the_moving_average_of_a_model_with_learned_tables_is_resumed_too(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLP's vectors take their size from the corpus; loading them must not replace the memory that EMA refers to."""
    config = load_preset("mlp", ["training.batch=8", "training.epochs=3", "training.patience=99", "training.ema=0.9"])
    with monkeypatch.context() as patch:
        interrupt_at(patch, 8)
        assert fit(corpus, tmp_path / "two", config).interrupted
    fit_on(tmp_path / "two")
    fit(corpus, tmp_path / "one", config)
    for name in ("best", "last"):
        one, two = (load_file(tmp_path / folder / name / "model.safetensors") for folder in ("one", "two"))
        assert all(torch.equal(one[key], two[key]) for key in one)
