"""Real trials in real processes: the better settings win, and no way of ending a command loses or repeats a trial."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
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
from veriscene.cli import experiments
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.lab.tuning.space import Search
from veriscene.lab.tuning.study import ERROR, is_cut_off, load
from veriscene.lab.tuning.tune import tune
from veriscene.models import load_preset
from waiting import wait_until

SMALL = [f"model.{size}=8" for size in ("embedding", "hidden", "item")] + ["training.batch=16"]
RATES = "training.learning_rate=1e-5:1e-2:log"
ENDLESS = [*SMALL, "training.epochs=9999", "training.patience=9999"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train and dev are the same, so that training helps; reading the test split fails."""
    examples = yellow_circle_examples(32)
    folder = write_corpus(tmp_path_factory.mktemp("corpus"), examples, examples)
    (folder / "test").mkdir()
    (folder / "test" / "test.json").write_text("{")
    return folder


def run(
    corpus: Path,
    folder: Path,
    *changes: str,
    trials: int,
    jobs: int = 1,
    accelerator: Callable[[], Accelerator] = Accelerator,
    say: Callable[[str], None] = print,
) -> tuple[dict[str, Any] | None, bool]:
    search = Search.plan("bienc", data=corpus, changes=[*SMALL, *changes], space=[RATES])
    return tune(search, folder=folder, trials=trials, jobs=jobs, accelerator=accelerator, say=say)


def arguments(corpus: Path, folder: Path, changes: list[str], space: str, *more: str) -> list[str]:
    settings = [part for change in changes for part in ("--set", change)]
    return ["bienc", "--data", str(corpus), "--out", str(folder), *settings, "--space", space, *more]


def command(corpus: Path, folder: Path, changes: list[str], space: str, *more: str) -> Result:
    app = typer.Typer()
    app.command()(experiments.tune)
    return CliRunner().invoke(app, arguments(corpus, folder, changes, space, *more))


def is_training(folder: Path, number: int) -> bool:
    log = folder / f"trial-{number:03}" / "log.jsonl"
    return log.exists() and log.stat().st_size > 0


def test_the_better_settings_win_and_the_printed_command_trains_the_same(corpus: Path, tmp_path: Path) -> None:
    changes = [*SMALL, "model.dropout=0.0", "training.epochs=12", "training.evaluate_every=8"]
    space = "training.learning_rate=1e-9,0.02"
    ended = command(corpus, tmp_path, changes, space, "--trials", "4", "--json")
    best = json.loads(ended.stdout)
    assert best == json.loads((tmp_path / "best.json").read_text())
    assert best["settings"] == {"training.learning_rate": 0.02}
    trials = load(tmp_path).trials
    assert {trial.params["training.learning_rate"] for trial in trials} == {1e-9, 0.02}
    assert best["dev_accuracy"] == max(trial.value for trial in trials)
    assert checkpoints.load(best["run"]).metrics["dev_accuracy"] == best["dev_accuracy"]
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.safetensors")} == {Path(best["run"]).name}
    for number in range(4):
        assert is_training(tmp_path, number) and "dev" in (tmp_path / f"trial-{number:03}.txt").read_text()

    again = command(corpus, tmp_path, changes, space, "--trials", "4")  # all are finished
    start, *given = again.stdout.strip().split(" --set ")
    assert start == f"veriscene train bienc --data {corpus}"
    config = json.loads((Path(best["run"]) / "run.json").read_text())["config"]
    assert load_preset("bienc", given).to_json() == config


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
    for number in range(2):
        record = json.loads((folder / f"trial-{number:03}" / "run.json").read_text())
        assert record["source"]["programs"] == [str(programs)]

    programs.write_text(json.dumps({**statement, "sentence": "There is a yellow item."}) + "\n")
    other = command(corpus, folder, changes, "teacher.scenes=16,32", *taught)
    assert isinstance(other.exception, InputError) and "its programs have changed since" in str(other.exception)


def test_trials_on_other_examples_are_not_compared(corpus: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(corpus, tmp_path / "corpus"))

    def change(line: str) -> None:
        if " started: " not in line:
            with (own / "train" / "train.json").open("a") as train:
                train.write((own / "dev" / "dev.json").read_text())

    with pytest.raises(InputError, match="programs have changed during the search; restore them"):
        run(own, tmp_path / "study", "training.epochs=1", trials=3, say=change)
    assert len(load(tmp_path / "study").trials) == 1


