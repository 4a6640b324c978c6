"""benchmarks/processes.py: two processes have the losses of one, on a CPU too; without a GPU the script says so."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from samples import write_corpus, yellow_circle_examples
from scripts import BENCHMARKS

SMALL = ["model.embedding=8", "model.hidden=8", "model.item=8", "model.joint=16", "model.mlp=16", "training.batch=10"]


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)  # spawned processes import it by its name
    return import_module("processes")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    # 41 examples in batches of 10: the last batch holds fewer examples than there are processes.
    return write_corpus(tmp_path / "corpus", yellow_circle_examples(41), yellow_circle_examples(4))


@pytest.mark.parametrize("preset", ["biatt", "biatt-pointer"])
def test_two_processes_have_the_losses_of_one(processes: ModuleType, corpus: Path, preset: str) -> None:
    found = processes.measure(corpus, preset=preset, changes=SMALL, device="cpu", steps=5)
    assert found["same_losses"] and found["compared_steps"] == 5
    assert found["largest_difference"] < 1e-12
    assert found["first_loss"] != found["last_loss"]


@pytest.mark.gpu
def test_two_processes_capture_their_steps_on_one_gpu(processes: ModuleType, corpus: Path) -> None:
    found = processes.measure(corpus, preset="biatt-pointer", changes=SMALL, steps=5, repeats=2)
    assert found["same_losses"]
    assert 0.5 < found["ratio"] < 2
    assert found["all_reduce_milliseconds"] > 0
    assert "ratio" in processes.describe(found)


def test_without_a_gpu_it_says_that_it_needs_one(corpus: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "processes.py"), "--data", str(corpus)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, timeout=120
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "processes.py: needs a GPU\n"
