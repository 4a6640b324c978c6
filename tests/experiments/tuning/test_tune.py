"""Tuning trains: the better settings win, trials at a time do not disturb one another, test is never looked at."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from accelerate import Accelerator
from typer.testing import CliRunner, Result

from samples import write_corpus, yellow_circle_examples
from veriscene.cli import tune as cli_tune
from veriscene.config import load_preset
from veriscene.errors import InputError
from veriscene.experiments.tuning.search import Search, plan_search
from veriscene.experiments.tuning.study import COMPLETE, CUT_OFF, PRUNED
from veriscene.experiments.tuning.trial import share_gone
from veriscene.experiments.tuning.tune import Outcome, tune
from veriscene.training import checkpoint as checkpoints

SMALL = [f"model.{size}=8" for size in ("embedding", "hidden", "item")] + ["training.batch=16"]
QUICK = [*SMALL, "model.dropout=0.0", "training.epochs=12", "training.evaluate_every=8"]
HOPELESS_OR_GOOD = ["training.learning_rate=1e-9,0.02"]
RATES = ["training.learning_rate=1e-5:1e-2:log", "model.dropout=0:0.5"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scored on what is learnt by heart; whoever opens its test split fails."""
    examples = yellow_circle_examples(32)
    folder = write_corpus(tmp_path_factory.mktemp("corpus"), examples, examples)
    (folder / "test").mkdir()
    (folder / "test" / "test.json").write_text("{")
    return folder


def search(corpus: Path, space: list[str], *changes: str) -> Search:
    return plan_search("bienc", data=corpus, changes=[*SMALL, *changes], space=space)


def run(
    search: Search,
    folder: Path,
    *,
    trials: int,
    jobs: int = 1,
    accelerator: Callable[[], Accelerator] = Accelerator,
    say: Callable[[str], None] = print,
) -> Outcome:
    return tune(search, folder=folder, trials=trials, jobs=jobs, accelerator=accelerator, say=say)


def command(corpus: Path, changes: list[str], *arguments: str) -> Result:
    app = typer.Typer()
    app.command()(cli_tune.tune)
    settings = [part for change in changes for part in ("--set", change)]
    return CliRunner().invoke(app, ["bienc", "--data", str(corpus), *settings, *arguments])


