"""A model with running statistics: buffers that training changes without gradients."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from veriscene.config import ModelConfig, size
from veriscene.models import Judgement, Model
from veriscene.tensors.batch import Batch, required
from veriscene.tensors.items import ITEM_FEATURES
from veriscene.tensors.vocabulary import Vocabulary

NAME = "batch-norm"


@dataclass(frozen=True)
class BatchNormConfig(ModelConfig):
    name: str = NAME
    hidden: int = size(8)


class BatchNormModel(Model):
    Config = BatchNormConfig
    summary = "sums of words and items, normalized over the batch"

    def __init__(self, *, vocabulary: Vocabulary, hidden: int) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(len(vocabulary), hidden, mode="sum")
        self.items = nn.Linear(ITEM_FEATURES, hidden)
        self.norm = nn.BatchNorm1d(2 * hidden)
        self.score = nn.Linear(2 * hidden, 1)

    def forward(self, batch: Batch) -> Judgement:
        items = self.items(required(batch.items).features.sum(dim=(1, 2)))
        joined = torch.cat([self.words(batch.statement.words), items], dim=1)
        return Judgement(logits=self.score(torch.relu(self.norm(joined)))[:, 0])
