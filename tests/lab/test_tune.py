"""A search: its space is checked before anything starts, the better settings win, and the same command continues it."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import optuna
import pytest
import typer
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from typer.testing import CliRunner, Result

from samples import write_corpus, yellow_circle_examples
from veriscene.cli import experiments
from veriscene.config import presets
from veriscene.errors import InputError, MissingRequirement
from veriscene.judge import checkpoint as checkpoints
from veriscene.lab import tune as tuning
from veriscene.lab.tune import DEFAULT_SPACE, STUDY, Search, changed, open_study
from veriscene.models import load_preset
from veriscene.training.distributed import Machine
from veriscene.training.log import Event, Scored, read_log
from veriscene.training.spec import Spec
from veriscene.training.train import train

SMALL = [f"model.{size}=8" for size in ("embedding", "hidden", "item")] + ["training.batch=16"]
RATES = "training.learning_rate=1e-5:1e-2:log"
WRONG = [
    *("training.learning_rate", "training.learning_rate=", "learning_rate=1:2", "optimizer.beta=1:2"),
    *("training.learning_rate=0.02:0.01", "training.learning_rate=0.1:2", "training.weight_decay=0:1:log"),
    *("training.weight_decay=0:1:linear", "training.weight_decay=nan:1", "training.batch=16:64.5", "training.batch=64"),
    *("training.batch=16,many", "training.batch=16,", "training.bacth=16,32", "data.order=random:file"),
    *("data.order=random,backwards", "model.dropout=0:1", "model.pooling=max,most", "model.penalty=1:2"),
    *("training.policy_weight=0:1", "teacher.scenes=1:64", "training.clip=1:5"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train and dev are the same, so that training helps; reading the test split fails."""
    examples = yellow_circle_examples(32)
    folder = write_corpus(tmp_path_factory.mktemp("corpus"), examples, examples)
    (folder / "test").mkdir()
    (folder / "test" / "test.json").write_text("{")
    return folder


def command(corpus: Path, folder: Path, changes: list[str], space: str, *more: str) -> Result:
    app = typer.Typer()
    app.command()(experiments.tune)
    settings = [part for change in changes for part in ("--set", change)]
    arguments = ["bienc", "--data", str(corpus), "--out", str(folder), *settings, "--space", space, *more]
    return CliRunner().invoke(app, arguments)


def search(corpus: Path, *changes: str, preset: str = "bienc", space: tuple[str, ...] = (RATES,)) -> Search:
    return Search.of(Spec.of(preset, data=corpus, changes=[*SMALL, *changes]), space, fixed=())


def space_of(*lines: str, preset: str = "biatt", fixed: tuple[str, ...] = ()) -> Mapping[str, Any]:
    return Search.of(Spec(load_preset(preset), preset=preset), lines, fixed=fixed).space


def trials(folder: Path) -> list[Any]:
    return list(optuna.load_study(study_name="tune", storage=f"sqlite:///{folder / STUDY}").trials)


@pytest.mark.parametrize("line", WRONG)
def test_an_invalid_line_is_an_error_that_names_it(line: str) -> None:
    with pytest.raises(InputError) as caught:
        space_of(line, fixed=("training.clip",))
    assert str(caught.value.where).startswith(f"--space {line}") and "\n" not in str(caught.value)


def test_a_setting_is_searched_once() -> None:
    with pytest.raises(InputError):
        space_of("model.dropout=0:0.5", "model.dropout=0.1,0.2")


def test_values_have_the_type_of_their_setting() -> None:
    lines = ["model.pooling=max,joint", "model.hidden=64:512:log", "model.dropout=0:0.5", "training.clip=1,5"]
    lines += ["model.letters=true,false", "teacher.grammar_scenes=2:64"]  # the grammar teaches in this preset
    assert space_of(*lines, preset="spatial-synthetic") == {
        "model.pooling": CategoricalDistribution(("max", "joint")),
        "model.hidden": IntDistribution(64, 512, log=True),
        "model.dropout": FloatDistribution(0.0, 0.5),
        "training.clip": CategoricalDistribution((1.0, 5.0)),
        "model.letters": CategoricalDistribution((True, False)),
        "teacher.grammar_scenes": IntDistribution(2, 64),
    }
    taught = ["teacher.grammar_scenes=2:64", "teacher.statements=10:20"]  # in every trial, though not in the preset
    assert space_of(*taught).keys() == {"teacher.grammar_scenes", "teacher.statements"}


