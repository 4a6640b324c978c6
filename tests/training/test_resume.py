"""Interrupted and resumed equals uninterrupted, bit for bit."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from samples import UNTUNED, write_corpus, yellow_circle_examples
from training_toys import NAME, BatchNormModel
from veriscene.config import Config, TrainingConfig
from veriscene.errors import InputError
from veriscene.models import MODELS, load_preset
from veriscene.training import train as training
from veriscene.training.log import Event, OnEvent, Scored, Step, Waiting, read_log
from veriscene.training.source import CorpusSource
from veriscene.training.spec import Record, Spec
from veriscene.training.train import Result, train

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


def fit(corpus: Path, folder: Path, config: Config, on_event: OnEvent | None = None) -> Result:
    return train(Spec(config, corpus=corpus), folder, on_event=on_event)


def resume(folder: Path, on_event: OnEvent | None = None) -> Result:
    return train(Record.read(folder).spec, folder, resume=True, on_event=on_event)


def at_step(step: int, act: Callable[[], object]) -> OnEvent:
    """Acts as soon as this step is made, before anything is saved."""
    return lambda event: act() if isinstance(event, Step) and event.step == step else None


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def crash() -> None:
    raise MemoryError("the machine went down")


def steps(events: list[Event]) -> list[int]:
    return [event.step for event in events if isinstance(event, Step)]


@pytest.fixture(autouse=True)
def every_step_is_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "REFRESH_SECONDS", -1.0)


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
def test_a_resumed_run_equals_an_unbroken_one(corpus: Path, tmp_path: Path, stop_at: int, changes: list[str]) -> None:
    assert not fit(corpus, tmp_path / "whole", small(*changes)).interrupted
    result = fit(corpus, tmp_path / "broken", small(*changes), at_step(stop_at, interrupt))
    assert result.interrupted and result.position.step == stop_at
    torch.manual_seed(12345)  # what the process does in between must not matter
    assert not resume(tmp_path / "broken").interrupted
    check_same(tmp_path / "broken", tmp_path / "whole")


@pytest.mark.parametrize("epoch", [0, 1])
def test_a_run_can_be_stopped_while_an_epoch_is_being_made(
    epoch: int, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(corpus, tmp_path / "whole", small("training.ema=0.9"))
    waited: list[Event] = []

    def stop(event: Event) -> None:
        if isinstance(event, Waiting):
            waited.append(event)
            interrupt()

    with monkeypatch.context() as context:
        context.setattr(CorpusSource, "pending", lambda _, number: "making examples: 1%" if number == epoch else "")
        result = fit(corpus, tmp_path / "broken", small("training.ema=0.9"), stop)
    assert result.interrupted and result.position.step == epoch * result.total_steps // 3
    assert waited == [Waiting(result.position.step, result.total_steps, "making examples: 1%")]
    assert not resume(tmp_path / "broken").interrupted
    check_same(tmp_path / "broken", tmp_path / "whole")


def test_waiting_for_an_epoch_is_no_training(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 2.0
    started, ready = time.monotonic(), time.monotonic() + 1e9

    def pending(_: CorpusSource, number: int) -> str:
        nonlocal ready
        ready = min(ready, time.monotonic() + seconds)
        return "making examples" if time.monotonic() < ready else ""

    monkeypatch.setattr(CorpusSource, "pending", pending)
    result = fit(corpus, tmp_path / "run", small("training.evaluate_every=1"))
    first = read_log(tmp_path / "run")[0]
    lasted = time.monotonic() - started
    assert first.seconds < result.position.seconds < lasted - 0.9 * seconds, "so a time limit does not depend on it"
    assert 8 / first.examples_per_second < first.seconds + 0.01, "of a batch of eight"


@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_running_statistics_are_resumed(
    ema: float, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, NAME, BatchNormModel)
    config = Config(BatchNormModel.Config(), training=TrainingConfig(batch=8, epochs=3, ema=ema, learning_rate=0.01))
    fit(corpus, tmp_path / "whole", config)
    assert fit(corpus, tmp_path / "broken", config, at_step(8, interrupt)).interrupted
    saved = load_file(tmp_path / "broken" / "last" / "model.safetensors")
    assert saved["norm.num_batches_tracked"] == 8 and saved["norm.running_mean"].any()
    resume(tmp_path / "broken")
    check_same(tmp_path / "broken", tmp_path / "whole")


def test_a_crash_goes_back_to_the_last_save_and_truncates_the_log(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(corpus, tmp_path / "whole", small("training.evaluate_every=4"))
    monkeypatch.setattr(training, "SAVE_SECONDS", 3600.0)  # so only the first score is followed by a save
    with pytest.raises(MemoryError):
        fit(corpus, tmp_path / "broken", small("training.evaluate_every=4"), at_step(9, crash))
    assert [line.step for line in read_log(tmp_path / "broken")] == [4, 8]
    events: list[Event] = []
    resume(tmp_path / "broken", events.append)
    assert steps(events)[0] == 5
    check_same(tmp_path / "broken", tmp_path / "whole")


def test_a_crash_between_the_first_score_and_the_first_save_starts_over(corpus: Path, tmp_path: Path) -> None:
    fit(corpus, tmp_path / "whole", small())
    with pytest.raises(MemoryError):
        fit(corpus, tmp_path / "broken", small(), lambda event: crash() if isinstance(event, Scored) else None)
    assert read_log(tmp_path / "broken") and (tmp_path / "broken" / "best").is_dir()
    assert not (tmp_path / "broken" / "last").exists()
    events: list[Event] = []
    assert resume(tmp_path / "broken", events.append).position.finished and steps(events)[0] == 1
    check_same(tmp_path / "broken", tmp_path / "whole")


KILLED = """
import os, signal, sys
import veriscene
from veriscene.training import train
from veriscene.training.log import Scored, Step

