"""Is this statement true of this scene?

import veriscene
judge = veriscene.load("biatt-pointer")
judge("There is a yellow circle.", scene).probability
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

from veriscene.errors import InputError
from veriscene.world.scene import Scene

if TYPE_CHECKING:
    from veriscene.judge import load
    from veriscene.judge.explain import explain
    from veriscene.judge.judge import Judge, Question, Verdict
    from veriscene.judge.listing import list_checkpoints, list_models

__all__ = [
    "InputError",
    "Judge",
    "Question",
    "Scene",
    "Verdict",
    "__version__",
    "explain",
    "list_checkpoints",
    "list_models",
    "load",
]


def __getattr__(name: str) -> Any:
    # Reading scenes must not cost the seconds that torch takes to import.
    if name == "load":
        from veriscene import judge as serving

        return serving.load
    if name == "explain":
        from veriscene.judge.explain import explain

        return explain
    if name in ("Judge", "Question", "Verdict"):
        from veriscene.judge import judge

        return vars(judge)[name]
    if name in ("list_checkpoints", "list_models"):
        from veriscene.judge import listing

        return vars(listing)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
