"""Bounded reads, atomic writes, the disk cache, directory locks, and new directories that are removed on failure."""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import math
import os
import pickle
import platform
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

from veriscene.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: folders are used without a lock
    fcntl = None  # type: ignore[assignment]

MAX_FILE = 64 << 20  # bytes of a file that is read whole
MAX_WEIGHT_BYTES = 1 << 30  # of a file of weights: tables of MaxEnt and MLP included
MAX_LINE = 1 << 20  # bytes; an NLVR line has about 1,000
MAX_SKIP = 64  # lengths of MAX_LINE in which the end of a longer line is looked for: /dev/zero has none

NEW_FOLDER = "name a new or an empty folder"  # the hint of commands that fill one
# Raised by reading a damaged file.
DAMAGED = (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile)
Content = TypeVar("Content")

# Raised by file systems without locks. Training must work there too.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_LEFTOVER = re.compile(r".+\.\d+\.partial")  # the temporary name of a file or folder that a process is writing

# ---------------------------------------------------------------- reading


def read_text(path: Path, *, limit: int = MAX_FILE) -> str:
    """Returns the text of a file; raises InputError if it cannot be read, is not UTF-8 or exceeds `limit` bytes."""
    with opened(path) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise InputError("is too large", where=path, allowed=f"at most {limit:,} bytes are read")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(error).at(path) from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Opens the file as a binary stream; raises InputError if it cannot be opened or read."""
    try:
        with path.open("rb") as stream:
            yield stream
    except IsADirectoryError:
        raise InputError("is a folder", where=path, allowed="give a file") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=path) from None


def digest(paths: Iterable[Path]) -> str:
    """Returns the digest of these files' content, one after another."""
    found = hashlib.sha256()
    for path in paths:
        with opened(path) as stream:
            for chunk in iter(lambda: stream.read(1 << 20), b""):
                found.update(chunk)
    return found.hexdigest()


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, str | InputError]]:
    """Numbered lines, each as soon as it arrives, in bounded memory.

    An InputError takes the place of a line that is too long or not UTF-8. Text that is not UTF-8 and a line without an
    end are the last line: what follows cannot be lines of text.
    """
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        text, goes_on = _decoded(line, stream, is_first=number == 1)
        yield number, text
        if not goes_on:
            return


def read_lines_between(stream: BinaryIO, start: int, stop: int) -> Iterator[tuple[int, str | InputError]]:
    """Yields the lines that begin in these bytes of a file, each with the byte at which it begins, in bounded memory.

    So parts that share no byte share no line, and parts that cover the file have all lines. An InputError takes the
    place of a line that is too long or not UTF-8; the others follow.
    """
    if start:
        stream.seek(start - 1)
        while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):  # of a line that begins before
            pass
    while (at := stream.tell()) < stop and (line := stream.readline(MAX_LINE + 1)):
        yield at, _decoded(line, stream, is_first=at == 0)[0]


def _decoded(line: bytes, stream: BinaryIO, *, is_first: bool) -> tuple[str | InputError, bool]:
    """The text of a line, the rest of which is skipped if it is too long, and whether lines of text can follow."""
    if len(line) > MAX_LINE and not line.endswith(b"\n"):
        has_end = _skip_line(stream)
        length = MAX_LINE if has_end else MAX_LINE * MAX_SKIP
        return InputError(f"longer than {length:,} bytes", allowed=f"a line has at most {MAX_LINE:,}"), has_end
    try:
        return line.decode("utf-8-sig" if is_first else "utf-8"), True
    except UnicodeDecodeError as error:
        return _not_utf8(error), False


