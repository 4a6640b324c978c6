"""Several seeds: each is the run it would be alone, and only dev chooses the best."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file

from samples import write_corpus, yellow_circle_examples
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.lab import seeds
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import Summary
from veriscene.models import load_preset
from veriscene.training import run
from veriscene.training.trainer import StepTrainer
from veriscene.worlds.nlvr import corpus as nlvr

TINY = [
    "model.embedding=4",
    "model.hidden=4",
    "training.batch=16",
    "training.epochs=2",
    "training.learning_rate=0.02",
    "training.evaluate_every=4",
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Its test split cannot be read, so opening it fails."""
    folder = write_corpus(tmp_path / "corpus", yellow_circle_examples(64), yellow_circle_examples(40, seed=1))
    (folder / "test.json").write_text("not for training\n", encoding="utf-8")
    return folder


def tiny(*changes: str) -> Config:
    return load_preset("bienc", [*TINY, "model.item=4", *changes])


def train(folder: Path, corpus: Path, count: int = 2) -> Summary | None:
    if not seeds.is_folder_of_seeds(folder):
        config = tiny("training.seed=5")
        seeds.start(config, preset="bienc", data=corpus, folder=folder, count=count, accelerator=Accelerator())
    return seeds.train(folder, accelerator=Accelerator(), say=lambda text: None, quiet=True)


def test_each_seed_is_the_run_it_would_be_alone_and_the_best_on_dev_is_the_folders_model(
    corpus: Path, tmp_path: Path
) -> None:
    summary = train(tmp_path / "three", corpus, count=3)
    assert summary is not None
    dev = nlvr.read(nlvr.split_file(corpus, "dev"))
    for score in summary.scores:
        alone = tmp_path / f"alone{score.seed}"
        config = tiny(f"training.seed={score.seed}")
        with run.start(
            config, preset="bienc", data=corpus, folder=alone, accelerator=Accelerator(), quiet=True
        ) as trainer:
            trainer.fit()
        weights = [
            load_file(folder / "best" / "model.safetensors")
            for folder in (alone, tmp_path / "three" / f"seed{score.seed}")
        ]
        assert all(torch.equal(weight, weights[1][name]) for name, weight in weights[0].items())
        kept = checkpoints.load(alone)
        logits = kept.model(kept.encode(dev)).logits
        verdicts = {example.identifier: bool(logit > 0) for example, logit in zip(dev, logits, strict=True)}
        scores = metrics.score(dev, verdicts)
        assert (score.accuracy, score.consistency) == (scores.accuracy, scores.consistency)
    accuracies = [score.accuracy for score in summary.scores]
    mean = sum(accuracies) / 3
    assert [score.seed for score in summary.scores] == [5, 6, 7]
    assert summary.accuracy == pytest.approx(mean)
    assert summary.spread == pytest.approx((sum((a - mean) ** 2 for a in accuracies) / 2) ** 0.5)
    assert summary.best.accuracy == max(accuracies)
    assert checkpoints.find(tmp_path / "three") == tmp_path / "three" / f"seed{summary.best.seed}" / "best"


