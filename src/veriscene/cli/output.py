"""What the commands share: options, streams, progress bars, and the processes they run on."""

from __future__ import annotations

import inspect
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_type_hints

import typer

from veriscene.cli import INTERRUPTED as INTERRUPTED
from veriscene.cli import TERMINATED as TERMINATED
from veriscene.config import ALLOWED, MEANING
from veriscene.errors import InputError
from veriscene.output import LossyStream, Progress, Terminal

if TYPE_CHECKING:
    from veriscene.training.distributed import Machine

SECONDS_FOR_MAIN_PROCESS = 10.0
WORDS_SHOWN = 10
OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"


def option(meaning: str, *names: str, **more: Any) -> Any:
    """Declares an option, whose names follow from the parameter's unless they are given.

    That a file may not be read is said by what reads it, in one line, instead of by click as wrong usage.
    """
    return typer.Option(*names, help=meaning, readable=False, **more)


def argument(meaning: str, **more: Any) -> Any:
    """Declares an argument, as `option` does."""
    return typer.Argument(help=meaning, readable=False, **more)


def with_settings(kind: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command an option for each setting of `kind` that has a meaning, in place of its `**settings`."""
    types, settings = get_type_hints(kind), [each for each in fields(kind) if MEANING in each.metadata]

    def declare(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        parameters = [each for each in signature.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        for each in settings:
            meaning = f"{each.metadata[MEANING]} ({each.metadata[ALLOWED][0]})"
            default, own = typer.Option(each.default, help=meaning), types[each.name]
            parameters.append(Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=own))
            command.__annotations__[each.name] = own
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return declare


AsJson = Annotated[bool, option("Print exactly one JSON object on standard output.", "--json")]
_DATA_HELP = "Corpus folder with train/train.json and dev/dev.json. Default: a synthetic corpus is generated."
DataFolder = Annotated[Path | None, option(_DATA_HELP, "--data")]
_TEACHER_HELP = "JSON lines of statements with programs, for which a teacher makes scenes; may be repeated."
Teacher = Annotated[list[Path] | None, option(_TEACHER_HELP, "--teacher", metavar="FILE.jsonl")]
_INITIAL_HELP = "Start from this model's weights and vocabulary; of a folder of seeds, from the same seed's."
Initial = Annotated[str | None, option(_INITIAL_HELP, "--init", metavar="MODEL")]
Changes = Annotated[
    list[str] | None, option("Change a setting; may be repeated.", "--set", metavar="SECTION.KEY=VALUE")
]
Out = Annotated[Path | None, option("Folder of the run. Default: a new one below runs/.", "--out")]
Seed = Annotated[int | None, option("Seed of weights, example order, dropout and sampling.", "--seed")]
Shard = Annotated[
    str | None,
    option(
        "Do only the I-th of N parts, I from 0 to N-1; other commands, perhaps on other machines, do the others.",
        "--shard",
        metavar="I/N",
    ),
]


def all_changes(changes: list[str] | None, seed: int | None) -> list[str]:
    """Returns the changes that --set and --seed ask for."""
    return [*(changes or []), *([] if seed is None else [f"training.seed={seed}"])]


def parse_shard(text: str) -> tuple[int, int]:
    """Returns (I, N) of I/N; raises InputError unless 0 <= I < N."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and int(number) < int(count)):
        raise InputError(f"--shard {text}", allowed="give I/N with I from 0 to N-1, as in 0/8")
    return int(number), int(count)


# Of several processes (started by torchrun) only the main one prints.
PROCESS_VARIABLES = ("WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_WORLD_SIZE = os.environ.get("WORLD_SIZE", "1")
WORLD_SIZE = int(_WORLD_SIZE) if _WORLD_SIZE.isdecimal() else 1
IS_MAIN = (os.environ.get("RANK") or "0") == "0"


# ---------------------------------------------------------------- streams


class ReaderGone(BaseException):
    """Says that the reader of standard output (head, less) has exited; for an OSError click and rich exit with 1."""


class _Stdout(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            end: BaseException = ReaderGone()
        except OSError as error:
            end = InputError(f"cannot be written ({error.strerror})", where="standard output")
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # so that Python's flush at exit succeeds
        raise end


def protect_streams() -> None:
    """Prevents encoding errors of output. Failed writes to standard output end the command, to standard error not."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        raw = io.BufferedWriter(_Stdout(sys.stdout.fileno(), "w", closefd=False))
        buffering = sys.stdout.line_buffering
        sys.stdout = io.TextIOWrapper(raw, encoding=sys.stdout.encoding, errors="replace", line_buffering=buffering)
    sys.stderr = LossyStream(sys.stderr)


def terminal() -> Terminal:
    """Returns what tells the user on standard error, in the main process alone."""
    return Terminal(quiet=not IS_MAIN)


def say(text: str) -> None:
    """Prints a line on standard error."""
    terminal().say(text)


def result(text: str) -> None:
    """Prints the command's result on standard output, in the main process."""
    if IS_MAIN:
        print(text)


def fail(text: str) -> NoReturn:
    """Ends the command because of invalid input: one line on standard error, exit status 1.

    Among several processes the main one prints it, and the others wait: torchrun terminates all as soon as one has
    failed, and prints a report of its own. The line is written to a file that this report quotes.
    """
    console = terminal().console
    console.print(f"veriscene: {text}", markup=False, style="red" if console.is_terminal else "")
    if not IS_MAIN:
        time.sleep(SECONDS_FOR_MAIN_PROCESS)
    if error_file := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        record = {"message": text, "extraInfo": {"py_callstack": text, "timestamp": str(int(time.time()))}}
        with suppress(OSError):
            Path(error_file).write_text(json.dumps({"message": record}))
    sys.exit(1)


def warn_unknown_words(unknown: Mapping[str, list[str]]) -> None:
    """Prints one line with the words that the model does not know, each with the nearest known ones."""
    if unknown:
        words = [f"{word!r:.60} (nearest: {', '.join(near) or 'none'})" for word, near in unknown.items()]
        more = f" and {len(words) - WORDS_SHOWN} more" if len(words) > WORDS_SHOWN else ""
        say(f"warning: words unknown to this model: {', '.join(words[:WORDS_SHOWN])}{more}")


@contextmanager
def progress_bar(what: str) -> Iterator[Progress]:
    """Yields a function of (done, total): a bar on a terminal, otherwise a line every few seconds. When all is done,
    the next call begins a new bar."""
    output = terminal()
    try:
        yield partial(output.progress, text=what)
    finally:
        output.finish()


# ---------------------------------------------------------------- processes


def has_torch() -> bool:
    """Returns whether the extra `train` is installed."""
    try:
        import accelerate  # noqa: F401
        import torch  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def make_machine() -> Machine:
    """Returns the device and processes that this command was started on, with its output."""
    from veriscene.training.distributed import Machine

    return Machine(terminal())


def check_process_variables() -> None:
    """Raises InputError for what torchrun would not set, and accelerate could not read; an empty value is none."""
    for name in PROCESS_VARIABLES:
        value = os.environ.get(name, "0")
        if not value:
            del os.environ[name]
        elif not value.isdecimal():
            raise InputError(f"{value!r} is not a number", where=f"${name}", allowed="unset it, or use torchrun")


def require_one_process(command: str) -> None:
    """Raises InputError under torchrun."""
    if WORLD_SIZE > 1:
        raise InputError(f"`veriscene {command}` runs in one process", allowed="start it without torchrun")


def is_lost_connection(error: RuntimeError) -> bool:
    """Returns whether a process cannot reach another one of its torch.distributed group."""
    if WORLD_SIZE == 1 or "torch" not in sys.modules:
        return False
    from torch import distributed

    # gloo raises plain RuntimeErrors that name its source file.
    return isinstance(error, distributed.DistError) or "gloo" in str(error).lower()


def lost_connection() -> str:
    """Returns what a process says that cannot reach another one of its group."""
    # torchrun of PyTorch 2.13 otherwise gives restarted processes the addresses of those that have ended.
    if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0" and os.environ.get(OWN_STORE) != "1":
        return f"restarted processes do not find each other; start torchrun with {OWN_STORE}=1"
    return "another process of this run has ended; its own message says why"


def leave_process_group() -> None:
    """Ends this process if it belongs to a torch.distributed group, unless an unexpected exception is propagating.

    Exits without interpreter shutdown, during which the group's communication threads sometimes abort the process.
    """
    if "torch" not in sys.modules:
        return
    from torch import distributed

    if not distributed.is_available() or not distributed.is_initialized():
        return
    distributed.destroy_process_group()
    ending = sys.exc_info()[1]
    if ending is None or isinstance(ending, SystemExit):
        code = ending and ending.code
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))
