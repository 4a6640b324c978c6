"""How good a model is: accuracy, consistency, intervals, comparison, calibration."""

from __future__ import annotations

from veriscene.errors import MissingRequirement


def require_matplotlib() -> None:
    """Raises MissingRequirement if figures cannot be drawn here."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        what, how = f"matplotlib is missing ({error})", "pip install 'veriscene[plot]'"
        raise MissingRequirement(what, allowed=how) from None