def test_after_ctrl_c_training_continues_where_it_stopped(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_learn = StepTrainer._learn

    def learn_with_ctrl_c(self: StepTrainer, *arguments: Any) -> None:
        if self.config.training.seed == 6 and self.position.step == 3:
            signal.raise_signal(signal.SIGINT)
        plain_learn(self, *arguments)

    monkeypatch.setattr(StepTrainer, "_learn", learn_with_ctrl_c)
    assert train(tmp_path / "broken", corpus) is None
    monkeypatch.undo()
    shutil.rmtree(tmp_path / "broken" / "seed5" / "last")  # a finished seed does not need it
    trained: list[int] = []
    plain_fit = StepTrainer.fit
    monkeypatch.setattr(
        StepTrainer, "fit", lambda self, *rest: (trained.append(self.config.training.seed), plain_fit(self, *rest))[1]
    )
    assert train(tmp_path / "broken", corpus) == train(tmp_path / "whole", corpus)
    assert trained == [6, 5, 6]  # the finished seed was not trained again


def test_ctrl_c_in_the_last_step_of_a_seed_starts_no_other(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_learn = StepTrainer._learn

    def learn_with_ctrl_c(self: StepTrainer, *arguments: Any) -> None:
        if self.position.step == self.total_steps - 1:
            signal.raise_signal(signal.SIGINT)
        plain_learn(self, *arguments)

    monkeypatch.setattr(StepTrainer, "_learn", learn_with_ctrl_c)
    assert train(tmp_path / "two", corpus) is None
    assert [seeds.left(tmp_path / "two", 2), (tmp_path / "two" / "seed6").exists()] == [1, False]
    monkeypatch.undo()
    assert train(tmp_path / "two", corpus) is not None


def test_ctrl_c_between_two_seeds_loses_nothing(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(seeds, "_judge", interrupted)
        assert train(tmp_path / "two", corpus) is None
    assert (tmp_path / "two" / "seed5" / "best").is_dir() and not (tmp_path / "two" / "seed6").exists()
    assert train(tmp_path / "two", corpus) is not None


def test_verdicts_of_deleted_weights_are_not_kept(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = train(tmp_path / "two", corpus)
    for weights in ("best", "last"):
        shutil.rmtree(tmp_path / "two" / "seed5" / weights)
    kept = tmp_path / "two" / "seed5" / "dev.csv"
    nlvr.write_predictions(kept, {name: not verdict for name, verdict in nlvr.read_predictions(kept).items()})
    plain_learn = StepTrainer._learn

    def learn_with_ctrl_c(self: StepTrainer, *arguments: Any) -> None:
        if self.position.best_step:  # there are new weights next to the old verdicts
            signal.raise_signal(signal.SIGINT)
        plain_learn(self, *arguments)

    monkeypatch.setattr(StepTrainer, "_learn", learn_with_ctrl_c)
    assert train(tmp_path / "two", corpus) is None
    assert (tmp_path / "two" / "seed5" / "best").is_dir()
    monkeypatch.undo()
    assert train(tmp_path / "two", corpus) == before


def test_a_changed_corpus_is_refused_even_if_seeds_are_finished(tmp_path: Path, corpus: Path) -> None:
    train(tmp_path / "two", corpus)
    shutil.rmtree(tmp_path / "two" / "seed6")
    file = nlvr.split_file(corpus, "train")
    nlvr.write(file, nlvr.read(file)[1:])
    with pytest.raises(InputError, match="its data has changed since"):
        train(tmp_path / "two", corpus)


@pytest.mark.parametrize("has_corpus", [True, False])
def test_all_seeds_are_taught_the_same_programs(has_corpus: bool, tmp_path: Path, corpus: Path) -> None:
    programs, folder, data = tmp_path / "own.jsonl", tmp_path / "two", corpus if has_corpus else None
    config = tiny("teacher.scenes=8", "teacher.workers=1", "data.minimum_count=1", "data.statements=20")

    def start() -> None:
        given = {"preset": "bienc", "data": data, "folder": folder, "programs": [programs]}
        seeds.start(config, count=2, accelerator=Accelerator(), **given)

    programs.write_text("{}")
    with pytest.raises(InputError, match=r"own\.jsonl:1: sentence is missing"):
        start()
    assert not folder.exists()
    line = '{"statement": "There is %s circle.", "program": "exist(filter_obj(all_items, is_circle))"}\n'
    programs.write_text(line % "a")
    start()

    def change(text: str) -> None:
        programs.write_text(line % "one")

    with pytest.raises(InputError, match="its data has changed since; continue with the corpus and the programs"):
        seeds.train(folder, accelerator=Accelerator(), say=change, quiet=True)
    assert (folder / "seed1" / "dev.csv").exists() and not (folder / "seed2").exists()


def test_what_a_teacher_remarks_is_said_once_and_preparing_it_shows_progress(tmp_path: Path, corpus: Path) -> None:
    programs, lines, shown = tmp_path / "own.jsonl", list[str](), list[int]()
    known = '{"statement": "There is a circle.", "program": "exist(filter_obj(all_items, is_circle))"}\n'
    programs.write_text(known + '{"statement": "One is one.", "program": "1 == 1"}\n')
    config = tiny("teacher.scenes=8", "teacher.workers=1", "data.minimum_count=1")
    given = {"preset": "bienc", "data": corpus, "folder": tmp_path / "two", "programs": [programs]}
    seeds.start(config, count=2, accelerator=Accelerator(), **given)
    progress = lambda done, total: shown.append(done)  # noqa: E731
    seeds.train(tmp_path / "two", accelerator=Accelerator(), say=lines.append, progress=progress, quiet=True)
    assert sum("found only true or only false: 1, as 'One is one.'" in line for line in lines) == 1
    assert shown


def test_a_folder_is_continued_only_with_its_own_settings_and_corpus(corpus: Path, tmp_path: Path) -> None:
    train(tmp_path / "two", corpus)
    seeds.check_same(tmp_path / "two", corpus, tiny("training.seed=5"))
    with pytest.raises(InputError, match="other settings"):
        seeds.check_same(tmp_path / "two", corpus, tiny("training.seed=6"))
    with pytest.raises(InputError, match="another corpus"):
        seeds.check_same(tmp_path / "two", tmp_path)


def test_a_corpus_without_labels_leaves_no_folder(tmp_path: Path) -> None:
    unlabelled = [nlvr.Example(e.identifier, e.statement, e.scene) for e in yellow_circle_examples(8)]
    folder = write_corpus(tmp_path / "unlabelled", unlabelled, unlabelled)
    with pytest.raises(InputError, match="label is missing"):
        train(tmp_path / "two", folder)
    assert not (tmp_path / "two").exists()


def test_extending_a_folder_loses_nothing(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    before = train(folder, corpus, count=2)
    assert before is not None and seeds.is_summarised(folder, 2) and seeds.left(folder, 3) == 1
    best = checkpoints.find(folder)
    seeds.extend(folder, 4)
    assert not seeds.is_summarised(folder, 2)  # there are four seeds now
    assert (seeds.left(folder, 0), seeds.left(folder, 5)) == (2, 3)
    assert checkpoints.find(folder) == best  # the best finished one can be used meanwhile
    after = train(folder, corpus)
    assert after is not None and after.scores[:2] == before.scores and len(after.scores) == 4
    assert seeds.is_summarised(folder, 2)
    shutil.rmtree(folder / "seed5" / "best")
    assert seeds.is_summarised(folder, 4)  # for the summary the verdicts are enough
    record = (folder / "seeds.json").read_bytes()
    train_file = nlvr.split_file(corpus, "train")
    train_file.write_text(train_file.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="its data has changed"):
        seeds.extend(folder, 6)
    assert (folder / "seeds.json").read_bytes() == record
    (folder / "summary.json").write_text("{}", encoding="utf-8")
    assert not seeds.is_summarised(folder, 4)
