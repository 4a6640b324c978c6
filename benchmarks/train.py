"""Training speed: two plain implementations against ours, side by side in one process.

    veriscene bench train [--data DIR] [--batch 64 --batch 512] [--json]

Same examples, batch size, precision and device. After a warm-up the three alternate; medians are compared, and the
ratio is to the faster of the two plain ones.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from veriscene import models, worlds
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.models import Model
from veriscene.models.captured import tf32
from veriscene.training.optimization import make_optimizer
from veriscene.training.source import CorpusSource, Given
from veriscene.training.step import CapturedStep, PlainStep, Step
from veriscene.world.examples import Example

# What presets use and the plain implementation lacks: a second pass, other coordinates, half precision.
SAME_WORK = ("training.r_drop=0", "training.precision=tf32", "model.coordinates=corner")
SECONDS_PER_TURN = 1.0
STEPS_BETWEEN_LOOKS = 5  # at the clock; also the minimum of a turn
COUNTED_STEPS = 8  # whose floating-point operations are counted

Progress = Callable[[int, int], None]
Advance = Callable[[], None]


@dataclass(frozen=True)
class Speed:
    examples_per_second: float
    milliseconds_a_step: float
    peak_memory_gb: float | None  # None on a CPU, here and below: not measured


@dataclass(frozen=True)
class Comparison:
    preset: str
    batch: int
    device: str
    precision: str
    plain: Speed  # with a DataLoader
    plain_resident_examples_per_second: float  # with the corpus on the device
    ours: Speed
    ratio: float  # to the faster of the two plain ones
    spread: tuple[float, float]  # the smallest and largest `ratio` of a turn
    ratio_dataloader: float
    gigaflop_an_example: float  # of our matrix products, forward and backward
    peak_teraflops: float  # measured: a large product in the same precision
    share_of_peak: float
    half_corpus_epoch_seconds: float | None
    whole_corpus_epoch_seconds: float | None


def plain_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plain", Path(__file__).with_name("plain.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # the DataLoader's workers look up its classes there
    spec.loader.exec_module(module)
    return module


def compare(
    preset: str,
    examples: Sequence[Example],
    *,
    batch: int,
    repeats: int,
    accelerator: Accelerator,
    progress: Progress = lambda done, total: None,
) -> Comparison:
    """Trains all three in turns. `progress` receives (steps done, steps in total), of each turn the first few."""
    if len(examples) < batch:
        what = f"the corpus has only {len(examples)} train examples"
        raise InputError(what, where=f"--batch {batch}", allowed="choose a smaller batch")
    config, device = models.load_preset(preset, [*SAME_WORK, f"training.batch={batch}"]), accelerator.device
    source = _source(config, examples, device)
    steps = 3 * STEPS_BETWEEN_LOOKS * (1 + repeats) + COUNTED_STEPS
    advance = _counter(progress, steps + (_steps_to_capture(source) if device.type == "cuda" else 0))
    with tf32():
        times, memory = _take_turns(config, examples, source, repeats, advance)
        flop, peak = _gigaflop_an_example(config, source, advance), _peak_teraflops(device)
        half, whole = (_epoch_seconds(config, examples[:n], device) for n in (len(examples) // 2, len(examples)))
    speeds = {name: Speed(batch / median(t), 1000 * median(t), memory[name]) for name, t in times.items()}
    plain, ours = times["plain"], times["ours"]
    faster = min(plain, times["resident"], key=median)
    ratios = [slow / fast for slow, fast in zip(faster, ours, strict=True)]
    return Comparison(
        preset=preset,
        batch=batch,
        device=device_name(device),
        precision="tf32" if device.type == "cuda" else "fp32",
        plain=speeds["plain"],
        plain_resident_examples_per_second=speeds["resident"].examples_per_second,
        ours=speeds["ours"],
        ratio=median(ratios),
        spread=(min(ratios), max(ratios)),
        ratio_dataloader=median(slow / fast for slow, fast in zip(plain, ours, strict=True)),
        gigaflop_an_example=flop,
        peak_teraflops=peak,
        share_of_peak=flop * speeds["ours"].examples_per_second / 1000 / peak,
        half_corpus_epoch_seconds=half,
        whole_corpus_epoch_seconds=whole,
    )


def _source(config: Config, examples: Sequence[Example], device: torch.device) -> CorpusSource:
    source = CorpusSource(Given(config, worlds.of_example(examples[0]), examples, examples[:1], "labels"))
    source.to(device)
    return source


def _counter(progress: Progress, total: int) -> Advance:
    """To be called after each of `total` steps."""
    progress(0, total)
    done = count(1)
    return lambda: progress(next(done), total)


# ---------------------------------------------------------------- turns

Turn = Callable[[float], float]  # seconds to run -> seconds per step


def _take_turns(
    config: Config, examples: Sequence[Example], source: CorpusSource, repeats: int, advance: Advance
) -> tuple[dict[str, list[float]], dict[str, float | None]]:
    """For each side, the seconds per step of each turn, and the peak memory."""
    device = source.train.device
    torch.manual_seed(0)
    ours = models.build(config.model, vocabulary=source.encoder.vocabulary, world=source.encoder.world).to(device)
    steps = {**_plain_steps(ours, config, examples, source), "ours": our_step(ours, config, source, advance)}
    turns = {name: turn_of(step, device, advance) for name, step in steps.items()}
    for turn in turns.values():
        turn(1)
    times: dict[str, list[float]] = {name: [] for name in turns}
    memory: dict[str, float | None] = {}
    for _ in range(repeats):
        for name, turn in turns.items():
            times[name].append(turn(SECONDS_PER_TURN))
            memory[name] = torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else None
    return times, memory


def turn_of(step: Callable[[], object], device: torch.device, advance: Advance) -> Turn:
    def turn(seconds: float) -> float:
        synchronize(device)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        started, steps = time.perf_counter(), 0
        while not steps or time.perf_counter() - started < seconds:
            for _ in range(STEPS_BETWEEN_LOOKS):
                step()
                if not steps:  # on a CPU these may take a minute; reporting must not slow down the others
                    advance()
            steps += STEPS_BETWEEN_LOOKS
            synchronize(device)
        return (time.perf_counter() - started) / steps

    return turn


def _plain_steps(
    ours: Model, config: Config, examples: Sequence[Example], source: CorpusSource
) -> dict[str, Callable[[], object]]:
    plain, settings, device = plain_module(), config.training, source.train.device
    vocabulary, size = source.encoder.vocabulary, settings.batch
    kind = {"biatt": plain.PlainBiATT, "biatt-pointer": plain.PlainBiATTPointer}[config.model.name]

    def step(
        bilstm: type, make_optimizer: Callable[..., torch.optim.Optimizer], epoch: Callable[[], Iterable[Any]]
    ) -> Callable[[], object]:
        model, batches = kind(vocabulary=len(vocabulary), bilstm=bilstm).to(device), forever(epoch)
        plain.load_ours(model, ours)
        optimizer = make_optimizer(model.parameters(), lr=settings.learning_rate)
        return lambda: plain.train_step(model, next(batches), optimizer, settings.clip)

    loader = plain.loader(plain.PlainDataset(examples, vocabulary), batch=size, device=device.type)
    resident = plain.Resident(examples, vocabulary, device)
    return {
        "plain": step(plain.PackedBiLSTM, torch.optim.Adam, lambda: loader),
        "resident": step(
            plain.PaddedBiLSTM, partial(torch.optim.AdamW, fused=True), lambda: resident.batches(size, settings.window)
        ),
    }


def our_step(model: Model, config: Config, source: CorpusSource, advance: Advance) -> Callable[[], object]:
    settings, step, batches = config.training, _make_step(model, config, source), _our_batches(source)
    share = torch.full((settings.batch,), 1 / settings.batch)

    def one() -> Tensor:
        return step(source.train, next(batches), share, learning_rate=settings.learning_rate)

    if source.train.device.type == "cuda":  # every shape of an epoch is captured before the measurement
        for _ in range(_steps_to_capture(source)):
            one()
            advance()
    return one


def _make_step(model: Model, config: Config, source: CorpusSource) -> Step:
    captured, settings, order = source.train.device.type == "cuda", config.training, source.encoder.order
    optimizer = make_optimizer(model, settings, captured=captured)
    if captured:
        return CapturedStep(model, optimizer, settings, order)
    return PlainStep(model, optimizer, settings, order)


def _our_batches(source: CorpusSource) -> Iterator[Tensor]:
    return cycle(numbers for numbers in source.epoch(0).steps if len(numbers) == source.settings.batch)


def _steps_to_capture(source: CorpusSource) -> int:
    return len(source.train) // source.settings.batch


def forever(epoch: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    while True:
        yield from epoch()


# ---------------------------------------------------------------- other figures


def _epoch_seconds(config: Config, examples: Sequence[Example], device: torch.device) -> float | None:
    """One epoch of a fresh model whose graphs are already captured: a new item order, and every batch once."""
    if device.type != "cuda":
        return None  # would take many minutes and say nothing new
    source = _source(config, examples, device)
    torch.manual_seed(0)
    model = models.build(config.model, vocabulary=source.encoder.vocabulary, world=source.encoder.world).to(device)
    step = _make_step(model, config, source)

    def run(number: int) -> None:
        epoch = source.epoch(number)
        for numbers in epoch.steps:
            step(epoch.corpus, numbers, torch.full((len(numbers),), 1 / len(numbers)), learning_rate=1e-4)
        synchronize(device)

    run(0)
    run(1)
    started = time.perf_counter()
    for number in (0, 1, 0, 1):
        run(number)
    return (time.perf_counter() - started) / 4


def _gigaflop_an_example(config: Config, source: CorpusSource, advance: Advance) -> float:
    """Matrix products of our eager step, with the padding that our batches have on average."""
    model = models.build(config.model, vocabulary=source.encoder.vocabulary, world=source.encoder.world).to(
        source.train.device
    )
    optimizer, batch = make_optimizer(model, config.training, captured=False), config.training.batch
    step = PlainStep(model, optimizer, config.training, source.encoder.order)
    some = list(islice(_our_batches(source), COUNTED_STEPS))
    with FlopCounterMode(display=False) as counter:
        for numbers in some:
            step(source.train, numbers, torch.full((batch,), 1 / batch), learning_rate=0.0)
            advance()
    return float(counter.get_total_flops()) / (len(some) * batch) / 1e9


def _peak_teraflops(device: torch.device) -> float:
    size = 8192 if device.type == "cuda" else 1024
    left, right = torch.randn(size, size, device=device), torch.randn(size, size, device=device)
    for _ in range(3):
        left @ right
    synchronize(device)
    started = time.perf_counter()
    for _ in range(10):
        left @ right
    synchronize(device)
    return 10 * 2 * size**3 / (time.perf_counter() - started) / 1e12


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def describe(result: Comparison) -> str:
    def line(name: str, speed: float, memory: float | None) -> str:
        used = "" if memory is None else f"  {memory:.2f} GB"
        return f"  {name:<25}{speed:>10,.0f} examples/s  {1000 * result.batch / speed:>8.2f} ms per step{used}"

    plain, ours, (low, high) = result.plain, result.ours, result.spread
    lines = [
        f"{result.preset}, batch {result.batch}, {result.precision}, {result.device}",
        line("plain, DataLoader", plain.examples_per_second, plain.peak_memory_gb),
        line("plain, corpus on device", result.plain_resident_examples_per_second, None),
        line("ours", ours.examples_per_second, ours.peak_memory_gb),
        f"  ratio to the faster plain one {result.ratio:.1f} ({low:.1f} to {high:.1f}),"
        f" to the one with a DataLoader {result.ratio_dataloader:.1f}",
        f"  {result.gigaflop_an_example:.2f} GFLOP per example,"
        f" {result.share_of_peak:.1%} of the measured peak of {result.peak_teraflops:.1f} TFLOP/s",
    ]
    half, whole = result.half_corpus_epoch_seconds, result.whole_corpus_epoch_seconds
    if half is not None and whole is not None:
        lines.append(f"  an epoch: {half:.2f} s for half of the corpus, {whole:.2f} s for all of it")
    return "\n".join(lines)
