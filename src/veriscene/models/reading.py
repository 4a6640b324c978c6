"""Models that read words and items with one BiLSTM each (equations 1 to 3): BiENC, BiATT, BiDAF."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from veriscene.config import ModelConfig, number, share, size
from veriscene.data.batch import Batch, Statement
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models.base import Model, RecurrentConfig
from veriscene.models.layers.geometry import ItemEmbedding
from veriscene.models.layers.recurrence import BiLSTM, xavier_
from veriscene.models.vision.seeing import SeeingConfig, SeeingModel
from veriscene.world.schema import World


@dataclass(frozen=True)
class ReadingConfig(RecurrentConfig):
    item: int = size(64)


class ReadingModel(Model, ABC):
    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        world: World,
        embedding: int,
        hidden: int,
        item: int,
        dropout: float,
        coordinates: str,
    ) -> None:
        super().__init__()
        self.embed_words = nn.Embedding(len(vocabulary), embedding, padding_idx=PADDING)
        self.embed_items = ItemEmbedding(item, coordinates, world)
        self.lang_lstm = BiLSTM(embedding, hidden, dropout)
        self.obj_lstm = BiLSTM(item, hidden, dropout)

    def read_statement(self, statement: Statement) -> Tensor:
        """LANG-LSTM, equation 1, before dropout: (batch, word, 2 hidden)."""
        return self.lang_lstm.read(self.embed_words(statement.words), statement.lengths)

    def read_items(self, e: Tensor, counts: Tensor) -> Tensor:
        """OBJ-LSTM, equation 3: items e (batch, box, place, item) in any order -> (batch, box, place, 2 hidden)."""
        g: Tensor = self.obj_lstm(e.flatten(0, 1), counts.flatten()).unflatten(0, counts.shape)
        return g


# ---------------------------------------------------------------- cell reading

# Models that read words with a BiLSTM and see feature-map cells in the place of items: CNN-BiENC, CNN-BiATT.


@dataclass(frozen=True)
class CellReadingConfig(SeeingConfig, ModelConfig):
    """With the values of appendix A.3."""

    embedding: int = size(128)
    hidden: int = size(256)
    filters: int = size(512, "Filters of the convolution on cells.")
    dropout: float = share(0.3)
    forget_bias: float = number(0.0, -10.0, 10.0)


class CellReadingModel(SeeingModel, ABC):
    def __init__(self, *, vocabulary: Vocabulary, embedding: int, hidden: int, dropout: float, **seeing: Any) -> None:
        """`seeing`: the settings of SeeingModel."""
        super().__init__(**seeing)
        self.embed_words = nn.Embedding(len(vocabulary), embedding, padding_idx=PADDING)
        self.lang_lstm = BiLSTM(embedding, hidden, dropout)
        self.embed_cells = nn.Linear(self.backbone.channels, 2 * hidden)  # W_x, b_x

    def read_statement(self, batch: Batch) -> Tensor:
        """h (batch, word, 2 hidden)."""
        h: Tensor = self.lang_lstm(self.embed_words(batch.statement.words), batch.statement.lengths)
        return h

    def read_cells(self, batch: Batch) -> Tensor:
        """a_l = relu(W_x f_l + b_x), row by row: (batch, box, cell, 2 hidden)."""
        return torch.relu(self.embed_cells(self.see(batch).flatten(3).transpose(2, 3)))

    def initialize(self, *, forget_bias: float) -> None:
        """As in the appendix, for all but the backbone."""
        for name, part in self.named_children():
            if name != "backbone":
                xavier_(part, forget_bias=forget_bias)
