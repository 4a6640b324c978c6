"""`veriscene bench`: runs the measurements in this folder."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from veriscene.cli.output import AsJson, Changes, DataFolder, Teacher, argument, option, progress_bar, say, terminal
from veriscene.errors import InputError

bench = typer.Typer(
    help="Measure speed against a plain PyTorch implementation.",
    epilog="Example: veriscene bench train --json",
    no_args_is_help=True,
)


@bench.command()
def train(
    data: DataFolder = None,
    presets: Annotated[list[str] | None, option("May be repeated. Default: both.", "--preset")] = None,
    batches: Annotated[list[int] | None, option("May be repeated.", "--batch", min=1)] = None,
    repeats: Annotated[int, option("Measurements per side, taken in turns.", min=1)] = 5,
    as_json: AsJson = False,
) -> None:
    """Training: examples per second of both, their ratio, and the share of the device's measured peak.

    Presets: biatt and biatt-pointer. Default batches: 64 and 512.

    Example: veriscene bench train --data nlvr --preset biatt --batch 512
    """
    from veriscene import worlds
    from veriscene.training.distributed import Machine
    from veriscene.world.corpus import split_file
    from veriscene.worlds.nlvr import synthetic

    for preset in presets or []:
        _check_plain(preset)
    measured = _load("train")
    if data is None:
        with progress_bar("generating the corpus") as progress:
            examples = synthetic.build(3000, seed=1, progress=progress)["train"]
    else:
        examples = worlds.read(split_file(data, "train"))
    results, accelerator = [], Machine().accelerator
    for preset in presets or ["biatt-pointer", "biatt"]:
        for batch in batches or [64, 512]:
            with progress_bar(f"{preset}, batch {batch} (steps)") as progress:
                result = measured.compare(
                    preset, examples, batch=batch, repeats=repeats, accelerator=accelerator, progress=progress
                )
            results.append(asdict(result))
            if not as_json:
                print(measured.describe(result), flush=True)
    if as_json:
        print(json.dumps({"train": results}))


@bench.command()
def kernels(
    data: DataFolder = None,
    repeats: Annotated[int, option("Measurements per side, taken in turns.", min=1)] = 3,
    changes: Changes = None,
    as_json: AsJson = False,
) -> None:
    """Our own kernels: steps with and without them, and where the time of a step goes.

    Needs a GPU. Presets: biatt-pointer and spatial-synthetic, at batch 64 in tf32 and 512 in bf16.

    Example: veriscene bench kernels --data nlvr
    """
    from veriscene import worlds
    from veriscene.world.corpus import split_file
    from veriscene.worlds.nlvr import synthetic

    measured = _load("kernels")
    device = _load("costs").device_named("cuda")
    examples = synthetic.build(3000, seed=1)["train"] if data is None else worlds.read(split_file(data, "train"))
    results = []
    for preset, batch, precision in measured.CASES:
        with progress_bar(f"{preset}, batch {batch}, {precision} (steps)") as progress:
            found = measured.measure(
                preset,
                examples,
                batch=batch,
                precision=precision,
                repeats=repeats,
                device=device,
                changes=changes or [],
                progress=progress,
            )
        results.append(asdict(found))
        if not as_json:
            print(measured.describe(found), flush=True)
    if as_json:
        print(json.dumps({"kernels": results}))


@bench.command()
def quality(
    data: DataFolder = None,
    preset: Annotated[str, option("What is trained: a preset, or a TOML file.")] = "biatt-pointer",
    goal: Annotated[float | None, option("Percent of dev. Default: a published figure.", min=0, max=100)] = None,
    programs: Teacher = None,
    changes: Changes = None,
    seeds: Annotated[int, option("How many seeds, from 1 on.", min=1, max=100)] = 3,
    plain: Annotated[bool, option("Also time the plain implementation.", "--plain")] = False,
    limit_s: Annotated[float, option("Seconds after which a run ends.", min=1)] = 900.0,
    to_the_end: Annotated[bool, option("Train on after the goal, and report the final score.", "--to-the-end")] = False,
    as_json: AsJson = False,
) -> None:
    """Time to quality: seconds from the start of a new process, with empty caches, to a dev accuracy.

    Known goals: biatt-pointer 74.6, and spatial-programs 98.5, which needs --teacher.

    Example: veriscene bench quality --data nlvr --plain
    """
    from veriscene import models

    measured = _load("quality")
    if goal is None:
        goal = measured.GOALS.get(preset)
    if data is None:
        raise InputError("needs a corpus", allowed="give --data FOLDER")
    if goal is None:
        raise InputError(f"no published figure of {preset!r}", allowed="give --goal PERCENT")
    if plain:
        _check_plain(models.load_preset(preset, changes or []).model.name)
    files = tuple(map(str, programs or []))
    task = measured.Task(preset, str(data), goal, limit_s, files, tuple(changes or []), to_the_end)
    output = terminal()
    try:
        result = measured.measure(task, seeds=seeds, plain=plain, output=output)
    finally:
        output.finish()
    print(json.dumps({"quality": asdict(result)}) if as_json else measured.describe(result))


@bench.command()
def costs(
    out: Annotated[Path | None, argument("Where the plot is written: a name that ends in .svg or .png.")] = None,
    presets: Annotated[list[str] | None, option("May be repeated. Default: two.", "--preset")] = None,
    batch: Annotated[int | None, option("Examples in a step. Default: the preset's, on a CPU 4.", min=1)] = None,
    device: Annotated[str, option("cuda; or cpu, which tries the command out with tiny models.")] = "cuda",
    as_json: AsJson = False,
) -> None:
    """What training costs: time and memory per million examples, by statement length, items per box and hidden size.

    Default presets: biatt-pointer and spatial-programs.

    Example: veriscene bench costs costs.svg --json
    """
    measured = _load("costs")
    if out is not None:
        measured.check_plot(out)
    place, results = measured.device_named(device), []
    for preset in presets or measured.PRESETS:
        with progress_bar(f"{preset} (cases)") as progress:
            results.append(measured.measure(preset, place, batch=batch, progress=progress))
        if not as_json:
            print(measured.describe(results[-1]), flush=True)
    if out is not None:
        measured.plot(results, out)
    if as_json:
        print(json.dumps({"costs": [asdict(result) for result in results]}))


@bench.command()
def predict(
    data: Annotated[Path | None, option("NLVR file. Default: synthetic examples.")] = None,
    seconds: Annotated[float, option("How long to measure.", min=1)] = 60.0,
    threads: Annotated[int, option("CPU threads per side.", min=1, max=256)] = 2,
    as_json: AsJson = False,
) -> None:
    """Inference on a CPU, one example at a time and in bulk: plain torch against the exported ONNX file.

    Example: veriscene bench predict --seconds 20 --threads 2
    """
    measured = _load("predict")
    examples = measured.bulk_examples(data)
    checkpoint = measured.fresh_checkpoint(examples)
    with progress_bar("judging (percent)") as progress:
        result = measured.bench_predict(checkpoint, examples, seconds=seconds, threads=threads, progress=progress)
    print(json.dumps({"predict": result}) if as_json else measured.describe(result))


@bench.command()
def judge(
    model: Annotated[str, argument("A shipped checkpoint, a run or an .onnx file.")] = "best",
    data: Annotated[Path | None, option("JSON lines. Default: different statements of the grammar.")] = None,
    questions: Annotated[int, option("How many are drawn without --data.", min=1)] = 2000,
    workers: Annotated[int, option("Processes of one side, threads of the other.", min=1, max=1024)] = 2,
    rounds: Annotated[int, option("Measurements per side, taken in turns.", min=1)] = 3,
    before: Annotated[Path | None, option("Folder `src` of another checkout, whose stream is compared.")] = None,
    device: Annotated[str, option("Not cpu: how many questions a second it judges, and where the time goes.")] = "cpu",
    as_json: AsJson = False,
) -> None:
    """Bulk judging, from file to file: on a CPU, `veriscene judge` against one process that streams.

    Example: veriscene bench judge best --questions 500 --rounds 1
    """
    measured = _load("judge")
    if device != "cpu":
        with progress_bar("measuring (turns)") as progress:
            result = measured.bench_device(
                model, data, device=device, questions=questions, workers=workers, progress=progress
            )
        print(json.dumps({"judge": result}) if as_json else measured.describe_device(result))
        return
    with progress_bar("measuring (turns)") as progress:
        result = measured.bench_judge(
            model, data, questions=questions, workers=workers, rounds=rounds, before=before, progress=progress
        )
    print(json.dumps({"judge": result}) if as_json else measured.describe(result))


@bench.command()
def serve(
    model: Annotated[str, argument("A shipped checkpoint, a run or an .onnx file.")] = "best",
    clients: Annotated[int, option("Each waits for its answer, then asks again.", min=1, max=256)] = 32,
    seconds: Annotated[float, option("Per side and round.", min=0.5)] = 5.0,
    rounds: Annotated[int, option("Measurements per side, taken in turns.", min=1)] = 3,
    as_json: AsJson = False,
) -> None:
    """The HTTP service with many clients: batching across clients against one question at a time.

    Example: veriscene bench serve best --clients 64
    """
    measured = _load("serve")
    with progress_bar("measuring (rounds)") as progress:
        result = measured.bench_serve(model, clients=clients, seconds=seconds, rounds=rounds, progress=progress)
    print(json.dumps({"serve": result}) if as_json else measured.describe(result))


@bench.command()
def teacher(
    data: DataFolder = None,
    programs: Teacher = None,
    statements: Annotated[int, option("Statements of the grammar.", min=0, max=10**6)] = 2000,
    workers: Annotated[int, option("Processes; 0: one for each core but one.", min=0, max=1024)] = 0,
    seconds: Annotated[float, option("How long to measure each way.", min=1)] = 10.0,
    as_json: AsJson = False,
) -> None:
    """A teacher's examples: made by one core, and by worker processes.

    Example: veriscene bench teacher --data nlvr --teacher programs/train.jsonl
    """
    if not programs and not statements:
        raise InputError("nothing to teach", allowed="give --teacher FILE.jsonl or --statements N")
    measured = _load("teacher")
    with progress_bar("drawing statements") as progress:
        result = measured.bench_teacher(
            data, programs or [], statements=statements, workers=workers, seconds=seconds, progress=progress, say=say
        )
    print(json.dumps({"teacher": result}) if as_json else measured.describe(result))


def _check_plain(name: str) -> None:
    if name not in ("biatt", "biatt-pointer"):
        raise InputError(f"no plain implementation of {name!r}", allowed="choose biatt or biatt-pointer")


def _load(name: str) -> ModuleType:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    return importlib.import_module(name)
