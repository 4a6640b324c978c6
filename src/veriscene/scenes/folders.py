"""A folder that one command at a time works in."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from veriscene.errors import InputError


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds the folder as long as it lasts; the system lets go of it even if this process is killed.

    It is the folder itself that is held: no file is left in it, and who only reads need not ask.
    """
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    try:
        _lock(held, folder)
        yield
    finally:
        os.close(held)


def check_free(folder: Path, *, otherwise: str) -> None:
    """InputError unless it is new or empty; it tells what to do `otherwise`."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already; {otherwise}")


@contextmanager
def created(folder: Path, *, otherwise: str) -> Iterator[ExitStack]:
    """A new or an empty folder, held while it is filled; for longer by whoever takes over the stack that holds it.

    What is there already is never touched.
    """
    check_free(folder, otherwise=otherwise)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror})") from None
    with ExitStack() as held:
        held.enter_context(alone(folder))
        check_free(folder, otherwise=otherwise)  # another command may have filled it before it was held
        yield held


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"{folder}: another command is at work there; wait for its end, or stop it") from None
    except OSError:
        pass  # Some file systems have no locks; what they hold shall be trained all the same.
