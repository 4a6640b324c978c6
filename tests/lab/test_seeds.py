"""Several seeds: each is the run it would be alone, and only dev chooses the best."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from samples import write_corpus, yellow_circle_examples
from veriscene import worlds
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge import folders
from veriscene.lab import seeds
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import Summary
from veriscene.models import load_preset
from veriscene.output import Output
from veriscene.training import train as training
from veriscene.training.distributed import Machine
from veriscene.training.log import Event, OnEvent, Saved, Scored, Step
from veriscene.training.spec import Spec
from veriscene.training.train import train as train_spec
from veriscene.world import examples
from veriscene.world.corpus import split_file
from veriscene.worlds.nlvr.looks import WORLD

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


def spec_of(corpus: Path | None, *changes: str, programs: tuple[Path, ...] = ()) -> Spec:
    return Spec(tiny(*changes), corpus=corpus, programs=programs, preset="bienc")


def train(folder: Path, corpus: Path, count: int = 2, on_event: OnEvent | None = None) -> Summary | None:
    """Trains the seeds from 5 on, or those that are left."""
    if seeds.is_folder_of_seeds(folder):
        return seeds.resume(folder, machine=Machine(), on_event=on_event)
    return seeds.start(spec_of(corpus, "training.seed=5"), folder, count, machine=Machine(), on_event=on_event)


@pytest.fixture(autouse=True)
def every_step_is_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "REFRESH_SECONDS", -1.0)


def test_each_seed_is_the_run_it_would_be_alone_and_the_best_on_dev_is_the_folders_model(
    corpus: Path, tmp_path: Path
) -> None:
    summary = train(tmp_path / "three", corpus, count=3)
    assert summary is not None
    dev = worlds.read(split_file(corpus, "dev"))
    for score in summary.scores:
        alone = tmp_path / f"alone{score.seed}"
        train_spec(spec_of(corpus, f"training.seed={score.seed}"), alone)
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
    assert folders.find(tmp_path / "three") == tmp_path / "three" / f"seed{summary.best.seed}" / "best"


def test_after_ctrl_c_training_continues_where_it_stopped(corpus: Path, tmp_path: Path) -> None:
    scores, steps = 0, list[int]()

    def interrupt_the_second_seed(event: Event) -> None:
        nonlocal scores
        scores += isinstance(event, Scored)
        if scores == 2 and isinstance(event, Step) and event.step == 3:
            signal.raise_signal(signal.SIGINT)

    assert train(tmp_path / "broken", corpus, on_event=interrupt_the_second_seed) is None
    shutil.rmtree(tmp_path / "broken" / "seed5" / "last")  # a finished seed does not need it

    def keep_steps(event: Event) -> None:
        steps.extend([event.step] if isinstance(event, Step) else [])

    rest = train(tmp_path / "broken", corpus, on_event=keep_steps)
    assert rest == train(tmp_path / "whole", corpus)
    assert steps[0] == 4 and steps.count(5) == 1, "the finished seed was not trained again"


def test_ctrl_c_in_the_last_step_of_a_seed_starts_no_other(corpus: Path, tmp_path: Path) -> None:
    def interrupt_the_last_step(event: Event) -> None:
        if isinstance(event, Step) and event.step == event.total_steps:
            signal.raise_signal(signal.SIGINT)

    assert train(tmp_path / "two", corpus, on_event=interrupt_the_last_step) is None
    assert [seeds.left(tmp_path / "two", 2), (tmp_path / "two" / "seed6").exists()] == [1, False]
    assert train(tmp_path / "two", corpus) is not None


def test_ctrl_c_between_two_seeds_loses_nothing(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(seeds, "probabilities", interrupted)
        assert train(tmp_path / "two", corpus) is None
    assert (tmp_path / "two" / "seed5" / "best").is_dir() and not (tmp_path / "two" / "seed6").exists()
    assert train(tmp_path / "two", corpus) is not None


def test_what_a_killed_command_was_writing_before_any_record_is_in_nobodys_way(tmp_path: Path, corpus: Path) -> None:
    def leave_partial_files(folder: Path) -> None:
        (folder / "dev.12.partial").mkdir(parents=True)
        (folder / "spec.json.12.partial").write_text('{"for')

    def stop_in_the_first_seed(event: Event) -> None:
        if isinstance(event, Step):
            signal.raise_signal(signal.SIGINT)

    two = tmp_path / "two"
    leave_partial_files(two)
    assert train(two, corpus, on_event=stop_in_the_first_seed) is None
    leave_partial_files(two / "seed6")
    assert train(two, corpus) is not None
    assert not list(two.rglob("*.partial"))


def test_verdicts_of_deleted_weights_are_not_kept(corpus: Path, tmp_path: Path) -> None:
    before = train(tmp_path / "two", corpus)
    for weights in ("best", "last"):
        shutil.rmtree(tmp_path / "two" / "seed5" / weights)
    kept = tmp_path / "two" / "seed5" / "dev.csv"
    examples.write_predictions(kept, {name: not verdict for name, verdict in examples.read_predictions(kept).items()})

    def interrupt_when_there_are_new_weights(event: Event) -> None:
        if isinstance(event, Saved):
            signal.raise_signal(signal.SIGINT)

    assert train(tmp_path / "two", corpus, on_event=interrupt_when_there_are_new_weights) is None
    assert (tmp_path / "two" / "seed5" / "best").is_dir()
    assert train(tmp_path / "two", corpus) == before


def test_a_changed_corpus_is_refused_even_if_seeds_are_finished(tmp_path: Path, corpus: Path) -> None:
    train(tmp_path / "two", corpus)
    shutil.rmtree(tmp_path / "two" / "seed6")
    file = split_file(corpus, "train")
    examples.write(file, worlds.read(file)[1:], WORLD)
    with pytest.raises(InputError) as error:
        train(tmp_path / "two", corpus)
    assert error.value.where == tmp_path / "two"


@pytest.mark.parametrize("has_corpus", [True, False])
def test_all_seeds_are_taught_the_same_programs(has_corpus: bool, tmp_path: Path, corpus: Path) -> None:
    programs, folder = tmp_path / "own.jsonl", tmp_path / "two"
    small = ("teacher.scenes=8", "teacher.workers=1", "data.minimum_count=1", "data.statements=20")
    spec = spec_of(corpus if has_corpus else None, *small, programs=(programs,))
    programs.write_text("{}")
    with pytest.raises(InputError) as error:
        seeds.start(spec, folder, 2, machine=Machine())
    assert str(error.value.where).startswith(f"{programs}:1") and not folder.exists()
    line = '{"statement": "There is %s circle.", "program": "exist(filter_obj(all_items, is_circle))"}\n'
    programs.write_text(line % "a")
    with pytest.raises(InputError) as changed:
        seeds.start(spec, folder, 2, machine=Machine(), on_event=lambda event: programs.write_text(line % "one"))
    assert changed.value.where == folder
    assert (folder / "seed1" / "dev.csv").exists() and not (folder / "seed2").exists()


def test_what_a_teacher_remarks_and_how_far_it_is_reach_the_user(tmp_path: Path, corpus: Path) -> None:
    programs, said, shown = tmp_path / "own.jsonl", list[str](), list[int]()
    known = '{"statement": "There is a circle.", "program": "exist(filter_obj(all_items, is_circle))"}\n'
    programs.write_text(known + '{"statement": "One is one.", "program": "1 == 1"}\n')

    class Kept(Output):
        def say(self, text: str) -> None:
            said.append(text)

        def progress(self, done: int, total: int, text: str = "", *, every: float = 0.0) -> None:
            shown.append(done)

    small = ("teacher.scenes=8", "teacher.workers=1", "data.minimum_count=1")
    seeds.start(spec_of(corpus, *small, programs=(programs,)), tmp_path / "two", 2, machine=Machine(Kept()))
    assert sum("only false: 1, as 'One is one.'" in line for line in said) == 2, "once for each seed"
    assert shown


def test_a_folder_is_continued_only_with_its_own_spec(corpus: Path, tmp_path: Path) -> None:
    train(tmp_path / "two", corpus)
    seeds.check_same(tmp_path / "two", spec_of(corpus, "training.seed=5"))
    for other in (spec_of(corpus, "training.seed=6"), spec_of(tmp_path, "training.seed=5")):
        with pytest.raises(InputError) as error:
            seeds.check_same(tmp_path / "two", other)
        assert error.value.where == tmp_path / "two"


def test_a_corpus_without_labels_leaves_no_folder(tmp_path: Path) -> None:
    unlabelled = [examples.Example(e.identifier, e.statement, e.scene) for e in yellow_circle_examples(8)]
    folder = write_corpus(tmp_path / "unlabelled", unlabelled, unlabelled)
    with pytest.raises(InputError):
        train(tmp_path / "two", folder)
    assert not (tmp_path / "two").exists()


def test_extending_a_folder_loses_nothing(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    before = train(folder, corpus, count=2)
    assert before is not None and seeds.is_summarised(folder, 2) and seeds.left(folder, 3) == 1
    best = folders.find(folder)

    def interrupt(event: Event) -> None:
        if isinstance(event, Step):
            signal.raise_signal(signal.SIGINT)

    assert seeds.resume(folder, count=4, machine=Machine(), on_event=interrupt) is None
    assert not seeds.is_summarised(folder, 2)  # there are four seeds now
    assert (seeds.left(folder, 0), seeds.left(folder, 5)) == (2, 3)
    assert folders.find(folder) == best  # the best finished one can be used meanwhile
    after = train(folder, corpus)
    assert after is not None and after.scores[:2] == before.scores and len(after.scores) == 4
    assert seeds.is_summarised(folder, 2)
    shutil.rmtree(folder / "seed5" / "best")
    assert seeds.is_summarised(folder, 4)  # for the summary the verdicts are enough
    record = (folder / "spec.json").read_bytes()
    train_file = split_file(corpus, "train")
    train_file.write_text(train_file.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(InputError):
        seeds.resume(folder, count=6, machine=Machine())
    assert (folder / "spec.json").read_bytes() == record
    (folder / "summary.json").write_text("{}", encoding="utf-8")
    assert not seeds.is_summarised(folder, 4)
