"""What the commands share: some of their options, how they speak to a person, and on what they run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from veriscene.errors import InputError

if TYPE_CHECKING:
    from accelerate import Accelerator

    from veriscene.evaluation.metrics import Scores, Slice
    from veriscene.scenes.nlvr import Example

INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended
SECONDS_BETWEEN_LINES = 5.0

DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        readable=False,
        help="Corpus folder with train/train.json and dev/dev.json. Default: the embedded corpus.",
    ),
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting; may be repeated.")
]
Out = Annotated[
    Path | None, typer.Option("--out", readable=False, help="Folder of the run. Default: a new one below runs/.")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of weights, order of examples, dropout and sampling.")]

# Of several processes (started by torchrun) only the first one speaks; the others would say the same again.
IS_MAIN = os.environ.get("RANK", "0") == "0"
_errors = Console(stderr=True, highlight=False, soft_wrap=True, quiet=not IS_MAIN)


def say(text: str) -> None:
    """A line on standard error."""
    _errors.print(text, markup=False)


def complain(text: str) -> None:
    _errors.print(f"veriscene: {text}", markup=False, style="red" if _errors.is_terminal else "")


def accelerator() -> Accelerator:
    """The devices and processes that this command was started on."""
    import torch
    from accelerate import Accelerator

    # tf32 for products, as cuDNN takes it for its own by default: about three decimal digits, and several times faster.
    torch.backends.cuda.matmul.allow_tf32 = True
    # Several processes without a GPU are told apart only if the CPU is asked for by name.
    return Accelerator(cpu=not torch.cuda.is_available())


def main_process_alone(command: str) -> None:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError(f"`veriscene {command}` runs in one process; start it without torchrun")


def leave_the_group() -> None:
    """One of several processes takes leave of the others and ends here, unless a traceback is on its way.

    It must not go the usual way: the threads of their communication live on in what still holds the group, and now and
    then abort the process while the interpreter takes itself down.
    """
    if "torch" not in sys.modules:
        return
    from torch import distributed

    if not distributed.is_available() or not distributed.is_initialized():
        return
    distributed.destroy_process_group()
    ending = sys.exc_info()[1]
    if ending is None or isinstance(ending, SystemExit):
        code = None if ending is None else ending.code
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function of (done, total): a bar that goes when all is done; without a terminal, a line now and then."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=_errors, transient=True, disable=not _errors.is_terminal)
    task = None
    told = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal task, told
        if task is None:
            bar.start()
            task = bar.add_task(what, total=total)
        bar.update(task, completed=done)
        if done >= total:
            bar.stop()
        elif not _errors.is_terminal and time.monotonic() - told > SECONDS_BETWEEN_LINES:
            told = time.monotonic()
            say(f"{what}: {done:,} of {total:,}")

    try:
        yield progress
    finally:
        bar.stop()


def scores_to_json(examples: Sequence[Example], scores: Scores | None, slices: Sequence[Slice]) -> dict[str, object]:
    """No scores, of examples without labels, are null: whoever asked for the object can read it as always."""
    return {
        "accuracy": scores and scores.accuracy,
        "interval": scores and list(scores.interval),
        "consistency": scores and scores.consistency,
        "examples": len(examples),
        "presentations": len({example.presentation for example in examples}),
        "breakdown": [
            {"group": s.group, "name": s.name, "examples": s.scores.examples, "accuracy": s.scores.accuracy}
            for s in slices
        ],
    }


def print_scores(scores: Scores, slices: Sequence[Slice]) -> None:
    low, high = scores.interval
    print(f"accuracy     {scores.accuracy:.2%}  (95 % interval {low:.2%} to {high:.2%}, {scores.examples:,} examples)")
    print(f"consistency  {scores.consistency:.2%}  ({scores.presentations:,} presentations)")
    table = Table(box=None)
    for name in ("", ""):
        table.add_column(name)
    for name in ("examples", "accuracy", "95 %"):
        table.add_column(name, justify="right")
    for s in slices:
        low, high = s.scores.interval
        table.add_row(s.group, s.name, f"{s.scores.examples:,}", f"{s.scores.accuracy:.1%}", f"{low:.1%} – {high:.1%}")
    Console(highlight=False).print(table)
