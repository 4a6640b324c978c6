"""`veriscene train` (one run, or several seeds of one configuration), `veriscene quickstart`, `veriscene report`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED, PREPARING, Changes, DataFolder, Initial, Out, Seed, Teacher

if TYPE_CHECKING:
    from accelerate import Accelerator

    from veriscene.config import Config
    from veriscene.models.base import Progress
    from veriscene.training.base import Trainer


def train(
    preset: Annotated[str | None, typer.Argument(help="quick, biatt-pointer, ...: see `veriscene models`.")] = None,
    data: DataFolder = None,
    changes: Changes = None,
    seed: Seed = None,
    teacher: Teacher = None,
    initial: Initial = None,
    seeds: Annotated[int | None, typer.Option(help="Train this many seeds; prints mean, spread and best.")] = None,
    out: Out = None,
    resume: Annotated[Path | None, typer.Option(readable=False, help="Continue this run where it stopped.")] = None,
) -> None:
    """Train a model. Ctrl-C finishes the step, saves, and prints the command to resume.

    Example: veriscene train biatt-pointer --data nlvr --set training.epochs=10 --out runs/first
    """
    from veriscene.data.teacher.statements import check_files
    from veriscene.lab import seeds as several
    from veriscene.models import load_preset
    from veriscene.training import run
    from veriscene.training.distributed import from_main_process, make_accelerator
    from veriscene.training.settings import check_changes

    if resume is not None:
        if preset or data or changes or out or teacher or initial or seed is not None or seeds is not None:
            raise typer.BadParameter("--resume uses the run's own settings; give no other argument")
        _resume(resume, make_accelerator())
        return
    if preset is None:
        raise typer.BadParameter("name a PRESET (see `veriscene models`), or --resume RUN")
    config = load_preset(preset, output.all_changes(changes, seed))
    programs, taught = teacher or [], bool(teacher or config.teacher.statements)
    check_changes(changes or [], config.model, corpus_given=data is not None, taught=taught)
    check_files(programs)
    accelerator = make_accelerator()
    if data is not None:  # before the corpus is read, which takes a while
        _print_expected_time(config, data, accelerator, programs, seeds=seeds or 1)
    with output.progress_bar(PREPARING) as progress:
        given: dict[str, Any] = {"preset": preset, "data": data, "programs": programs, "initial": initial}
        given |= {"accelerator": accelerator, "progress": progress}
        if seeds is not None:
            folder = Path(from_main_process(accelerator, str(out or run.fresh_name(preset, f"{seeds}-seeds"))))
            several.start(config, folder=folder, count=seeds, **given)
            _train_seeds(folder, accelerator, progress)
            return
        with run.start(config, folder=out, **given) as trainer:
            if data is None:
                _print_expected_time(config, run.corpus_of(trainer.folder), accelerator, programs)
            _train(trainer, accelerator)


def _resume(folder: Path, accelerator: Accelerator) -> None:
    from veriscene.lab.seeds import is_folder_of_seeds
    from veriscene.training import run

    with output.progress_bar(PREPARING) as progress:
        if is_folder_of_seeds(folder):
            _train_seeds(folder, accelerator, progress)
            return
        with run.resume(folder, accelerator=accelerator, progress=progress) as trainer:
            if trainer.position.finished:
                output.say(f"{folder}: this run is finished; start a new one to train longer")
                output.result(str(folder))
                return
            if trainer.position.step == 0:
                output.say(f"{folder}: nothing was saved yet, so this run starts from the beginning")
            _train(trainer, accelerator)


def _train(trainer: Trainer, accelerator: Accelerator) -> None:
    from veriscene.training import run

    source = trainer.source
    output.say(
        f"{trainer.config.model.name} on {source.examples_per_epoch:,} examples (supervision: {source.supervision}),"
        f" vocabulary of {len(source.encoder.vocabulary):,} words covering {source.coverage:.1%} of the text,"
        f" device {accelerator.device}, run {trainer.folder}"
    )
    outcome = trainer.fit()
    if source.remark:
        output.say(source.remark)
    if outcome.interrupted:
        output.say(
            f"interrupted at step {outcome.position.step} of {outcome.steps_planned} and saved;"
            f" continue with: {run.resume_command(trainer.folder)}"
        )
        raise typer.Exit(INTERRUPTED)
    output.say(f"best dev accuracy {outcome.position.best_accuracy:.1%} at step {outcome.position.best_step}")
    output.result(str(trainer.folder))


def _train_seeds(folder: Path, accelerator: Accelerator, progress: Progress) -> None:
    from veriscene.lab import seeds
    from veriscene.training import run

    summary = seeds.train(folder, accelerator=accelerator, say=output.say, progress=progress)
    if summary is None:
        output.say(f"interrupted and saved; continue with: {run.resume_command(folder)}")
        raise typer.Exit(INTERRUPTED)
    output.say(f"dev accuracy {summary}")
    output.result(str(folder))


def _print_expected_time(
    config: Config, corpus: Path, accelerator: Accelerator, programs: Sequence[Path], *, seeds: int = 1
) -> None:
    from veriscene.training.estimate import expected_seconds

    seconds = seeds * expected_seconds(config, corpus, accelerator, programs=programs)
    output.say(f"expected time: about {output.expected_time(seconds, accelerator)}")


def quickstart(data: DataFolder = None, changes: Changes = None, seed: Seed = None, out: Out = None) -> None:
    """Generate a corpus, train a small BiATT-Pointer, evaluate it on unseen statements, write a report.

    Takes a few minutes on a CPU. The last line on standard output is a JSON object.

    Example: veriscene quickstart --seed 2
    """
    from veriscene.lab.quickstart import quickstart as run_quickstart
    from veriscene.models import load_preset
    from veriscene.training.distributed import make_accelerator

    output.require_one_process("quickstart")
    config = load_preset("quick", output.all_changes(changes, seed))
    with output.progress_bar(PREPARING) as progress:
        result = run_quickstart(
            config, data=data, folder=out, accelerator=make_accelerator(), say=output.say, progress=progress
        )
    if result is None:
        raise typer.Exit(INTERRUPTED)
    print(json.dumps(result))


def report(
    run: Annotated[Path, typer.Argument(readable=False, help="A folder written by `veriscene train`.")],
    against: Annotated[
        Path | None, typer.Argument(readable=False, metavar="OTHER", help="A run on the same corpus, to compare with.")
    ] = None,
    programs: Annotated[
        Path | None,
        typer.Option(readable=False, help="JSON lines: sentence and program. Is label, program or model at fault?"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(readable=False, help="File to write. Default: report.html (two runs: comparison.html) in RUN."),
    ] = None,
) -> None:
    """Write one self-contained HTML page about a run or two: scores, learning curve, calibration, every mistake.

    A run on a real corpus is scored on dev, never on test.

    Example: veriscene report runs/biatt runs/bienc --programs programs/dev.jsonl --out comparison.html
    """
    from veriscene.report.run import report_run
    from veriscene.training.distributed import make_accelerator

    output.require_one_process("report")
    print(report_run(run, make_accelerator(), against=against, programs=programs, out=out).report)
