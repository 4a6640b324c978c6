"""Shards of seeds and of plans: disjoint, together complete, resumed where they stopped, summarised by the last one."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from samples import write_corpus, yellow_circle_examples
from veriscene.cli.output import parse_shard
from veriscene.errors import InputError
from veriscene.lab import plans, seeds
from veriscene.lab.reproduce import Reproduction
from veriscene.lab.seeds import time_of_a_seed
from veriscene.models import load_preset
from veriscene.training.distributed import Machine
from veriscene.training.spec import Spec
from veriscene.training.train import train
from veriscene.world import examples
from veriscene.worlds.nlvr.looks import WORLD

TINY = ["model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=16", "training.epochs=2"]
FIRST, SECOND = plans.Row("first", "bienc", seeds=3), plans.Row("second", "bienc", changes=("model.dropout=0.1",))
AFTER = plans.Row("after", "bienc", changes=("model.dropout=0.2",), initial="first")
PLAN = plans.Plan("three rows", (FIRST, SECOND, AFTER), compared=(("first", "second"),))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = write_corpus(tmp_path / "corpus", yellow_circle_examples(64), yellow_circle_examples(40, seed=1))
    examples.write(folder / "test.json", yellow_circle_examples(20, seed=2), WORLD)
    return folder


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """What was trained, in this order, and whether it was resumed."""
    done: list[tuple[str, bool]] = []

    def noted(spec: Spec, folder: Path, *, resume: bool, **named: Any) -> Any:
        done.append((f"{folder.parent.name}/{folder.name}", resume))
        return train(spec, folder, resume=resume, **named)

    monkeypatch.setattr(seeds, "train", noted)
    return done


def reproduction(corpus: Path, folder: Path) -> Reproduction:
    return Reproduction(PLAN, TINY, corpus, folder, Machine())


def test_shards_of_a_plan_make_the_table_of_one_command_and_train_nothing_twice(
    corpus: Path, tmp_path: Path, trained: list[tuple[str, bool]]
) -> None:
    whole = reproduction(corpus, tmp_path / "whole")
    whole.run(PLAN.rows, "plan", command="")
    alone = [name for name, _ in trained]
    trained.clear()
    work = reproduction(corpus, tmp_path / "shards")
    parts = []
    for number in range(4):
        assert not (tmp_path / "shards" / "plan.json").exists()
        before = len(trained)
        left = work.run_shard(PLAN.rows, "plan", (number, 4), command="")
        parts.append([name for name, _ in trained[before:]])
        assert left == 9 - len(trained)
    assert sorted(name for part in parts for name in part) == sorted(alone) and len(set(alone)) == 9
    # A seed that starts from another row's model is trained after it, by the same shard.
    first, after = (work.own(row).name for row in (FIRST, AFTER))
    for seed in (1, 2, 3):
        (part,) = (part for part in parts if f"{first}/seed{seed}" in part)
        assert part.index(f"{first}/seed{seed}") < part.index(f"{after}/seed{seed}")
    tables = [json.loads((tmp_path / name / "plan.json").read_text()) for name in ("whole", "shards")]
    assert tables[0] == tables[1]
    for shard in [(0, 1), (1, 2), (2, 4)]:  # another division of the same seeds
        assert work.run_shard(PLAN.rows, "plan", shard, command="") == 0
    assert len(trained) == 9


def test_a_shard_that_was_interrupted_is_finished_by_the_same_call(
    corpus: Path, tmp_path: Path, trained: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = reproduction(corpus, tmp_path / "runs")
    with monkeypatch.context() as context:
        judge = seeds._judge

        def interrupt(own: Path, *given: Any) -> Any:
            if own.name == "seed3":
                signal.raise_signal(signal.SIGINT)
            return judge(own, *given)

        context.setattr(seeds, "_judge", interrupt)
        with pytest.raises(KeyboardInterrupt):
            work.run_shard([FIRST], "plan", (0, 2), command="")
    assert [name for name, _ in trained] == ["bienc/seed1", "bienc/seed3"]
    assert work.run_shard([FIRST], "plan", (0, 2), command="") == 1
    assert trained[2:] == [("bienc/seed3", True)]
    assert work.run_shard([FIRST], "plan", (1, 2), command="") == 0
    assert trained[3:] == [("bienc/seed2", False)]


def test_shards_of_seeds_agree_on_their_folder_and_may_add_seeds(
    corpus: Path, tmp_path: Path, trained: list[tuple[str, bool]]
) -> None:
    spec, folder, machine = Spec(load_preset("bienc", TINY), corpus=corpus, preset="bienc"), tmp_path / "own", Machine()
    assert seeds.train_shard(spec, folder, 3, (1, 2), machine=machine)
    assert (seeds.left(folder, 3), [name for name, _ in trained]) == (2, ["own/seed2"])
    with pytest.raises(InputError) as error:
        seeds.train_shard(replace(spec, config=load_preset("bienc")), folder, 3, (0, 2), machine=machine)
    assert error.value.where == folder
    assert seeds.train_shard(spec, folder, 4, (0, 2), machine=machine) and seeds.left(folder, 4) == 1
    assert seeds.train_shard(spec, folder, 3, (1, 2), machine=machine) and seeds.left(folder, 4) == 0
    assert seeds.resume(folder, machine=machine, wait=True) is not None and len(trained) == 4
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(InputError):
        seeds.train_shard(spec, tmp_path / "other", 3, (0, 2), machine=machine)


@pytest.mark.parametrize("text", ["", "1", "2/2", "-1/2", "a/b", "0/0", "1/2/3", "0.5/2"])
def test_only_a_number_below_the_count_is_a_shard(text: str) -> None:
    assert parse_shard("7/8") == (7, 8)
    with pytest.raises(InputError):
        parse_shard(text)


def test_the_time_of_a_seed_is_known_once_one_was_trained(corpus: Path, tmp_path: Path) -> None:
    work = reproduction(corpus, tmp_path / "runs")
    assert not time_of_a_seed(work.own(FIRST)) and not work.folder.exists()
    work.run_row(FIRST)
    assert time_of_a_seed(work.own(FIRST)).startswith("seed1 took 0:")
