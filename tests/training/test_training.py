"""The training loop: it learns, keeps the best weights, and every setting reaches the weights."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import veriscene
from samples import UNTUNED, write_corpus, yellow_circle_examples
from veriscene.config import presets
from veriscene.data.batch import Batch
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.models import Judgement, load_preset
from veriscene.models.biatt_pointer import BiATTPointer
from veriscene.output import Terminal
from veriscene.training import train as training
from veriscene.training.distributed import Machine
from veriscene.training.log import Event, LogLine, OnEvent, Remark, Saved, Scored, Step, read_log
from veriscene.training.spec import Record, Spec
from veriscene.training.train import Result, StopAfter, train

SIZES = ["model.embedding=12", "model.hidden=12", "model.item=12", "model.joint=24", "model.mlp=24"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    return write_corpus(folder, yellow_circle_examples(200), yellow_circle_examples(50, seed=1))


def fit(
    corpus: Path,
    folder: Path,
    *changes: str,
    on_event: OnEvent | None = None,
    stop_after: StopAfter = lambda line: False,
    machine: Machine | None = None,
) -> Result:
    settings = [*UNTUNED, *SIZES, "training.batch=32", "training.patience=99", *changes]
    spec = Spec(load_preset("biatt-pointer", settings), corpus=corpus)
    return train(spec, folder, on_event=on_event, stop_after=stop_after, machine=machine)


def test_it_learns_and_keeps_the_best_weights(tmp_path: Path) -> None:
    examples = yellow_circle_examples(48)
    folder = write_corpus(tmp_path / "corpus", examples, examples)  # scored on what it learns by heart
    settings = ["training.learning_rate=0.01", "training.epochs=70", "model.dropout=0.0", "training.batch=16"]
    result = fit(folder, tmp_path / "run", *settings)
    log = read_log(tmp_path / "run")
    best = max(log, key=lambda line: line.dev_accuracy)
    assert log[-1].loss < 0.5 * log[0].loss
    assert best.dev_accuracy > 0.9 > log[0].dev_accuracy
    assert result.best_accuracy == best.dev_accuracy and result.position.best_step == best.step
    saved = checkpoints.load(tmp_path / "run")
    assert saved.metrics == {**vars(best), "supervision": "labels"}
    judge = result.judge()
    right = [judge(e.statement, e.scene).verdict == e.label for e in examples]
    assert sum(right) / len(right) == best.dev_accuracy


def test_events_come_in_the_order_in_which_things_happen(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "REFRESH_SECONDS", -1.0)
    events: list[Event] = []
    fit(corpus, tmp_path / "run", "training.epochs=2", on_event=events.append)
    first, *rest = [event for event in events if not isinstance(event, Saved)]
    assert isinstance(first, Remark)
    steps = [
        event.line.step if isinstance(event, Scored) else event.step
        for event in rest
        if isinstance(event, Step | Scored)
    ]
    assert steps == [1, 2, 3, 4, 5, 6, 7, 7, 7, 8, 9, 10, 11, 12, 13, 14, 14, 14]
    assert [event.line for event in events if isinstance(event, Scored)] == read_log(tmp_path / "run")
    best = next(event for event in events if isinstance(event, Saved))
    assert (best.step, best.folder) == (7, tmp_path / "run" / "best")
    assert events[-1] == Saved(14, tmp_path / "run" / "last")
    remarks = [event for event in events if isinstance(event, Remark)]
    monkeypatch.setattr(training, "ETA_STEPS", 3)
    again: list[Event] = []
    fit(corpus, tmp_path / "again", "training.epochs=1", on_event=again.append)
    assert len(remarks) == 1 and isinstance(again[4], Remark), "the expected time follows the third step"


def test_training_from_python_takes_a_preset_or_a_file_and_changes(corpus: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    changes = {"model.hidden": 4, "model.embedding": 4, "model.item": 4, "training.epochs": 1}
    result = veriscene.train("bienc", data=corpus, changes=changes, folder=tmp_path / "preset", on_event=events.append)
    assert any(isinstance(event, Scored) for event in events)
    file = tmp_path / "my.toml"
    file.write_text(presets()["bienc"], encoding="utf-8")
    again = veriscene.train(file, data=str(corpus), changes=changes, folder=tmp_path / "file", on_event=events.append)
    assert again.best_accuracy == result.best_accuracy
    record = Record.read(tmp_path / "file")
    assert record.spec.config.training.epochs == 1 and record.spec.preset == str(file)
    assert Record.read(tmp_path / "preset").spec == record.spec
    with pytest.raises(InputError) as error:
        veriscene.train("biat-pointer", data=corpus)
    assert "biatt-pointer?" in str(error.value.allowed)
    with pytest.raises(InputError):
        veriscene.train("bienc", data=corpus, changes={"training.policy_weight": 0.5})


def test_stop_after_sees_each_log_line_and_may_end_the_run(corpus: Path, tmp_path: Path) -> None:
    seen: list[LogLine] = []

    def second(line: LogLine) -> bool:
        seen.append(line)
        return len(seen) == 2

    result = fit(corpus, tmp_path / "run", "training.epochs=4", "training.evaluate_every=3", stop_after=second)
    assert result.position.finished and result.position.step == 6 and not result.interrupted
    assert read_log(tmp_path / "run") == seen


@pytest.mark.parametrize(("seconds", "lines"), [(-1.0, 6), (3600.0, 0)])
def test_without_a_terminal_lines_between_scores_show_progress(
    corpus: Path,
    tmp_path: Path,
    seconds: float,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(training, "REFRESH_SECONDS", -1.0)
    monkeypatch.setattr("veriscene.training.log.STEP_LINE_SECONDS", seconds)
    fit(corpus, tmp_path / "run", "training.epochs=1", machine=Machine(Terminal()))
    shown = capsys.readouterr().err.splitlines()
    assert sum(line.startswith("loss") for line in shown) == lines
    assert sum("7/7" in line and "dev" in line for line in shown) == 1


EFFECTIVE = [
    "training.weight_decay=0.5",
    "training.label_smoothing=0.3",
    "training.r_drop=1.0",
    "training.policy_weight=0.1",
    "training.clip=0.01",
    "training.window=1",
    "training.seed=2",
    "model.forget_bias=1.0",
    "data.word_dropout=0.5",
    "data.order=sorted",
]


def trained_weights(corpus: Path, folder: Path, *changes: str) -> list[torch.Tensor]:
    fit(corpus, folder, "training.epochs=1", "data.minimum_count=1", *changes)
    return list(checkpoints.load(folder / "last").model.parameters())


@pytest.fixture(scope="module")
def usual_weights(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[torch.Tensor]:
    return trained_weights(corpus, tmp_path_factory.mktemp("usual") / "run")


@pytest.mark.parametrize("setting", ["", *EFFECTIVE])
def test_every_setting_reaches_the_weights(
    corpus: Path, tmp_path: Path, setting: str, usual_weights: list[torch.Tensor]
) -> None:
    weights = trained_weights(corpus, tmp_path / "run", *([setting] if setting else []))
    moved = max((one - other).abs().max().item() for one, other in zip(weights, usual_weights, strict=True))
    assert moved > 1e-6 if setting else moved == 0


@pytest.mark.parametrize("fails", [False, True])
def test_tf32_is_on_during_training_and_then_as_before(fails: bool, corpus: Path, tmp_path: Path) -> None:
    during: list[bool] = []

    def look(event: Event) -> None:
        if isinstance(event, Scored):
            during.append(torch.backends.cuda.matmul.allow_tf32)
            if fails:
                raise MemoryError

    before = torch.backends.cuda.matmul.allow_tf32
    with pytest.raises(MemoryError) if fails else nullcontext():
        fit(corpus, tmp_path / "run", "training.epochs=1", on_event=look)
    assert during and all(during) and torch.backends.cuda.matmul.allow_tf32 is before is False


@pytest.mark.parametrize(
    "change", ["model.pooling=maximum", "model.name=gpt", "training.threads=100000", "model.hidden=99999999999"]
)
def test_invalid_settings_leave_no_folder(corpus: Path, tmp_path: Path, change: str) -> None:
    with pytest.raises(InputError):
        fit(corpus, tmp_path / "run", change)
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_not_finite_ends_the_run_and_is_never_saved(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "SAVE_SECONDS", -1.0)
    monkeypatch.setattr(training, "REFRESH_SECONDS", 3600.0)
    monkeypatch.setattr(training, "ETA_STEPS", 10**9)
    plain_forward, calls = BiATTPointer.forward, 0

    def forward(self: BiATTPointer, batch: Batch) -> Judgement:
        nonlocal calls
        calls += 1
        judgement = plain_forward(self, batch)
        return replace(judgement, logits=judgement.logits * float("nan")) if calls == 3 else judgement

    monkeypatch.setattr(BiATTPointer, "forward", forward)
    with pytest.raises(InputError) as error:
        fit(corpus, tmp_path / "run", "training.epochs=1")
    assert error.value.where == tmp_path / "run" and "step 3" in error.value.what
    assert "training.learning_rate" in str(error.value.allowed)
    monkeypatch.setattr(BiATTPointer, "forward", plain_forward)
    monkeypatch.setattr(training, "REFRESH_SECONDS", -1.0)
    events: list[Event] = []
    train(Record.read(tmp_path / "run").spec, tmp_path / "run", resume=True, on_event=events.append)
    assert next(event.step for event in events if isinstance(event, Step)) == 3
