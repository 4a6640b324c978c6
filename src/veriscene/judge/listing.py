"""What can be trained and loaded: the models, and the checkpoints that ship with the package or lie below runs/."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veriscene import files
from veriscene.config import presets
from veriscene.data.eyes import SHIPPED as EYES
from veriscene.errors import InputError, missing_package
from veriscene.judge.folders import (
    BEST,
    CONFIG,
    GRAPH,
    METRICS,
    SUMMARY,
    WEIGHTS,
    find,
    read_json,
    shipped_checkpoints,
    shipped_readers,
)
from veriscene.judge.judge import PIXELS
from veriscene.world.corpus import SUPERVISION


@dataclass(frozen=True)
class ListedModel:
    """A kind of model that `veriscene train` builds."""

    name: str
    summary: str
    presets: list[str]


@dataclass(frozen=True)
class ListedCheckpoint:
    """A trained model that `veriscene.load` takes, by name or folder."""

    name: str
    model: str
    dev_accuracy: float | None
    supervision: str | None
    megabytes: float
    folder: str


def list_models() -> list[ListedModel]:
    """Lists the kinds of models with the presets that train them; raises MissingRequirement without torch."""
    try:
        from veriscene import models
    except ModuleNotFoundError as error:
        raise missing_package(error) from None
    kinds = {name: models.load_preset(name).model.name for name in sorted(presets())}
    return [
        ListedModel(name, kind.summary, [preset for preset, model in kinds.items() if model == name])
        for name, kind in models.MODELS.items()
    ]


def list_checkpoints(runs: Path = Path("runs")) -> list[ListedCheckpoint]:
    """Lists those that ship with the package, with and without eyes, and finished runs below `runs`, without damaged
    ones."""
    shipped = shipped_checkpoints()
    trained = (run for run in sorted(runs.glob("*")) if (run / SUMMARY).is_file() or files.present(run / BEST))
    places = shipped | {str(run): run for run in trained}
    found = []
    for name, folder in places.items():
        try:
            own = find(folder)
            config: Any = read_json(own / CONFIG)
            kind = str(config["model"]["name"])
            metrics: Any = read_json(own / METRICS) if (own / METRICS).exists() else {}
            size = (own / WEIGHTS).stat().st_size / 1e6
            accuracy, supervision = metrics.get("dev_accuracy"), metrics.get("supervision")
            accuracy = accuracy if type(accuracy) is float and 0 <= accuracy <= 1 else None  # or a stranger's
            supervision = supervision if supervision in SUPERVISION else None
        except (InputError, OSError, ValueError, TypeError, KeyError, AttributeError):
            continue
        found.append(ListedCheckpoint(name, kind, accuracy, supervision, round(size, 1), str(folder)))
        if name in shipped and EYES.is_file() and (own / GRAPH).is_file():  # only models of items have a graph
            size += EYES.stat().st_size / 1e6
            seeing = f"eyes + {kind}"
            found.append(ListedCheckpoint(name + PIXELS, seeing, None, supervision, round(size, 1), str(folder)))
    for name, path in shipped_readers().items():
        about: Any = files.parse_json(files.read_text(path.with_suffix(".json")))
        size = round(path.stat().st_size / 1e6, 1)
        found.append(ListedCheckpoint(name, "reader", about["dev_accuracy"], about["supervision"], size, str(path)))
    return found
