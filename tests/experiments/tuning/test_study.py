"""A study survives whatever ends it, holds to one search, and stops what is hopeless. Its scores are made up here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from samples import write_corpus, yellow_circle_examples
from veriscene.config import load_preset
from veriscene.errors import InputError
from veriscene.experiments.tuning.search import Search, plan_search
from veriscene.experiments.tuning.space import Settings
from veriscene.experiments.tuning.study import COMPLETE, CUT_OFF, JOURNAL, PRUNED, TRIALS, Study, opened

SPACE = ("training.learning_rate=1e-5:1e-2:log", "model.dropout=0:0.5")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    examples = yellow_circle_examples(8)
    return write_corpus(tmp_path_factory.mktemp("corpus"), examples, examples)


def search(corpus: Path, *changes: str, preset: str = "bienc", space: tuple[str, ...] = SPACE) -> Search:
    return plan_search(preset, data=corpus, changes=["model.hidden=8", *changes], space=space)


def play(study: Study, count: int) -> list[Settings]:
    """Trials whose accuracy follows from their settings."""
    played = []
    for _ in range(count):
        trial = study.ask()
        accuracy = 1 - float(trial.settings["model.dropout"])
        study.finish(trial.number, COMPLETE, accuracy=accuracy, seconds=1.0)
        played.append(trial.settings)
    return played


def test_a_broken_study_proposes_what_an_unbroken_one_does(corpus: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "unbroken", search(corpus)) as study:
        unbroken = play(study, 15)
    with opened(tmp_path / "broken", search(corpus)) as study:
        before = play(study, 12)
        study.run_folder(study.ask().number).mkdir()
    with (tmp_path / "broken" / JOURNAL).open("ab") as journal:
        journal.write(b'{"op_code": 5, "wor')  # the machine lost power here
    with opened(tmp_path / "broken", search(corpus)) as study:
        after = play(study, 3)
        assert [trial.number for trial in study.trials() if trial.state == CUT_OFF] == [12]
        assert len(study.finished()) == 15 and not study.run_folder(12).exists()
    assert before + after == unbroken


def test_trials_of_every_batch_size_are_scored_equally_often(corpus: Path) -> None:
    by_steps = "training.evaluate_every=100"
    assert search(corpus, by_steps).config.training.evaluate_every == 100
    searched = search(corpus, by_steps, space=("training.batch=64,512",))
    assert searched.configuration({"training.batch": 64}).training.evaluate_every == 0  # once an epoch
    assert "--set training.evaluate_every=0" in searched.command({"training.batch": 64})


def test_another_search_is_refused(corpus: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "study", search(corpus)):
        pass
    elsewhere = write_corpus(tmp_path / "elsewhere", yellow_circle_examples(9), yellow_circle_examples(8))
    moved = write_corpus(tmp_path / "moved", yellow_circle_examples(8), yellow_circle_examples(8))
    others = {
        "preset bienc": search(corpus, preset="biatt"),
        "another corpus": search(elsewhere),
        rf"training\.epochs={load_preset('bienc').training.epochs}, not 3": search(corpus, "training.epochs=3"),
        r"--space model\.dropout=0\.0:0\.5 ": search(corpus, space=(SPACE[0],)),
        "log;": search(corpus, space=(SPACE[0], "model.dropout=0:0.4")),
    }
    for message, other in others.items():
        with pytest.raises(InputError, match=rf"study was started with .*{message}"), opened(tmp_path / "study", other):
            pass
    with opened(tmp_path / "study", search(moved, space=SPACE[::-1])):
        pass  # the same corpus at another place, the same space in another order


def test_a_folder_of_something_else_and_a_damaged_journal_are_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is there already"), opened(corpus, search(corpus)):
        pass
    with opened(tmp_path / "study", search(corpus)):
        pass
    (tmp_path / "study" / JOURNAL).write_text("nonsense\n{}\n")
    with pytest.raises(InputError, match="damaged"), opened(tmp_path / "study", search(corpus)):
        pass


def test_a_study_whose_journal_has_lost_something_is_refused_and_keeps_its_results(
    corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "study"
    with opened(folder, search(corpus)) as study:
        play(study, 2)
        study.run_folder(1).mkdir()
    journal, before = folder / JOURNAL, (folder / TRIALS).read_text()
    whole = journal.read_bytes()

    def assert_refused(what: str) -> None:
        with pytest.raises(InputError, match=f"{JOURNAL}: has lost trial {what}"), opened(folder, search(corpus)):
            pass

    journal.unlink()
    assert_refused("0")
    journal.write_bytes(b"\n".join(whole.split(b"\n")[:-2]) + b"\n")  # how the last trial ended
    assert_refused("1")
    assert (folder / TRIALS).read_text() == before and study.run_folder(1).is_dir()
    (folder / TRIALS).unlink()
    journal.unlink()
    assert_refused("1")  # its folder is there


@pytest.mark.parametrize("results", ["[]", "{", '"abc"', "[" * 100_000])
def test_results_that_are_behind_or_damaged_are_written_anew(corpus: Path, tmp_path: Path, results: str) -> None:
    with opened(tmp_path / "study", search(corpus)) as study:
        play(study, 2)
    (tmp_path / "study" / TRIALS).write_text(results)
    with opened(tmp_path / "study", search(corpus)) as study:
        assert len(study.finished()) == 2
    assert len(json.loads((tmp_path / "study" / TRIALS).read_text())) == 2


def test_one_command_at_a_time(corpus: Path, tmp_path: Path) -> None:
    with (
        opened(tmp_path / "study", search(corpus)),
        pytest.raises(InputError, match="study: another command is at work there"),
        opened(tmp_path / "study", search(corpus)),
    ):
        pass


def test_a_hopeless_trial_is_stopped_but_not_in_its_first_half(corpus: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "study", search(corpus)) as study:
        for accuracy in (0.6, 0.7, 0.8, 0.9):
            number = study.ask().number
            assert not any(study.score(number, share=step / 7, accuracy=accuracy) for step in range(1, 8))
            study.finish(number, COMPLETE, accuracy=accuracy, seconds=1.0)
        hopeless, fair = study.ask().number, study.ask().number
        assert [study.score(hopeless, share=step / 9, accuracy=0.65) for step in range(1, 6)] == [False] * 4 + [True]
        assert not any(study.score(fair, share=step / 30, accuracy=0.76) for step in range(1, 31))
        assert study.finish(hopeless, PRUNED, seconds=1.0).dev_accuracy == 0.65
        best = study.best()
        assert best is not None and best.dev_accuracy == 0.9


def test_settings_are_short_enough_to_be_typed_and_stay_within_their_range(corpus: Path, tmp_path: Path) -> None:
    space = ("training.learning_rate=0.00123456:0.00123466", "training.batch=16:64", "data.recolor=true,false")
    searched = search(corpus, space=space)
    with opened(tmp_path / "study", searched) as study:
        settings = study.ask().settings
    assert isinstance(settings["training.batch"], int) and isinstance(settings["data.recolor"], bool)
    assert settings["training.learning_rate"] in (0.00123456, 0.00123466)
    config = searched.configuration(settings)
    assert config.data.recolor is settings["data.recolor"] and config.training.batch == settings["training.batch"]


def test_without_optuna_it_says_where_to_get_it(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r'pip install "veriscene\[tune\]"'), opened(tmp_path / "s", search(corpus)):
        pass
    assert not (tmp_path / "s").exists()
