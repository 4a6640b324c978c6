"""How good a model is: accuracy, consistency, intervals, comparison, calibration."""

from __future__ import annotations

from veriscene.errors import missing_package


def require_matplotlib() -> None:
    """Raises MissingRequirement if figures cannot be drawn here."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing_package(error) from None
