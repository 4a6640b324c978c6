"""Training speed: the plain implementation against ours, side by side in one process.

    veriscene bench train [--data DIR] [--batch 64 --batch 512] [--json]

Same examples, batch size, precision class and device; after a warm-up the two take turns, and medians are compared.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median
from types import ModuleType

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from veriscene import models
from veriscene.config import Config, load_preset
from veriscene.errors import InputError
from veriscene.scenes.nlvr import Example
from veriscene.tensors.batch import Batch, ItemOrder, encode
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training.epochs import epoch_batches
from veriscene.training.optimizer import make_optimizer
from veriscene.training.step import CapturedStep, PlainStep, Step

# What presets may ask for and plain does not do: a second reading, other coordinates, half precision.
SAME_WORK = ("training.agreement=0", "training.precision=tf32", "model.coordinates=corner")
SECONDS_A_TURN = 1.0
STEPS_AT_ONCE = 5  # the fewest of a turn
COUNTED_STEPS = 8  # whose products are counted

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
    plain: Speed
    ours: Speed
    ratio: float
    spread: tuple[float, float]  # the smallest and the largest ratio of one turn each
    gigaflop_an_example: float  # of our products, forwards and backwards
    peak_teraflops: float  # measured: a large product in the same precision
    share_of_peak: float
    half_corpus_epoch_seconds: float | None
    whole_corpus_epoch_seconds: float | None


def plain_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plain", Path(__file__).with_name("plain.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # the loader's processes look its classes up there
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
    """Trains both for a while, in turns. `progress` hears of steps, of a turn's no more than the fewest."""
    if len(examples) < batch:
        raise InputError(f"--batch {batch}: the corpus has only {len(examples)} train examples; take a smaller batch")
    config, device = load_preset(preset, SAME_WORK), accelerator.device
    vocabulary = Vocabulary.of((e.statement for e in examples), minimum_count=config.data.minimum_count)
    torch.manual_seed(0)
    ours = models.build(config.model, vocabulary=vocabulary).to(device)
    corpus = encode(examples, vocabulary).to(device)
    steps = 2 * STEPS_AT_ONCE * (1 + repeats) + COUNTED_STEPS
    advance = _counter(progress, steps + (_steps_recorded(corpus, batch) if device.type == "cuda" else 0))
    turns = {
        "plain": _plain_turn(ours, config, examples, vocabulary, batch, device, advance),
        "ours": _our_turn(ours, config, corpus, batch, accelerator, advance),
    }
    for turn in turns.values():
        turn(1)
    times: dict[str, list[float]] = {name: [] for name in turns}
    memory: dict[str, float | None] = {}
    for _ in range(repeats):
        for name, turn in turns.items():
            times[name].append(turn(SECONDS_A_TURN))
            memory[name] = _peak_memory(device)
    ratios = [slow / fast for slow, fast in zip(times["plain"], times["ours"], strict=True)]
    flop = _gigaflop_an_example(config, corpus, vocabulary, batch, accelerator, advance)
    peak = _peak_teraflops(device)
    speeds = {name: Speed(batch / median(t), 1000 * median(t), memory[name]) for name, t in times.items()}
    half, whole = (
        _epoch_seconds(config, corpus[:n], vocabulary, batch, accelerator) for n in (len(corpus) // 2, len(corpus))
    )
    return Comparison(
        preset=preset,
        batch=batch,
        device=torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads",
        precision="tf32" if device.type == "cuda" and torch.backends.cuda.matmul.allow_tf32 else "fp32",
        plain=speeds["plain"],
        ours=speeds["ours"],
        ratio=median(ratios),
        spread=(min(ratios), max(ratios)),
        gigaflop_an_example=flop,
        peak_teraflops=peak,
        share_of_peak=flop * speeds["ours"].examples_per_second / 1000 / peak,
        half_corpus_epoch_seconds=half,
        whole_corpus_epoch_seconds=whole,
    )


def _counter(progress: Progress, total: int) -> Advance:
    """To be called after each of `total` steps."""
    progress(0, total)
    done = count(1)
    return lambda: progress(next(done), total)


Turn = Callable[[float], float]  # seconds to go on -> seconds a step


def _turn(step: Callable[[], None], device: torch.device, advance: Advance) -> Turn:
    def turn(seconds: float) -> float:
        _rest(device)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        started, steps = time.perf_counter(), 0
        while not steps or time.perf_counter() - started < seconds:
            for _ in range(STEPS_AT_ONCE):
                step()
                if not steps:  # on a CPU these may take a minute; where there are more, telling must not slow them down
                    advance()
            steps += STEPS_AT_ONCE
            _rest(device)
        return (time.perf_counter() - started) / steps

    return turn


def _plain_turn(
    ours: nn.Module,
    config: Config,
    examples: Sequence[Example],
    vocabulary: Vocabulary,
    batch: int,
    device: torch.device,
    advance: Advance,
) -> Turn:
    plain = plain_module()
    kind = {"biatt": plain.PlainBiATT, "biatt-pointer": plain.PlainBiATTPointer}[config.model.name]
    model = kind(vocabulary=len(vocabulary)).to(device)
    plain.load_ours(model, ours)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.training.learning_rate)
    batches = _forever(plain.loader(plain.PlainDataset(examples, vocabulary), batch=batch, device=device.type))
    return _turn(lambda: plain.train_step(model, next(batches), optimizer, config.training.clip), device, advance)


