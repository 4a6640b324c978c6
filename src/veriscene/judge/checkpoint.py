"""A checkpoint is a folder: model.safetensors, config.json, vocabulary.json, world.json and metrics.json."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from veriscene import __version__, files, models, worlds
from veriscene.config import Config
from veriscene.data.batch import Batch
from veriscene.data.encoder import Encoder
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.models import Model
from veriscene.world.examples import Example
from veriscene.world.world_file import to_tree, world_of

FORMAT = 2
WEIGHTS, CONFIG, VOCABULARY, METRICS = "model.safetensors", "config.json", "vocabulary.json", "metrics.json"
WORLD, READER = "world.json", "reader.safetensors"  # the reader may be missing
FILES = (WEIGHTS, CONFIG, VOCABULARY, WORLD, METRICS)
BEST = "best"
ALIASES = "aliases.json"  # of the checkpoints that ship with the package
SUMMARY = "summary.json"  # of a folder of seeds; names the run of the best one
MOST_BYTES = 1 << 30  # of a weights file: tables of MaxEnt and MLP included
_REPOSITORY = re.compile(r"(?P<owner>\w[\w.-]*)/\w[\w.-]*", re.ASCII)


@dataclass(frozen=True)
class Checkpoint:
    model: Model
    config: Config
    encoder: Encoder
    metrics: dict[str, Any]

    @property
    def device(self) -> torch.device:
        """Returns where the model is. To use another device, load it there: moving a module changes it in place."""
        return next(chain(self.model.parameters(), self.model.buffers())).device  # a state_dict takes a while

    def encode(self, examples: Sequence[Example]) -> Batch:
        """Encodes examples as the model reads them in inference, on its device."""
        return self.encoder(examples).to(self.device)


def save(
    folder: Path, checkpoint: Checkpoint, also: Callable[[Path], None] = lambda partial: None, *, half: bool = False
) -> None:
    """Writes the folder completely or not at all; `also` may add files. `half` stores weights in half precision."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.model.state_dict().items()}
    if half:
        tensors = {name: t.half() if t.is_floating_point() else t for name, t in tensors.items()}
    with files.replacing(folder) as partial:
        _write_json(partial / CONFIG, {"format": FORMAT, "veriscene": __version__, **checkpoint.config.to_json()})
        _write_json(partial / VOCABULARY, list(checkpoint.encoder.vocabulary.words))
        _write_json(partial / WORLD, to_tree(checkpoint.encoder.world))
        _write_json(partial / METRICS, checkpoint.metrics)
        try:
            save_file(tensors, partial / WEIGHTS, metadata={"format": "pt"})
            also(partial)
        except (SafetensorError, RuntimeError) as error:  # how safetensors and torch report a full disk
            reason: BaseException | None = error
            while reason is not None and not isinstance(reason, OSError):
                reason = reason.__context__
            raise reason or InputError(f"cannot be written ({_first_line(error)})", where=folder) from None
        with suppress(OSError):  # safetensors makes its file unreadable for others
            shutil.copymode(partial / CONFIG, partial / WEIGHTS)


def load(name_or_folder: str | Path, *, device: torch.device | str = "cpu") -> Checkpoint:
    """Loads the shipped checkpoint of that name, the one in a folder (its best one, its best seed), or `owner/name` on
    the Hugging Face hub."""
    folder = find(name_or_folder)
    config = load_config(folder)
    vocabulary, world = _load_vocabulary(folder / VOCABULARY), worlds.get()
    if (folder / WORLD).exists():
        world = world_of(_read_json(folder / WORLD), where=str(folder / WORLD))
    metrics = _read_json(folder / METRICS) if (folder / METRICS).exists() else {}
    try:
        model = models.build(config.model, vocabulary=vocabulary, world=world)
    except InputError as error:
        raise error.at(folder / CONFIG) from None
    weights = _load_weights(folder / WEIGHTS)
    _check_weights(weights, model.state_dict(), folder / WEIGHTS)
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        what = f"does not fit {CONFIG}; the files are of different models"
        raise InputError(what, where=folder / WEIGHTS) from None
    encoder = models.encoder(config, vocabulary, world)
    return Checkpoint(model.to(device).eval(), config, encoder, metrics if isinstance(metrics, dict) else {})


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
            return find(download(str(name_or_folder), (*FILES, READER)))
        known = f"one of {', '.join(sorted(shipped))}, or " if shipped else ""
        raise InputError("no such model", where=folder, allowed=f"give {known}a folder that `veriscene train` wrote")
    folder = best_run(folder)
    if not (folder / CONFIG).exists():
        folder = files.present(folder / BEST) or folder
    missing = [name for name in (CONFIG, VOCABULARY, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise InputError(f"not a checkpoint, {', '.join(missing)} is missing", where=folder)
    return folder


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
        raise InputError(f"cannot be downloaded ({_first_line(error)})", where=where) from None


def best_run(folder: Path) -> Path:
    """Returns the run itself or, for a folder of seeds, the run of the best one."""
    if not (folder / SUMMARY).is_file():
        return folder
    summary = _read_json(folder / SUMMARY)
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
    aliases = _read_json(root / ALIASES) if (root / ALIASES).is_file() else {}
    return own | {alias: own[name] for alias, name in aliases.items()}


def shipped_readers() -> dict[str, Path]:
    """Returns the readers that judge by themselves and are part of the package, by name."""
    root = Path(str(resources.files("veriscene"))) / "checkpoints" / "readers"
    return {path.stem: path for path in sorted(root.glob("*.safetensors"))}


def load_config(folder: Path) -> Config:
    """Reads the configuration of the checkpoint in exactly this folder."""
    path = folder / CONFIG
    tree = _read_json(path)
    if not isinstance(tree, dict) or "format" not in tree:
        raise InputError("not a veriscene configuration", where=path)
    if tree.pop("format") != FORMAT:
        what = "written by another version of veriscene"
        raise InputError(what, where=path, allowed=f"this one reads format {FORMAT}")
    tree.pop("veriscene", None)
    return models.read_config(tree, where=str(path))


def _load_vocabulary(path: Path) -> Vocabulary:
    words = _read_json(path)
    if not isinstance(words, list):
        raise InputError("damaged", where=path, allowed="it must be a JSON list of words")
    try:
        return Vocabulary(tuple(words))
    except InputError as error:
        raise error.at(path) from None


def _load_weights(path: Path) -> dict[str, Tensor]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"has {path.stat().st_size:,} bytes", where=path, allowed=f"at most {MOST_BYTES:,}")
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (PermissionError, FileNotFoundError):  # the file exists; safetensors reports both alike
        raise InputError("cannot be read (Permission denied)", where=path) from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"damaged ({_first_line(error)})", where=path, allowed="save or copy it again") from None


def _check_weights(weights: Mapping[str, Tensor], expected: Mapping[str, Tensor], path: Path) -> None:
    for name, tensor in weights.items():
        own = expected.get(name, tensor).dtype  # load_state_dict reports unknown names
        if tensor.dtype != own and (tensor.dtype, own) != (torch.float16, torch.float32):
            given, wanted = (str(dtype).removeprefix("torch.") for dtype in (tensor.dtype, own))
            raise InputError(f"{name} is of type {given}", where=path, allowed=f"it must be {wanted}")
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{name} holds values that are not finite (NaN or infinity)", where=path)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _read_json(path: Path) -> Any:
    try:
        return files.parse_json(files.read_text(path))
    except InputError as error:
        raise InputError(f"damaged, {error.what}", where=error.where or path, allowed=error.allowed) from None


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
