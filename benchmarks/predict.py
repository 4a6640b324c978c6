"""Speed of judging on a CPU: the plain implementation against the exported file, side by side in one process.

    python benchmarks/predict.py [--data FILE.json] [--seconds 60] [--threads 2] [--json]

Both start from examples and end at probabilities. Plain torch uses one thread or all, whichever is faster here: small
products gain nothing from a second thread. After a warm-up the two take turns, and medians are compared.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import asdict, replace
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import torch

from veriscene import models, worlds
from veriscene.config import Config
from veriscene.data.encoder import ItemOrder
from veriscene.errors import InputError
from veriscene.judge.checkpoint import Checkpoint
from veriscene.judge.export import export
from veriscene.judge.onnx_judge import OnnxJudge
from veriscene.training.source import vocabulary_of
from veriscene.world.examples import Example
from veriscene.worlds.nlvr import synthetic
from veriscene.worlds.nlvr.looks import WORLD

IN_BULK = 989  # the size of NLVR's dev split
ONE_BY_ONE = 40  # examples per turn
FEWEST_TURNS = 3
AGREEMENT = 1e-4

Turn = Callable[[], int]  # judges some examples and returns how many


def bench_predict(
    checkpoint: Checkpoint,
    examples: Sequence[Example],
    *,
    seconds: float = 60.0,
    threads: int = 2,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Examples per second of both sides, one at a time and in bulk; each gets half of the seconds.

    `progress` gets the share that is done, in percent.
    """
    plain = plain_module()
    model = _plain_model(plain, checkpoint)
    words, order, before = checkpoint.encoder.vocabulary, checkpoint.encoder.order, torch.get_num_threads()
    with tempfile.TemporaryDirectory() as folder:
        export(checkpoint, Path(folder) / "model.onnx")
        judge = OnnxJudge((Path(folder) / "model.onnx").read_bytes(), threads=threads)
    _check_agreement(plain, model, judge, examples[:20])
    plainly, ours = cycle(examples), cycle(examples)
    questions = [(example.statement, example.scene) for example in examples]
    plain_order = "file" if order is ItemOrder.FILE else "random"

    def one_by_one_plain() -> int:
        return len([plain.predict(model, one, words, plain_order) for one in islice(plainly, ONE_BY_ONE)])

    def one_by_one_ours() -> int:
        return len([judge(one.statement, one.scene) for one in islice(ours, ONE_BY_ONE)])

    def bulk_plain() -> int:
        dataset = plain.PlainDataset(examples, words, plain_order)
        return len(plain.predict_all(model, plain.loader(dataset, shuffle=False)))

    def bulk_ours() -> int:
        return len(list(judge.stream(questions, batch=len(questions))))

    def report(half: int) -> Callable[[float], None]:
        return lambda share: progress(round(50 * (half + share)), 100)

    try:
        return {
            "model": checkpoint.config.model.name,
            "threads": threads,
            "examples": len(examples),
            "one_at_a_time": _compare(one_by_one_plain, one_by_one_ours, seconds / 2, threads, report(0)),
            "bulk": _compare(bulk_plain, bulk_ours, seconds / 2, threads, report(1)),
        }
    finally:
        torch.set_num_threads(before)


def _compare(plain: Turn, ours: Turn, seconds: float, threads: int, report: Callable[[float], None]) -> dict[str, Any]:
    """Ours against plain torch with one thread or all, whichever is faster for it."""
    ours_speeds: list[float] = []
    plain_speeds: dict[int, list[float]] = {number: [] for number in {1, threads}}
    fewest, started = FEWEST_TURNS * (1 + len(plain_speeds)), time.perf_counter()

    def speed(turn: Turn, number: int) -> float:
        measured = _speed(turn, number)
        done = len(ours_speeds) + sum(map(len, plain_speeds.values()))
        elapsed = time.perf_counter() - started
        report(min(done / fewest, elapsed / max(seconds, elapsed)))
        return measured

    speed(ours, threads)
    for number in plain_speeds:
        speed(plain, number)
    started = time.perf_counter()
    while len(ours_speeds) < FEWEST_TURNS or time.perf_counter() - started < seconds:
        ours_speeds.append(speed(ours, threads))
        for number, speeds in plain_speeds.items():
            speeds.append(speed(plain, number))
    better = max(plain_speeds, key=lambda number: median(plain_speeds[number]))
    ratios = [fast / slow for fast, slow in zip(ours_speeds, plain_speeds[better], strict=True)]
    return {
        "plain": median(plain_speeds[better]),
        "ours": median(ours_speeds),
        "ratio": median(ratios),
        "spread": [min(ratios), max(ratios)],  # of the ratio, one turn each
        "ratio_of_the_best": max(ours_speeds) / max(plain_speeds[better]),  # others may use the machine too
        "plain_threads": better,
        "turns": len(ratios),
    }


