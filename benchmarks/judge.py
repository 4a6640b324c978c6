"""Judging in bulk: `veriscene judge` against one process that streams, from files of questions to files of answers.

Both are processes of their own, started in turns, with the same cores. With `before`, the stream is that of another
checkout. Processor time counts as well as time, because others may use the machine.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import veriscene
from veriscene.english.grammar import draw
from veriscene.world.examples import Example, write
from veriscene.world.random_scenes import random_scene
from veriscene.world.schema import World
from veriscene.worlds import language

# As a program would judge a file without `veriscene judge`.
STREAM = """
import json, sys
import veriscene
from veriscene.judge.judge import Question
judge = veriscene.load(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as questions, open(sys.argv[3], "w", encoding="utf-8") as answers:
    for answer in judge.stream(Question.from_json(json.loads(line), judge.world) for line in questions):
        answers.write(json.dumps(answer.to_json()) + "\\n")
"""


def bench_judge(
    model: str,
    data: Path | None,
    *,
    questions: int,
    workers: int,
    rounds: int,
    before: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Questions per second, and per second of processor time, of both ways; the ratios are medians over rounds."""
    ours = Path(veriscene.__file__).resolve().parents[1]
    found: dict[str, list[tuple[float, float]]] = {"stream": [], "bulk": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if data is None:
            world, data = veriscene.load(model).world, folder / "questions.jsonl"
            write(data, drawn(world, questions), world)
        with data.open("rb") as lines:
            count = sum(1 for _ in lines)
        for number in range(rounds):
            stream = [sys.executable, "-c", STREAM, model, str(data), str(folder / "answers.jsonl")]
            out, part = folder / f"answers-{number}", max(1, count // (4 * workers))
            bulk = [sys.executable, "-m", "veriscene", "judge", model, str(data), str(out)]
            bulk += ["--workers", str(workers), "--part", str(part)]
            for side, command, source in (("stream", stream, before or ours), ("bulk", bulk, ours)):
                found[side].append(_seconds(command, source, workers))
                progress(2 * number + (side == "bulk") + 1, 2 * rounds)
    sides = {
        side: {"per_second": count / median(t for t, _ in times), "per_cpu_second": count / median(c for _, c in times)}
        for side, times in found.items()
    }
    pairs = list(zip(found["stream"], found["bulk"], strict=True))
    ratios, cpu_ratios = ([old[place] / new[place] for old, new in pairs] for place in (0, 1))
    return {
        "model": model,
        "questions": count,
        "workers": workers,
        "rounds": rounds,
        **sides,
        "ratio": median(ratios),
        "spread": [min(ratios), max(ratios)],
        "cpu_ratio": median(cpu_ratios),
        "cpu_spread": [min(cpu_ratios), max(cpu_ratios)],
    }


def drawn(world: World, count: int) -> list[Example]:
    """Different statements of the grammar about random scenes."""
    rng, words = random.Random(1), language(world)
    statements: dict[str, None] = {}
    while len(statements) < count:
        statements[draw(rng, words).text] = None
    return [Example(f"{number}-0", text, random_scene(world, rng)) for number, text in enumerate(statements)]


def _seconds(command: list[str], source: Path, threads: int) -> tuple[float, float]:
    """Runs a command with the package in `source`; returns its seconds, and those of the processor."""
    variables = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, env=variables, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, used


def describe(result: dict[str, Any]) -> str:
    lines = [f"{result['model']}, {result['questions']:,} questions, {result['workers']} cores"]
    for side in ("stream", "bulk"):
        speeds = result[side]
        lines.append(f"  {side:<7} {speeds['per_second']:>8.1f}/s  {speeds['per_cpu_second']:>8.1f}/s of the processor")
    for name, what in (("ratio", "spread"), ("cpu_ratio", "cpu_spread")):
        low, high = result[what]
        lines.append(f"  {name} {result[name]:.2f} ({low:.2f} to {high:.2f} in {result['rounds']} rounds)")
    return "\n".join(lines)
