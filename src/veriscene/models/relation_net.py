"""RelationNet (Santoro et al. 2017, reimplemented as in appendix A.2): the statement asked of every pair of items."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from veriscene.config import size
from veriscene.data.batch import Batch, required
from veriscene.data.items import Items
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models.base import Judgement, Model, Order, RecurrentConfig
from veriscene.models.layers.geometry import encode_positions
from veriscene.models.layers.pooling import Scorer, make_pooling
from veriscene.models.layers.recurrence import lstm_to_final_state, xavier_
from veriscene.world.schema import World


@dataclass(frozen=True)
class RelationNetConfig(RecurrentConfig):
    """Sizes as in appendix A.2: `joint` units per layer in g, `mlp` in f."""

    name: str = "relation-net"
    joint: int = size(256)
    mlp: int = size(256)


class FNet(Scorer):
    """f: a scorer of two hidden layers with ReLU, dropout on the second."""

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__(size, hidden, dropout)
        self.second = nn.Linear(hidden, hidden)

    def forward(self, vectors: Tensor) -> Tensor:
        """(…, size) -> (…)."""
        units = torch.relu(self.second(torch.relu(self.first(vectors))))
        scores: Tensor = self.last(self.dropout(units)).squeeze(-1)
        return scores


class RelationNet(Model):
    """RN(O) = f(Σ_ik g(o_i, o_k, q)).

    A relation holds within a box. With pooling `max` or `mean`, f scores each box; with the others it judges the boxes'
    sums together.
    """

    Config = RelationNetConfig
    summary = "RelationNet: the statement asked of every pair of items"
    order = Order.NONE

    def __init__(self, config: RelationNetConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.coordinates = config.coordinates
        self.embed_words = nn.Embedding(len(vocabulary), config.embedding, padding_idx=PADDING)
        self.lang_lstm = nn.LSTMCell(config.embedding, config.hidden)
        self.dropout = nn.Dropout(config.dropout)  # not in appendix A.2; on the hidden outputs of LSTMs in A.3.1
        # Items enter as they are: a linear embedding before a linear layer would add nothing.
        self.g1 = nn.Linear(2 * world.feature_count + config.hidden, config.joint)
        self.g2 = nn.Linear(config.joint, config.joint)
        self.g3 = nn.Linear(config.joint, config.joint)
        self.pool = make_pooling(config, world, config.joint, FNet)
        xavier_(self, forget_bias=config.forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        statement, items = batch.statement, required(batch.items)
        _, (q, _) = lstm_to_final_state(self.lang_lstm, self.embed_words(statement.words), statement.lengths)
        logits, scores = self.pool(self.relations(self.dropout(q), items), items.box_mask)
        return Judgement(logits=logits, scores=scores)

    def relations(self, q: Tensor, items: Items) -> Tensor:
        """Σ_ik g(o_i, o_k, q) over all ordered pairs of a box's items, (batch, box, joint), for q (batch, hidden).

        An item is also paired with itself, so a box with a single item has a relation too.
        """
        parts = [self.world.feature_count, self.world.feature_count, q.size(-1)]
        of_first, of_second, of_question = torch.split(self.g1.weight, parts, dim=1)
        # W [o_i; o_k; q] in parts: the wide concatenation is never materialised, and q is used once for all pairs.
        question = linear(q, of_question, self.g1.bias)[:, None, None]
        features = encode_positions(items.features, self.coordinates, self.world)
        first = linear(features, of_first) + question
        second = linear(features, of_second)
        pairs = torch.relu(first[:, :, :, None] + second[:, :, None])  # (batch, box, item, item, joint)
        g = torch.relu(self.g3(torch.relu(self.g2(pairs))))
        present = items.mask[:, :, :, None] & items.mask[:, :, None]
        return g.masked_fill(~present[..., None], 0).sum(dim=(2, 3))