def test_the_default_space_fits_every_preset_and_is_used_in_full() -> None:
    spaces = {}
    for preset in presets():
        with suppress(MissingRequirement):  # a backbone's weights
            spaces[preset] = space_of(preset=preset)
    assert list(spaces["maxent"]) == ["model.penalty"]
    # A setting that is renamed or removed elsewhere must not silently drop out of the search.
    assert set().union(*spaces.values()) == {line.partition("=")[0] for line in DEFAULT_SPACE}
    assert "training.batch" not in space_of(fixed=("training.batch",))


def test_trials_of_every_batch_size_are_scored_equally_often(corpus: Path) -> None:
    searched = search(corpus, "training.evaluate_every=9", space=("training.batch=64,512",))
    assert searched.base.config.training.evaluate_every == 0  # once per epoch


def test_the_better_settings_win_and_the_printed_command_trains_the_same(corpus: Path, tmp_path: Path) -> None:
    changes = [*SMALL, "model.dropout=0.0", "training.epochs=12", "training.evaluate_every=8"]
    space = "training.learning_rate=1e-9,0.02"
    ended = command(corpus, tmp_path, changes, space, "--trials", "4", "--json")
    best = json.loads(ended.stdout)
    assert best == json.loads((tmp_path / "best.json").read_text())
    assert best["settings"] == {"training.learning_rate": 0.02}
    assert {trial.params["training.learning_rate"] for trial in trials(tmp_path)} == {1e-9, 0.02}
    assert best["dev_accuracy"] == max(trial.value for trial in trials(tmp_path))
    assert checkpoints.load(best["run"]).metrics["dev_accuracy"] == best["dev_accuracy"]
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.safetensors")} == {Path(best["run"]).name}

    again = command(corpus, tmp_path, changes, space, "--trials", "4")  # all are finished
    start, *given = again.stdout.strip().split(" --set ")
    assert start == f"veriscene train bienc --data {corpus}" and len(trials(tmp_path)) == 4
    assert (
        load_preset("bienc", given) == changed(search(corpus, *changes, space=(space,)).base, best["settings"]).config
    )
    more = command(corpus, tmp_path, changes, space, "--trials", "5")
    assert more.exit_code == 0 and len(trials(tmp_path)) == 5


def test_a_teacher_teaches_every_trial_and_stands_in_the_printed_command(corpus: Path, tmp_path: Path) -> None:
    programs, folder = tmp_path / "own.jsonl", tmp_path / "study"
    program = "exist(filter_obj(all_items, lambda x: is_yellow(x) and is_circle(x)))"
    statement = {"sentence": "There is a yellow circle.", "program": program}
    programs.write_text(json.dumps(statement) + "\n")
    changes = [*SMALL, "training.epochs=1", "teacher.workers=1", "data.minimum_count=1"]
    taught = ("--teacher", str(programs), "--trials", "2", "--json")
    ended = command(corpus, folder, changes, "teacher.scenes=16,32", *taught)
    best = json.loads(ended.stdout)
    assert best["command"].startswith(f"veriscene train bienc --data {corpus} --teacher {programs} --set ")
    assert checkpoints.load(best["run"]).metrics["supervision"] == "programs"
    programs.write_text(json.dumps({**statement, "sentence": "There is a yellow item."}) + "\n")
    assert isinstance(command(corpus, folder, changes, "teacher.scenes=16,32", *taught).exception, InputError)


