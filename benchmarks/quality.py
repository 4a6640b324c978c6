"""Time to quality: seconds from the start of a new process, with empty caches, until a dev accuracy is reached.

    veriscene bench quality --data DIR [--preset biatt-pointer] [--goal 74.6] [--seeds 3] [--plain] [--json]

Each run is a process of its own, which runs this file and writes where it stands as JSON lines. The clock stops when
the score is known and the weights that have it are saved.

The plain implementation (benchmarks/plain.py, eager, corpus on the device) has no R-Drop, moving average, label
smoothing or bf16, so it is not expected to learn as fast. It is given as many steps and dev scores as ours needed with
the same seed: its start-up, some steps and a score are measured in a new process, and the rest is extrapolated.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch

sys.path.append(str(Path(__file__).parent))  # this file may be loaded by its path
import train as speed
import veriscene
from veriscene import worlds
from veriscene.errors import InputError
from veriscene.models.captured import tf32
from veriscene.output import Output
from veriscene.training.distributed import Machine
from veriscene.training.log import Event, Saved, Scored, Step, Waiting
from veriscene.training.source import vocabulary_of
from veriscene.training.spec import Spec, commit
from veriscene.training.train import EPOCH_POLL_SECONDS, train
from veriscene.world.corpus import split_file, supervision
from veriscene.worlds.nlvr.looks import WORLD

# Dev accuracies in percent: the one that the paper reports, and the one that the checkpoint `best` stands for.
GOALS = {"biatt-pointer": 74.6, "spatial-programs": 98.5}
WARM_UP, MEASURED_STEPS = 10, 100  # of the plain implementation
INFERENCE_BATCH = 512


@dataclass(frozen=True)
class Task:
    """What is trained, and how far."""

    preset: str
    data: str
    goal: float  # percent of dev
    limit: float  # seconds, for each run
    programs: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    to_the_end: bool = False  # whether training goes on after the goal, to know what it costs or gains in the end

    def spec(self, seed: int) -> Spec:
        """Raises InputError for settings that do not fit."""
        changes = [*self.changes, f"training.seed={seed}"]
        return Spec.of(self.preset, data=self.data, changes=changes, programs=self.programs)


@dataclass
class Run:
    """Where a run stands. After a dev score the four parts add up to `seconds`."""

    seed: int
    device: str = ""
    reached: bool = False
    seconds: float = 0.0  # since its process was started
    start_up: float = 0.0  # imports, reading the corpus, building the model
    waiting: float = 0.0  # for a teacher's examples
    training: float = 0.0  # capturing the step and regular saves included
    scoring: float = 0.0  # and saving what was scored
    step: int = 0
    examples: int = 0  # the last batch of an epoch, which may be short, counts as a whole one
    scores: int = 0
    accuracy: float = 0.0  # the best on dev so far, in percent
    final: float | None = None  # the best of the whole training, if it was not ended at the goal


@dataclass
class PlainRun:
    """As many steps and dev scores of the plain implementation as ours needed."""

    seed: int
    seconds: float  # start_up + steps x step_seconds + scores x score_seconds
    start_up: float
    steps: int
    step_seconds: float
    scores: int
    score_seconds: float
    examples_a_step: int  # twice the batch with R-Drop, which reads each example twice
    measured_steps: int = MEASURED_STEPS


@dataclass(frozen=True)
class Quality:
    """The runs of all seeds; a median is None if it is not among what was reached."""

    preset: str
    goal: float
    limit: float
    changes: tuple[str, ...]
    supervision: str
    commit: str | None
    median_seconds: float | None
    runs: tuple[Run, ...]
    plain_median_seconds: float | None
    plain_runs: tuple[PlainRun, ...]


def measure(task: Task, *, seeds: int, plain: bool, output: Output) -> Quality:
    """Trains with seeds 1 to `seeds`, one after another; raises InputError for what cannot be trained."""
    spec = task.spec(1)
    if plain and (spec.is_taught or spec.world != WORLD):
        what = "the plain implementation learns from a corpus of NLVR's world, without a teacher"
        raise InputError(what, allowed="leave --plain out")
    taught = "programs" if spec.programs else "synthetic"
    runs, plain_runs = list[Run](), list[PlainRun]()
    for seed in range(1, seeds + 1):
        runs.append(_run(task, seed, output))
        if plain and runs[-1].reached:
            output.progress(0, 1, f"plain implementation, seed {seed} (runs)")
            plain_runs += _plain_runs(task, runs[-1])
    return Quality(
        preset=task.preset,
        goal=task.goal,
        limit=task.limit,
        changes=task.changes,
        supervision=taught if spec.is_taught else supervision(task.data),
        commit=commit(),
        median_seconds=_median([run.seconds for run in runs if run.reached], seeds),
        runs=tuple(runs),
        plain_median_seconds=_median([run.seconds for run in plain_runs], seeds),
        plain_runs=tuple(plain_runs),
    )


def _median(seconds: Sequence[float], seeds: int) -> float | None:
    """Counts seeds without a time as slower than all others."""
    found = median([*seconds, *[float("inf")] * (seeds - len(seconds))])
    return found if found < float("inf") else None


def _run(task: Task, seed: int, output: Output) -> Run:
    def show(state: dict[str, Any]) -> None:
        text = f"{task.preset}, seed {seed}, step {state['step']:,}, dev {state['accuracy']:.1f} % (seconds)"
        output.progress(int(state["seconds"]), int(task.limit) + 1, text)

    last = _in_new_process({"part": "ours", "seed": seed}, task, show)
    return Run(**last) if last else Run(seed)


def _plain_runs(task: Task, run: Run) -> list[PlainRun]:
    """Nothing if the time limit does not suffice to measure it."""
    given = {"part": "plain", "seed": run.seed, "steps": run.step, "scores": run.scores}
    found = _in_new_process(given, task, lambda state: None)
    return [PlainRun(**found)] if found else []


# ---------------------------------------------------------------- a new process with empty caches


def _in_new_process(given: dict[str, Any], task: Task, show: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Runs `main` for at most the task's time limit. Returns the last line that it wrote, or nothing."""
    last: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="veriscene-quality-") as folder:
        paths = [str(Path(veriscene.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
        fresh = {"VERISCENE_CACHE": f"{folder}/cache", "CUDA_CACHE_PATH": f"{folder}/cuda"}
        environment = {**os.environ, **fresh, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        started = time.monotonic()  # which all processes of a machine share
        order = json.dumps({**given, "task": asdict(task), "folder": folder, "started": started})
        command = [sys.executable, __file__, order]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            limit = threading.Timer(task.limit, process.kill)  # the teacher's processes end with it
            limit.start()
            try:
                for line in process.stdout:
                    last = json.loads(line)
                    if "error" in last:
                        raise InputError(last["error"])
                    show(last)
            except BaseException:
                process.kill()
                raise
            finally:
                limit.cancel()
        if process.returncode and time.monotonic() - started < task.limit:
            raise subprocess.CalledProcessError(process.returncode, command[:2])  # it has said why on standard error
    return last


def main() -> None:
    order = json.loads(sys.argv[1])
    task, seed, started = Task(**order["task"]), order["seed"], order["started"]
    try:
        if order["part"] == "ours":
            train_to_goal(task, seed, Path(order["folder"], "run"), started)
        else:
            _tell(asdict(time_plain(task, seed, order["steps"], order["scores"], started)))
    except InputError as error:
        _tell({"error": str(error)})


def _tell(state: dict[str, Any]) -> None:
    print(json.dumps(state), flush=True)


def train_to_goal(
    task: Task, seed: int, folder: Path, started: float, tell: Callable[[dict[str, Any]], None] = _tell
) -> None:
    """Trains until a dev score reaches the goal; `tell` is given the fields of a `Run` after each event until then."""
    machine, spec = Machine(), task.spec(seed)
    run, before, best = Run(seed, str(machine)), None, 0.0

    def on_event(event: Event) -> None:
        nonlocal before, best
        if isinstance(event, Scored):
            best = max(best, 100 * event.line.dev_accuracy)
        if run.reached:
            return
        now = time.monotonic() - started
        since, run.seconds = now - run.seconds, now
        if isinstance(before, Waiting):
            run.waiting += since if isinstance(event, Waiting) else min(since, EPOCH_POLL_SECONDS)
        if isinstance(event, Saved) and isinstance(before, Scored | Saved):
            run.scoring += since
        if isinstance(event, Step | Waiting):
            run.step = event.step
        if isinstance(event, Scored):
            line, score = event.line, 100 * event.line.dev_accuracy
            run.scoring += since
            if not run.scores:  # until now the line's seconds are those of training alone, without waiting
                run.start_up = now - since - run.waiting - line.seconds
            run.training = now - run.start_up - run.waiting - run.scoring
            run.step, run.scores, run.accuracy = line.step, run.scores + 1, best
            run.reached = score >= task.goal - 1e-9  # percents are rounded
        run.examples = run.step * spec.config.training.batch
        before = event
        tell(asdict(run))

    train(spec, folder, on_event=on_event, stop_after=lambda line: run.reached and not task.to_the_end, machine=machine)
    if task.to_the_end:
        run.final = best
        tell(asdict(run))


def time_plain(task: Task, seed: int, steps: int, scores: int, started: float) -> PlainRun:
    """Times the plain implementation with the preset's sizes, batch and optimizer."""
    plain, config, device = speed.plain_module(), task.spec(seed).config, Machine().device
    settings, passes = config.training, 2 if config.training.r_drop else 1
    train_examples, dev_examples = (worlds.read(split_file(task.data, split)) for split in ("train", "dev"))
    size = passes * settings.batch
    if len(train_examples) < size:
        what = f"the corpus has only {len(train_examples)} train examples"
        raise InputError(what, where=f"a plain step of {size}", allowed="choose a smaller batch")
    torch.manual_seed(seed)
    vocabulary = vocabulary_of([example.statement for example in train_examples], config.data)
    sizes = {name: getattr(config.model, name) for name in ("embedding", "hidden", "item", "joint", "mlp", "dropout")}
    kind = {"biatt": plain.PlainBiATT, "biatt-pointer": plain.PlainBiATTPointer}[config.model.name]
    model = kind(vocabulary=len(vocabulary), bilstm=plain.PaddedBiLSTM, **sizes).to(device)
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=device.type == "cuda",
    )
    corpus = plain.Resident(train_examples, vocabulary, device)
    dev = plain.Resident(dev_examples, vocabulary, device, order="file")
    speed.synchronize(device)
    start_up = time.monotonic() - started
    batches = speed.forever(partial(corpus.batches, size, max(1, settings.window // passes)))

    def learn(count: int) -> None:
        for batch in islice(batches, count):
            plain.train_step(model, batch, optimizer, settings.clip)

    with tf32():
        learn(WARM_UP)
        step_seconds = _seconds(lambda: learn(MEASURED_STEPS), device) / MEASURED_STEPS
        _score(model, dev)
        score_seconds = _seconds(lambda: _score(model, dev), device)
    seconds = start_up + steps * step_seconds + scores * score_seconds
    return PlainRun(seed, seconds, start_up, steps, step_seconds, scores, score_seconds, size)


@torch.no_grad()
def _score(model: torch.nn.Module, dev: Any) -> float:
    """The accuracy, as our scoring computes it: statements of similar length share a batch."""
    model.eval()
    right = 0
    for numbers in dev.corpus.lengths.argsort().split(INFERENCE_BATCH):
        batch = dev.batch(numbers, numbers.to(dev.corpus.words.device))
        right += int(((model(batch) > 0) == (batch.labels > 0.5)).sum())
    return right / len(dev.corpus.lengths)


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    speed.synchronize(device)
    started = time.perf_counter()
    work()
    speed.synchronize(device)
    return time.perf_counter() - started


# ---------------------------------------------------------------- for the reader


def describe(result: Quality) -> str:
    return "\n".join(_lines(result))


def _lines(result: Quality) -> Iterator[str]:
    device = next((run.device for run in result.runs if run.device), "device unknown")
    yield f"{result.preset} to {result.goal:g} % of dev, supervision: {result.supervision}, {device}"
    for run in result.runs:
        at = f"step {run.step:,}, {run.examples:,} examples, dev {run.accuracy:.1f} %"
        if run.reached:
            parts = f"{run.start_up:.1f} start-up, {run.waiting:.1f} waiting for examples"
            parts += f", {run.training:.1f} training, {run.scoring:.1f} scoring"
            end = "" if run.final is None else f"; in the end {run.final:.1f} %"
            yield f"  seed {run.seed}: {run.seconds:.1f} s ({parts}), {at}{end}"
        else:
            yield f"  seed {run.seed}: not reached in {run.seconds:.1f} s (limit {result.limit:g} s), {at}"
    yield f"  median {_text(result.median_seconds)}"
    for plain in result.plain_runs:
        yield (
            f"  plain, seed {plain.seed}: {plain.seconds:.1f} s ({plain.start_up:.1f} start-up + {plain.steps:,} steps"
            f" x {1000 * plain.step_seconds:.1f} ms + {plain.scores:,} scores x {plain.score_seconds:.2f} s)"
        )
    if result.plain_runs:
        first = result.plain_runs[0]
        yield f"  plain, median {_text(result.plain_median_seconds)}"
        yield (
            f"  plain: extrapolated from {first.measured_steps} measured steps of {first.examples_a_step} examples"
            f" (with R-Drop, twice the batch) to the steps and scores that ours needed with the same seed;"
            f" eager, tf32 on a GPU, without moving average, label smoothing and saving, which would take longer"
        )


def _text(seconds: float | None) -> str:
    return "not reached" if seconds is None else f"{seconds:.1f} s"


if __name__ == "__main__":
    main()
