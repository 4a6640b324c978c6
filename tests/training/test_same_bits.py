"""The same seed gives the same bits on a CPU, in another process and with another number of threads."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from samples import write_corpus, yellow_circle_examples

STEPS = 8
CODE = """
import sys, torch
torch.set_num_threads(int(sys.argv[1]))
from veriscene.training.spec import Spec
from veriscene.training.train import train
changes = ["training.batch=64", "training.epochs=2", "data.minimum_count=1", f"training.threads={sys.argv[1]}"]
spec = Spec.of(sys.argv[2], data=sys.argv[3], changes=changes)
assert train(spec, sys.argv[4]).position.step == int(sys.argv[5])
"""


def weights(preset: str, threads: int, corpus: Path, run: Path) -> str:
    command = [sys.executable, "-c", CODE.replace("sys.argv[3]", "__import__('pathlib').Path(sys.argv[3])")]
    command[2] = command[2].replace("train(spec, sys.argv[4])", "train(spec, __import__('pathlib').Path(sys.argv[4]))")
    done = subprocess.run(
        [*command, str(threads), preset, str(corpus), str(run), str(STEPS)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return hashlib.sha256((run / "last" / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize("preset", ["quick", "biatt"])
def test_one_and_two_threads_give_the_same_bits(preset: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(256), yellow_circle_examples(32, seed=1))
    found = [weights(preset, threads, corpus, tmp_path / f"run{i}") for i, threads in enumerate((1, 1, 2, 2))]
    assert found[0] == found[1], "one thread, twice"
    assert found[2] == found[3], "two threads, twice"
    assert found[0] == found[2]
