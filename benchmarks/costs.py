"""What training costs: GPU-seconds per million examples and peak memory, by statement length, items per box and size.

    veriscene bench costs [OUT.svg] [--preset biatt-pointer] [--device cpu] [--json]

Every statement has the same number of words and every box the same number of items, so nothing is padded. The step is
the captured one of `veriscene train`, with the preset's own settings. From a common base, one of the three is varied at
a time; with `hidden`, the sizes of the joint and last layers change in proportion.
"""

from __future__ import annotations

import gc
import io
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, product
from pathlib import Path
from statistics import median

import numpy as np
import torch

sys.path.append(str(Path(__file__).parent))  # this file may be loaded by its path
import train as speed
from veriscene import files, models
from veriscene.config import Config
from veriscene.data.encoder import Input
from veriscene.errors import InputError
from veriscene.models.captured import tf32
from veriscene.training.source import CorpusSource, Given
from veriscene.training.spec import commit
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds.nlvr.looks import BOX_EXTENT, BOXES, WORLD, Color, Shape, Size, make_item

PRESETS = ("biatt-pointer", "spatial-programs")
AXES = {"words": "words per statement", "items": "items per box", "hidden": "hidden size"}
TURNS, SECONDS_PER_TURN = 3, 0.2
FORMATS = (".svg", ".png")
WORDS = ["".join(letters) for letters in product("bdfgk", "aeiou", "lmnr")]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """What is measured: the values of each axis, and the base from which one is varied at a time."""

    words: tuple[int, ...] = (6, 12, 24, 48)
    items: tuple[int, ...] = (2, 4, 8, 16)
    hidden: tuple[int, ...] = (64, 128, 256, 512, 768)  # 1024 would be more weights than a model may have
    base_words: int = 12  # about NLVR's mean
    base_items: int = 8  # what most batches of NLVR are padded to
    base_hidden: int | None = None  # None: the preset's


# On a CPU, to try the command out.
QUICK_BATCH, QUICK = 4, Plan((3, 6), (1, 2), (4, 8), base_words=3, base_items=2, base_hidden=8)


@dataclass(frozen=True)
class Case:
    words: int
    items: int
    hidden: int


@dataclass(frozen=True)
class Cost:
    case: Case
    parameters: int
    seconds_a_million: float  # of the device, for a million examples
    peak_memory_gb: float | None  # of weights, moments and a captured step; None on a CPU: not measured


@dataclass(frozen=True)
class Costs:
    preset: str
    batch: int
    device: str
    commit: str | None
    base: Case
    measured: tuple[Cost, ...]
    time_exponents: dict[str, float]  # by axis: time grows like the axis to this power, over its whole range
    memory_exponents: dict[str, float]  # empty on a CPU

    def along(self, axis: str) -> list[Cost]:
        """What was measured with everything else as in the base, in ascending order."""
        return _along(axis, self.base, self.measured)


