"""Is this statement true of this scene?

import veriscene
judge = veriscene.load("runs/…")
judge("There is a yellow circle.", scene).probability
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["InputError", "Judge", "Scene", "Verdict", "__version__", "load", "parse_scene"]

from veriscene.errors import InputError
from veriscene.scenes.scene import Scene, parse_scene

if TYPE_CHECKING:
    from veriscene.serving.judge import Judge, Verdict
    from veriscene.serving.loading import load


def __getattr__(name: str) -> object:
    # Reading scenes must not cost the seconds that torch takes to import.
    if name == "load":
        from veriscene.serving import loading

        return loading.load
    if name in ("Judge", "Verdict"):
        from veriscene.serving import judge

        return getattr(judge, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