def parse_json(text: str) -> object:
    """Returns the value of one JSON text; raises InputError also for duplicate keys, NaN, Infinity and deep nesting."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_reject_constant, parse_float=_finite)
    except RecursionError:
        raise InputError("not JSON: nested too deeply") from None
    except json.JSONDecodeError as error:
        cut_off = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        what = "the line is cut off" if cut_off else f"{error.msg} (column {error.colno})"
        raise InputError(f"not JSON: {what}") from None
    except ValueError:
        raise InputError("not JSON: a number has too many digits") from None


def json_objects(lines: Iterable[tuple[int, str | InputError]]) -> Iterator[tuple[int, dict[str, Any] | InputError]]:
    """Yields the JSON objects of numbered lines without the blank ones, or what is wrong with a line."""
    for number, line in lines:
        if isinstance(line, str) and not line.strip():
            continue
        try:
            yield number, line if isinstance(line, InputError) else json_object(line)
        except InputError as error:
            yield number, error


def json_object(line: str) -> dict[str, Any]:
    """Returns the object of a line; raises InputError if it is none."""
    record = parse_json(line)
    if not isinstance(record, dict):
        kind = {list: "array", str: "string", bool: "boolean", type(None): "null"}.get(type(record), "number")
        raise InputError(f"the line is a JSON {kind}", allowed="each line must be one JSON object")
    return record


def load_torch(path: Path, *, device: str = "cpu") -> Any:
    """Returns what torch.save wrote, if it is tensors and plain values alone; raises any of many exceptions if not."""
    import torch
    from torch import _weights_only_unpickler as unpickler

    class BriefError(pickle.UnpicklingError):
        """torch searches messages, with names from the file, for patterns, in quadratic time."""

        def __init__(self, what: object = "") -> None:
            super().__init__(f"{what!s:.300}")

    unpickler.UnpicklingError = BriefError  # type: ignore[attr-defined, assignment]
    try:
        with path.open("rb") as stream:
            if stream.read(4) == b"PK\x03\x04":
                check_uncompressed(path)
            stream.seek(0)
            return torch.load(stream, map_location=device, weights_only=True)
    finally:
        unpickler.UnpicklingError = pickle.UnpicklingError  # type: ignore[attr-defined]


def check_size(path: Path) -> None:
    """Raises InputError for a file that is too large to hold weights."""
    if (size := path.stat().st_size) > MAX_WEIGHT_BYTES:
        raise InputError(f"has {size:,} bytes", where=path, allowed=f"at most {MAX_WEIGHT_BYTES:,}")


def check_uncompressed(path: Path) -> None:
    """Raises ValueError for a zip file that is compressed, which torch and numpy.savez never write: it may unpack to a
    thousand times its size."""
    with zipfile.ZipFile(path) as packed:
        if sum(each.file_size for each in packed.infolist()) > path.stat().st_size:
            raise ValueError("is compressed")


def _skip_line(stream: BinaryIO) -> bool:
    """Reads to the end of the line; returns False if it has none within MAX_SKIP reads."""
    for _ in range(MAX_SKIP):
        rest = stream.readline(MAX_LINE)
        if len(rest) < MAX_LINE or rest.endswith(b"\n"):
            return True
    return False


def _not_utf8(error: UnicodeDecodeError) -> InputError:
    return InputError(f"not UTF-8 at byte {error.start}", allowed="save the file as UTF-8")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record: dict[str, object] = {}
    for key, value in pairs:
        if key in record:
            raise InputError(f"duplicate key {key!r:.60}", allowed="each key may occur once")
        record[key] = value
    return record


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _reject_constant(f"{text:.20}")


def _reject_constant(name: str) -> NoReturn:
    raise InputError(f"not JSON: {name}", allowed="a number must be finite")


# ---------------------------------------------------------------- writing


def write_text(path: Path, text: str, *, follow: bool = True) -> None:
    """Writes as `write_bytes` does, in UTF-8."""
    write_bytes(path, text.encode("utf-8"), follow=follow)


def write_bytes(path: Path, content: bytes | Iterable[bytes], *, follow: bool = True) -> None:
    """Replaces the file atomically: a reader never sees half of it, also after a crash or a loss of power, and a failed
    write leaves the old content. Content in parts is written part by part, as it is made.

    Symbolic links are followed; pipes and devices are written to directly. Without `follow`, as in a folder that may be
    a stranger's, whatever has this name is replaced itself.
    """
    file = Path(os.path.realpath(path)) if follow else path
    partial = _partial_name(file)
    try:
        # Tested on `path`: /dev/stdout may resolve to a name that is no file.
        if follow and path.exists() and not path.is_file():
            _write(path, content)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)  # a killed process left it, or a stranger's link has this name
        _write(partial, content)
        _sync(partial)
        partial.replace(file)
        _sync(file.parent)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=path) from None
    finally:
        with suppress(OSError):
            partial.unlink()


def _write(file: Path, content: bytes | Iterable[bytes]) -> None:
    if isinstance(content, bytes):
        file.write_bytes(content)
        return
    with file.open("wb") as stream:
        stream.writelines(content)


def check_absent(file: Path) -> None:
    """Raises InputError if there is such a file or folder, which a command must not replace."""
    if os.path.lexists(file):
        raise InputError("already exists", where=file, allowed="name a new file")


# ---------------------------------------------------------------- folders


def cache_folder() -> Path:
    """Returns where weights, features and what teachers made are kept: $VERISCENE_CACHE, else veriscene/ in the user's
    cache folder."""
    if folder := os.environ.get("VERISCENE_CACHE"):
        return Path(folder)
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder) / "veriscene"
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home, as in some containers
        home = Path(tempfile.gettempdir())
    return home / ".cache" / "veriscene"


def cached(
    file: Path,
    read: Callable[[Path], Content],
    make: Callable[[Path], Content],
    on_wait: Callable[[], None] = lambda: None,
) -> Content:
    """Returns the content of a file in the cache folder, which is made if it is missing or damaged.

    `read` raises one of DAMAGED if the file is of no use. `make` returns the content and writes it to the path that it
    gets; if it writes nothing there, nothing is kept. Of several processes one makes the content, and the others wait,
    after `on_wait`, and read it. Where no folder can be made or locked, every process makes its own.
    """
    with suppress(*DAMAGED):
        return read(file)
    partial = file.with_name(f"{file.stem}.{_writer()}.partial{file.suffix}")
    with ExitStack() as lock:
        with suppress(OSError, InputError):
            file.parent.mkdir(parents=True, exist_ok=True)
            lock.enter_context(locked(file.parent, on_wait=on_wait))
            with suppress(*DAMAGED):
                return read(file)
            for useless in (file, *file.parent.glob("*.partial*")):  # damaged, or of a process that was killed
                useless.unlink(missing_ok=True)
        try:
            content = make(partial)
            with suppress(OSError):
                partial.replace(file)
            return content
        finally:
            with suppress(OSError):
                partial.unlink()


@contextmanager
def locked(folder: Path, *, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Locks the folder against other commands; the lock ends with the process, even if it is killed.

    A folder that is in use is an InputError; or, with `on_wait`, which is called then, it is waited for.

    The folder itself is locked (flock), so no lock file is left in it. Readers need no lock. What killed processes were
    writing there is removed.
    """
    if fcntl is None:
        yield
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=folder) from None
    try:
        if _lock(descriptor, folder, on_wait):
            for entry in folder.iterdir():
                if _LEFTOVER.fullmatch(entry.name):
                    _remove(entry)
        yield
    finally:
        os.close(descriptor)


