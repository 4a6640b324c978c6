"""Two processes (gloo, on the CPU) evaluate exactly as one does, and train on the same batches."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import distributed_worker as worker
import pytest
import torch
from safetensors.torch import load_file

from samples import write_corpus, yellow_circle_examples
from veriscene import files, worlds
from veriscene.errors import InputError
from veriscene.metrics import accuracy as metrics
from veriscene.training.distributed import Machine
from veriscene.training.log import read_log
from veriscene.training.spec import Record
from veriscene.training.train import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the worker does in two processes, and the same training in one."""
    root = tmp_path_factory.mktemp("distributed")
    # 41 examples in batches of 10: the last batch has one example, fewer than there are processes.
    write_corpus(root / "corpus", yellow_circle_examples(41), yellow_circle_examples(13, seed=1))
    worker.train("biatt", worker.EXACT, root / "exact1", Machine())
    worker.train("biatt-pointer", worker.RANDOM, root / "random1", Machine())
    (root / "locked").mkdir()
    (root / "locked" / "spec.json").write_bytes((root / "exact1" / "spec.json").read_bytes())
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    with files.locked(root / "locked"):
        done = subprocess.run([*command, worker.__file__, str(root)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return root


def ranks(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"rank{rank}.json").read_text(encoding="utf-8")) for rank in (0, 1)]


def test_evaluation_gives_exactly_the_scores_of_one_process(folder: Path) -> None:
    alone = worker.evaluate(folder / "exact1", folder, Machine())
    examples = worlds.read(folder / "corpus" / "dev" / "dev.json")
    for record in ranks(folder):
        together = record["judged"]
        assert list(together) == list(alone) == [example.identifier for example in examples]
        assert together == pytest.approx(alone, abs=1e-6)
        one, other = (metrics.score(examples, {k: p > 0.5 for k, p in judged.items()}) for judged in (alone, together))
        assert one == other


def test_training_without_randomness_gives_the_losses_of_one_process(folder: Path) -> None:
    single, double = read_log(folder / "exact1"), read_log(folder / "exact2")
    assert [line.step for line in double] == [5, 10]
    assert [line.loss for line in double] == pytest.approx([line.loss for line in single], abs=1e-5)
    assert [line.dev_accuracy for line in double] == [line.dev_accuracy for line in single]
    weights = [load_file(folder / name / "last" / "model.safetensors") for name in ("exact1", "exact2")]
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, atol=2e-5, rtol=1e-3)


def test_training_with_randomness_draws_differently_in_each_process(folder: Path) -> None:
    """So only the distribution is that of one process: the steps are the same, the losses are not."""
    single, double = read_log(folder / "random1"), read_log(folder / "random2")
    assert [line.step for line in double] == [line.step for line in single]
    assert [line.loss for line in double] != [line.loss for line in single]
    assert [line.loss for line in double] == pytest.approx([line.loss for line in single], abs=0.3)


def test_two_processes_resume_bit_for_bit_and_only_as_two(folder: Path) -> None:
    for part in ("last", "best"):
        one, other = (load_file(folder / name / part / "model.safetensors") for name in ("random2", "resumed2"))
        assert all(torch.equal(weight, other[name]) for name, weight in one.items())
    with pytest.raises(InputError) as error:
        train(Record.read(folder / "resumed2").spec, folder / "resumed2", resume=True)
    assert error.value.where == folder / "resumed2" and "2" in error.value.what


def test_errors_of_rank_0_are_raised_on_every_rank(folder: Path) -> None:
    first, second = (record["refusals"] for record in ranks(folder))
    assert first == second
    for message, name in zip(first, ("corpus", "corpus", "a" * 300, "locked"), strict=True):
        assert str(folder / name) in message and "\n" not in message
    assert not any(path.name.startswith("aaa") for path in folder.iterdir())
