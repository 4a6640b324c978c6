"""Captured training in two processes that share one GPU: the same losses as one process, and no slower step.

    PYTHONPATH=src python3 benchmarks/processes.py --data NLVR [--preset biatt-pointer] [--repeats 5]

Gradients go through gloo, since NCCL refuses two processes on one GPU. Prints one JSON object on standard output, and
one line for the reader on standard error. Exit status 1 without a GPU, or if the losses differ.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch import Tensor
from torch.multiprocessing.spawn import spawn

from veriscene import models
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.models import biatt_pointer
from veriscene.models.captured import tf32
from veriscene.training.optimization import make_optimizer
from veriscene.training.source import CorpusSource
from veriscene.training.step import CapturedStep, FlatGradients, PlainStep, Step

PROCESSES = 2
# Nothing random, and in float64: in float32, Adam amplifies rounding errors to 4e-4 within 20 steps.
EXACT = ("model.dropout=0.0", "data.order=file", "training.precision=tf32")
TOLERANCE = 1e-9  # of a loss near 0.7
ALL_REDUCES = 10


@dataclass(frozen=True)
class Task:
    """What each process gets."""

    data: Path
    preset: str
    changes: tuple[str, ...]  # to the preset, in both parts
    device: str
    compared_steps: int
    repeats: int
    rendezvous: Path
    result: Path  # where rank 0 writes its JSON object


def measure(
    data: Path, *, preset: str, changes: Sequence[str] = (), device: str = "cuda:0", steps: int = 20, repeats: int = 5
) -> dict[str, Any]:
    """Runs both processes to their end and returns what rank 0 found."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        task = Task(data, preset, tuple(changes), device, steps, repeats, folder / "rendezvous", folder / "result.json")
        spawn(_worker, args=(task,), nprocs=PROCESSES)
        found: dict[str, Any] = json.loads(task.result.read_text(encoding="utf-8"))
        return found


def _worker(rank: int, task: Task) -> None:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # otherwise gloo looks up the host's name, which may fail
    dist.init_process_group("gloo", init_method=task.rendezvous.as_uri(), rank=rank, world_size=PROCESSES)
    try:
        device = torch.device(task.device)
        found = {"preset": task.preset, "processes": PROCESSES, **compare_losses(task, rank, device)}
        if device.type == "cuda":
            with tf32():
                found |= compare_times(task, rank, device)
        if rank == 0:
            task.result.write_text(json.dumps(found), encoding="utf-8")
        dist.barrier()
    finally:
        dist.destroy_process_group()


# ---------------------------------------------------------------- the same losses


def compare_losses(task: Task, rank: int, device: torch.device) -> dict[str, Any]:
    """Both processes train on halves of the same batches; then rank 0 trains on whole batches, alone."""
    config, source = _prepare(task, EXACT, device)
    source.train = source.train.map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
    with _fixed_orders(device):
        together = _losses(config, source, task.compared_steps, rank=rank, world=PROCESSES)
        dist.all_reduce(together)  # each process has its part of the mean
        alone = together
        if rank == 0:
            alone = _losses(config, source, task.compared_steps, rank=0, world=1)
        dist.barrier()
    difference = (together - alone).abs()
    return {
        "compared_steps": len(alone),
        "first_loss": float(alone[0]),
        "last_loss": float(alone[-1]),
        "first_difference": float(difference[0]),
        "largest_difference": float(difference.max()),
        "same_losses": bool((difference < TOLERANCE).all()),
    }


def _losses(config: Config, source: CorpusSource, steps: int, *, rank: int, world: int) -> Tensor:
    step, epoch = _make_step(config, source, world), source.epoch(0)
    rate = config.training.learning_rate
    parts = [_part(whole, rank, world) for whole in epoch.steps[:steps]]
    losses = [float(step(epoch.corpus, numbers, share, learning_rate=rate)) for numbers, share in parts]
    return torch.tensor(losses, dtype=torch.float64)


@contextmanager
def _fixed_orders(device: torch.device) -> Iterator[None]:
    """The pointer's samples use the same noise for every example, so they do not depend on who reads it."""
    noise = -torch.empty(64, 64).exponential_(generator=torch.Generator().manual_seed(0)).log()
    table = noise.to(device)

    def sampled(place: int, log_p: Tensor) -> Tensor:
        return (log_p + table[place, : log_p.size(-1)].to(log_p.dtype)).argmax(dim=-1)

    with mock.patch.object(biatt_pointer, "sampled", sampled):
        yield


# ---------------------------------------------------------------- and no slower


