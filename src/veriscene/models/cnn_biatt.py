"""CNN-BiENC and CNN-BiATT: a BiLSTM reads the words, and cells of a feature map take the place of items."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veriscene.config import choice, number, share, size
from veriscene.data.batch import Batch
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models.base import Judgement
from veriscene.models.layers.attention import CellMatching, CellReader, Sequences
from veriscene.models.layers.pooling import POOLINGS, SCORE_COMBINATIONS, make_pooling
from veriscene.models.layers.recurrence import BiLSTM, last_outputs, xavier_
from veriscene.models.vision.feature_maps import FeatureMapConfig, FeatureMapModel
from veriscene.world.schema import World


@dataclass(frozen=True)
class CellReadingConfig(FeatureMapConfig):
    """With the values of appendix A.3."""

    embedding: int = size(128)
    hidden: int = size(256)
    filters: int = size(512, "Filters of the convolution on cells.")
    dropout: float = share(0.3)
    forget_bias: float = number(0.0, -10.0, 10.0)


class CellReadingModel(FeatureMapModel, ABC):
    def __init__(self, config: CellReadingConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.embed_words = nn.Embedding(len(vocabulary), config.embedding, padding_idx=PADDING)
        self.lang_lstm = BiLSTM(config.embedding, config.hidden, config.dropout)
        self.embed_cells = nn.Linear(self.channels, 2 * config.hidden)  # W_x, b_x

    def read_statement(self, batch: Batch) -> Sequences:
        """h (batch, word, 2 hidden)."""
        lengths = batch.statement.lengths
        return Sequences(self.lang_lstm(self.embed_words(batch.statement.words), lengths), lengths)

    def read_cells(self, batch: Batch) -> Tensor:
        """a_l = relu(W_x f_l + b_x), row by row: (batch, box, cell, 2 hidden)."""
        return torch.relu(self.embed_cells(self.cells(batch)))

    def initialize(self, forget_bias: float) -> None:
        """Initializes all but the backbone as in the appendix."""
        for name, part in self.named_children():
            if name != "backbone":
                xavier_(part, forget_bias=forget_bias)


@dataclass(frozen=True)
class CNNBiENCConfig(CellReadingConfig):
    name: str = "cnn-bienc"
    pooling: str = choice("max", SCORE_COMBINATIONS)


class CNNBiENC(CellReadingModel):
    """Scores the similarity of a statement's last hidden output and what a CNN makes of a box (appendix A.3.3)."""

    Config = CNNBiENCConfig
    summary = "CNN-BiENC: similarity of the statement's last hidden output and a CNN's"

    def __init__(self, config: CNNBiENCConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.cell_cnn = CellReader(2 * config.hidden, config.filters)
        self.dropout = nn.Dropout(config.dropout)
        self.similarity = nn.Linear(2 * config.hidden, config.filters, bias=False)
        self.combine = SCORE_COMBINATIONS[config.pooling]
        self.initialize(config.forget_bias)

    def layers_on_maps(self) -> tuple[nn.Module, nn.Module]:
        return self.embed_cells, self.cell_cnn

    def forward(self, batch: Batch) -> Judgement:
        h = last_outputs(*self.read_statement(batch))
        g = self.dropout(self.cell_cnn(self.read_cells(batch)))
        scores = torch.einsum("bd,bjd->bj", self.similarity(h), g)
        return Judgement(logits=self.combine(scores, None), scores=scores)


@dataclass(frozen=True)
class CNNBiATTConfig(CellReadingConfig):
    name: str = "cnn-biatt"
    joint: int = size(512)
    mlp: int = size(512)
    pooling: str = choice("max", POOLINGS)


class CNNBiATT(CellReadingModel):
    """BiATT with the cells of a feature map as objects, and CNNs in the place of their LSTMs (appendix A.1)."""

    Config = CNNBiATTConfig
    summary = "CNN-BiATT: BiATT between words and the cells of a feature map"

    def __init__(self, config: CNNBiATTConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.matching = CellMatching(config.hidden, config.joint, config.dropout, filters=config.filters)
        self.pool = make_pooling(config, world, 2 * config.hidden + config.filters)
        self.initialize(config.forget_bias)

    def layers_on_maps(self) -> tuple[nn.Module, nn.Module]:
        return self.embed_cells, self.matching.cell_cnn

    def forward(self, batch: Batch) -> Judgement:
        words, a = self.read_statement(batch), self.read_cells(batch)
        matched = self.matching(words, Sequences(a, torch.full(a.shape[:2], a.size(2), device=a.device)))
        logits, scores = self.pool(matched.vectors, None)
        return Judgement(logits=logits, scores=scores, alpha=matched.alpha, beta=matched.beta)
