"""What test_distributed.py runs in two processes: python -m torch.distributed.run … distributed_worker.py FOLDER."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from veriscene.training.trainer import StepTrainer

from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.evaluate import probabilities
from veriscene.judge.judge import TorchJudge
from veriscene.lab import seeds
from veriscene.models import load_preset
from veriscene.training import run
from veriscene.training.distributed import make_accelerator
from veriscene.worlds.nlvr import corpus as nlvr

SMALL = ["model.hidden=6", "model.embedding=8", "model.item=5", "model.joint=10", "model.mlp=8"]
TRAINING = ["training.batch=10", "training.epochs=2", "training.learning_rate=0.01", "training.evaluate_every=0"]
# Without dropout, and with items in the order of the file, nothing is random that processes would draw differently.
EXACT = [*SMALL, *TRAINING, "model.dropout=0.0", "data.order=file"]
RANDOM = [*SMALL, *TRAINING, "model.dropout=0.3", "training.ema=0.9", "training.policy_weight=0.5"]


def train(preset: str, changes: list[str], folder: Path, accelerator: Accelerator, *, seed: int = 1) -> None:
    config = load_preset(preset, [*changes, f"training.seed={seed}"])
    with run.start(
        config, preset=preset, data=folder.parent / "corpus", folder=folder, accelerator=accelerator, quiet=True
    ) as trainer:
        trainer.fit()


def evaluate(model: Path, folder: Path, accelerator: Accelerator) -> dict[str, float]:
    examples = nlvr.read(folder / "corpus" / "dev" / "dev.json")
    return probabilities(TorchJudge(checkpoints.load(model)), examples, accelerator)


def interrupted_and_resumed(folder: Path, accelerator: Accelerator) -> None:
    plain_learn = StepTrainer._learn

    def learn(self: StepTrainer, *arguments: Any) -> None:
        plain_learn(self, *arguments)
        if self.position.step == 4 and accelerator.process_index == 1:  # Ctrl-C reaches one process only
            signal.raise_signal(signal.SIGINT)

    StepTrainer._learn = learn  # type: ignore[method-assign]
    train("biatt-pointer", RANDOM, folder, accelerator)
    StepTrainer._learn = plain_learn  # type: ignore[method-assign]
    with run.resume(folder, accelerator=accelerator, quiet=True) as trainer:
        assert 4 <= trainer.position.step < trainer.total_steps
        trainer.fit()


def refusals(folder: Path, accelerator: Accelerator) -> list[str]:
    """What each process is told where only rank 0 sees the problem."""
    config, corpus = load_preset("bienc"), folder / "corpus"

    def start(config: Config, out: Path) -> None:
        with run.start(config, preset="bienc", data=corpus, folder=out, accelerator=accelerator, quiet=True):
            pass

    def resume(out: Path) -> None:
        with run.resume(out, accelerator=accelerator, quiet=True):
            pass

    attempts: list[Callable[[], object]] = [
        lambda: start(config, corpus),
        lambda: seeds.start(config, preset="bienc", data=corpus, folder=corpus, count=2, accelerator=accelerator),
        lambda: start(config, folder / ("a" * 300)),
        lambda: resume(folder / "locked"),
    ]
    found = []
    for attempt in attempts:
        try:
            attempt()
            found.append("")
        except (InputError, OSError) as error:
            found.append(str(error))
    return found


def main() -> None:
    folder, accelerator = Path(sys.argv[1]), make_accelerator()
    assert accelerator.num_processes == 2
    train("biatt", EXACT, folder / "exact2", accelerator)
    judged = evaluate(folder / "exact1", folder, accelerator)
    train("biatt-pointer", RANDOM, folder / "random2", accelerator)
    interrupted_and_resumed(folder / "resumed2", accelerator)
    record = {"judged": judged, "refusals": refusals(folder, accelerator)}
    (folder / f"rank{accelerator.process_index}.json").write_text(json.dumps(record), encoding="utf-8")
    accelerator.end_training()
    os._exit(0)  # during interpreter shutdown, gloo's threads sometimes abort the process


if __name__ == "__main__":
    main()
