"""Several trained models teach one: half of each label is the mean of their probabilities."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from veriscene.config import ModelConfig
from veriscene.errors import InputError
from veriscene.models.base import Model, judge_in_batches
from veriscene.tensors.batch import Batch, required
from veriscene.tensors.encoder import Encoder
from veriscene.training.checkpoint import Checkpoint
from veriscene.training.initial import load_initial

WEIGHT = 0.5  # of the models; the rest is what the program says
BATCH = 4096
_ALLOWED = "distil models of the same inputs that the same statements have taught"


def load_models(name_or_folder: str, student: ModelConfig, encoder: Encoder) -> list[Checkpoint]:
    """The model of that name or folder, or those of all seeds in the folder; none for an empty name. Raises InputError
    if they cannot read what the student reads."""
    if not name_or_folder:
        return []
    folders: list[str | Path] = []
    with suppress(OSError):  # a name that is too long for a folder
        folders += sorted(Path(name_or_folder).glob("seed*/best"))
    folders = folders or [name_or_folder]
    found = [load_initial(each, student) for each in folders]
    loaded = [each for each in found if each is not None]
    for each in loaded:
        if each.encoder.vocabulary != encoder.vocabulary:
            raise InputError("was trained with another vocabulary", where=name_or_folder, allowed=_ALLOWED)
        if not each.encoder.inputs <= encoder.inputs:
            what = f"a {each.config.model.name} does not read what a {student.name} reads"
            raise InputError(what, where=name_or_folder, allowed=_ALLOWED)
    return loaded


def checksum(models: Sequence[Model]) -> int:
    """Changes with any weight."""
    result = 0
    for tensor in (tensor for model in models for tensor in model.state_dict().values()):
        result = zlib.crc32(tensor.cpu().numpy().tobytes(), result)
    return result


def soften(corpus: Batch, models: Sequence[Model]) -> Batch:
    """The corpus with softer labels. The models read it as the student does, typing errors included."""
    mean = torch.zeros_like(required(corpus.labels))
    for model in models:
        for numbers, _, judgement in judge_in_batches(model.to(corpus.device), corpus, size=BATCH):
            mean[numbers] += judgement.logits.float().sigmoid() / len(models)
    labels: Tensor = required(corpus.labels) * (1 - WEIGHT) + WEIGHT * mean
    return replace(corpus, labels=labels)