def _our_turn(
    model: nn.Module, config: Config, corpus: Batch, batch: int, accelerator: Accelerator, advance: Advance
) -> Turn:
    step, batches = _our_step(model, config, corpus, batch, accelerator), _our_batches(config, corpus, batch)
    share = torch.full((batch,), 1 / batch)

    def one() -> None:
        step(corpus, next(batches), share, learning_rate=config.training.learning_rate)

    if accelerator.device.type == "cuda":  # every shape of an epoch is recorded before the clock runs
        for _ in range(_steps_recorded(corpus, batch)):
            one()
            advance()
    return _turn(one, accelerator.device, advance)


def _steps_recorded(corpus: Batch, batch: int) -> int:
    return len(corpus) // batch


def _our_step(model: nn.Module, config: Config, corpus: Batch, batch: int, accelerator: Accelerator) -> Step:
    captures = accelerator.device.type == "cuda"
    settings = replace(config.training, batch=batch)
    optimizer = make_optimizer(model, settings, captured=captures)
    if captures:
        return CapturedStep(model, optimizer, corpus, settings, ItemOrder.RANDOM)
    return PlainStep(model, optimizer, settings, accelerator, ItemOrder.RANDOM)


def _our_batches(config: Config, corpus: Batch, batch: int) -> Iterator[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    settings, lengths = config.training, corpus.lengths.cpu()
    batches = epoch_batches(lengths, size=batch, window=settings.window, generator=generator)
    return cycle(numbers for numbers in batches if len(numbers) == batch)


def _epoch_seconds(
    config: Config, corpus: Batch, vocabulary: Vocabulary, batch: int, accelerator: Accelerator
) -> float | None:
    """One epoch of a fresh model, its graphs already recorded: a new order of items, and every batch once."""
    if accelerator.device.type != "cuda":
        return None  # would take many minutes and say nothing new
    torch.manual_seed(0)
    model = models.build(config.model, vocabulary=vocabulary).to(accelerator.device)
    step = _our_step(model, config, corpus, batch, accelerator)
    lengths, share = corpus.lengths.cpu(), torch.full((batch,), 1 / batch)

    def epoch(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        batches = epoch_batches(lengths, size=batch, window=config.training.window, generator=generator)
        shuffled = corpus.in_order(ItemOrder.RANDOM, generator)
        for numbers in batches:
            step(shuffled, numbers, share[: len(numbers)], learning_rate=1e-4)
        _rest(accelerator.device)

    epoch(0)
    epoch(1)
    started = time.perf_counter()
    for seed in (0, 1, 0, 1):
        epoch(seed)
    return (time.perf_counter() - started) / 4


def _gigaflop_an_example(
    config: Config, corpus: Batch, vocabulary: Vocabulary, batch: int, accelerator: Accelerator, advance: Advance
) -> float:
    """Products of one plain step, at the padding that our batches have on average."""
    model = models.build(config.model, vocabulary=vocabulary).to(accelerator.device)
    optimizer = make_optimizer(model, config.training, captured=False)
    step = PlainStep(model, optimizer, config.training, accelerator, ItemOrder.RANDOM)
    some = list(islice(_our_batches(config, corpus, batch), COUNTED_STEPS))
    with FlopCounterMode(display=False) as counter:
        for numbers in some:
            step(corpus, numbers, torch.full((batch,), 1 / batch), learning_rate=0.0)
            advance()
    return float(counter.get_total_flops()) / (len(some) * batch) / 1e9


def _peak_teraflops(device: torch.device) -> float:
    size = 8192 if device.type == "cuda" else 1024
    left, right = torch.randn(size, size, device=device), torch.randn(size, size, device=device)
    for _ in range(3):
        left @ right
    _rest(device)
    started = time.perf_counter()
    for _ in range(10):
        left @ right
    _rest(device)
    return 10 * 2 * size**3 / (time.perf_counter() - started) / 1e12


def _forever(loader: torch.utils.data.DataLoader) -> Iterator:  # type: ignore[type-arg]
    while True:
        yield from loader


def _peak_memory(device: torch.device) -> float | None:
    return torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else None


def _rest(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def describe(result: Comparison) -> str:
    lines = [f"{result.preset}, batch {result.batch}, {result.precision}, {result.device}"]
    for side, speed in (("plain", result.plain), ("ours", result.ours)):
        memory = "" if speed.peak_memory_gb is None else f"  {speed.peak_memory_gb:.2f} GB"
        lines.append(
            f"  {side:<6}{speed.examples_per_second:>10,.0f} examples/s"
            f"  {speed.milliseconds_a_step:>8.2f} ms a step{memory}"
        )
    lines.append(f"  ratio {result.ratio:.1f} ({result.spread[0]:.1f} to {result.spread[1]:.1f})")
    lines.append(
        f"  {result.gigaflop_an_example:.2f} GFLOP an example,"
        f" {result.share_of_peak:.1%} of the measured peak of {result.peak_teraflops:.1f} TFLOP/s"
    )
    half, whole = result.half_corpus_epoch_seconds, result.whole_corpus_epoch_seconds
    if half is not None and whole is not None:
        lines.append(f"  an epoch: {half:.2f} s for half of the corpus, {whole:.2f} s for all of it")
    return "\n".join(lines)
