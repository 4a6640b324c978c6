"""A folder that one command at a time works in, and that goes again if nothing came of it."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from veriscene.errors import InputError

# What file systems answer that have no locks; what they hold shall be trained all the same.
_HAVE_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


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
def created(folder: Path, *, fill: Collection[str], otherwise: str) -> Iterator[ExitStack]:
    """A new or an empty folder, held while it is filled; for longer by whoever takes over the stack that holds it.

    What is there already is never touched. What was made, the names that `fill` it, goes again if it cannot be filled,
    else it would be there already when the command is given again.
    """
    check_free(folder, otherwise=otherwise)
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove_empty(missing)
        raise InputError(f"{folder}: cannot be made ({error.strerror})") from None
    with ExitStack() as held:
        held.enter_context(alone(folder))
        check_free(folder, otherwise=otherwise)  # another command may have filled it before it was held
        try:
            yield held
        except BaseException:
            with suppress(OSError):  # what went wrong first is what is told
                _remove(folder / name for name in fill)
            _remove_empty(missing)
            raise


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"{folder}: another command is at work there; wait for its end, or stop it") from None
    except OSError as error:
        if error.errno not in _HAVE_NO_LOCKS:
            raise InputError(f"{folder}: cannot be held ({error.strerror})") from None


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _remove_empty(places: Sequence[Path]) -> None:
    for place in places:
        with suppress(OSError):  # not if somebody else has put something there
            place.rmdir()
