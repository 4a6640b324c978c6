"""MaxEnt and MLP (Suhr et al. 2017): models of conjunctions of n-grams and counts."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from veriscene.config import ModelConfig, number, size
from veriscene.data.batch import Batch, required
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError, MissingRequirement
from veriscene.models.base import Judgement, Model, Order, check_weights, resize_on_load
from veriscene.models.count_features import NO_FEATURE, CountFeatures
from veriscene.models.layers.pooling import Scorer
from veriscene.models.layers.recurrence import xavier_
from veriscene.world.schema import World


@dataclass(frozen=True)
class MaxEntConfig(ModelConfig):
    name: str = "maxent"
    penalty: float = number(20.0, 1e-6, 1e6, "Weights w, the bias among them, cost penalty / 2 |w|².")


class MaxEnt(Model):
    """A log-linear model. An optimizer has nothing to do: the problem is convex, and `fit` finds its one optimum."""

    Config = MaxEntConfig
    summary = "MaxEnt: conjunctions of n-grams and counts"
    order = Order.NONE
    is_fitted = True

    def __init__(self, config: MaxEntConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.penalty = config.penalty
        self.features = CountFeatures(vocabulary, world)
        self.register_buffer("weights", torch.zeros(1))  # (feature,); that of NO_FEATURE is zero
        self.register_buffer("bias", torch.zeros(()))
        self.weights: Tensor
        self.bias: Tensor
        resize_on_load(self)

    def forward(self, batch: Batch) -> Judgement:
        return Judgement(logits=self.weights[self.features(batch)].sum(dim=1) + self.bias)

    def prepare(self, corpus: Batch) -> None:
        """Takes the features that occur in the corpus."""
        labels = required(corpus.labels)
        if labels.min() == labels.max():
            raise InputError("all labels of the train split are the same", allowed="maxent needs true and false ones")
        self.weights = self.weights.new_zeros(self.features.learn(corpus))

    def check_requirements(self) -> None:
        if importlib.util.find_spec("sklearn") is None:  # importing it would take seconds
            install = "install it with: pip install 'veriscene[maxent]'"
            raise MissingRequirement("training maxent needs scikit-learn, which is not installed", allowed=install)

    def fit(self, corpus: Batch) -> None:
        self.check_requirements()
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression

        columns, ends = [], [torch.zeros(1, dtype=torch.int64)]
        for chunk in self.features.chunks(corpus):
            features = self.features(chunk)
            columns.append(features[features != NO_FEATURE].cpu())
            ends.append((features != NO_FEATURE).sum(dim=1).cpu())
        column, end = torch.cat(columns).numpy(), torch.cat(ends).cumsum(dim=0).numpy()
        present = csr_matrix((torch.ones(len(column)).numpy(), column, end), shape=(len(corpus), len(self.weights)))
        # There are far fewer examples than features: dual coordinate descent is several times faster than the others.
        regression = LogisticRegression(
            C=1 / self.penalty, solver="liblinear", dual=True, tol=1e-3, max_iter=1000, random_state=0
        ).fit(present, required(corpus.labels).cpu().numpy())
        self.weights.copy_(torch.from_numpy(regression.coef_[0]))
        self.bias.copy_(torch.from_numpy(regression.intercept_)[0])


# ---------------------------------------------------------------- MLP

INITIAL_RANGE = 0.01  # of the features' vectors


@dataclass(frozen=True)
class MLPConfig(ModelConfig):
    name: str = "mlp"
    embedding: int = size(32)
    mlp: int = size(32)


class MLP(Model):
    """The features of MaxEnt, embedded, averaged, and scored by one hidden layer."""

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
        self.vectors = nn.Parameter(nn.init.uniform_(vectors, -INITIAL_RANGE, INITIAL_RANGE))
