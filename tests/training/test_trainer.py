"""The trainer trains: it learns, keeps the best state, clips, and reads items in the order it was told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator

from samples import UNTUNED, write_corpus, yellow_circle_examples
from veriscene.config import load_preset
from veriscene.errors import InputError
from veriscene.scenes import nlvr
from veriscene.tensors.batch import Batch, ItemOrder
from veriscene.training import checkpoint as checkpoints
from veriscene.training import run
from veriscene.training.progress import read_log
from veriscene.training.trainer import Trainer

SIZES = ["model.embedding=12", "model.hidden=12", "model.item=12", "model.joint=24", "model.mlp=24"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    return write_corpus(folder, yellow_circle_examples(200), yellow_circle_examples(50, seed=1))


def start(corpus: Path, folder: Path, *changes: str) -> Trainer:
    config = load_preset("biatt-pointer", [*UNTUNED, *SIZES, "training.batch=32", "training.patience=99", *changes])
    return run.start(config, preset="biatt-pointer", data=corpus, folder=folder, accelerator=Accelerator(), quiet=True)


def test_it_learns_and_keeps_the_best_state(tmp_path: Path) -> None:
    examples = yellow_circle_examples(48)
    folder = write_corpus(tmp_path / "corpus", examples, examples)  # scored on what it learns by heart
    settings = ["training.learning_rate=0.01", "training.epochs=70", "model.dropout=0.0", "training.batch=16"]
    outcome = start(folder, tmp_path / "run", *settings).fit()
    log = read_log(tmp_path / "run")
    best = max(log, key=lambda line: line["dev_accuracy"])
    assert log[-1]["loss"] < 0.5 * log[0]["loss"]
    assert best["dev_accuracy"] > 0.9 > log[0]["dev_accuracy"]
    assert outcome.position.best_accuracy == best["dev_accuracy"] and outcome.position.best_step == best["step"]
    kept = checkpoints.load(tmp_path / "run")
    assert kept.metrics["step"] == best["step"] and kept.metrics["supervision"] == "labels"
    right = (kept.model(kept.encode(examples)).logits > 0) == torch.tensor([e.label for e in examples])
    assert right.double().mean().item() == best["dev_accuracy"]


@pytest.mark.parametrize(("seconds", "lines"), [(-1.0, 9), (3600.0, 1)])
def test_without_a_terminal_a_line_tells_now_and_then_that_it_goes_on(
    corpus: Path,
    tmp_path: Path,
    seconds: float,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("veriscene.training.trainer.SECONDS_BETWEEN_LOOKS", -1.0)
    monkeypatch.setattr("veriscene.training.progress.SECONDS_BETWEEN_LINES", seconds)
    trainer = start(corpus, tmp_path / "run", "training.epochs=1")
    trainer.quiet = False
    trainer.fit()
    told = capsys.readouterr().err.splitlines()
    assert len(told) == lines  # of seven steps, each looked at, the last one twice, and of one dev score
    assert "dev" in told[-1] and "step      7/7" in told[-1]
    assert all(f"step      {min(n, 7)}/7  loss 0." in line for n, line in enumerate(told[:-1], 1))


SETTINGS_WITH_EFFECT = [
    "training.weight_decay=0.5",
    "training.label_smoothing=0.3",
    "training.agreement=1.0",
    "training.sharpness=0.5",
    "training.policy_weight=0.1",
    "training.clip=0.01",
    "training.window=1",
    "training.seed=2",
    "model.forget_bias=1.0",
    "data.recolor=true",
    "data.mirror=true",
    "data.jitter=5.0",
    "data.word_dropout=0.5",
    "data.order=sorted",
]


@pytest.fixture(scope="module")
def usual_weights(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[torch.Tensor]:
    trainer = start(corpus, tmp_path_factory.mktemp("usual") / "run", "training.epochs=1", "data.minimum_count=1")
    trainer.fit()
    return [parameter.detach() for parameter in trainer.model.parameters()]


@pytest.mark.parametrize("setting", ["", *SETTINGS_WITH_EFFECT])
def test_every_setting_reaches_the_weights(
    corpus: Path, tmp_path: Path, setting: str, usual_weights: list[torch.Tensor]
) -> None:
    changes = ["training.epochs=1", "data.minimum_count=1", *([setting] if setting else [])]
    trainer = start(corpus, tmp_path / "run", *changes)
    trainer.fit()
    pairs = zip(trainer.model.parameters(), usual_weights, strict=True)
    moved = max((one - other).abs().max().item() for one, other in pairs)
    assert moved > 1e-6 if setting else moved == 0


def test_no_step_is_longer_than_the_clipped_gradient_allows(corpus: Path, tmp_path: Path) -> None:
    """With the gradient cut to almost nothing and a large epsilon beside it, Adam hardly moves."""
    trainer = start(corpus, tmp_path / "run", "training.clip=1e-9", "training.epochs=1")
    for group in trainer.optimizer.param_groups:
        group["eps"] = 1.0
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    trainer.fit()
    moved = max((a - b).abs().max().item() for a, b in zip(trainer.model.parameters(), before, strict=True))
    assert moved < 1e-10


@pytest.mark.parametrize("order", ["file", "sorted", "random"])
def test_an_example_is_read_twice_and_in_another_order_only_where_orders_are_random(
    corpus: Path, tmp_path: Path, order: str
) -> None:
    trainer = start(corpus, tmp_path / order, f"data.order={order}", "training.agreement=1.0")
    read: list[Batch] = []
    trainer.model.register_forward_pre_hook(lambda _model, arguments: read.append(arguments[0]))
    trainer._make_step()(*next(trainer.epochs.from_step(0)), learning_rate=1e-4)
    (batch,) = read
    assert len(batch) == 2 * trainer.config.training.batch
    first, second = batch[: len(batch) // 2], batch[len(batch) // 2 :]
    assert torch.equal(first.words, second.words)
    assert torch.equal(first.positions.sort(dim=2).values, second.positions.sort(dim=2).values)
    assert torch.equal(first.positions, second.positions) is (order != "random")


@pytest.mark.parametrize("order", ["file", "sorted", "random"])
def test_items_are_read_in_the_order_of_the_configuration(corpus: Path, tmp_path: Path, order: str) -> None:
    trainer = start(corpus, tmp_path / order, f"data.order={order}", "training.epochs=2")
    batches = list(trainer.epochs.from_step(0))
    first, second = batches[0][0], batches[-1][0]
    as_in_file = torch.equal(first.positions, trainer.corpus.positions)
    assert as_in_file is (order == "file")
    assert torch.equal(first.positions, second.positions) is (order != "random")
    if order != "random":
        assert torch.equal(first.items, trainer.corpus.in_order(ItemOrder(order)).items)


@pytest.mark.parametrize(
    "change", ["model.pooling=maximum", "model.name=gpt", "training.threads=100000", "model.hidden=99999999999"]
)
def test_wrong_settings_leave_no_run_behind(corpus: Path, tmp_path: Path, change: str) -> None:
    with pytest.raises(InputError):
        start(corpus, tmp_path / "run", change)
    assert not (tmp_path / "run").exists()


def test_a_broken_or_unlabelled_corpus_leaves_no_run_behind(corpus: Path, tmp_path: Path) -> None:
    examples = nlvr.read(corpus / "dev" / "dev.json")
    unlabelled = [nlvr.Example(e.identifier, e.statement, e.scene) for e in examples]
    write_corpus(tmp_path / "bare", examples, unlabelled)
    with pytest.raises(InputError, match="each must have a label"):
        start(tmp_path / "bare", tmp_path / "run")
    (tmp_path / "bare" / "dev" / "dev.json").write_text("{")
    with pytest.raises(InputError, match=r"dev\.json:1"):
        start(tmp_path / "bare", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_is_not_resumed_on_other_data(tmp_path: Path) -> None:
    examples = yellow_circle_examples(40)
    folder = write_corpus(tmp_path / "corpus", examples, examples[:8])
    start(folder, tmp_path / "run", "training.epochs=1").fit()
    flipped = nlvr.Example(examples[0].identifier, examples[0].statement, examples[0].scene, not examples[0].label)
    write_corpus(folder, [flipped, *examples[1:]], examples[:8])
    with pytest.raises(InputError, match="data has changed"):
        run.resume(tmp_path / "run", accelerator=Accelerator(), quiet=True)


def test_a_crash_between_the_renames_of_the_last_state_loses_nothing(tmp_path: Path) -> None:
    examples = yellow_circle_examples(40)
    folder = write_corpus(tmp_path / "corpus", examples, examples[:8])
    start(folder, tmp_path / "run", "training.epochs=1").fit()
    (tmp_path / "run" / "last").rename(tmp_path / "run" / "last.previous")
    assert run.resume(tmp_path / "run", accelerator=Accelerator(), quiet=True).position.step == 2


def test_a_loss_that_is_not_finite_ends_the_run_and_keeps_the_last_sound_state(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veriscene.training.trainer.SECONDS_BETWEEN_SAVES", -1.0)
    trainer = start(corpus, tmp_path / "run", "training.epochs=1")
    plain_learn = Trainer._learn

    def learn(self: Trainer, *arguments: Any) -> None:
        plain_learn(self, *arguments)
        if self.position.step == 3:
            self.loss_sum += float("nan")

    monkeypatch.setattr(Trainer, "_learn", learn)
    with pytest.raises(InputError, match="no longer finite at step 3"):
        trainer.fit()
    monkeypatch.undo()
    assert run.resume(tmp_path / "run", accelerator=Accelerator(), quiet=True).position.step == 2
    assert json.loads((tmp_path / "run" / "run.json").read_text())["preset"] == "biatt-pointer"
