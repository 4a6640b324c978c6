"""Atomic file writes, directory locks, and new directories that are removed again on failure."""

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


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; give a file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """All of it or nothing: a reader never sees half a file, and a failed write leaves the old one.

    A link stays one, and what is no file, such as a pipe or a device, is written into.
    """
    file = Path(os.path.realpath(path))
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    try:
        if path.exists() and not path.is_file():  # asked of the path itself: /dev/stdout leads to no name on a disk
            path.write_bytes(content)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        with suppress(OSError):
            partial.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
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


def check_empty(folder: Path, *, hint: str) -> None:
    """InputError unless it is new or empty; it tells what to do `hint`."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already; {hint}")


@contextmanager
def created(folder: Path, *, fill: Collection[str], hint: str) -> Iterator[ExitStack]:
    """A new or an empty folder, held while it is filled; for longer by whoever takes over the stack that holds it.

    What is there already is never touched. What was made, the names that `fill` it, goes again if it cannot be filled,
    else it would be there already when the command is given again.
    """
    check_empty(folder, hint=hint)
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove_empty(missing)
        raise InputError(f"{folder}: cannot be made ({error.strerror})") from None
    with ExitStack() as held:
        held.enter_context(locked(folder))
        check_empty(folder, hint=hint)  # another command may have filled it before it was held
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


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new folder under a temporary name, which takes the place of `folder` at the end, if nothing failed."""
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    previous = _previous(folder)
    try:
        partial.mkdir(parents=True)
        yield partial
        if previous.exists() and not folder.exists():
            previous.rename(folder)
        # A folder that is not empty cannot be replaced in one step; `present` covers a crash between these two.
        if folder.exists():
            folder.rename(previous)
        partial.rename(folder)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", where=folder) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(previous, ignore_errors=True)


def present(folder: Path) -> Path | None:
    """Where a folder written by `replacing` is found, also after a crash between its two renames."""
    return next((place for place in (folder, _previous(folder)) if place.is_dir()), None)


def _previous(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.previous")
