"""`veriscene train`: one run, or several seeds of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED, Changes, DataFolder, Out, Seed

if TYPE_CHECKING:
    from veriscene.config import Config


def train(
    preset: Annotated[str | None, typer.Argument(help="quick, biatt-pointer, …: `veriscene models` has all.")] = None,
    data: DataFolder = None,
    changes: Changes = None,
    seed: Seed = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", help="Train so many seeds; tells mean, spread and best on dev.")
    ] = None,
    out: Out = None,
    resume: Annotated[Path | None, typer.Option(readable=False, help="Go on exactly where this run stopped.")] = None,
) -> None:
    """Train a model. Ctrl-C finishes the step, saves, and says how to go on."""
    from veriscene.config import load_preset
    from veriscene.experiments.seeds import is_folder_of_seeds
    from veriscene.training import run
    from veriscene.training.effect import check_changes

    accelerator = output.accelerator()
    say = output.say
    if resume is not None:
        if preset or data or changes or out or seed is not None or seeds is not None:
            raise typer.BadParameter("--resume goes on with the run's own settings; give nothing beside it")
        if is_folder_of_seeds(resume):
            _train_seeds(resume)
            return
        trainer = run.resume(resume, accelerator=accelerator)
        if trainer.position.finished:  # nothing is left to do, as with a folder of seeds
            trainer.held.close()
            say(f"{resume}: this run is finished; start a new one to train longer")
            if accelerator.is_main_process:
                print(trainer.run)
            return
    elif preset is None:
        raise typer.BadParameter("name a PRESET (`veriscene models` lists them), or --resume RUN")
    else:
        config = load_preset(preset, [*(changes or []), *([] if seed is None else [f"training.seed={seed}"])])
        check_changes(changes or [], config.model, corpus_given=data is not None)
        if seeds is not None:
            _start_seeds(config, preset, data, out, seeds)
            return
        with output.progress_bar("making the corpus") as progress:
            trainer = run.start(
                config, preset=preset, data=data, folder=out, accelerator=accelerator, progress=progress
            )
    say(
        f"{trainer.config.model.name} on {len(trainer.corpus):,} examples, {len(trainer.vocabulary)} words,"
        f" {accelerator.device}, run {trainer.run}"
    )
    outcome = trainer.fit()
    if outcome.interrupted:
        say(
            f"interrupted at step {outcome.position.step} of {outcome.steps_planned} and saved;"
            f" go on with: {run.resume_command(trainer.run)}"
        )
        raise typer.Exit(INTERRUPTED)
    say(f"best dev accuracy {outcome.position.best_accuracy:.1%} at step {outcome.position.best_step}")
    if accelerator.is_main_process:
        print(trainer.run)


def _start_seeds(config: Config, preset: str, data: Path | None, out: Path | None, count: int) -> None:
    from veriscene.experiments import seeds
    from veriscene.training import run

    accelerator = output.accelerator()
    folder = run.agreed(out or run.fresh_name(preset, f"{count}-seeds"), accelerator)
    seeds.start(config, preset=preset, data=data, folder=folder, count=count, accelerator=accelerator)
    _train_seeds(folder)


def _train_seeds(folder: Path) -> None:
    from veriscene.experiments import seeds
    from veriscene.training import run

    accelerator = output.accelerator()
    summary = seeds.train(folder, accelerator=accelerator, say=output.say)
    if summary is None:
        output.say(f"interrupted and saved; go on with: {run.resume_command(folder)}")
        raise typer.Exit(INTERRUPTED)
    output.say(f"dev accuracy {summary}")
    if accelerator.is_main_process:
        print(folder)