def listed(folder: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = json.loads((folder / "trials.json").read_text())
    return records


def with_weights(folder: Path) -> list[str]:
    return sorted({path.relative_to(folder).parts[0] for path in folder.rglob("*.safetensors")})


@pytest.fixture(scope="module")
def tuned(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    folder = tmp_path_factory.mktemp("tuned") / "study"
    return run(plan_search("bienc", data=corpus, changes=QUICK, space=HOPELESS_OR_GOOD), folder, trials=4), folder


def test_the_better_settings_win_and_their_trial_alone_keeps_weights(tuned: tuple[Outcome, Path]) -> None:
    outcome, folder = tuned
    assert {trial["settings"]["training.learning_rate"] for trial in listed(folder)} == {1e-9, 0.02}
    best = outcome.best
    assert best is not None and not outcome.interrupted
    assert best["settings"] == {"training.learning_rate": 0.02}
    assert best["dev_accuracy"] == max(trial["dev_accuracy"] for trial in listed(folder))
    assert best == json.loads((folder / "best.json").read_text())
    assert with_weights(folder) == [f"trial-{best['trial']:03}"]
    assert checkpoints.load(best["run"]).metrics["dev_accuracy"] == best["dev_accuracy"]
    for number in range(4):
        for kept in ("log.jsonl", "run.json"):
            assert (folder / f"trial-{number:03}" / kept).stat().st_size
        assert "dev" in (folder / f"trial-{number:03}.txt").read_text()


def test_the_command_prints_what_trains_the_same_again(tuned: tuple[Outcome, Path], corpus: Path) -> None:
    outcome, folder = tuned
    arguments = ("--trials", "4", "--out", str(folder), "--space", HOPELESS_OR_GOOD[0])
    plain, as_json = (command(corpus, QUICK, *arguments, *more) for more in ((), ("--json",)))
    assert outcome.best is not None and json.loads(as_json.stdout) == outcome.best
    assert plain.stdout.strip() == outcome.best["command"]
    start, *changes = plain.stdout.strip().split(" --set ")
    assert start == f"veriscene train bienc --data {corpus}"
    config = json.loads((folder / f"trial-{outcome.best['trial']:03}" / "run.json").read_text())["config"]
    assert load_preset("bienc", changes).to_json() == config


def test_a_study_goes_on_to_as_many_trials_as_are_asked_for(corpus: Path, tmp_path: Path) -> None:
    searched = search(corpus, RATES, "training.epochs=1")
    run(searched, tmp_path / "study", trials=5)
    first = listed(tmp_path / "study")
    run(searched, tmp_path / "study", trials=8)
    every = listed(tmp_path / "study")
    assert len(first) == 5 and every[:5] == first
    assert [trial["number"] for trial in every] == list(range(8))
    assert len({str(trial["settings"]) for trial in every}) == 8  # the generator does not begin anew
    assert len(with_weights(tmp_path / "study")) == 1


def test_two_jobs_lose_and_double_nothing(corpus: Path, tmp_path: Path) -> None:
    said: list[str] = []
    run(search(corpus, RATES, "training.epochs=2"), tmp_path / "study", trials=5, jobs=2, say=said.append)
    trials = listed(tmp_path / "study")
    assert [trial["number"] for trial in trials] == list(range(5))
    assert len({str(trial["settings"]) for trial in trials}) == 5
    assert all(trial["state"] in (COMPLETE, PRUNED) for trial in trials)
    assert len(said) == 5 and said[-1].endswith("5 of 5, 0:00 left")


def out_of_memory() -> Accelerator:
    raise RuntimeError("CUDA out of memory")


def test_trials_that_fail_one_after_the_other_end_it_with_one_line(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"3 trials in a row failed; the last one: .*out of memory; see .*002\.txt"):
        run(search(corpus, RATES), tmp_path / "study", trials=9, accelerator=out_of_memory)
    assert [trial["state"] for trial in listed(tmp_path / "study")] == ["failed"] * 3


def test_ctrl_c_ends_all_trials_and_says_how_to_go_on(corpus: Path, tmp_path: Path) -> None:
    logs = [tmp_path / f"trial-{number:03}" / "log.jsonl" for number in range(2)]

    def press_ctrl_c() -> None:
        while not all(log.exists() and log.stat().st_size for log in logs):
            time.sleep(0.05)
        for process in [os.getpid(), *(child.pid for child in multiprocessing.active_children())]:
            os.kill(process, signal.SIGINT)  # to all of them, as a terminal does

    presser = threading.Thread(target=press_ctrl_c)
    presser.start()
    changes = [*SMALL, "training.epochs=9999", "training.patience=9999"]
    ended = command(corpus, changes, "--jobs", "2", "--out", str(tmp_path), "--space", RATES[0])
    presser.join()
    assert ended.exit_code == 130 and ended.stdout == ""
    assert "interrupted; go on with: veriscene" in ended.stderr.splitlines()[-1]
    assert [trial["state"] for trial in listed(tmp_path)] == [CUT_OFF, CUT_OFF]
    assert not any(log.parent.exists() for log in logs)


def test_a_folder_that_is_no_study_is_left_alone(tuned: tuple[Outcome, Path], corpus: Path) -> None:
    trained = tuned[1] / "trial-000"
    before = sorted(trained.rglob("*"))
    with pytest.raises(InputError, match=r"trial-000: is there already; it is no study .*with --out$"):
        run(search(corpus, RATES), trained, trials=1)
    assert sorted(trained.rglob("*")) == before


def test_a_process_of_its_own_where_there_is_a_gpu(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)  # here, not in the process
    run(search(corpus, RATES, "training.epochs=1"), tmp_path, trials=1)
    assert [trial["state"] for trial in listed(tmp_path)] == [COMPLETE]


def test_the_share_of_a_trial_that_is_over_is_told_by_what_ends_it_first() -> None:
    line = {"epoch": 5.0, "seconds": 30.0}
    shares = [("training.minutes=0", 0.5), ("training.minutes=2", 0.5), ("training.minutes=0.75", 2 / 3)]
    for minutes, share in shares:
        settings = load_preset("bienc", ["training.epochs=10", minutes]).training
        assert share_gone(line, settings) == pytest.approx(share)
