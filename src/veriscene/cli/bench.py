"""`veriscene bench`: runs the measurements in the repository's benchmarks folder."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

import veriscene
from veriscene.cli.output import AsJson, DataFolder, Teacher, progress_bar, say
from veriscene.errors import InputError

bench = typer.Typer(
    help="Measure speed against a plain PyTorch implementation.",
    epilog="Example: veriscene bench train --json",
    no_args_is_help=True,
)


@bench.command()
def train(
    data: DataFolder = None,
    presets: Annotated[list[str] | None, typer.Option("--preset", help="May be repeated. Default: both.")] = None,
    batches: Annotated[list[int] | None, typer.Option("--batch", min=1, help="May be repeated.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Measurements per side, taken in turns.")] = 5,
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
    data: Annotated[Path | None, typer.Option(readable=False, help="NLVR file. Default: synthetic examples.")] = None,
    seconds: Annotated[float, typer.Option(min=1, help="How long to measure.")] = 60.0,
    threads: Annotated[int, typer.Option(min=1, max=256, help="CPU threads per side.")] = 2,
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
    model: Annotated[str, typer.Argument(help="A shipped checkpoint, a run or an .onnx file.")] = "best",
    data: Annotated[
        Path | None, typer.Option(readable=False, help="JSON lines. Default: different statements of the grammar.")
    ] = None,
    questions: Annotated[int, typer.Option(min=1, help="How many are drawn without --data.")] = 2000,
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Processes of one side, threads of the other.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="Measurements per side, taken in turns.")] = 3,
    before: Annotated[
        Path | None, typer.Option(readable=False, help="Folder `src` of another checkout, whose stream is compared.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Bulk judging on a CPU, from file to file: `veriscene judge` against one process that streams.

    Example: veriscene bench judge best --questions 500 --rounds 1
    """
    measured = _load("judge")
    with progress_bar("measuring (turns)") as progress:
        result = measured.bench_judge(
            model, data, questions=questions, workers=workers, rounds=rounds, before=before, progress=progress
        )
    print(json.dumps({"judge": result}) if as_json else measured.describe(result))


@bench.command()
def serve(
    model: Annotated[str, typer.Argument(help="A shipped checkpoint, a run or an .onnx file.")] = "best",
    clients: Annotated[int, typer.Option(min=1, max=256, help="Each waits for its answer, then asks again.")] = 32,
    seconds: Annotated[float, typer.Option(min=0.5, help="Per side and round.")] = 5.0,
    rounds: Annotated[int, typer.Option(min=1, help="Measurements per side, taken in turns.")] = 3,
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
    statements: Annotated[int, typer.Option(min=0, max=10**6, help="Statements of the grammar.")] = 2000,
    workers: Annotated[int, typer.Option(min=0, max=1024, help="Processes; 0: one for each core but one.")] = 0,
    seconds: Annotated[float, typer.Option(min=1, help="How long to measure each way.")] = 10.0,
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
    folder = Path(veriscene.__file__).resolve().parents[2] / "benchmarks"
    if not (folder / f"{name}.py").is_file():
        raise InputError("`veriscene bench` needs the repository", allowed="clone it and run `pip install -e .` there")
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)