def _speed(turn: Turn, threads: int) -> float:
    torch.set_num_threads(threads)
    started = time.perf_counter()
    return turn() / (time.perf_counter() - started)


def _plain_model(plain: ModuleType, checkpoint: Checkpoint) -> torch.nn.Module:
    sizes = asdict(checkpoint.config.model)
    kinds = {"biatt": plain.PlainBiATT, "biatt-pointer": plain.PlainBiATTPointer}
    if sizes["name"] not in kinds or sizes["pooling"] != "max" or sizes["coordinates"] != "corner":
        allowed = "choose biatt or biatt-pointer with pooling max"
        raise InputError(f"there is no plain {sizes['name']} with these settings", allowed=allowed)
    shared = {name: sizes[name] for name in ("embedding", "hidden", "item", "joint", "mlp", "dropout")}
    model: torch.nn.Module = kinds[sizes["name"]](vocabulary=len(checkpoint.encoder.vocabulary), **shared)
    plain.load_ours(model, checkpoint.model)
    return model.eval()


def _check_agreement(plain: ModuleType, model: torch.nn.Module, judge: OnnxJudge, examples: Sequence[Example]) -> None:
    """Speeds are comparable only if both do the same work. Here, both read items in the order of the file."""
    in_file_order = copy(judge)
    in_file_order.encoder = replace(judge.encoder, order=ItemOrder.FILE)
    for example in examples:
        theirs = plain.predict(model, example, judge.encoder.vocabulary, "file")
        difference = abs(theirs - in_file_order(example.statement, example.scene).probability)
        if not difference < AGREEMENT:
            raise RuntimeError(f"plain and ours differ by {difference:.1e} on example {example.identifier}")


def fresh_checkpoint(examples: Sequence[Example]) -> Checkpoint:
    """BiATT-Pointer with the paper's sizes, untrained: its speed does not depend on its weights."""
    config = Config(model=models.MODELS["biatt-pointer"].Config())
    vocabulary = vocabulary_of([e.statement for e in examples], config.data)
    torch.manual_seed(0)
    model = models.build(config.model, vocabulary=vocabulary, world=WORLD).eval()
    return Checkpoint(model, config, models.encoder(config, vocabulary, WORLD), {})


def plain_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plain", Path(__file__).with_name("plain.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def bulk_examples(data: Path | None) -> list[Example]:
    """The first of an NLVR file, or of a synthetic corpus."""
    examples = synthetic.build(400, seed=1)["train"] if data is None else worlds.read(data)
    return examples[:IN_BULK]


def describe(result: dict[str, Any]) -> str:
    lines = [f"{result['model']} on a CPU, {result['threads']} threads, {result['examples']} examples"]
    for name in ("one_at_a_time", "bulk"):
        speed = result[name]
        low, high = speed["spread"]
        lines.append(
            f"  {name.replace('_', ' '):<14} plain {speed['plain']:>7.1f}  ours {speed['ours']:>7.1f} examples/s"
            f"  ratio {speed['ratio']:.2f} ({low:.2f} to {high:.2f} in {speed['turns']} turns;"
            f" {speed['ratio_of_the_best']:.2f} of the best), plain on {speed['plain_threads']} thread(s)"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="an NLVR file; default: a synthetic corpus")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    examples = bulk_examples(arguments.data)
    result = bench_predict(fresh_checkpoint(examples), examples, seconds=arguments.seconds, threads=arguments.threads)
    print(json.dumps(result) if arguments.json else describe(result))


if __name__ == "__main__":
    main()
