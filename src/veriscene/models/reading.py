"""Models that read words and items with one BiLSTM each (equations 1 to 3): BiENC, BiATT, BiDAF."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

from torch import Tensor, nn

from veriscene.config import size
from veriscene.data.batch import Statement
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models.base import Model, RecurrentConfig
from veriscene.models.layers.bilstm import BiLSTM
from veriscene.models.layers.coordinates import ItemEmbedding
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