def test_two_workers_at_once_lose_and_repeat_nothing(corpus: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    run(corpus, tmp_path, "training.epochs=2", trials=2, jobs=2, say=lines.append)
    run(corpus, tmp_path, "training.epochs=2", trials=5, jobs=2, say=lines.append)
    trials = load(tmp_path).trials
    assert len({str(trial.params) for trial in trials}) == len(trials) == 5
    assert all(trial.value for trial in trials)
    assert sum(" started: " in line for line in lines) == 5 == len(lines) / 2
    assert lines[-1].endswith("5 of 5, 0:00 left")


def test_a_killed_command_takes_its_workers_along_and_is_continued(corpus: Path, tmp_path: Path) -> None:
    limits = ("--minutes", "0.03", "--trials", "2", "--jobs", "2")
    program = "import sys; from veriscene.cli import main; sys.exit(main())"
    given = ["tune", *arguments(corpus, tmp_path, ENDLESS, RATES, *limits)]
    process = subprocess.Popen([sys.executable, "-c", program, *given], stderr=subprocess.DEVNULL)
    wait_until(lambda: is_training(tmp_path, 0))
    process.kill()
    process.wait()
    time.sleep(0.2)
    log = tmp_path / "trial-000" / "log.jsonl"
    size = log.stat().st_size
    time.sleep(0.3)
    assert log.stat().st_size == size
    ended = command(corpus, tmp_path, ENDLESS, RATES, *limits)
    assert ended.exit_code == 0, ended.stderr
    trials = load(tmp_path).trials
    assert is_cut_off(trials[0]) and not (tmp_path / "trial-000").exists()
    finished = [trial for trial in trials if not is_cut_off(trial)]
    assert len(finished) == 2 and all(trial.value for trial in finished)


def test_ctrl_c_stops_all_workers_and_says_how_to_continue(corpus: Path, tmp_path: Path) -> None:
    def press_ctrl_c() -> None:
        wait_until(lambda: is_training(tmp_path, 0) and is_training(tmp_path, 1))
        for process in [os.getpid(), *(child.pid for child in multiprocessing.active_children())]:
            assert process is not None
            os.kill(process, signal.SIGINT)  # to all processes, as a terminal does

    presser = threading.Thread(target=press_ctrl_c)
    presser.start()
    ended = command(corpus, tmp_path, ENDLESS, RATES, "--jobs", "2")
    presser.join()
    assert ended.exit_code == 130 and ended.stdout == ""
    assert "interrupted; to continue: veriscene" in ended.stderr.splitlines()[-1]
    assert [is_cut_off(trial) for trial in load(tmp_path).trials] == [True, True]
    assert not list(tmp_path.glob("trial-*/"))
    assert "Traceback" not in (tmp_path / "trial-000.txt").read_text()


def fail() -> Accelerator:
    raise RuntimeError("CUDA out of memory\nand more")


def die() -> Accelerator:
    os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory runs out
    return Accelerator()


@pytest.mark.parametrize(
    ("accelerator", "error"),
    [(fail, "RuntimeError: CUDA out of memory"), (die, r"its process ended without a result \(exit status -9\)")],
)
def test_three_failures_in_a_row_end_the_study_with_one_line(
    corpus: Path, tmp_path: Path, accelerator: Callable[[], Accelerator], error: str
) -> None:
    expected = rf"3 trials in a row failed, the last with: {error}; see .*trial-002\.txt$"
    with pytest.raises(InputError, match=expected):
        run(corpus, tmp_path, trials=9, accelerator=accelerator)
    assert [ERROR in trial.user_attrs for trial in load(tmp_path).trials] == [True] * 3


def test_workers_are_spawned_where_there_is_a_gpu(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)  # in this process only
    best, interrupted = run(corpus, tmp_path, "training.epochs=1", trials=1)
    assert best is not None and not interrupted


def test_without_optuna_the_error_says_how_to_install_it(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'veriscene\[tune\]'"):
        experiments.tune("bienc", corpus, out=tmp_path)
