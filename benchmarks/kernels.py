"""What our own kernels bring: captured steps with and without them, in turns, and where the time of a step goes.

    veriscene bench kernels [--data DIR] [--repeats 3] [--json]

Both sides are the captured step of `veriscene train` without R-Drop, on the same batches, in one process. Without
kernels, LSTMs and the pointer's choices are operations of torch, and weights are converted to half precision wherever
they are used.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch

sys.path.append(str(Path(__file__).parent))  # this file may be loaded by its path
import train as speed
from veriscene import models
from veriscene.models.captured import tf32
from veriscene.models.layers import kernels
from veriscene.world.examples import Example

CASES = (  # preset, batch, precision
    ("biatt-pointer", 64, "tf32"),
    ("biatt-pointer", 512, "bf16"),
    ("spatial-synthetic", 64, "tf32"),
    ("spatial-synthetic", 512, "bf16"),
)
PROFILED_STEPS = 8
# Kernels by what is in their names; the first that fits counts.
KINDS = {
    "own kernels": r"^_(forward|backward|choose)",
    "products": r"gemm|cutlass|nvjet|cublas|splitK|dot_kernel",
    "LSTM cells": r"lstm_cell",
    "optimizer": r"multi_tensor|lpnorm",
    "copies and casts": r"copy|memcpy|memset|CatArray|cast",
    "gathers": r"gather|scatter|index|embedding",
    "softmax": r"softmax",
    "reductions": r"reduce",
    "random numbers": r"distribution|philox|dropout",
    "element-wise": r"elementwise|vectorized",
}

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Gain:
    preset: str
    batch: int
    precision: str
    device: str
    examples_per_second: float
    without: float  # examples per second without kernels
    ratio: float
    spread: tuple[float, float]  # the smallest and largest ratio of a turn
    kernels: dict[str, tuple[float, float]]  # by kind: how many in a step, and their milliseconds; empty on a CPU
    kernels_without: dict[str, tuple[float, float]]
    step_milliseconds: float


@contextmanager
def kernels_are(enabled: bool) -> Iterator[None]:
    """What is captured meanwhile uses our kernels, or torch's operations alone."""
    before, kernels.enabled = kernels.enabled, enabled
    try:
        yield
    finally:
        kernels.enabled = before


def measure(
    preset: str,
    examples: Sequence[Example],
    *,
    batch: int,
    precision: str,
    repeats: int,
    device: torch.device,
    changes: Sequence[str] = (),
    progress: Progress = lambda done, total: None,
) -> Gain:
    """Measures both sides in turns."""
    own = [f"training.batch={batch}", f"training.precision={precision}", "training.r_drop=0", *changes]
    if "spatial" in preset:
        own.append("teacher.statements=0")
    config = models.load_preset(preset, own)
    source = speed._source(config, examples, device)
    total = 2 * speed._steps_to_capture(source) if device.type == "cuda" else 2
    advance = speed._counter(progress, total)
    steps, times = {}, dict[bool, list[float]]()
    with tf32():
        for fused in (False, True):
            torch.manual_seed(0)
            model = models.build(config.model, vocabulary=source.encoder.vocabulary, world=source.encoder.world)
            with kernels_are(fused):
                steps[fused] = speed.our_step(model.to(device), config, source, advance)
        turns = {fused: speed.turn_of(step, device, lambda: None) for fused, step in steps.items()}
        for turn in turns.values():
            turn(0.0)
        for _ in range(repeats):
            for fused, turn in turns.items():
                times.setdefault(fused, []).append(turn(speed.SECONDS_PER_TURN))
        found = {fused: _profile(step, device) for fused, step in steps.items()}
    ratios = [slow / fast for slow, fast in zip(times[False], times[True], strict=True)]
    return Gain(
        preset=preset,
        batch=batch,
        precision=precision,
        device=speed.device_name(device),
        examples_per_second=batch / median(times[True]),
        without=batch / median(times[False]),
        ratio=median(ratios),
        spread=(min(ratios), max(ratios)),
        kernels=found[True],
        kernels_without=found[False],
        step_milliseconds=1000 * median(times[True]),
    )


def _profile(step: Callable[[], object], device: torch.device) -> dict[str, tuple[float, float]]:
    """By kind, the number and the milliseconds of a step's kernels, which may run side by side."""
    if device.type != "cuda":
        return {}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(PROFILED_STEPS):
            step()
        torch.cuda.synchronize()
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for event in profiler.key_averages():
        kind = next((kind for kind, names in KINDS.items() if re.search(names, event.key, re.IGNORECASE)), "other")
        found[kind][0] += event.count / PROFILED_STEPS
        found[kind][1] += event.self_device_time_total / 1000 / PROFILED_STEPS
    return {kind: (round(count, 1), round(spent, 3)) for kind, (count, spent) in found.items() if spent}


def describe(gain: Gain) -> str:
    low, high = gain.spread
    lines = [
        f"{gain.preset}, batch {gain.batch}, {gain.precision}, {gain.device}",
        f"  {gain.examples_per_second:,.0f} examples/s, {gain.without:,.0f} without kernels: ratio {gain.ratio:.2f}"
        f" ({low:.2f} to {high:.2f}); {gain.step_milliseconds:.2f} ms a step",
    ]
    for kind in sorted({*gain.kernels, *gain.kernels_without}, key=lambda kind: -gain.kernels.get(kind, (0, 0))[1]):
        cells = [side.get(kind, (0.0, 0.0)) for side in (gain.kernels, gain.kernels_without)]
        (count, spent), (before, slower) = cells
        lines.append(f"  {kind:>18}: {count:6.0f} kernels {spent:7.2f} ms; without {before:6.0f} {slower:7.2f} ms")
    return "\n".join(lines)
