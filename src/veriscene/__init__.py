"""Is this statement true of this scene?

import veriscene
judge = veriscene.load("biatt-pointer")
judge("There is a yellow circle.", scene).probability
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

from veriscene.errors import InputError
from veriscene.world.scene import Scene

if TYPE_CHECKING:
    from veriscene.config import Changes
    from veriscene.judge import load
    from veriscene.judge.explain import explain
    from veriscene.judge.folders import list_checkpoints, list_models
    from veriscene.judge.judge import Judge, Question, Verdict
    from veriscene.training.log import OnEvent
    from veriscene.training.train import Result
    from veriscene.world.examples import Example
    from veriscene.world.schema import World
    from veriscene.worlds import parse, read
    from veriscene.worlds.nlvr.raster import decode, pixels

__all__ = [
    "Example",
    "InputError",
    "Judge",
    "Question",
    "Scene",
    "Verdict",
    "World",
    "__version__",
    "decode",
    "explain",
    "list_checkpoints",
    "list_models",
    "load",
    "parse",
    "pixels",
    "read",
    "train",
]

# Where names come from, and under which name: they are imported when they are used, because torch takes seconds.
_HOMES = {
    "Example": "world.examples.Example",
    "Judge": "judge.judge.Judge",
    "Question": "judge.judge.Question",
    "Verdict": "judge.judge.Verdict",
    "World": "world.schema.World",
    "decode": "worlds.nlvr.raster.decode",
    "explain": "judge.explain.explain",
    "list_checkpoints": "judge.folders.list_checkpoints",
    "list_models": "judge.folders.list_models",
    "load": "judge.load",
    "parse": "worlds.parse",
    "pixels": "worlds.nlvr.raster.pixels",
    "read": "worlds.read",
}


def train(
    preset: str | Path,
    *,
    data: str | Path | None = None,
    changes: Changes = (),
    folder: str | Path | None = None,
    programs: Sequence[str | Path] = (),
    initial: str | Path | None = None,
    world: str | Path | World | None = None,
    resume: bool = False,
    on_event: OnEvent | None = None,
) -> Result:
    """Trains a preset, or the configuration in a TOML file, as `veriscene train` does, and returns the Result.

    `data` is a corpus folder (None: a teacher makes all examples; without a teacher, a synthetic corpus is made),
    `changes` are settings by `section.key`, and `folder` is that of the run (None: a new one below runs/). Without
    `on_event`, progress is shown on standard error.
    """
    from veriscene.errors import missing_package
    from veriscene.output import Terminal

    try:
        from veriscene.training.distributed import Machine
        from veriscene.training.spec import Spec
        from veriscene.training.train import train as train_spec
    except ModuleNotFoundError as error:
        raise missing_package(error) from None

    spec = Spec.of(preset, data=data, changes=changes, programs=programs, initial=initial, world=world)
    machine = Machine(Terminal() if on_event is None else None)
    return train_spec(spec, None if folder is None else Path(folder), on_event=on_event, resume=resume, machine=machine)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        module, _, own = _HOMES[name].rpartition(".")
        return getattr(import_module(f"veriscene.{module}"), own)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
