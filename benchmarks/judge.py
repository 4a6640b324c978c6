"""Judging in bulk: `veriscene judge` against one process that streams, from files of questions to files of answers.

Both are processes of their own, started in turns, with the same cores. With `before`, the stream is that of another
checkout. Processor time counts as well as time, because others may use the machine.

On a GPU, one command judges different statements, and the stages of the work are timed one by one.
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import veriscene
from veriscene.data.reader import split_words
from veriscene.english.grammar import draw
from veriscene.errors import InputError
from veriscene.files import json_object
from veriscene.judge.bulk import GPU_WINDOW
from veriscene.judge.checkpoint import GPU_GROUP
from veriscene.judge.judge import FIELDS, MAPS, NetworkJudge, Question
from veriscene.judge.reading import with_reading
from veriscene.world.examples import Example, to_record, write
from veriscene.world.random_scenes import random_scene
from veriscene.world.schema import World
from veriscene.worlds import language

DRAWN, SAMPLE = 5_000, 500  # statements that a process draws; answers that are compared with those of a CPU
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
    if before is not None and not (before / "veriscene" / "__init__.py").exists():
        raise InputError("holds no package veriscene", where=before, allowed="give the src of a checkout")
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


def bench_device(
    model: str,
    data: Path | None,
    *,
    device: str,
    questions: int,
    workers: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Questions per second of `veriscene judge` on a device, from JSON lines to files of answers, with and without the
    start of all processes; microseconds of each stage per question, one after another; whether the answers are those
    of a CPU."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few, many = folder / "few.jsonl", folder / "many.jsonl"
        world = veriscene.load(model).world
        if data is None:
            with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:  # threads cannot be forked
                seeds = range(2, 2 + -(-5 * questions // (4 * DRAWN)))  # some are drawn twice
                parts = pool.map(partial(_drawn_lines, world, DRAWN), seeds)
                lines = list(islice({text: line for part in parts for text, line in part}.values(), questions))
        else:
            lines = data.read_text(encoding="utf-8").splitlines(keepends=True)
        few.write_text("".join(lines[: len(lines) // 4]), encoding="utf-8")
        many.write_text("".join(lines), encoding="utf-8")
        # Parts that fill two groups of the GPU, if there are several for each worker.
        part = int(min(0.97 * 2 * GPU_GROUP, len(lines) / 16 / workers) * many.stat().st_size / len(lines)) >> 10
        seconds = []
        for source in (few, many):
            progress(len(seconds), 3)
            command = [sys.executable, "-m", "veriscene", "judge", model, str(source), str(folder / source.stem)]
            command += ["--device", device, "--workers", str(workers), "--part", str(max(1, part))]
            began = time.perf_counter()
            _run(command, dict(os.environ))
            seconds.append(time.perf_counter() - began)
        progress(2, 3)
        paths = sorted((folder / "many").glob("part-*"))
        answers = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
        assert len(answers) == len(lines)
        stages, sample = _stages(model, device, lines[:GPU_WINDOW]), lines[:SAMPLE]
        judged = veriscene.load(model)([Question.from_json(json.loads(line), world) for line in sample])
        progress(3, 3)
    same = [json.loads(own)["verdict"] == other.verdict for own, other in zip(answers, judged, strict=False)]
    records = map(json.loads, lines)
    return {
        "model": model,
        "device": device,
        "questions": len(lines),
        "statements": len({record.get("sentence", record.get("statement")) for record in records}),
        "workers": workers,
        "seconds": seconds[1],
        "per_second": len(lines) / seconds[1],
        "per_second_after_start": (len(lines) - len(lines) // 4) / (seconds[1] - seconds[0]),
        "largest_process_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        "same_verdicts_as_cpu": sum(same) / len(same),
        "microseconds": stages,
    }


def _drawn_lines(world: World, count: int, seed: int) -> list[tuple[str, str]]:
    examples = drawn(world, count, seed)
    return [(each.statement, f"{json.dumps(to_record(each, world))}\n") for each in examples]


def _stages(model: str, device: str, lines: list[str]) -> dict[str, float]:
    """Microseconds per question of one window, with warm caches; those of network and reader are the device's."""
    judge = veriscene.load(model, device=device)
    assert isinstance(judge, NetworkJudge) and judge.reader is not None
    gc.freeze()  # as workers do, it rarely looks through what is there
    reader, fields, spent = judge.reader, [name for name in FIELDS if name not in MAPS], dict[str, float]()

    def timed(stage: str, work: Callable[[], Any]) -> Any:
        work()  # captures graphs, fills caches
        began = time.perf_counter()
        result = work()
        spent[stage] = spent.get(stage, 0) + (time.perf_counter() - began) / len(lines) * 1e6
        return result

    questions = timed("parse", lambda: [Question.from_json(json_object(line), judge.world) for line in lines])
    encoded = timed("encode", lambda: judge._encode(questions))
    texts = list(dict.fromkeys(question.statement for question in questions))
    is_brief = [not judge.has_new_words(text) for text in texts]
    numbered = timed(
        "encode", lambda: reader.numbered([split_words(text)[: reader.config.max_words] for text in texts])
    )
    judged = timed("network", lambda: judge.run(encoded, fields))
    rows, _, _ = timed("reader", lambda: reader.write(*numbered, np.array(is_brief)))
    verdicts = timed("answer", lambda: judge._verdicts(questions, encoded, judged))
    timed("programs", lambda: [reader._program(row) for row in rows.tolist()])
    readings = dict(zip(texts, reader.read(texts, {t for t, b in zip(texts, is_brief, strict=True) if b}), strict=True))
    pairs = list(zip(verdicts, questions, strict=True))
    whole = timed("answer", lambda: [with_reading(v, q, readings[q.statement]) for v, q in pairs])
    timed("write", lambda: [json.dumps({"probability": v.probability, "verdict": v.verdict}) for v in whole])
    return spent


