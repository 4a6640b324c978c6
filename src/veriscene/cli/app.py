"""All commands, and how the program ends: one clear line and exit status 1 for invalid input, 2 for wrong usage."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

import veriscene
from veriscene import __version__
from veriscene.cli import judge, output
from veriscene.cli.checks import checks
from veriscene.cli.data import data
from veriscene.cli.experiments import reproduce, tune
from veriscene.cli.figures import figures
from veriscene.cli.output import option
from veriscene.cli.serve import serve, site
from veriscene.cli.train import pretrain, quickstart, report, settings, train, train_reader
from veriscene.cli.world import app as world
from veriscene.errors import InputError, message, missing_package

app = typer.Typer(
    help="Is this statement true of this scene?",
    epilog='Example: veriscene predict best --statement "There is a yellow circle." --scene scene.json',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS: tuple[Callable[..., None], ...] = (
    *(quickstart, train, judge.evaluate, judge.predict, judge.judge, judge.explain, judge.score, judge.export),
    *(report, figures, judge.models, settings, reproduce, tune, pretrain, train_reader, serve, site, checks),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(data, name="data")
app.add_typer(world, name="world")


def bench() -> None:
    """Measure speed against a plain PyTorch implementation, in the repository.

    Example: veriscene bench train --json
    """
    raise InputError("`veriscene bench` needs the repository", allowed="clone it and run `pip install -e .` there")


# The measurements are in the repository's benchmarks folder, which is no part of the package.
BENCHMARKS = Path(veriscene.__file__).resolve().parents[2] / "benchmarks" / "commands.py"
if (spec := spec_from_file_location("benchmarks", BENCHMARKS)) and spec.loader and BENCHMARKS.is_file():
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    app.add_typer(found.bench, name="bench")
else:
    app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench)


@app.callback(invoke_without_command=True)
def options(
    show_version: Annotated[bool, option("Print the version.", "--version")] = False,
    plugins: Annotated[
        list[str] | None, option("A Python module with models or a world of your own.", "--plugin", metavar="MODULE")
    ] = None,
) -> None:
    if show_version:
        print(__version__)
        raise typer.Exit
    for module in plugins or []:
        from veriscene.plugins import load_plugin

        if "" not in sys.path:  # modules in the working directory can be plug-ins, too
            sys.path.insert(0, "")
        load_plugin(module)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Ends the command as Ctrl-C does, so that no folder stays half filled."""
    sys.exit(output.TERMINATED)


def _was_interrupted(error: BaseException | None) -> bool:
    """Returns whether Ctrl-C is the reason: a library that is being imported then may raise something else instead."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def run() -> None:
    """Runs the command that sys.argv names, and exits."""
    output.protect_streams()
    # An InputError says what is wrong with a picture. Only a program of its own may decide that for the whole process.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    if callable(signal.getsignal(signal.SIGINT)):  # not if a shell asked for Ctrl-C to be ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        try:
            output.check_process_variables()
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except output.ReaderGone:
        sys.exit(0)
    except Exception as error:
        if _was_interrupted(error):
            sys.exit(output.INTERRUPTED)
        if isinstance(error, ModuleNotFoundError):
            error = missing_package(error)
        if isinstance(error, (InputError, OSError)):  # OSError: a full disk, a folder without permission
            output.fail(message(error))
        if not (isinstance(error, RuntimeError) and output.is_lost_connection(error)):
            raise
        output.fail(output.lost_connection())
    except KeyboardInterrupt:
        sys.exit(output.INTERRUPTED)
    finally:
        output.leave_process_group()
