"""`veriscene train`: one run, or several seeds of one configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED, Changes, DataFolder, Out, Seed

if TYPE_CHECKING:
    from veriscene.config import Config
    from veriscene.training.base import Trainer


def train(
    preset: Annotated[str | None, typer.Argument(help="quick, biatt-pointer, ...: see `veriscene models`.")] = None,
    data: DataFolder = None,
    changes: Changes = None,
    seed: Seed = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", help="Train this many seeds; prints mean, spread and best dev accuracy.")
    ] = None,
    out: Out = None,
    resume: Annotated[Path | None, typer.Option(readable=False, help="Continue this run where it stopped.")] = None,
) -> None:
    """Train a model. Ctrl-C finishes the step, saves, and prints the command to resume."""
    from veriscene.models import load_preset
    from veriscene.training import run
    from veriscene.training.settings import check_changes

    if resume is not None:
        if preset or data or changes or out or seed is not None or seeds is not None:
            raise typer.BadParameter("--resume uses the run's own settings; give no other argument")
        _resume(resume)
        return
    if preset is None:
        raise typer.BadParameter("name a PRESET (see `veriscene models`), or --resume RUN")
    config = load_preset(preset, [*(changes or []), *([] if seed is None else [f"training.seed={seed}"])])
    check_changes(changes or [], config.model, corpus_given=data is not None)
    accelerator = output.accelerator()
    if seeds is not None:
        _start_seeds(config, preset, data, out, seeds)
        return
    if data is not None:  # before the corpus is read, which takes a while
        _print_expected_time(config, data)
    with output.progress_bar("generating the corpus") as progress:
        start = run.start(config, preset=preset, data=data, folder=out, accelerator=accelerator, progress=progress)
        with start as trainer:
            if data is None:
                _print_expected_time(config, run.corpus_of(trainer.folder))
            _train(trainer)


def _resume(folder: Path) -> None:
    from veriscene.experiments.seeds import is_folder_of_seeds
    from veriscene.training import run

    if is_folder_of_seeds(folder):
        _train_seeds(folder)
        return
    with run.resume(folder, accelerator=output.accelerator()) as trainer:
        if trainer.position.finished:
            output.say(f"{folder}: this run is finished; start a new one to train longer")
            if output.IS_MAIN:
                print(folder)
        else:
            _train(trainer)


def _train(trainer: Trainer) -> None:
    from veriscene.training import run

    source = trainer.source
    output.say(
        f"{trainer.config.model.name} on {len(source.train):,} examples (supervision: {source.supervision}),"
        f" vocabulary of {len(source.encoder.vocabulary):,} words covering {source.coverage:.1%} of the text,"
        f" device {output.accelerator().device}, run {trainer.folder}"
    )
    outcome = trainer.fit()
    if outcome.interrupted:
        output.say(
            f"interrupted at step {outcome.position.step} of {outcome.steps_planned} and saved;"
            f" continue with: {run.resume_command(trainer.folder)}"
        )
        raise typer.Exit(INTERRUPTED)
    output.say(f"best dev accuracy {outcome.position.best_accuracy:.1%} at step {outcome.position.best_step}")
    if output.IS_MAIN:
        print(trainer.folder)


def _start_seeds(config: Config, preset: str, data: Path | None, out: Path | None, count: int) -> None:
    from veriscene.experiments import seeds
    from veriscene.training import run
    from veriscene.training.distributed import from_main_process

    accelerator = output.accelerator()
    folder = Path(from_main_process(accelerator, str(out or run.fresh_name(preset, f"{count}-seeds"))))
    seeds.start(config, preset=preset, data=data, folder=folder, count=count, accelerator=accelerator)
    if data is not None:
        _print_expected_time(config, data, seeds=count)
    _train_seeds(folder)


def _train_seeds(folder: Path) -> None:
    from veriscene.experiments import seeds
    from veriscene.training import run

    summary = seeds.train(folder, accelerator=output.accelerator(), say=output.say)
    if summary is None:
        output.say(f"interrupted and saved; continue with: {run.resume_command(folder)}")
        raise typer.Exit(INTERRUPTED)
    output.say(f"dev accuracy {summary}")
    if output.IS_MAIN:
        print(folder)


def _print_expected_time(config: Config, corpus: Path, *, seeds: int = 1) -> None:
    from veriscene.training.estimate import expected_seconds

    accelerator = output.accelerator()
    seconds = seeds * expected_seconds(config, corpus, accelerator)
    output.say(f"expected time: about {output.expected_time(seconds, accelerator)}")