def compare_times(task: Task, rank: int, device: torch.device) -> dict[str, Any]:
    """The step of one of two processes without its all-reduce, against that of one process at half the batch.

    Only rank 0 uses the GPU, so that the processes do not compete. The all-reduce is measured by itself, in both.
    """
    config, source = _prepare(task, (), device)
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "batch": config.training.batch}
    if rank == 0:
        found |= _alternating(config, source, task.repeats)
    dist.barrier()
    model = models.build(config.model, vocabulary=source.encoder.vocabulary, world=source.encoder.world).to(device)
    gradients = FlatGradients(list(model.parameters()))
    seconds = [_seconds(gradients.all_reduce, 1) for _ in range(1 + ALL_REDUCES)][1:]
    return {
        **found,
        "all_reduce_milliseconds": 1000 * median(seconds),
        "all_reduce_megabytes": gradients.flat.nbytes / 1e6,
    }


def _alternating(config: Config, source: CorpusSource, repeats: int) -> dict[str, Any]:
    halved = replace(config, training=replace(config.training, batch=-(-config.training.batch // PROCESSES)))
    epoch, rate = source.epoch(0), config.training.learning_rate
    full = [whole for whole in epoch.steps if len(whole) == config.training.batch]
    parts = [_part(whole, 0, PROCESSES) for whole in full]
    steps = {"two": _make_step(config, source, PROCESSES), "single": _make_step(halved, source, 1)}

    def run(step: Step) -> None:
        for numbers, share in parts:
            step(epoch.corpus, numbers, share, learning_rate=rate)

    times: dict[str, list[float]] = {name: [] for name in steps}
    with mock.patch.object(FlatGradients, "all_reduce", lambda self: None):
        for step in steps.values():
            run(step)  # captures a graph for each shape
        for turn in range(repeats):
            for name in sorted(steps, reverse=turn % 2 == 1):  # neither is always first
                times[name].append(_seconds(partial(run, steps[name]), len(parts)))
    ratios = [two / single for two, single in zip(times["two"], times["single"], strict=True)]
    return {
        "steps_per_turn": len(parts),
        "repeats": repeats,
        "step_without_all_reduce_milliseconds": 1000 * median(times["two"]),
        "single_process_half_batch_milliseconds": 1000 * median(times["single"]),
        "ratio": median(ratios),
        "spread": [min(ratios), max(ratios)],
    }


def _seconds(work: Callable[[], None], count: int) -> float:
    """Seconds for each of the `count` things that `work` does."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / count


# ---------------------------------------------------------------- common


def _prepare(task: Task, changes: Sequence[str], device: torch.device) -> tuple[Config, CorpusSource]:
    config = models.load_preset(task.preset, [*task.changes, *changes])
    source = CorpusSource.open(config, task.data)
    source.to(device)
    return config, source


def _part(whole: Tensor, rank: int, world: int) -> tuple[Tensor, Tensor]:
    """A process's examples of a batch, as the trainer divides it, with each one's share in the mean."""
    mine = whole[rank::world]
    if not len(mine):
        return whole[:1], torch.zeros(1)
    return mine, torch.full((len(mine),), 1 / len(whole))


def _make_step(config: Config, source: CorpusSource, processes: int) -> Step:
    settings, order, device = config.training, source.encoder.order, source.train.device
    torch.manual_seed(settings.seed)
    model = models.build(config.model, vocabulary=source.encoder.vocabulary, world=source.encoder.world)
    model.prepare(source.train)
    model.to(device, source.train.labels.dtype)  # the precision of the corpus
    if device.type != "cuda":
        optimizer = make_optimizer(model, settings, captured=False)
        return PlainStep(model, optimizer, settings, order, processes=processes)
    optimizer = make_optimizer(model, settings, captured=True)
    return CapturedStep(model, optimizer, settings, order, processes=processes)


def describe(found: dict[str, Any]) -> str:
    two, single = found["step_without_all_reduce_milliseconds"], found["single_process_half_batch_milliseconds"]
    low, high = found["spread"]
    return (
        f"{found['preset']}, batch {found['batch']}, {found['device']}: losses of {PROCESSES} processes and of one"
        f" differ by at most {found['largest_difference']:.1e} in {found['compared_steps']} steps; a step without"
        f" all-reduce {two:.2f} ms, one process at half the batch {single:.2f} ms, ratio {found['ratio']:.3f}"
        f" ({low:.3f} to {high:.3f}); all-reduce of {found['all_reduce_megabytes']:.1f} MB by gloo"
        f" {found['all_reduce_milliseconds']:.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="corpus folder")
    parser.add_argument("--preset", default="biatt-pointer", choices=("biatt", "biatt-pointer"))
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("processes.py: needs a GPU")
    try:
        CorpusSource.open(models.load_preset(given.preset), given.data)
    except InputError as error:
        sys.exit(f"processes.py: {error}")
    found = measure(given.data, preset=given.preset, repeats=max(1, given.repeats))
    print(describe(found), file=sys.stderr)
    print(json.dumps(found))
    if not found["same_losses"]:
        sys.exit("processes.py: the losses differ")


if __name__ == "__main__":
    main()