def test_a_trial_below_the_median_is_pruned_but_not_in_its_first_half(corpus: Path, tmp_path: Path) -> None:
    study = open_study(tmp_path, search(corpus))
    for accuracy in (0.6, 0.7, 0.8, 0.9):
        trial = study.ask()
        for mark in range(tuning.MARKS):
            trial.report(accuracy, mark)
        study.tell(trial, accuracy)
    below, above = study.ask(), study.ask()
    pruned = []
    for mark in range(tuning.MARKS):
        below.report(0.65, mark)
        above.report(0.76, mark)
        pruned.append((below.should_prune(), above.should_prune()))
    assert pruned == [(mark >= tuning.FIRST_PRUNED_MARK, False) for mark in range(tuning.MARKS)]


def test_a_pruned_trial_ends_early_and_leaves_no_weights(corpus: Path, tmp_path: Path) -> None:
    wanted = search(
        corpus, "training.epochs=20", "training.evaluate_every=0", space=("training.learning_rate=1e-9,2e-9",)
    )
    study = open_study(tmp_path, wanted)
    for _ in range(4):
        better = study.ask()
        for mark in range(tuning.MARKS):
            better.report(1.0, mark)
        study.tell(better, 1.0)
    tuning.tune(wanted, folder=tmp_path, trials=5, machine=Machine())
    assert trials(tmp_path)[4].state == TrialState.PRUNED
    assert len(read_log(tmp_path / "trial-004")) == tuning.FIRST_PRUNED_MARK  # a mark an epoch
    assert not [*tmp_path.rglob("*.safetensors")]


def test_another_search_is_refused(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    open_study(folder, search(corpus))
    elsewhere = write_corpus(tmp_path / "elsewhere", yellow_circle_examples(9), yellow_circle_examples(8))
    others = [
        search(corpus, preset="biatt"),
        search(corpus, "training.epochs=3"),
        search(corpus, space=(RATES, "model.dropout=0:0.5")),
        search(corpus, space=("training.learning_rate=1e-5:2e-2:log",)),
        search(elsewhere),
    ]
    for other in others:
        with pytest.raises(InputError) as caught:
            open_study(folder, other)
        assert caught.value.where == folder
    open_study(folder, search(Path(shutil.copytree(corpus, tmp_path / "moved"))))  # the same corpus
    with pytest.raises(InputError):
        open_study(corpus, search(corpus))  # a folder that is not a study
    (folder / STUDY).write_bytes(b"the user's own notes" * 99)
    with pytest.raises(InputError):
        open_study(folder, search(corpus))


def test_ctrl_c_stops_the_trial_and_the_same_command_continues(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [*SMALL, "training.epochs=2"]

    def interrupted(spec: Spec, folder: Path, **more: Any) -> Any:
        def interrupt(event: Event) -> None:
            if folder.name == "trial-001" and isinstance(event, Scored):
                signal.raise_signal(signal.SIGINT)

        return train(spec, folder, on_event=interrupt, **more)

    monkeypatch.setattr(tuning, "train", interrupted)
    ended = command(corpus, tmp_path, changes, RATES, "--trials", "2")
    assert ended.exit_code == 130 and ended.stdout == ""
    assert [trial.state for trial in trials(tmp_path)] == [TrialState.COMPLETE, TrialState.FAIL]
    assert not (tmp_path / "trial-001").exists()
    ended = command(corpus, tmp_path, changes, RATES, "--trials", "2")
    assert ended.exit_code == 0 and [trial.state for trial in trials(tmp_path)][2:] == [TrialState.COMPLETE]


def test_a_failed_trial_does_not_end_the_search_but_three_in_a_row_do(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = {"trial-000", "trial-002", "trial-003", "trial-004"}

    def sometimes(spec: Spec, folder: Path, **more: Any) -> Any:
        if folder.name in failing:
            raise RuntimeError("CUDA out of memory")
        return train(spec, folder, **more)

    monkeypatch.setattr(tuning, "train", sometimes)
    wanted = search(corpus, "training.epochs=1")
    with pytest.raises(RuntimeError, match="CUDA"):
        tuning.tune(wanted, folder=tmp_path, trials=9, machine=Machine())
    states = [trial.state for trial in trials(tmp_path)]
    assert states == [TrialState.FAIL, TrialState.COMPLETE, *[TrialState.FAIL] * 3]