def drawn(world: World, count: int, seed: int = 1) -> list[Example]:
    """Different statements of the grammar about random scenes."""
    rng, words = random.Random(seed), language(world)
    statements: dict[str, None] = {}
    while len(statements) < count:
        statements[draw(rng, words).text] = None
    return [Example(f"{number}-{seed}", text, random_scene(world, rng)) for number, text in enumerate(statements)]


def _seconds(command: list[str], source: Path, threads: int) -> tuple[float, float]:
    """Runs a command with the package in `source`; returns its seconds, and those of the processor."""
    variables = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
    before, began = os.times(), time.perf_counter()
    _run(command, variables)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, used


def _run(command: list[str], variables: dict[str, str]) -> None:
    """Runs a command of the package; raises InputError with its last line if it fails."""
    done = subprocess.run(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise InputError(
            f"cannot be judged ({last.removeprefix('veriscene: ')})", allowed="try `veriscene judge` first"
        )


def describe(result: dict[str, Any]) -> str:
    lines = [f"{result['model']}, {result['questions']:,} questions, {result['workers']} cores"]
    for side in ("stream", "bulk"):
        speeds = result[side]
        lines.append(f"  {side:<7} {speeds['per_second']:>8.1f}/s  {speeds['per_cpu_second']:>8.1f}/s of the processor")
    for name, what in (("ratio", "spread"), ("cpu_ratio", "cpu_spread")):
        low, high = result[what]
        lines.append(f"  {name} {result[name]:.2f} ({low:.2f} to {high:.2f} in {result['rounds']} rounds)")
    return "\n".join(lines)


def describe_device(result: dict[str, Any]) -> str:
    stages = ", ".join(f"{stage} {spent:.1f}" for stage, spent in result["microseconds"].items())
    return "\n".join(
        (
            f"{result['model']} on {result['device']}, {result['questions']:,} questions with {result['statements']:,} "
            f"different statements, {result['workers']} workers",
            f"  {result['per_second']:,.0f}/s from file to file in {result['seconds']:.1f} s; "
            f"{result['per_second_after_start']:,.0f}/s without the start",
            f"  µs per question, one stage after another on one core or the device: {stages}",
            f"  largest process {result['largest_process_mb']:,.0f} MB; "
            f"verdicts of a CPU: {result['same_verdicts_as_cpu']:.1%}",
        )
    )
