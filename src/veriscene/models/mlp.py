"""MLP (Suhr et al. 2017): the features of MaxEnt, embedded, averaged, and scored by one hidden layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from veriscene.models.counts.features import NO_FEATURE, CountFeatures
from veriscene.models.counts.growing import loads_any_length
from veriscene.models.layers.attention import xavier_
from veriscene.models.layers.pooling import Scorer
from veriscene.models.size import check_size
from veriscene.models.whole_image import WholeImage
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import Vocabulary

_START = 0.01  # the features' vectors are drawn from [-0.01, 0.01]


class MLP(WholeImage):
    reads_in_order = False

    def __init__(self, *, words: Vocabulary, embedding: int = 32, mlp: int = 32, dropout: float = 0.0) -> None:
        super().__init__()
        self.features = CountFeatures(words=words)
        self.vectors = nn.Parameter(torch.zeros(1, embedding))  # (feature, embedding)
        self.scorer = Scorer(embedding, mlp, dropout)
        xavier_(self.scorer)
        loads_any_length(self)

    def judge(self, batch: Batch) -> Tensor:
        # Features that training never saw, NO_FEATURE, are not averaged over.
        mean = embedding_bag(self.features(batch), self.vectors, mode="mean", padding_idx=NO_FEATURE)
        scores: Tensor = self.scorer(mean)
        return scores

    def prepare(self, corpus: Batch) -> None:
        """Takes the features that occur in the corpus, with fresh vectors: to be called before an optimiser is made."""
        features, embedding = self.features.learn(corpus), self.vectors.size(1)
        check_size(
            features * embedding,
            what=f"mlp with model.embedding={embedding} for each of {features:,} features",
            cure="lower it",
        )
        vectors = self.vectors.new_empty(features, embedding)
        self.vectors = nn.Parameter(nn.init.uniform_(vectors, -_START, _START))
