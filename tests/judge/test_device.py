"""Scoring, reporting and judging on a device other than the CPU, in the order of the main job.

On GPU machines the main job once failed with "Expected all tensors to be on the same device": the scorer moved the
checkpoint's model in place, then the judge fed it CPU tensors.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from accelerate import Accelerator

import fake_device
import veriscene
from samples import write_corpus, yellow_circle_examples
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.evaluate import probabilities
from veriscene.judge.judge import Verdict
from veriscene.report.run import report_run
from veriscene.training.distributed import Machine
from veriscene.training.spec import Spec
from veriscene.training.train import train

EXAMPLES = yellow_circle_examples(16)
QUESTIONS = [(example.statement, example.scene) for example in EXAMPLES]
SMALL = [
    f"model.{name}={size}" for name, size in (("embedding", 4), ("hidden", 3), ("item", 5), ("joint", 6), ("mlp", 7))
]


def on_the_fake_device(run: Path) -> tuple[float, list[Verdict]]:
    """Runs in a process of its own, because registering a device changes the whole process."""
    device, accelerator = fake_device.register(), Accelerator(cpu=True)
    accelerator.state.device = device
    accuracy = report_run(run, accelerator).scores.accuracy

    elsewhere = checkpoints.load(run)  # an accelerator does not decide where a loaded model is
    for checkpoint, place in ((elsewhere, "cpu"), (checkpoints.load(run, device=device), device.type)):
        scored = probabilities(TorchJudge(checkpoint), EXAMPLES, accelerator)
        assert checkpoint.device.type == place
        verdicts = TorchJudge(checkpoint)(QUESTIONS)
        assert [verdict.probability for verdict in verdicts] == pytest.approx(list(scored.values()), abs=1e-5)

    loaded = veriscene.load(run, device=device.type)
    assert isinstance(loaded, TorchJudge) and loaded.checkpoint.device == device
    with pytest.raises(RuntimeError, match="device"):  # the fake device is as strict as a real one
        loaded.checkpoint.model(elsewhere.encode(EXAMPLES))
    return accuracy, loaded(QUESTIONS)


@pytest.mark.skipif(not fake_device.IS_SUPPORTED, reason="this torch has no backends in Python")
def test_the_main_job_judges_on_its_device(tmp_path: Path) -> None:
    corpus, run = write_corpus(tmp_path / "corpus", EXAMPLES, EXAMPLES), tmp_path / "run"
    changes = ["training.epochs=1", "training.batch=8", "model.pooling=max", *SMALL]
    spec = Spec.of("quick", data=corpus, changes=changes)
    assert spec.config.model.name == "biatt-pointer"
    train(spec, run, machine=Machine(accelerator=Accelerator(cpu=True)))
    expected, accuracy = veriscene.load(run)(QUESTIONS), report_run(run, Accelerator(cpu=True)).scores.accuracy
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found, verdicts = pool.submit(on_the_fake_device, run).result()
    assert found == accuracy
    for verdict, same in zip(verdicts, expected, strict=True):
        assert verdict.probability == pytest.approx(same.probability, abs=1e-5) and verdict.order == same.order
