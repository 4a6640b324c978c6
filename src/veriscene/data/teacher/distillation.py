"""Several trained models teach one: half of each label is the mean of their probabilities."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from veriscene import files
from veriscene.config import ModelConfig
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Encoder
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import BEST, SEEDS, Checkpoint
from veriscene.models.base import Model, Order, judge_in_batches

WEIGHT = 0.5  # of the models; the rest is what the program says
BATCH = 4096
_ALLOWED = "distil models of the same inputs that the same statements have taught"


def load_models(name_or_folder: str, student: ModelConfig, encoder: Encoder) -> list[Checkpoint]:
    """The model of that name or folder, or those of all seeds in the folder; none for an empty name. Raises InputError
    if they cannot read what the student reads."""
    if not name_or_folder:
        return []
    names: list[str | Path] = [*_seeds(Path(name_or_folder))] or [name_or_folder]
    loaded = [checkpoints.load(each) for each in names]
    for each in loaded:
        if each.encoder.vocabulary != encoder.vocabulary:
            raise InputError("was trained with another vocabulary", where=name_or_folder, allowed=_ALLOWED)
        if not each.encoder.inputs <= encoder.inputs:
            what = f"a {each.config.model.name} does not read what a {student.name} reads"
            raise InputError(what, where=name_or_folder, allowed=_ALLOWED)
        if each.model.order is Order.GIVEN and each.encoder.order is not encoder.order:
            what = f"reads items in the order {each.encoder.order.value}, and here they come {encoder.order.value}"
            raise InputError(what, where=name_or_folder, allowed=f"set data.order={each.encoder.order.value}")
    return loaded


def _seeds(folder: Path) -> list[Path]:
    """The models of a folder of seeds, all of which must be trained; none for any other folder or name."""
    try:
        numbers = json.loads((folder / SEEDS).read_text(encoding="utf-8"))["seeds"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    models = [folder / f"seed{number}" / BEST for number in numbers]
    for model in models:
        if files.present(model) is None:
            raise InputError(f"{model.parent.name} is not trained yet", where=folder, allowed="train all seeds first")
    return models


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
