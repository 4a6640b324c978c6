"""Speed of a teacher: examples made by one core and by several worker processes, side by side.

    veriscene bench teacher [--data DIR] [--teacher FILE.jsonl] [--statements 2000] [--workers N] [--json]

Both include near misses, labels and encoding, and leave out the first epoch, in which a teacher evaluates its
programs on the corpus.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch

from veriscene.data.teacher.maker import Made
from veriscene.data.teacher.workers import usable_cores
from veriscene.models import load_preset
from veriscene.training.source import TeacherSource
from veriscene.worlds.nlvr import synthetic

EVALUATED_SCENES = 1024

Progress = Callable[[int, int], None]


def bench_teacher(
    data: Path | None,
    programs: Sequence[Path],
    *,
    statements: int,
    workers: int,
    seconds: float = 10.0,
    progress: Progress = lambda done, total: None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Examples per second of each way. The first one counts processor time, so other load does not change it."""
    count = workers or max(1, usable_cores() - 1)
    config = load_preset(
        "biatt", [f"teacher.statements={statements}", f"teacher.workers={count}", "data.minimum_count=1"]
    )
    with tempfile.TemporaryDirectory() as folder:
        if data is None:
            synthetic.write(folder, synthetic.build(400, seed=1))
        source = TeacherSource.open(config, data or Path(folder), programs, progress)
    with closing(source):
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            say(f"{len(source.statements):,} statements: making examples, about {seconds:.0f} s")
            one_core = _one_core(source, seconds)
            expected = 2 * source.examples_per_epoch / max(1.0, one_core * min(count, usable_cores()))
            say(f"two epochs of {source.examples_per_epoch:,} by {count} workers, about {expected:.0f} s")
            several, waited = _several(source)
        finally:
            torch.set_num_threads(before)
        say(f"evaluating programs, at most about {2 * seconds:.0f} s")
        return {
            "statements": len(source.statements),
            "examples_per_epoch": source.examples_per_epoch,
            "near_misses": source.teacher.near_misses,
            "one_core": one_core,
            "workers": source.workers.count,
            "cores": usable_cores(),
            "with_workers": several,
            "seconds_for_first_epoch": waited,
            **_evaluation(source, seconds),
        }


def _ratio(one: float, other: float) -> float | None:
    """None if the other way has made nothing, as of statements that are always true."""
    return one / other if other else None


def _one_core(source: TeacherSource, seconds: float) -> float:
    """Blocks from all parts of an epoch."""
    made, spent, few = 0, 0.0, max(1, min(8, source.maker.blocks))
    blocks = np.linspace(0, source.maker.blocks - 1, few).astype(int).tolist()
    for epoch in range(1000):
        started = time.process_time()
        found = Made.joined([source.maker.make(epoch, block) for block in blocks])
        source._encode(found, torch.device("cpu"), torch.Generator())
        if epoch:
            spent += time.process_time() - started
            made += len(found.labels)
        if spent > seconds:
            break
    return made / spent


def _several(source: TeacherSource) -> tuple[float, float]:
    """Examples per second of the second epoch, and the seconds that the first one takes. As in training, what workers
    made is encoded on the GPU, if there is one."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    times = [time.perf_counter()]
    for number in (0, 1):
        source._encode(Made.joined(source.workers.make(number)), device, torch.Generator())
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter())
    return source.examples_per_epoch / (times[2] - times[1]), times[1] - times[0]


def _evaluation(source: TeacherSource, seconds: float) -> dict[str, float | None]:
    """Evaluations of a program on a scene per second: of the plain evaluator and in bulk."""
    numbers = random.Random(1).sample(range(len(source.statements)), min(200, len(source.statements)))
    bulk = plain = 0
    bulk_seconds = plain_seconds = 0.0
    for number in numbers:
        pool, program = source.maker._pool(source.statements[number].kind), source.maker._program(number)
        which = np.arange(min(EVALUATED_SCENES, len(pool)))
        started = time.process_time()
        program.holds(pool, which)
        bulk, bulk_seconds = bulk + len(which), bulk_seconds + time.process_time() - started
    scenes = {kind: pool[:40].scenes() for kind, pool in source.maker.pools.items()}
    for kind, some in scenes.items():
        programs = [source.statements[n].program for n in numbers if source.statements[n].kind in (kind, None)]
        for scene in some:
            started = time.process_time()
            for program in programs:
                program.holds(scene)
            plain, plain_seconds = plain + len(programs), plain_seconds + time.process_time() - started
            if plain_seconds > seconds:
                break
    vectorised = np.mean([source.maker._program(number).vectorised for number in numbers])
    in_bulk, one_by_one = (_ratio(*each) or 0.0 for each in ((bulk, bulk_seconds), (plain, plain_seconds)))
    return {
        "plain_evaluations": one_by_one,
        "bulk_evaluations": in_bulk,
        "evaluation_ratio": _ratio(in_bulk, one_by_one),
        "vectorised": float(vectorised),
    }


def _shown(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.1f}"


def describe(result: dict[str, Any]) -> str:
    return "\n".join(
        [
            f"a teacher of {result['statements']:,} statements, {result['examples_per_epoch']:,} examples an epoch,"
            f" {result['near_misses']:.0%} near misses",
            f"  one core               {result['one_core']:>10,.0f} examples/s",
            f"  {result['workers']:>3} workers, {result['cores']:>3} cores {result['with_workers']:>10,.0f} examples/s"
            f"   (the first epoch: {result['seconds_for_first_epoch']:.1f} s)",
            f"  programs on scenes: plain {result['plain_evaluations']:,.0f}/s, in bulk"
            f" {result['bulk_evaluations']:,.0f}/s, ratio {_shown(result['evaluation_ratio'])};"
            f" {result['vectorised']:.1%} of the programs are vectorised",
        ]
    )
