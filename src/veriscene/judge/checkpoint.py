"""Checkpoints in torch: a model with its settings, its vocabulary and its world, in a folder; and a judge that answers
with one, on any device."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from veriscene import __version__, files, models, worlds
from veriscene.config import Config
from veriscene.data.batch import Batch
from veriscene.data.encoder import Encoded, Encoder, scattered
from veriscene.data.reader import ProgramReader
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError, first_line, located
from veriscene.judge.folders import (
    CONFIG,
    METRICS,
    READER,
    VOCABULARY,
    WEIGHTS,
    WORLD,
    find,
    read_json,
    read_metrics,
)
from veriscene.judge.judge import FIELDS, MAPS, Array, NetworkJudge
from veriscene.models import Model
from veriscene.models.base import check_values, read_weights
from veriscene.models.captured import MIN_ROWS, Captured, Tensors, multiple, padded_count
from veriscene.models.reader import Reader
from veriscene.world.examples import Example
from veriscene.world.world_file import to_tree, world_of

FORMAT = 2
GPU_GROUP, SIZE_STEP = 2048, 4  # questions that a GPU judges together; their words and items are padded to multiples


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
            raise reason or InputError(f"cannot be written ({first_line(error)})", where=folder) from None
        with suppress(OSError):  # safetensors makes its file unreadable for others
            shutil.copymode(partial / CONFIG, partial / WEIGHTS)


def load(name_or_folder: str | Path, *, device: torch.device | str = "cpu") -> Checkpoint:
    """Loads the shipped checkpoint of that name, the one in a folder (its best one, its best seed), or `owner/name` on
    the Hugging Face hub."""
    folder = find(name_or_folder)
    config = load_config(folder)
    vocabulary, world = _load_vocabulary(folder / VOCABULARY), worlds.get()
    if (folder / WORLD).exists():
        world = world_of(read_json(folder / WORLD), where=str(folder / WORLD))
    metrics = read_metrics(folder)
    with located(folder / CONFIG):
        model = models.build(config.model, vocabulary=vocabulary, world=world)
    weights = read_weights(folder / WEIGHTS)
    with located(folder / WEIGHTS):
        check_values(weights, model.state_dict())
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        what = f"does not fit {CONFIG}; the files are of different models"
        raise InputError(what, where=folder / WEIGHTS) from None
    encoder = models.encoder(config, vocabulary, world)
    return Checkpoint(model.to(device).eval(), config, encoder, metrics)


def load_config(folder: Path) -> Config:
    """Reads the configuration of the checkpoint in exactly this folder."""
    path = folder / CONFIG
    tree = read_json(path)
    if not isinstance(tree, dict) or "format" not in tree:
        raise InputError("not a veriscene configuration", where=path)
    if tree.pop("format") != FORMAT:
        what = "written by another version of veriscene"
        raise InputError(what, where=path, allowed=f"this one reads format {FORMAT}")
    tree.pop("veriscene", None)
    return models.read_config(tree, where=str(path))


def _load_vocabulary(path: Path) -> Vocabulary:
    words = read_json(path)
    if not isinstance(words, list):
        raise InputError("damaged", where=path, allowed="it must be a JSON list of words")
    with located(path):
        return Vocabulary(tuple(words))


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- the judge that answers with one


class TorchJudge(NetworkJudge):
    """Answers with a checkpoint, on the checkpoint's device."""

    def __init__(self, checkpoint: Checkpoint, reader: ProgramReader | None = None) -> None:
        self.checkpoint, self.encoder, self.order = checkpoint, checkpoint.encoder, checkpoint.model.order
        self.reader, self.name, self.metrics = reader, checkpoint.config.model.name, checkpoint.metrics
        self._captured: dict[tuple[str, ...], tuple[list[str], Captured]] = {}  # by fields that the model is given

    @classmethod
    def load(cls, name_or_folder: str | Path, *, device: str = "cpu") -> TorchJudge:
        """Loads a shipped checkpoint by name, a folder that holds one, or `owner/name` on the Hugging Face hub."""
        folder = find(name_or_folder)
        reader = folder / READER
        return cls(load(folder, device=device), load_reader(reader, device=device) if reader.exists() else None)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_captured": {}}

    def _saved(self) -> Checkpoint:
        return self.checkpoint

    def _write(self, folder: Path) -> None:
        save(folder, self.checkpoint)
        if self.reader is not None:
            self.reader.save(folder / READER)

    def run(self, encoded: Encoded, fields: Collection[str] = FIELDS) -> dict[str, Array]:
        """Judges encoded questions; a GPU runs CUDA graphs for many of them without maps."""
        model, device = self.checkpoint.model, self.checkpoint.device
        if model.training:  # it visits every module, which takes as long as some layers
            model.eval()
        if device.type == "cuda" and len(encoded.words) >= MIN_ROWS and not set(fields) & set(MAPS):
            return self._run_captured(encoded, fields)
        with torch.inference_mode():
            judgement = model(Batch.of(encoded).to(device))
        found = {name: getattr(judgement, name) for name in FIELDS if name in fields}
        return {name: tensor.cpu().numpy() for name, tensor in found.items() if tensor is not None}

    def _run_captured(self, encoded: Encoded, fields: Collection[str]) -> dict[str, Array]:
        model = self.checkpoint.model
        inputs = tuple(name for name, array in vars(encoded).items() if array is not None)
        key = (*inputs, *fields)
        if key not in self._captured:
            names: list[str] = []  # of the outputs

            def judge(*tensors: Tensor) -> Tensors:
                judgement = model(Batch.of_tensors(dict(zip(inputs, tensors, strict=True))))
                names[:] = [name for name in FIELDS if name in fields and getattr(judgement, name) is not None]
                return tuple(getattr(judgement, name) for name in names)

            self._captured[key] = names, Captured(judge, self.checkpoint.device)
        names, run = self._captured[key]
        parts = []
        for rows, words, items in encoded.groups(GPU_GROUP):
            sizes = multiple(words, SIZE_STEP), multiple(items, SIZE_STEP)
            group = encoded.fitted(np.resize(rows, padded_count(len(rows))), *sizes)
            results = run(*(torch.from_numpy(getattr(group, name)) for name in inputs))
            parts.append((rows, {n: t[: len(rows)].cpu().numpy() for n, t in zip(names, results, strict=True)}))
        return scattered(parts)


def check_device(device: str) -> None:
    """Raises InputError for a device that this machine does not have."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        what = f"cannot be used here ({first_line(error)})"
        allowed = "use cpu, or cuda on a machine with a GPU"
        raise InputError(what, where=f"device {device!r}", allowed=allowed) from None


def load_reader(path: Path, *, device: str) -> Reader:
    """Loads a reader that will not learn any more."""
    reader = Reader.load(path, device=device)
    reader.capture()
    return reader