def check_empty(folder: Path, *, hint: str) -> None:
    """Raises InputError with `hint` unless the folder does not exist or holds nothing but what a killed process was
    writing."""
    if folder.exists() and (
        not folder.is_dir() or any(not _LEFTOVER.fullmatch(path.name) for path in folder.iterdir())
    ):
        raise InputError("already exists", where=folder, allowed=hint)


@contextmanager
def created(folder: Path, *, fill: Collection[str], hint: str) -> Iterator[None]:
    """Yields a new or empty folder, locked while the context lasts; raises InputError with `hint` if it is neither.

    On failure, removes what it created, so the command can be retried: the entries named in `fill` and the new folders.
    If the folder holds anything else by then, such as a checkpoint, everything is kept. So the context may last as long
    as a whole training run.
    """
    check_empty(folder, hint=hint)
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove_empty(missing)
        raise InputError(f"cannot be created ({error.strerror})", where=folder) from None
    with locked(folder):
        check_empty(folder, hint=hint)  # another command may have filled it before it was locked
        try:
            yield
        except BaseException:
            with suppress(OSError):  # the original error is the one to report
                _remove_entries(folder, fill)
            _remove_empty(missing)
            raise


def _lock(descriptor: int, folder: Path, on_wait: Callable[[], None] | None) -> bool:
    """Returns whether the file system has locks."""
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if on_wait is None:
                hint = "wait until it ends, or stop it"
                raise InputError("in use by another command", where=folder, allowed=hint) from None
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise InputError(f"cannot be locked ({error.strerror})", where=folder) from None
        return False
    return True


