"""BiATT (section 3.1): joint bidirectional attention between the words of a statement and the items of each box."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from veriscene.config import size
from veriscene.models.base import Judgement, Model, RecurrentConfig
from veriscene.models.layers.attention import Matching, Sequences
from veriscene.models.layers.bilstm import BiLSTM, xavier_
from veriscene.models.layers.coordinates import ItemEmbedding
from veriscene.models.layers.pooling import make_pooling
from veriscene.models.layers.streams import concurrently
from veriscene.tensors.batch import Batch, Statement, required
from veriscene.tensors.vocabulary import PADDING, Vocabulary

MATCHING = ("b1", "b2", "w_lang", "w_obj", "word_lstm", "item_lstm")  # belonged to BiATT itself in format 1


@dataclass(frozen=True)
class BiATTConfig(RecurrentConfig):
    name: str = "biatt"
    item: int = size(64)
    joint: int = size(512)
    mlp: int = size(512)


class BiATT(Model):
    Config = BiATTConfig
    summary = "BiATT: joint bidirectional attention"
    renamed = tuple((f"{name}.", f"matching.{name}.") for name in MATCHING)

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        embedding: int,
        hidden: int,
        item: int,
        joint: int,
        mlp: int,
        dropout: float,
        pooling: str,
        forget_bias: float,
        coordinates: str,
    ) -> None:
        super().__init__()
        self.embed_words = nn.Embedding(len(vocabulary), embedding, padding_idx=PADDING)
        self.embed_items = ItemEmbedding(item, coordinates)
        self.lang_lstm = BiLSTM(embedding, hidden, dropout)
        self.obj_lstm = BiLSTM(item, hidden, dropout)
        self.matching = Matching(size=2 * hidden, joint=joint, hidden=hidden, dropout=dropout)
        self.pool = make_pooling(pooling, size=4 * hidden, units=hidden, hidden=mlp, dropout=dropout)
        xavier_(self, forget_bias=forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        items, lengths = required(batch.items), batch.statement.lengths
        h, g = concurrently(
            lambda: self.lang_lstm.dropout(self.read_statement(batch.statement)),
            lambda: self.read_items(self.embed_items(items.features), items.counts),
        )
        return self.match(Sequences(h, lengths), Sequences(g, items.counts), items.given_order)

    def read_statement(self, statement: Statement) -> Tensor:
        """LANG-LSTM, equation 1, before dropout: (batch, word, 2 hidden)."""
        return self.lang_lstm.read(self.embed_words(statement.words), statement.lengths)

    def read_items(self, e: Tensor, counts: Tensor) -> Tensor:
        """OBJ-LSTM, equation 3: items e (batch, box, place, item) in any order -> (batch, box, place, 2 hidden)."""
        g: Tensor = self.obj_lstm(e.flatten(0, 1), counts.flatten()).unflatten(0, counts.shape)
        return g

    def match(self, words: Sequences, objects: Sequences, order: Tensor) -> Judgement:
        """Words against the items of each box, which were read in the given order (batch, box, place)."""
        matched = self.matching(words, objects)
        logits, scores = self.pool(matched.vectors)  # 14, 15
        return Judgement(logits=logits, scores=scores, order=order, alpha=matched.alpha, beta=matched.beta)
