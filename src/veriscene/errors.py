"""What the user gave is at fault: one clear line and exit status 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

MAX_PART = 1_000  # characters of each part of a message: a stranger's file may have keys of any length


def printable(text: str) -> str:
    """Returns the text with its control characters escaped: a terminal would obey those of a stranger's file."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _line(part: object) -> str:
    text = printable(str(part).replace("\n", "\\n"))
    return text if len(text) <= MAX_PART else f"{text[: MAX_PART - 200]} … {text[-100:]}"


class InputError(Exception):
    """Says what is wrong, where (file, line or option), and what is allowed. `str` is the line shown to the user."""

    def __init__(self, what: str, *, where: object = None, allowed: str | None = None) -> None:
        super().__init__(what)
        self.what, self.where, self.allowed = what, where, allowed

    def __str__(self) -> str:
        place = f"{_line(self.where)}: " if self.where is not None else ""
        return f"{place}{_line(self.what)}{f'; {_line(self.allowed)}' if self.allowed else ''}"

    def at(self, where: object) -> InputError:
        """Returns the same error, seen from further out: `where` comes before the place it already has."""
        place = str(where) if self.where is None else f"{where}: {self.where}"
        return type(self)(self.what, where=place, allowed=self.allowed)


@contextmanager
def located(where: object, *, unless_known: bool = False) -> Iterator[None]:
    """Lets an InputError of its block say `where` it happened, if that is not None; with `unless_known`, only an error
    that does not know its place."""
    try:
        yield
    except InputError as error:
        raise error if where is None or (unless_known and error.where is not None) else error.at(where) from None


class MissingRequirement(InputError):
    """Is raised where a library, or a file of weights, is not on this machine."""


# Which extra installs a package that not everyone needs.
EXTRAS = {
    "train": ("torch", "accelerate"),
    "onnx": ("torch", "accelerate", "onnx", "onnxscript"),
    "serve": ("fastapi", "starlette", "uvicorn", "prometheus_client"),
    "plot": ("matplotlib",),
    "maxent": ("sklearn", "scipy"),
    "tune": ("optuna", "sqlalchemy"),
    "export": ("pyarrow",),
    "gym": ("gymnasium",),
    "ray": ("ray", "pyarrow"),
}


def missing_package(error: ImportError, extra: str | None = None) -> MissingRequirement:
    """Returns the line that says which extra a command needs, by default the first one that has the package; raises the
    error itself if there is none."""
    name = (error.name or "").partition(".")[0]
    extras = EXTRAS if extra is None else {extra: EXTRAS[extra]}
    extra = next((extra for extra, packages in extras.items() if name in packages), None)
    if extra is None:
        raise error
    return MissingRequirement(f"needs {name}: pip install 'veriscene[{extra}]'")


def first_line(error: Exception) -> str:
    """Returns the first line of an error's message, or its type: libraries' messages may have many lines."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def message(error: InputError | OSError) -> str:
    """Returns the line shown to the user, also for a file that may not be touched or a full disk."""
    if isinstance(error, InputError):
        return str(error)
    return _line(f"{error.filename or 'the system'}: {error.strerror or error}")
