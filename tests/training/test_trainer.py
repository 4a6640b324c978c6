"""The training loop: it learns, keeps the best weights, and every setting reaches the weights."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator

from samples import UNTUNED, write_corpus, yellow_circle_examples
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.models import load_preset
from veriscene.training import run
from veriscene.training.base import Trainer
from veriscene.training.progress import LogLine, read_log
from veriscene.training.trainer import StepTrainer

SIZES = ["model.embedding=12", "model.hidden=12", "model.item=12", "model.joint=24", "model.mlp=24"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    return write_corpus(folder, yellow_circle_examples(200), yellow_circle_examples(50, seed=1))


def start(corpus: Path, folder: Path, *changes: str, quiet: bool = True) -> AbstractContextManager[Trainer]:
    config = load_preset("biatt-pointer", [*UNTUNED, *SIZES, "training.batch=32", "training.patience=99", *changes])
    return run.start(config, preset="biatt-pointer", data=corpus, folder=folder, accelerator=Accelerator(), quiet=quiet)


def test_it_learns_and_keeps_the_best_weights(tmp_path: Path) -> None:
    examples = yellow_circle_examples(48)
    folder = write_corpus(tmp_path / "corpus", examples, examples)  # scored on what it learns by heart
    settings = ["training.learning_rate=0.01", "training.epochs=70", "model.dropout=0.0", "training.batch=16"]
    with start(folder, tmp_path / "run", *settings) as trainer:
        outcome = trainer.fit()
    log = read_log(tmp_path / "run")
    best = max(log, key=lambda line: line.dev_accuracy)
    assert log[-1].loss < 0.5 * log[0].loss
    assert best.dev_accuracy > 0.9 > log[0].dev_accuracy
    assert outcome.position.best_accuracy == best.dev_accuracy and outcome.position.best_step == best.step
    saved = checkpoints.load(tmp_path / "run")
    assert saved.metrics == {**vars(best), "supervision": "labels"}
    right = (saved.model(saved.encode(examples)).logits > 0) == torch.tensor([e.label for e in examples])
    assert right.double().mean().item() == best.dev_accuracy


def test_stop_after_sees_each_log_line_and_may_end_the_run(corpus: Path, tmp_path: Path) -> None:
    seen: list[LogLine] = []

    def second(line: LogLine) -> bool:
        seen.append(line)
        return len(seen) == 2

    with start(corpus, tmp_path / "run", "training.epochs=4", "training.evaluate_every=3") as trainer:
        outcome = trainer.fit(stop_after=second)
    assert outcome.position.finished and outcome.position.step == 6 and not outcome.interrupted
    assert read_log(tmp_path / "run") == seen


@pytest.mark.parametrize(("seconds", "lines"), [(-1.0, 7), (3600.0, 0)])
def test_without_a_terminal_lines_between_scores_show_progress(
    corpus: Path,
    tmp_path: Path,
    seconds: float,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("veriscene.training.trainer.SECONDS_BETWEEN_REFRESHES", -1.0)
    monkeypatch.setattr("veriscene.training.progress.SECONDS_BETWEEN_LINES", seconds)
    with start(corpus, tmp_path / "run", "training.epochs=1", quiet=False) as trainer:
        trainer.fit()
    *between, last = (line for line in capsys.readouterr().err.splitlines() if line.startswith("step"))
    assert "dev" in last and "7/7" in last
    assert {int(line.split()[1].partition("/")[0]) for line in between} == set(range(1, lines + 1))


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
    with start(corpus, folder, "training.epochs=1", "data.minimum_count=1", *changes) as trainer:
        trainer.fit()
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


def test_the_gradient_is_clipped(corpus: Path, tmp_path: Path) -> None:
    """With an almost zero gradient and a large epsilon, Adam hardly moves."""
    with start(corpus, tmp_path / "run", "training.clip=1e-6", "training.epochs=1") as trainer:
        assert isinstance(trainer, StepTrainer)
        for group in trainer.state.optimizer.param_groups:
            group["eps"] = 1.0
        parameters = list(trainer.state.checkpoint.model.parameters())
        before = [parameter.detach().clone() for parameter in parameters]
        trainer.fit()
    moved = max((a - b).abs().max().item() for a, b in zip(parameters, before, strict=True))
    assert moved < 1e-7


@pytest.mark.parametrize("fails", [False, True])
def test_tf32_is_on_during_training_and_then_as_before(
    fails: bool, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    during: list[bool] = []
    plain_learn = StepTrainer._learn

    def learn(self: StepTrainer, *arguments: Any) -> None:
        during.append(torch.backends.cuda.matmul.allow_tf32)
        if fails:
            raise MemoryError
        plain_learn(self, *arguments)

    monkeypatch.setattr(StepTrainer, "_learn", learn)
    before = torch.backends.cuda.matmul.allow_tf32
    with (
        pytest.raises(MemoryError) if fails else nullcontext(),
        start(corpus, tmp_path / "run", "training.epochs=1") as trainer,
    ):
        trainer.fit()
    assert during and all(during) and torch.backends.cuda.matmul.allow_tf32 is before is False


@pytest.mark.parametrize(
    "change", ["model.pooling=maximum", "model.name=gpt", "training.threads=100000", "model.hidden=99999999999"]
)
def test_invalid_settings_leave_no_folder(corpus: Path, tmp_path: Path, change: str) -> None:
    with pytest.raises(InputError), start(corpus, tmp_path / "run", change):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_not_finite_ends_the_run_and_is_never_saved(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veriscene.training.trainer.SECONDS_BETWEEN_SAVES", -1.0)
    monkeypatch.setattr("veriscene.training.trainer.SECONDS_BETWEEN_REFRESHES", 3600.0)
    plain_learn = StepTrainer._learn

    def learn(self: StepTrainer, *arguments: Any) -> None:
        plain_learn(self, *arguments)
        if self.position.step == 3:
            self.loss_sum += float("nan")

    monkeypatch.setattr(StepTrainer, "_learn", learn)
    with (
        pytest.raises(InputError, match=r"no longer finite at step 3; lower training\.learning_rate"),
        start(corpus, tmp_path / "run", "training.epochs=1") as trainer,
    ):
        trainer.fit()
    monkeypatch.undo()
    with run.resume(tmp_path / "run", accelerator=Accelerator(), quiet=True) as resumed:
        assert resumed.position.step == 2
