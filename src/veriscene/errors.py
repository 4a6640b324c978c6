"""What the user gave is at fault: one clear line and exit status 1."""

from __future__ import annotations

MAX_PART = 1_000  # characters of each part of a message: a stranger's file may have keys of any length


def printable(text: str) -> str:
    """Returns the text with its control characters escaped: a terminal would obey those of a stranger's file."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _line(part: object) -> str:
    text = printable(str(part).replace("\n", "\\n"))
    return text if len(text) <= MAX_PART else f"{text[: MAX_PART - 200]} … {text[-100:]}"


class InputError(Exception):
    """What is wrong, where (a file, a line, an option), and what is allowed. `str` is the line shown to the user."""

    def __init__(self, what: str, *, where: object = None, allowed: str | None = None) -> None:
        super().__init__(what)
        self.what, self.where, self.allowed = what, where, allowed

    def __str__(self) -> str:
        place = f"{_line(self.where)}: " if self.where is not None else ""
        return f"{place}{_line(self.what)}{f'; {_line(self.allowed)}' if self.allowed else ''}"

    def at(self, where: object) -> InputError:
        """The same error, seen from further out: `where` comes before the place it already has."""
        place = str(where) if self.where is None else f"{where}: {self.where}"
        return type(self)(self.what, where=place, allowed=self.allowed)


class MissingRequirement(InputError):
    """A library, or a file of weights, is not on this machine."""


# Which extra installs a package that not everyone needs.
_EXTRAS = {
    "train": ("torch", "accelerate"),
    "onnx": ("onnx", "onnxscript"),
    "serve": ("fastapi", "starlette", "uvicorn", "prometheus_client"),
    "plot": ("matplotlib",),
    "maxent": ("sklearn", "scipy"),
    "tune": ("optuna", "sqlalchemy"),
    "export": ("pyarrow",),
}


def missing_package(error: ImportError) -> MissingRequirement:
    """Returns the line that says which extra a command needs; raises the error itself if no extra has the package."""
    name = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in _EXTRAS.items() if name in packages), None)
    if extra is None:
        raise error
    return MissingRequirement(f"{name} is not installed", allowed=f"install it with: pip install 'veriscene[{extra}]'")


def message(error: InputError | OSError) -> str:
    """The line shown to the user, also for a file that may not be touched or a full disk."""
    if isinstance(error, InputError):
        return str(error)
    return _line(f"{error.filename or 'the system'}: {error.strerror or error}")
