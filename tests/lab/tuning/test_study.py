"""A study survives crashes, is tied to one search, and prunes at comparable marks. Scores are made up here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest

from samples import write_corpus, yellow_circle_examples
from veriscene.errors import InputError
from veriscene.lab.tuning.space import Search
from veriscene.lab.tuning.study import BEST_TRIAL, JOURNAL, Study, is_cut_off, load, opened
from veriscene.lab.tuning.tune import Marks
from veriscene.models import load_preset
from veriscene.training.log import LogLine

SPACE = ("training.learning_rate=1e-5:1e-2:log", "model.dropout=0:0.5")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    examples = yellow_circle_examples(8)
    return write_corpus(tmp_path_factory.mktemp("corpus"), examples, examples)


def search(corpus: Path, *changes: str, preset: str = "bienc", space: tuple[str, ...] = SPACE) -> Search:
    return Search.plan(preset, data=corpus, changes=["model.hidden=8", *changes], space=space)


def play(study: Study, count: int) -> list[dict[str, Any]]:
    """Finishes trials as workers do, with an accuracy that depends on their settings only."""
    played = []
    for _ in range(count):
        number = study.ask()
        params = study.trials()[number].params
        load(study.folder).tell(number, 1 - params["model.dropout"])
        study.close(number)
        played.append(params)
    return played


def test_an_interrupted_study_proposes_the_same_settings_as_an_uninterrupted_one(corpus: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "whole", search(corpus)) as study:
        whole = play(study, 15)
    broken = tmp_path / "broken"
    with opened(broken, search(corpus)) as study:
        before = play(study, 12)
        study.run_folder(study.ask()).mkdir()
    with (broken / JOURNAL).open("ab") as journal:
        journal.write(b'{"op_code": 5, "wor')  # the machine lost power here,
    (broken / f"{JOURNAL}.lock").symlink_to(JOURNAL)  # while optuna was writing
    with opened(broken, search(corpus)) as study:
        after = play(study, 3)
        assert [trial.number for trial in study.trials() if is_cut_off(trial)] == [12]
        assert len(study.finished()) == 15 and not study.run_folder(12).exists()
    assert before + after == whole
    other_seed = search(corpus, "training.seed=2")
    with opened(tmp_path / "other", other_seed) as study:
        assert play(study, 1) != whole[:1]


def test_any_prefix_of_the_journal_can_be_continued(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    with opened(folder, search(corpus)) as study:
        play(study, 2)
    journal = (folder / JOURNAL).read_bytes()
    for cut in range(0, len(journal), 97):
        (folder / JOURNAL).write_bytes(journal[:cut])
        with opened(folder, search(corpus)) as study:
            play(study, 1)
            assert 1 <= len(study.finished()) <= 3


def test_another_search_is_refused(corpus: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "study", search(corpus)):
        pass
    elsewhere = write_corpus(tmp_path / "elsewhere", yellow_circle_examples(9), yellow_circle_examples(8))
    moved = write_corpus(tmp_path / "moved", yellow_circle_examples(8), yellow_circle_examples(8))
    epochs = load_preset("bienc").training.epochs
    others = {
        "preset=bienc, not biatt": search(corpus, preset="biatt"),
        rf"training\.epochs={epochs}, not 3": search(corpus, "training.epochs=3"),
        r"--space model\.dropout=0\.0:0\.5, not None": search(corpus, space=SPACE[:1]),
        r"--space model\.dropout=0\.0:0\.5, not 0\.0:0\.4": search(corpus, space=(SPACE[0], "model.dropout=0:0.4")),
    }
    for message, other in others.items():
        with pytest.raises(InputError, match=rf"study was started with {message}"), opened(tmp_path / "study", other):
            pass
    with pytest.raises(InputError, match=r"its corpus .* changed"), opened(tmp_path / "study", search(elsewhere)):
        pass
    with opened(tmp_path / "study", search(moved, space=SPACE[::-1])):
        pass  # the same corpus in another folder, the same space in another order


def test_a_damaged_study_another_folder_and_a_second_command_are_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is not a study"), opened(corpus, search(corpus)):
        pass
    folder = tmp_path / "study"
    with opened(folder, search(corpus)) as study:
        play(study, 1)
        study.run_folder(0).mkdir()
        with pytest.raises(InputError, match="another command"), opened(folder, search(corpus)):
            pass
    best, whole = (folder / BEST_TRIAL).read_bytes(), (folder / JOURNAL).read_bytes()
    for journal in (
        whole.replace(b'"param_name":"model.dropout"', b'"param_name":"model.dropouT"'),
        b"the user's own notes",
        b"nonsense\n{}\n",
        b"{}\n",
        b"[]\n",
        b'{"op_code":99,"worker_id":"1"}\n',
        b"\xff\n\n",
        b"[" * 9**6 + b"\n",
        b"",
    ):
        assert journal != whole
        (folder / JOURNAL).write_bytes(journal)
        with pytest.raises(InputError, match=rf"{JOURNAL}: damaged .*; .*--out$"), opened(folder, search(corpus)):
            pass
        if journal and b"op_code" not in journal:  # perhaps it is the user's file
            assert (folder / JOURNAL).read_bytes() == journal
    assert (folder / BEST_TRIAL).read_bytes() == best and study.run_folder(0).is_dir()


def test_a_trial_below_the_median_is_pruned_but_not_in_its_first_half(corpus: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "study", search(corpus)) as study:

        def marks() -> Marks:
            return Marks(optuna.Trial(load(study.folder), study.ask()), epochs=1, minutes=0)

        for number, accuracy in enumerate((0.6, 0.7, 0.8, 0.9)):  # scored seven times, the last ones stop early
            complete = marks()
            assert not any(complete.report(score / 7, accuracy) for score in range(1, 8 - number))
            assert not complete.report(1.0, accuracy)
            load(study.folder).tell(number, accuracy)
        below, above = marks(), marks()  # scored nine and thirty times
        assert [below.report(score / 9, 0.65) for score in range(1, 6)] == [False] * 4 + [True]
        assert not any(above.report(score / 30, 0.76) for score in range(1, 31))
        load(study.folder).tell(4, state=optuna.trial.TrialState.PRUNED)
        assert study.close(4).value == 0.65
        best = study.best()
        assert best is not None and best.value == 0.9


def test_the_share_of_a_trial_is_measured_by_what_ends_it_first(corpus: Path, tmp_path: Path) -> None:
    line = LogLine(50, 5.0, loss=0.5, dev_accuracy=0.5, learning_rate=0.1, examples_per_second=1.0, seconds=30.0)
    with opened(tmp_path / "study", search(corpus)) as study:
        for minutes, mark in ((0, 10), (2, 10), (0.75, 13)):  # of 20
            number = study.ask()
            Marks(optuna.Trial(load(study.folder), number), epochs=10, minutes=minutes).should_prune(line)
            assert max(study.trials()[number].intermediate_values) == mark


def test_trials_of_every_batch_size_are_scored_equally_often(corpus: Path) -> None:
    by_steps = "training.evaluate_every=100"
    assert search(corpus, by_steps).config.training.evaluate_every == 100
    searched = search(corpus, by_steps, space=("training.batch=64,512",))
    assert searched.config.training.evaluate_every == 0  # once per epoch
    assert "--set training.evaluate_every=0" in searched.command({"training.batch": 64})
