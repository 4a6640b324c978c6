"""MLP (Suhr et al. 2017): the features of MaxEnt, embedded, averaged, and scored by one hidden layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.functional import embedding_bag

from veriscene.config import ModelConfig, size
from veriscene.data.batch import Batch
from veriscene.data.vocabulary import Vocabulary
from veriscene.models.base import Judgement, Model, Order, check_weights, resize_on_load
from veriscene.models.count_features import NO_FEATURE, CountFeatures
from veriscene.models.layers.pooling import Scorer
from veriscene.models.layers.recurrence import xavier_
from veriscene.world.schema import World

_INITIAL_RANGE = 0.01  # of the features' vectors


@dataclass(frozen=True)
class MLPConfig(ModelConfig):
    name: str = "mlp"
    embedding: int = size(32)
    mlp: int = size(32)


class MLP(Model):
    Config = MLPConfig
    summary = "MLP: the features of MaxEnt as embeddings"
    order = Order.NONE

    def __init__(self, config: MLPConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.features = CountFeatures(vocabulary, world)
        self.vectors = nn.Parameter(torch.zeros(1, config.embedding))  # (feature, embedding)
        self.scorer = Scorer(config.embedding, config.mlp, dropout=0.0)
        xavier_(self.scorer)
        resize_on_load(self)

    def forward(self, batch: Batch) -> Judgement:
        # Features that did not occur in training, NO_FEATURE, are excluded from the mean.
        mean = embedding_bag(self.features(batch), self.vectors, mode="mean", padding_idx=NO_FEATURE)
        return Judgement(logits=self.scorer(mean))

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": [self.vectors], "orthogonal": False}, {"params": list(self.scorer.parameters())}]

    def prepare(self, corpus: Batch) -> None:
        """Takes the features that occur in the corpus, and gives each a fresh vector."""
        features, embedding = self.features.learn(corpus), self.vectors.size(1)
        check_weights(
            features * embedding,
            what=f"mlp with model.embedding={embedding} for each of {features:,} features",
            allowed="lower model.embedding",
        )
        vectors = self.vectors.new_empty(features, embedding)
        self.vectors = nn.Parameter(nn.init.uniform_(vectors, -_INITIAL_RANGE, _INITIAL_RANGE))
