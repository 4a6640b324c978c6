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

from veriscene.cli.output import AsJson, DataFolder, Teacher, argument, option, progress_bar, say
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
        if preset not in ("biatt", "biatt-pointer"):
            raise InputError(f"no plain implementation of {preset!r}", allowed="choose biatt or biatt-pointer")
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


def _load(name: str) -> ModuleType:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    return importlib.import_module(name)
