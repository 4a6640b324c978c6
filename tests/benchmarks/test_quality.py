"""`veriscene bench quality`: times of runs that reach a dev accuracy, and of those that do not."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from samples import write_corpus, yellow_circle_examples
from scripts import script
from veriscene.errors import InputError
from veriscene.output import Output

bench = script("quality")
SMALL = ("model.embedding=4", "model.hidden=6", "model.item=4", "model.joint=6", "model.mlp=5")
SHORT = ("training.batch=8", "training.epochs=2", "training.evaluate_every=2")


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    return str(write_corpus(tmp_path / "corpus", yellow_circle_examples(40), yellow_circle_examples(8, seed=1)))


def test_a_run_ends_at_the_goal_and_the_plain_one_is_given_its_steps(corpus: str) -> None:
    task = bench.Task("biatt-pointer", corpus, goal=0.1, limit=120, changes=(*SMALL, *SHORT))
    result = bench.measure(task, seeds=1, plain=True, output=Output())
    (run,), (plain,) = result.runs, result.plain_runs
    assert run.reached and run.accuracy >= 0.1 and run.step < 10
    assert run.seconds == pytest.approx(run.start_up + run.waiting + run.training + run.scoring)
    assert min(run.start_up, run.training, run.scoring) > 0 and run.waiting == 0
    assert (plain.steps, plain.scores, plain.examples_a_step) == (run.step, run.scores, 2 * 8)
    extrapolated = plain.start_up + plain.steps * plain.step_seconds + plain.scores * plain.score_seconds
    assert plain.seconds == pytest.approx(extrapolated)
    assert (result.median_seconds, result.plain_median_seconds) == (run.seconds, plain.seconds)
    assert json.loads(json.dumps(asdict(result)))["supervision"] == "labels"
    assert f"extrapolated from {bench.MEASURED_STEPS} measured steps" in bench.describe(result)


def test_a_run_can_go_on_to_its_end_without_a_change_of_its_times(corpus: str) -> None:
    task = bench.Task("biatt-pointer", corpus, goal=0.1, limit=120, changes=(*SMALL, *SHORT), to_the_end=True)
    (run,) = bench.measure(task, seeds=1, plain=False, output=Output()).runs
    assert run.reached and run.step < 10 and run.final >= run.accuracy >= 0.1
    assert run.seconds == pytest.approx(run.start_up + run.training + run.scoring)


def test_a_teachers_run_waits_for_its_examples(corpus: str) -> None:
    changes = ("model.hidden=8", "model.layers=1", "teacher.statements=20", "teacher.grammar_scenes=2", *SHORT)
    task = bench.Task("spatial-programs", corpus, goal=0.1, limit=120, changes=changes)
    result = bench.measure(task, seeds=1, plain=False, output=Output())
    assert result.supervision == "synthetic" and result.runs[0].waiting > 0 and not result.plain_runs


def test_the_plain_implementation_has_no_teacher(corpus: str) -> None:
    task = bench.Task("biatt-pointer", corpus, goal=1, limit=60, changes=("teacher.statements=20",))
    with pytest.raises(InputError):
        bench.measure(task, seeds=1, plain=True, output=Output())


def test_a_run_that_does_not_reach_the_goal_has_no_median(corpus: str) -> None:
    task = bench.Task("biatt-pointer", corpus, goal=100, limit=0.5, changes=(*SMALL, *SHORT))
    result = bench.measure(task, seeds=1, plain=True, output=Output())
    assert not result.runs[0].reached and result.median_seconds is None and not result.plain_runs
    assert "not reached" in bench.describe(result) and "None" not in bench.describe(result)


def test_seeds_that_do_not_reach_the_goal_count_as_the_slowest() -> None:
    assert bench._median([3.0, 1.0, 2.0], 3) == 2
    assert bench._median([1.0, 2.0], 3) == 2
    assert bench._median([1.0], 3) is None


def test_what_the_new_process_refuses_is_one_line_here(corpus: str) -> None:
    Path(corpus, "dev", "dev.json").write_text("{")
    with pytest.raises(InputError) as caught:
        bench.measure(bench.Task("biatt-pointer", corpus, goal=1, limit=60), seeds=1, plain=False, output=Output())
    assert "dev.json" in str(caught.value)