train.REFRESH_SECONDS = -1.0
scored = False

def kill(event):
    global scored
    if scored and isinstance(event, Step):  # the step after the first dev score
        os.kill(os.getpid(), signal.SIGKILL)
    scored |= isinstance(event, Scored)

corpus, folder, *changes = sys.argv[1:]
veriscene.train("biatt-pointer", data=corpus, folder=folder, changes=changes, on_event=kill)
"""


def test_a_run_killed_in_its_first_minute_resumes_from_its_first_score(corpus: Path, tmp_path: Path) -> None:
    fit(corpus, tmp_path / "whole", small())
    command = [sys.executable, "-c", KILLED, str(corpus), str(tmp_path / "killed"), *SMALL]
    assert subprocess.run(command, timeout=120).returncode == -signal.SIGKILL
    assert read_log(tmp_path / "killed")[0].step == 6
    events: list[Event] = []
    resume(tmp_path / "killed", events.append)
    assert steps(events)[0] == 7
    check_same(tmp_path / "killed", tmp_path / "whole")


def test_a_run_killed_before_its_corpus_is_made_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small("data.statements=20", "training.epochs=1")
    whole = train(Spec(config), tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    for left in ("best", "last", "corpus", "tensorboard"):
        shutil.rmtree(tmp_path / "killed" / left, ignore_errors=True)
    (tmp_path / "killed" / "log.jsonl").unlink()
    assert resume(tmp_path / "killed").position.step == whole.position.step
    check_same(tmp_path / "killed", tmp_path / "whole")


def test_different_seeds_give_different_weights(corpus: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        fit(corpus, tmp_path / str(seed), small(f"training.seed={seed}", "training.epochs=1"))
    first, second = (load_file(tmp_path / str(seed) / "last" / "model.safetensors") for seed in (1, 2))
    assert not torch.equal(first["pointer.point.weight"], second["pointer.point.weight"])


def test_patience_and_the_time_limit_end_a_run(corpus: Path, tmp_path: Path) -> None:
    patient = fit(corpus, tmp_path / "a", small("training.patience=1", "training.learning_rate=1e-9"))
    assert patient.position.finished and patient.position.step < patient.total_steps
    short = fit(corpus, tmp_path / "b", small("training.minutes=1e-6"))
    assert short.position.finished and short.position.step == 1 and short.position.best_step == 1


def test_what_cannot_be_resumed_is_refused(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = fit(corpus, folder, small("training.epochs=1"))
    again = resume(folder)
    assert again.was_finished and not first.was_finished and again.position == first.position
    with pytest.raises(InputError) as exists:
        fit(corpus, folder, small())
    assert exists.value.where == folder and f"veriscene train --resume {folder}" in str(exists.value.allowed)
    with pytest.raises(InputError) as other:
        train(Spec(small("training.epochs=2"), corpus=corpus), folder, resume=True)
    assert other.value.where == folder
    with pytest.raises(InputError) as missing:
        resume(tmp_path)
    assert missing.value.where == tmp_path
    (folder / "last" / "trainer.pt").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(InputError) as damaged:
        resume(folder)
    assert damaged.value.where == folder / "last" / "trainer.pt"
    for damage in ("[]", "{", '{"format": 3}', '{"format": 3, "spec": 3}', '{"format": 2}'):
        (folder / "spec.json").write_text(damage, encoding="utf-8")
        with pytest.raises(InputError) as unreadable:
            resume(folder)
        assert unreadable.value.where == folder / "spec.json"


def test_a_run_is_not_resumed_on_other_data(tmp_path: Path) -> None:
    examples = yellow_circle_examples(40)
    folder = write_corpus(tmp_path / "corpus", examples, examples[:8])
    fit(folder, tmp_path / "run", small("training.epochs=1"))
    flipped = replace(examples[0], label=not examples[0].label)
    write_corpus(folder, [flipped, *examples[1:]], examples[:8])
    with pytest.raises(InputError) as error:
        resume(tmp_path / "run")
    assert error.value.where == tmp_path / "run"


def test_a_crash_between_the_renames_of_the_last_state_loses_nothing(corpus: Path, tmp_path: Path) -> None:
    fit(corpus, tmp_path / "run", small("training.epochs=1"))
    (tmp_path / "run" / "last").rename(tmp_path / "run" / "last.previous")
    assert resume(tmp_path / "run").position.step == 6


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
    assert resume(folder).was_finished
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    shutil.rmtree(folder / "best")  # nothing is left that could be used, so it is trained again
    assert not resume(folder).was_finished


def test_a_log_ends_where_it_is_damaged(corpus: Path, tmp_path: Path) -> None:
    fit(corpus, tmp_path / "run", small("training.epochs=1"))
    path = tmp_path / "run" / "log.jsonl"
    good = path.read_bytes()
    for damage in (b"\xff", b"5\n", b"{}\n", b"[[[", good[:20], good.replace(b'"step": 6', b'"step": 0')):
        path.write_bytes(good + damage + b"\n" + good)
        assert [line.step for line in read_log(tmp_path / "run")] == [6]


def test_the_moving_average_of_a_model_with_learned_tables_is_resumed_too(corpus: Path, tmp_path: Path) -> None:
    """MLP's vectors take their size from the corpus; loading them must not replace the memory that EMA refers to."""
    config = load_preset("mlp", ["training.batch=8", "training.epochs=3", "training.patience=99", "training.ema=0.9"])
    assert fit(corpus, tmp_path / "two", config, at_step(8, interrupt)).interrupted
    resume(tmp_path / "two")
    fit(corpus, tmp_path / "one", config)
    for name in ("best", "last"):
        one, two = (load_file(tmp_path / folder / name / "model.safetensors") for folder in ("one", "two"))
        assert all(torch.equal(one[key], two[key]) for key in one)
