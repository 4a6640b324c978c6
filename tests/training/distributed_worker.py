"""What test_distributed.py runs in two processes: python -m torch.distributed.run … distributed_worker.py FOLDER."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.evaluate import probabilities
from veriscene.lab import seeds
from veriscene.models import load_preset
from veriscene.training.distributed import Machine
from veriscene.training.log import LogLine
from veriscene.training.spec import Record, Spec
from veriscene.training.train import Result, StopAfter
from veriscene.training.train import train as train_spec

SMALL = ["model.hidden=6", "model.embedding=8", "model.item=5", "model.joint=10", "model.mlp=8"]
TRAINING = ["training.batch=10", "training.epochs=2", "training.learning_rate=0.01", "training.evaluate_every=0"]
# Without dropout, and with items in the order of the file, nothing is random that processes would draw differently.
EXACT = [*SMALL, *TRAINING, "model.dropout=0.0", "data.order=file"]
RANDOM = [*SMALL, *TRAINING, "model.dropout=0.3", "training.ema=0.9", "training.policy_weight=0.5"]


def train(
    preset: str, changes: list[str], folder: Path, machine: Machine, *, stop_after: StopAfter = lambda line: False
) -> Result:
    spec = Spec(load_preset(preset, changes), corpus=folder.parent / "corpus")
    return train_spec(spec, folder, machine=machine, stop_after=stop_after)


def evaluate(model: Path, folder: Path, machine: Machine) -> dict[str, float]:
    examples = worlds.read(folder / "corpus" / "dev" / "dev.json")
    return probabilities(TorchJudge(checkpoints.load(model)), examples, machine.accelerator)


def interrupted_and_resumed(folder: Path, machine: Machine) -> None:
    def interrupt(line: LogLine) -> bool:
        if line.step == 5 and machine.rank == 1:  # Ctrl-C reaches one process only
            signal.raise_signal(signal.SIGINT)
        return False

    result = train("biatt-pointer", RANDOM, folder, machine, stop_after=interrupt)
    assert result.interrupted and 5 <= result.position.step < result.total_steps
    train_spec(Record.read(folder).spec, folder, resume=True, machine=machine)


def refusals(folder: Path, machine: Machine) -> list[str]:
    """What each process is told where only rank 0 sees the problem."""
    corpus = folder / "corpus"
    spec = Spec(load_preset("bienc"), corpus=corpus)
    attempts: list[Callable[[], object]] = [
        lambda: train_spec(spec, corpus, machine=machine),
        lambda: seeds.start(spec, corpus, 2, machine=machine),
        lambda: train_spec(spec, folder / ("a" * 300), machine=machine),
        lambda: train_spec(spec, folder / "locked", resume=True, machine=machine),
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
    folder, machine = Path(sys.argv[1]), Machine()
    assert machine.processes == 2
    train("biatt", EXACT, folder / "exact2", machine)
    judged = evaluate(folder / "exact1", folder, machine)
    train("biatt-pointer", RANDOM, folder / "random2", machine)
    interrupted_and_resumed(folder / "resumed2", machine)
    record = {"judged": judged, "refusals": refusals(folder, machine)}
    (folder / f"rank{machine.rank}.json").write_text(json.dumps(record), encoding="utf-8")
    machine.accelerator.end_training()
    os._exit(0)  # during interpreter shutdown, gloo's threads sometimes abort the process


if __name__ == "__main__":
    main()