def _remove_entries(folder: Path, names: Collection[str]) -> None:
    entries = list(folder.iterdir())
    if any(entry.name not in names for entry in entries):
        return
    for entry in entries:
        _remove(entry)


def _remove(path: Path) -> None:
    """Removes a file, a folder with its contents, or a link, but not what the link refers to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # not empty: somebody else uses it
            folder.rmdir()


@contextmanager
def filled(folder: Path, *, hint: str) -> Iterator[Path]:
    """Yields a new folder under a temporary name, which becomes `folder` at the end; raises InputError with `hint` if
    there is one that is not empty.

    A failure, or a process that is killed at any moment, leaves no `folder`, so the command can be repeated.
    """
    check_empty(folder, hint=hint)
    target = Path(os.path.realpath(folder))
    missing = [parent for parent in (target, *target.parents) if not parent.exists()]
    try:
        with _writing(target) as partial:
            yield partial
            _sync_all(partial)
            if target.exists():  # empty: perhaps a mounted disk, or somebody's working folder
                for entry in sorted(partial.iterdir()):
                    shutil.move(entry, target / entry.name)
            else:
                partial.rename(target)
            _sync(target.parent)
    except BaseException:
        _remove_empty(missing)
        raise


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yields a new folder under a temporary name, which takes the place of `folder` at the end, if nothing failed.

    A process that is killed, or a machine that loses its power, at any moment leaves the old or the new content where
    `present` finds it, and the next call succeeds. A link of this name is replaced; what it refers to is kept.
    """
    previous = _previous(folder)
    with _writing(folder) as partial:
        yield partial
        _sync_all(partial)
        # A folder that is not empty cannot be replaced in one step; `present` covers a crash between these two.
        if os.path.lexists(folder):
            _remove(previous)  # of a process that was killed while it removed it
            folder.rename(previous)
        try:
            partial.rename(folder)
        except OSError:
            with suppress(OSError):  # then `present` finds it there
                previous.rename(folder)
            raise
        _sync(folder.parent)
    with suppress(OSError):  # the next call tries again
        _remove(previous)


@contextmanager
def _writing(folder: Path) -> Iterator[Path]:
    """A folder under a temporary name, locked, which is removed if it still has that name at the end."""
    partial = _partial_name(folder)
    try:
        for leftover in folder.parent.glob(f"{glob.escape(folder.name)}.*.partial"):
            with locked(leftover) if leftover.is_dir() else nullcontext():  # only a killed process has left its lock
                _remove(leftover)
        partial.mkdir(parents=True)
        with locked(partial):
            yield partial
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", where=folder) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _partial_name(path: Path) -> Path:
    return path.with_name(f"{path.name}.{_writer()}.partial")


def _writer() -> str:
    """Digits that tell this process from those of other machines: containers that share a folder repeat numbers."""
    return f"{os.getpid()}{zlib.crc32(platform.node().encode())}"


def _sync_all(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        _sync(path)


def _sync(path: Path) -> None:
    """Waits until a file or folder is on the disk."""
    if os.name == "nt":  # folders cannot be opened there, and files only for writing
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, *_NO_LOCKS):  # file systems that cannot do it
            raise
    finally:
        os.close(descriptor)


def present(folder: Path) -> Path | None:
    """Returns where a folder written by `replacing` is found, also after a crash between its two renames."""
    return next((place for place in (folder, _previous(folder)) if place.is_dir()), None)


def _previous(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.previous")
