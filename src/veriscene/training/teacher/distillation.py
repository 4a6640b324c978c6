"""Several trained models teach one: half of each label is the mean of their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from veriscene.errors import InputError
from veriscene.models.base import Model, judge_in_batches
from veriscene.tensors.batch import Batch, required
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training import checkpoint as checkpoints

WEIGHT = 0.5  # of the models; the rest is what the program says
BATCH = 4096


def load_models(name_or_folder: str, vocabulary: Vocabulary) -> list[Model]:
    """The model of that name or folder, or those of all seeds in the folder; InputError if they read other words."""
    folders: list[str | Path] = [*sorted(Path(name_or_folder).glob("seed*/best"))]
    found = [checkpoints.load(each) for each in folders or [name_or_folder]]
    if any(each.encoder.vocabulary != vocabulary for each in found):
        what, allowed = "was trained with another vocabulary", "distil models that the same statements have taught"
        raise InputError(what, where=name_or_folder, allowed=allowed)
    return [each.model for each in found]


def soften(corpus: Batch, models: Sequence[Model]) -> Batch:
    """The corpus with softer labels. The models read it as the student does, typing errors included."""
    mean = torch.zeros_like(required(corpus.labels))
    for model in models:
        for numbers, _, judgement in judge_in_batches(model.to(corpus.device), corpus, size=BATCH):
            mean[numbers] += judgement.logits.float().sigmoid() / len(models)
    labels: Tensor = required(corpus.labels) * (1 - WEIGHT) + WEIGHT * mean
    return replace(corpus, labels=labels)