def device_named(device: str) -> torch.device:
    """Raises InputError if there is no such device."""
    if device not in ("cuda", "cpu"):
        raise InputError(f"unknown device {device!r:.20}", where="--device", allowed="choose cuda or cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("needs a GPU", allowed="--device cpu tries the command out, with tiny models")
    return torch.device(device)


def measure(
    preset: str,
    device: torch.device,
    *,
    batch: int | None = None,
    plan: Plan | None = None,
    progress: Progress = lambda done, total: None,
) -> Costs:
    """Measures every case of the plan; raises InputError if memory does not suffice."""
    on_gpu = device.type == "cuda"
    plan, batch = plan or (Plan() if on_gpu else QUICK), batch or (None if on_gpu else QUICK_BATCH)
    usual = models.load_preset(preset, [f"training.batch={batch}"] if batch else [])
    own = getattr(usual.model, "hidden", None)
    if own is None or Input.ITEMS not in models.MODELS[usual.model.name].inputs:
        raise InputError(f"{preset} has no hidden size, or reads no items", allowed="choose a preset as biatt-pointer")
    base, found = Case(plan.base_words, plan.base_items, plan.base_hidden or own), list[Cost]()
    varied = [replace(base, **{axis: value}) for axis in AXES for value in getattr(plan, axis)]
    cases = list(dict.fromkeys([base, *varied]))
    for done, case in enumerate(cases):
        progress(done, len(cases))
        try:
            found.append(_cost(preset, usual, case, device))
        except torch.cuda.OutOfMemoryError:
            raise InputError(f"{preset}: out of memory at {case}", allowed="give a smaller --batch") from None
    progress(len(cases), len(cases))
    lines = {axis: _along(axis, base, found) for axis in AXES}
    return Costs(
        preset=preset,
        batch=usual.training.batch,
        device=speed.device_name(device),
        commit=commit(),
        base=base,
        measured=tuple(found),
        time_exponents=_exponents(lines, "seconds_a_million"),
        memory_exponents=_exponents(lines, "peak_memory_gb") if on_gpu else {},
    )


def _along(axis: str, base: Case, measured: Sequence[Cost]) -> list[Cost]:
    line = [cost for cost in measured if replace(cost.case, **{axis: getattr(base, axis)}) == base]
    return sorted(line, key=lambda cost: getattr(cost.case, axis))


def _exponents(lines: Mapping[str, Sequence[Cost]], name: str) -> dict[str, float]:
    """By axis, the slope of a straight line through the logarithms."""
    slopes = {}
    for axis, line in lines.items():
        values, costs = [getattr(cost.case, axis) for cost in line], [getattr(cost, name) for cost in line]
        slopes[axis] = round(float(np.polyfit(np.log(values), np.log(costs), 1)[0]), 2)
    return slopes


def _cost(preset: str, usual: Config, case: Case, device: torch.device) -> Cost:
    on_gpu, before = device.type == "cuda", 0
    if on_gpu:
        gc.collect()  # the last case's graphs; then its workspaces, so that every case counts its own
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    config = _configuration(preset, usual, case)
    examples = _examples(case, config.training.batch)
    world = replace(WORLD, items=(1, case.items))
    source = CorpusSource(Given(config, world, examples, examples[:1], "synthetic"))
    source.to(device)
    torch.manual_seed(0)
    model = models.build(config.model, vocabulary=source.encoder.vocabulary, world=world).to(device)
    with tf32():
        step = speed.our_step(model, config, source, lambda: None)  # captures it
        # Replays use the memory of the captured step, which counts as free then.
        peak = (torch.cuda.max_memory_allocated() - before) / 1e9 if on_gpu else None
        turn = speed.turn_of(step, device, lambda: None)
        turn(0.0)
        seconds = median(turn(SECONDS_PER_TURN) for _ in range(TURNS))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Cost(case, parameters, 1e6 * seconds / config.training.batch, peak)


def _configuration(preset: str, usual: Config, case: Case) -> Config:
    widths = {name: getattr(usual.model, name, 0) for name in ("hidden", "joint", "mlp")}
    changes = [f"model.{k}={w * case.hidden // widths['hidden']}" for k, w in widths.items() if w]
    return models.load_preset(preset, [*changes, f"training.batch={usual.training.batch}", "data.minimum_count=1"])


def _examples(case: Case, count: int) -> list[Example]:
    """Statements of random words about random scenes, with random labels."""
    rng = random.Random(0)

    def item() -> Item:
        size = rng.choice(list(Size))
        x, y = (rng.randint(0, BOX_EXTENT - size.extent) for _ in range(2))
        return make_item(x, y, size, rng.choice(list(Shape)), rng.choice(list(Color)))

    def box() -> Box:
        return Box(tuple(item() for _ in range(case.items)))

    texts = [" ".join(rng.choices(WORDS, k=case.words)) for _ in range(count)]
    scenes = [Scene(tuple(box() for _ in range(BOXES))) for _ in range(count)]
    return [
        Example(f"{number}-0", text, scene, rng.random() < 0.5)
        for number, (text, scene) in enumerate(zip(texts, scenes, strict=True))
    ]


# ---------------------------------------------------------------- for the reader


def describe(costs: Costs) -> str:
    lines = [f"{costs.preset}, batch {costs.batch}, {costs.device}"]
    for axis, title in AXES.items():
        lines.append(f"  {title:>20}{'parameters':>14}{'s per million':>15}{'peak memory':>14}")
        for cost in costs.along(axis):
            memory = "not measured" if cost.peak_memory_gb is None else f"{cost.peak_memory_gb:.2f} GB"
            value, seconds = getattr(cost.case, axis), cost.seconds_a_million
            lines.append(f"  {value:>20,}{cost.parameters:>14,}{seconds:>15,.1f}{memory:>14}")
        power = f"  time grows like {axis}^{costs.time_exponents[axis]:g}"
        lines.append(
            power + (f", memory like {axis}^{costs.memory_exponents[axis]:g}" if costs.memory_exponents else "")
        )
    return "\n".join(lines)


def check_plot(file: Path) -> None:
    """Raises InputError for a file that `plot` could not write, before anything is measured."""
    import matplotlib  # noqa: F401 (raises if it is not installed)

    if file.suffix not in FORMATS:
        raise InputError("unknown kind of picture", where=file, allowed=f"end its name in {' or '.join(FORMATS)}")
    if not file.absolute().parent.is_dir():
        raise InputError("no such folder", where=file.parent)


def plot(results: Sequence[Costs], file: Path) -> None:
    """Writes time and memory along each axis, both on logarithmic scales; replaces the file."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter, NullLocator

    from veriscene.report.figures import Page

    kinds = {"seconds_a_million": "GPU-seconds per million examples", "peak_memory_gb": "peak memory, GB"}
    shown = [
        name for name in kinds if all(getattr(cost, name) is not None for each in results for cost in each.measured)
    ]
    with mpl.rc_context({**Page().style, "font.size": 8}):
        figure = Figure(figsize=(9, 2.6 * len(shown) + 0.4), layout="constrained")
        grid = figure.subplots(len(shown), len(AXES), sharex="col", sharey="row", squeeze=False)
        for (row, name), (column, (axis, title)) in product(enumerate(shown), enumerate(AXES.items())):
            part = grid[row, column]
            for each, style in zip(results, cycle(("o-", "s--", "^:", "d-.")), strict=False):
                line = each.along(axis)
                values = [getattr(cost.case, axis) for cost in line]
                part.plot(
                    values, [getattr(cost, name) for cost in line], style, label=f"{each.preset}, batch {each.batch}"
                )
            part.set_xscale("log", base=2)
            part.set_yscale("log")
            part.set_xticks([getattr(cost.case, axis) for cost in results[0].along(axis)])
            part.xaxis.set_major_formatter("{x:g}")
            part.xaxis.set_minor_locator(NullLocator())
            part.yaxis.set_major_formatter("{x:g}")
            part.yaxis.set_minor_formatter(LogFormatter())
            part.grid(alpha=0.3)
            if row == len(shown) - 1:
                part.set_xlabel(title)
            if column == 0:
                part.set_ylabel(kinds[name])
        grid[0, 0].legend()
        figure.suptitle(results[0].device)
        stream = io.BytesIO()
        metadata = {"Date": None} if file.suffix == ".svg" else None  # the same bytes for the same figures
        figure.savefig(stream, format=file.suffix[1:], metadata=metadata, dpi=150)
    files.write_bytes(file, stream.getvalue())
