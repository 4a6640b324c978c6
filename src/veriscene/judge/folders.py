"""Where checkpoints are: in the package, in folders of runs, or on the Hugging Face hub, and which there are. Does not
import torch.

A checkpoint is a folder: model.safetensors, config.json, vocabulary.json, world.json and metrics.json. It may also have
a reader, and the ONNX graphs of model and reader, which share their weights.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from veriscene import files
from veriscene.config import presets
from veriscene.data.eyes import SHIPPED as EYES
from veriscene.errors import InputError, first_line, missing_package
from veriscene.world.corpus import SUPERVISION

WEIGHTS, CONFIG, VOCABULARY, METRICS = "model.safetensors", "config.json", "vocabulary.json", "metrics.json"
WORLD, READER = "world.json", "reader.safetensors"  # the reader may be missing
GRAPH, READER_GRAPHS = "model.onnx", ("reader-encoder.onnx", "reader-decoder.onnx")  # may be missing, too
FILES = (WEIGHTS, CONFIG, VOCABULARY, WORLD, METRICS)
DOWNLOADED = (*FILES, READER, GRAPH, *READER_GRAPHS)
BEST = "best"
ALIASES = "aliases.json"  # of the checkpoints that ship with the package
SUMMARY = "summary.json"  # of a folder of seeds; names the run of the best one
PIXELS = "-pixels"  # NAME-pixels is the model NAME with eyes
_REPOSITORY = re.compile(r"(?P<owner>\w[\w.-]*)/\w[\w.-]*", re.ASCII)


def find(name_or_folder: str | Path) -> Path:
    """Returns the folder that holds the files of a checkpoint, which are downloaded if it is on the hub.

    InputError says what is missing.

    A text that is the name of a shipped checkpoint means that one, whatever folders there are: what `best` is must not
    depend on the working directory. "./best", or a Path, is the folder.
    """
    folder, shipped = Path(name_or_folder), shipped_checkpoints()
    if isinstance(name_or_folder, str) and name_or_folder in shipped:
        return shipped[name_or_folder]
    if not folder.is_dir():
        if is_repository(name_or_folder):
            return find(download(str(name_or_folder), DOWNLOADED))
        names = sorted({*shipped, *shipped_readers()})
        known = f"one of {', '.join(names)}, or " if names else ""
        raise InputError("no such model", where=folder, allowed=f"give {known}a folder that `veriscene train` wrote")
    folder = best_run(folder)
    if not (folder / CONFIG).exists():
        folder = files.present(folder / BEST) or folder
    missing = [name for name in (CONFIG, VOCABULARY, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise InputError(f"not a checkpoint, {', '.join(missing)} is missing", where=folder)
    return folder


def reader_file(name_or_file: str) -> Path:
    """Returns the file of a reader: this one, or that of a shipped model."""
    own = {name: folder / READER for name, folder in shipped_checkpoints().items() if (folder / READER).is_file()}
    return (own | shipped_readers()).get(name_or_file, Path(name_or_file))


def is_repository(name: object) -> bool:
    """Returns whether a model's name is `owner/name` on the hub, not a path: no folder here is called `owner`."""
    match = _REPOSITORY.fullmatch(name) if isinstance(name, str) else None
    return match is not None and not Path(match["owner"]).exists()


def download(repository: str, names: Collection[str], **options: Any) -> Path:
    """Returns a local folder with the files of these names, as far as the repository has them, downloaded once.

    The options are those of huggingface_hub.snapshot_download. InputError if there is no such repository or no
    connection.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError

    where = f"{repository} on the Hugging Face hub"
    try:
        return Path(snapshot_download(repository, allow_patterns=list(names), **options))
    except RevisionNotFoundError:
        raise InputError(f"has no revision {options.get('revision')!r}", where=where) from None
    except RepositoryNotFoundError:
        allowed = "check the name; a private one needs `hf auth login`"
        raise InputError("no such repository", where=where, allowed=allowed) from None
    except LocalEntryNotFoundError:
        allowed = "retry, or give a folder or the name of a shipped checkpoint"
        raise InputError("no connection, and no copy in the cache", where=where, allowed=allowed) from None
    except Exception as error:  # the HTTP library's exceptions differ between versions of huggingface_hub
        raise InputError(f"cannot be downloaded ({first_line(error)})", where=where) from None


def without_eyes(model: str | Path) -> str | Path:
    """Returns NAME for NAME-pixels, the model NAME with eyes, unless only a path has this name; else the model."""
    plain = str(model).removesuffix(PIXELS)
    is_named = plain != str(model) and (plain in shipped_checkpoints() or not Path(model).exists())
    return plain if is_named else model


def best_run(folder: Path) -> Path:
    """Returns the run itself or, for a folder of seeds, the run of the best one."""
    if not (folder / SUMMARY).is_file():
        return folder
    summary = read_json(folder / SUMMARY)
    name = summary.get("best") if isinstance(summary, dict) else None
    # A stranger's summary must not lead elsewhere: reports are written into the run that it names.
    run = folder / (name if isinstance(name, str) and re.fullmatch(r"seed\d{1,20}", name, re.ASCII) else "")
    if run == folder or run.is_symlink() or not run.is_dir():
        raise InputError("damaged", where=folder / SUMMARY, allowed="it must name the best seed's run, a folder in it")
    return run


def shipped_checkpoints() -> dict[str, Path]:
    """Returns the folders of the checkpoints that are part of the package, by name; one may have several names."""
    root = Path(str(resources.files("veriscene"))) / "checkpoints"
    if not root.is_dir():
        return {}
    own = {path.name: path for path in sorted(root.iterdir()) if (path / CONFIG).is_file()}
    aliases = read_json(root / ALIASES) if (root / ALIASES).is_file() else {}
    return own | {alias: own[name] for alias, name in aliases.items()}


def shipped_readers() -> dict[str, Path]:
    """Returns the readers that judge by themselves and are part of the package, by name."""
    root = Path(str(resources.files("veriscene"))) / "checkpoints" / "readers"
    return {path.stem: path for path in sorted(root.glob("*.safetensors"))}


def read_json(path: Path) -> Any:
    """Returns the value of a JSON file; raises InputError if it is damaged."""
    try:
        return files.parse_json(files.read_text(path))
    except InputError as error:
        raise InputError(f"damaged, {error.what}", where=error.where or path, allowed=error.allowed) from None


def read_metrics(folder: Path) -> dict[str, Any]:
    """Returns what is recorded about the checkpoint in exactly this folder."""
    found = read_json(folder / METRICS) if (folder / METRICS).exists() else {}
    return found if isinstance(found, dict) else {}


# ---------------------------------------------------------------- what can be trained and loaded


@dataclass(frozen=True)
class ListedModel:
    """Describes a kind of model that `veriscene train` builds."""

    name: str
    summary: str
    presets: list[str]


@dataclass(frozen=True)
class ListedCheckpoint:
    """Describes a trained model that `veriscene.load` takes, by name or folder."""

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
            metrics = read_metrics(own)
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
