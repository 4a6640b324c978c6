"""How long a judgement takes on one CPU core, by torch and by ONNX: one example at a time, and in batches.

If the model has a reader and graphs, `onnx_reading` includes reading; each statement then counts once, and none has
been read before.

python benchmarks/latency.py best ../shared/nlvr/dev/dev.json [--json]

Medians over examples (one at a time) and over rounds (in batches), after a warm-up.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import torch

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.export import export
from veriscene.judge.folders import GRAPH, READER, find
from veriscene.judge.judge import Judge
from veriscene.judge.onnx_judge import OnnxJudge
from veriscene.world.examples import Example

WARM_UP = 20  # examples
ROUNDS = 3


def milliseconds(judge: Judge, examples: Sequence[Example]) -> dict[str, float]:
    """Of one judgement."""
    questions = [(example.statement, example.scene) for example in examples]
    for question in questions[:WARM_UP]:
        judge(*question)
    alone = [_taken(partial(judge, *question)) for question in questions]
    together = [_taken(partial(judge, questions)) / len(questions) for _ in range(ROUNDS)]
    return {"one_at_a_time": round(median(alone), 2), "in_batches": round(median(together), 2)}


def _taken(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def measured(name: str, examples: Sequence[Example]) -> dict[str, dict[str, float]]:
    torch.set_num_threads(1)
    checkpoint = checkpoints.load(name)
    with tempfile.TemporaryDirectory() as folder:
        export(checkpoint, Path(folder) / "model.onnx")
        onnx = OnnxJudge((Path(folder) / "model.onnx").read_bytes(), threads=1)
    judges: dict[str, Judge] = {"torch": TorchJudge(checkpoint), "onnx": onnx}
    found = {backend: milliseconds(judge, examples) for backend, judge in judges.items()}
    folder_of_model = find(name)
    if (folder_of_model / GRAPH).is_file() and (folder_of_model / READER).is_file():
        reading = OnnxJudge.load(folder_of_model, threads=1)
        new = {example.statement: example.scene for example in examples}  # a reader remembers what it has read
        times = [_taken(partial(reading, *question)) for question in new.items()]
        found["onnx_reading"] = {"one_at_a_time": round(median(times[WARM_UP:] or times), 2)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="a shipped checkpoint or a run")
    parser.add_argument("examples", type=Path, help="an NLVR file")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        result = measured(given.model, worlds.read(given.examples))
    except InputError as error:
        sys.exit(str(error))
    if given.json:
        print(json.dumps(result))
        return
    for backend, found in result.items():
        times = ", ".join(f"{value:.1f} ms {name.replace('_', ' ')}" for name, value in found.items())
        print(f"{backend}: {times}")


if __name__ == "__main__":
    main()
