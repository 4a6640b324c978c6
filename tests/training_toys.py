"""Small models with what no shipped model has: running statistics, and pixels as input."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from veriscene.config import ModelConfig, size
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Input
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models import Judgement, Model
from veriscene.world.schema import World

NAME = "batch-norm"


@dataclass(frozen=True)
class BatchNormConfig(ModelConfig):
    name: str = NAME
    hidden: int = size(8)


class BatchNormModel(Model):
    Config = BatchNormConfig
    summary = "sums of words and items, normalized over the batch: buffers change without gradients"

    def __init__(self, config: BatchNormConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        hidden = config.hidden
        self.words = nn.Embedding(len(vocabulary), hidden, padding_idx=PADDING)
        self.items = nn.Linear(world.feature_count, hidden)
        self.norm = nn.BatchNorm1d(2 * hidden)
        self.score = nn.Linear(2 * hidden, 1)

    def forward(self, batch: Batch) -> Judgement:
        items = self.items(required(batch.items).features.sum(dim=(1, 2)))
        joined = torch.cat([self.words(batch.statement.words).sum(dim=1), items], dim=1)
        return Judgement(logits=self.score(torch.relu(self.norm(joined)))[:, 0])


@dataclass(frozen=True)
class PixelConfig(ModelConfig):
    name: str = "pixel"


class PixelModel(Model):
    Config = PixelConfig
    summary = "the mean colour of each box"
    inputs = frozenset({Input.PIXELS})

    def __init__(self, config: PixelConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.score = nn.Linear(3 * world.boxes[1], 1)

    def forward(self, batch: Batch) -> Judgement:
        colors = required(batch.pixels).float().mean(dim=(2, 3)) / 255
        return Judgement(logits=self.score(colors.flatten(1))[:, 0])
