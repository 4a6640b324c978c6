"""A checkpoint is a folder: model.safetensors, config.json, vocabulary.json, metrics.json.

Loading needs nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from veriscene import __version__, models
from veriscene.config import Config, from_json
from veriscene.errors import InputError
from veriscene.files import read_text
from veriscene.scenes.nlvr import Example
from veriscene.tensors.batch import Batch, ItemOrder, encode
from veriscene.tensors.vocabulary import Vocabulary

FORMAT = 1
WEIGHTS, CONFIG, VOCABULARY, METRICS = "model.safetensors", "config.json", "vocabulary.json", "metrics.json"
BEST = "best"
ALIASES = "aliases.json"  # of the checkpoints that ship with the package
SUMMARY = "summary.json"  # of a folder of seeds; names the best one's run


@dataclass(frozen=True)
class Checkpoint:
    model: nn.Module
    config: Config
    vocabulary: Vocabulary
    metrics: dict[str, Any]

    def encode(self, examples: Sequence[Example]) -> Batch:
        """Examples as this model reads them in inference: the one path from record to tensor."""
        return encode(examples, self.vocabulary).in_order(ItemOrder(self.config.data.order))


def save(
    folder: Path, checkpoint: Checkpoint, also: Callable[[Path], None] | None = None, *, half: bool = False
) -> None:
    """Writes the folder whole or not at all; `also` may add files of its own to it. `half` halves the weights' size."""
    with _replacing(folder) as partial:
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.model.state_dict().items()}
        if half:
            tensors = {name: t.half() if t.is_floating_point() else t for name, t in tensors.items()}
        save_file(tensors, partial / WEIGHTS, metadata={"format": "pt"})
        _write_json(partial / CONFIG, {"format": FORMAT, "veriscene": __version__, **checkpoint.config.to_json()})
        _write_json(partial / VOCABULARY, list(checkpoint.vocabulary.words))
        _write_json(partial / METRICS, checkpoint.metrics)
        with suppress(OSError):  # not every file system can; a convenience
            shutil.copymode(partial / CONFIG, partial / WEIGHTS)  # which safetensors lets nobody else read
        if also is not None:
            also(partial)


def load(name_or_folder: str | Path, *, device: torch.device | str = "cpu") -> Checkpoint:
    """The checkpoint in a folder (its best one, its best seed), or the one of that name that ships with the package."""
    folder = find(name_or_folder)
    config = _load_config(folder)
    words = _read_json(folder / VOCABULARY)
    if not isinstance(words, list) or len(words) < 2 or not all(isinstance(word, str) for word in words):
        raise InputError(f"{folder / VOCABULARY}: damaged; it must be a JSON list of words")
    vocabulary = Vocabulary(tuple(words))
    metrics = _read_json(folder / METRICS) if (folder / METRICS).exists() else {}
    model = models.build(config.model, vocabulary=vocabulary)
    try:
        model.load_state_dict(load_file(folder / WEIGHTS))
    except (PermissionError, FileNotFoundError):  # it is there; safetensors tells both alike
        raise InputError(f"{folder / WEIGHTS}: cannot be read (Permission denied)") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{folder / WEIGHTS}: damaged ({_first_line(error)}); save or copy it again") from None
    except RuntimeError:
        raise InputError(f"{folder / WEIGHTS}: does not fit {CONFIG}; the files are of different models") from None
    return Checkpoint(model.to(device).eval(), config, vocabulary, metrics if isinstance(metrics, dict) else {})


def find(name_or_folder: str | Path) -> Path:
    """The folder that holds the files of a checkpoint; InputError says what is missing."""
    folder = Path(name_or_folder)
    shipped = shipped_checkpoints()
    if not folder.is_dir():
        if str(name_or_folder) in shipped:
            return shipped[str(name_or_folder)]
        known = f"one of {', '.join(sorted(shipped))}, or " if shipped else ""
        raise InputError(f"{folder}: no such model; give {known}a folder that `veriscene train` wrote")
    folder = best_run(folder)
    if not (folder / CONFIG).exists():
        folder = present(folder / BEST) or folder
    missing = [name for name in (CONFIG, VOCABULARY, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder}: not a checkpoint, {', '.join(missing)} is missing")
    return folder


def best_run(folder: Path) -> Path:
    """The run itself; of a folder of seeds, the run of the best one."""
    if not (folder / SUMMARY).is_file():
        return folder
    summary = _read_json(folder / SUMMARY)
    name = summary.get("best") if isinstance(summary, dict) else None
    if not isinstance(name, str) or not (folder / name).is_dir():
        raise InputError(f"{folder / SUMMARY}: damaged; it must name the best seed's run")
    return folder / name


def present(folder: Path) -> Path | None:
    """Where a folder that `save` replaces is found; not under its own name if a crash came between the two renames."""
    return next((place for place in (folder, _previous(folder)) if place.is_dir()), None)


def shipped_checkpoints() -> dict[str, Path]:
    """The checkpoints that are part of the package, name -> folder; one may have several names."""
    root = Path(str(resources.files("veriscene"))) / "checkpoints"
    if not root.is_dir():
        return {}
    own = {path.name: path for path in sorted(root.iterdir()) if (path / CONFIG).is_file()}
    aliases = _read_json(root / ALIASES) if (root / ALIASES).is_file() else {}
    return own | {alias: own[name] for alias, name in aliases.items()}


def _load_config(folder: Path) -> Config:
    tree = _read_json(folder / CONFIG)
    if not isinstance(tree, dict) or "format" not in tree:
        raise InputError(f"{folder / CONFIG}: not a veriscene configuration")
    if tree.pop("format") != FORMAT:
        raise InputError(f"{folder / CONFIG}: written by another version of veriscene; this one reads format {FORMAT}")
    tree.pop("veriscene", None)
    return from_json(tree, where=str(folder / CONFIG))


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """A new folder under a temporary name that takes `folder`'s place at the end, if nothing failed."""
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    previous = _previous(folder)
    try:
        partial.mkdir(parents=True)
        yield partial
        _recover(folder)
        # A folder that is not empty cannot be replaced in one step; `present` helps after a crash between these two.
        if folder.exists():
            folder.rename(previous)
        partial.rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    except (SafetensorError, RuntimeError) as error:  # how these two say that the disk is full
        raise InputError(f"{folder}: cannot be written ({_first_line(error)})") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(previous, ignore_errors=True)


def _recover(folder: Path) -> None:
    previous = _previous(folder)
    if previous.exists() and not folder.exists():
        previous.rename(folder)


def _previous(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.previous")


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged, not JSON ({_first_line(error)})") from None


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
