"""`veriscene train`: one run, or several seeds of one configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veriscene.cli import INTERRUPTED, output
from veriscene.cli.output import Changes, DataFolder, Out, Seed

if TYPE_CHECKING:
    from veriscene.training.run import AnyTrainer


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
    from veriscene.experiments.seeds import is_folder_of_seeds
    from veriscene.models import load_preset
    from veriscene.training import run
    from veriscene.training.effect import check_changes

    if resume is not None:
        if preset or data or changes or out or seed is not None or seeds is not None:
            raise typer.BadParameter("--resume uses the run's own settings; give no other argument")
        if is_folder_of_seeds(resume):
            _train_seeds(resume)
            return
        with run.resume(resume, accelerator=output.accelerator()) as trainer:
            _train(trainer)
        return
    if preset is None:
        raise typer.BadParameter("name a PRESET (see `veriscene models`), or --resume RUN")
    accelerator = output.accelerator()
    config = load_preset(preset, [*(changes or []), *([] if seed is None else [f"training.seed={seed}"])])
    check_changes(changes or [], config.model, corpus_given=data is not None)
    if seeds is not None:
        from veriscene.experiments import seeds as several

        folder = run.agreed(out or run.fresh_name(preset, f"{seeds}-seeds"), accelerator)
        several.start(config, preset=preset, data=data, folder=folder, count=seeds, accelerator=accelerator)
        _train_seeds(folder)
        return
    with (
        output.progress_bar("generating the corpus") as progress,
        run.start(config, preset=preset, data=data, folder=out, accelerator=accelerator, progress=progress) as trainer,
    ):
        _train(trainer)


def _train(trainer: AnyTrainer) -> None:
    from veriscene.training import run

    if trainer.position.finished:
        output.say(f"{trainer.folder}: this run is finished; start a new one to train longer")
    else:
        output.say(_description(trainer))
        outcome = trainer.fit()
        if outcome.interrupted:
            output.say(
                f"interrupted at step {outcome.position.step} of {outcome.steps_planned} and saved;"
                f" resume with: {run.resume_command(trainer.folder)}"
            )
            raise typer.Exit(INTERRUPTED)
        output.say(f"best dev accuracy {outcome.position.best_accuracy:.1%} at step {outcome.position.best_step}")
    if output.IS_MAIN:
        print(trainer.folder)


def _description(trainer: AnyTrainer) -> str:
    """What is trained, on what and where. The expected time follows once a few steps have been timed."""
    source, device = trainer.source, trainer.accelerator.device
    return (
        f"{trainer.config.model.name} on {len(source.train):,} examples (supervision: {source.supervision}),"
        f" vocabulary of {len(source.vocabulary):,} words covering {source.coverage:.1%} of the text,"
        f" device {device}, run {trainer.folder}"
    )


def _train_seeds(folder: Path) -> None:
    from veriscene.experiments import seeds
    from veriscene.training import run

    summary = seeds.train(folder, accelerator=output.accelerator(), say=output.say)
    if summary is None:
        output.say(f"interrupted and saved; resume with: {run.resume_command(folder)}")
        raise typer.Exit(INTERRUPTED)
    output.say(f"dev accuracy {summary}")
    if output.IS_MAIN:
        print(folder)
