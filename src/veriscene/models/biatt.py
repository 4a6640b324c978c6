"""BiATT (section 3.1): joint bidirectional attention between the words of a statement and the items of each box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from veriscene.config import size
from veriscene.data.batch import Batch, required
from veriscene.models.base import Judgement
from veriscene.models.layers.attention import ItemMatching, Sequences
from veriscene.models.layers.pooling import make_pooling
from veriscene.models.layers.recurrence import concurrently, xavier_
from veriscene.models.reading import ReadingConfig, ReadingModel
from veriscene.world.schema import World


@dataclass(frozen=True)
class BiATTConfig(ReadingConfig):
    name: str = "biatt"
    joint: int = size(512)
    mlp: int = size(512)


class BiATT(ReadingModel):
    Config = BiATTConfig
    summary = "BiATT: joint bidirectional attention"

    def __init__(
        self,
        *,
        world: World,
        hidden: int,
        joint: int,
        mlp: int,
        dropout: float,
        pooling: str,
        forget_bias: float,
        **reading: Any,
    ) -> None:
        """`reading`: the other settings of ReadingModel."""
        super().__init__(world=world, hidden=hidden, dropout=dropout, **reading)
        self.matching = ItemMatching(size=2 * hidden, joint=joint, hidden=hidden, dropout=dropout)
        self.pool = make_pooling(
            pooling, boxes=world.boxes[1], size=4 * hidden, units=hidden, hidden=mlp, dropout=dropout
        )
        xavier_(self, forget_bias=forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        items, lengths = required(batch.items), batch.statement.lengths
        h, g = concurrently(
            lambda: self.lang_lstm.dropout(self.read_statement(batch.statement)),
            lambda: self.read_items(self.embed_items(items.features), items.lengths),
        )
        return self.match(Sequences(h, lengths), Sequences(g, items.lengths), items.given_order, items.box_mask)

    def match(self, words: Sequences, objects: Sequences, order: Tensor, boxes: Tensor | None) -> Judgement:
        """Words against the items of each box, which were read in the given order (batch, box, place). `boxes`
        says which boxes there are."""
        matched = self.matching(words, objects)
        logits, scores = self.pool(matched.vectors, boxes)  # 14, 15
        return Judgement(logits=logits, scores=scores, order=order, alpha=matched.alpha, beta=matched.beta)
