"""RelationNet (Santoro et al. 2017, reimplemented as in appendix A.2): a statement asked of every pair of items."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from veriscene.models.base import Judgement
from veriscene.models.layers.attention import xavier_
from veriscene.models.layers.coordinates import check_coordinates, placed
from veriscene.models.layers.pooling import ScorePooling, Scorer, VectorPooling
from veriscene.models.layers.pooling import pooling as make_pooling
from veriscene.models.layers.recurrence import lstm_to_the_end
from veriscene.tensors.batch import Batch
from veriscene.tensors.features import ITEM_FEATURES
from veriscene.tensors.vocabulary import PADDING


class RelationNet(nn.Module):
    """RN(O) = f(Σ_ik g(o_i, o_k, q)) with `joint` units a layer in g and `mlp` in f.

    A relation holds within a box. With pooling `max` or `mean` f scores each box; with the others it judges the three
    boxes' sums together.
    """

    reads_in_order = False

    def __init__(
        self,
        *,
        vocabulary: int,
        embedding: int = 128,
        hidden: int = 256,
        joint: int = 256,
        mlp: int = 256,
        dropout: float = 0.3,
        pooling: str = "max",
        forget_bias: float = 0.0,
        coordinates: str = "corner",
    ) -> None:
        super().__init__()
        self.coordinates = check_coordinates(coordinates)
        self.embed_words = nn.Embedding(vocabulary, embedding, padding_idx=PADDING)
        self.lang_lstm = nn.LSTMCell(embedding, hidden)
        self.dropout = nn.Dropout(dropout)  # not in appendix A.2; on the hidden outputs of LSTMs in A.3.1
        # Items enter as they are: a linear embedding ahead of a linear layer would add nothing.
        self.g1 = nn.Linear(2 * ITEM_FEATURES + hidden, joint)
        self.g2 = nn.Linear(joint, joint)
        self.g3 = nn.Linear(joint, joint)
        pool = make_pooling(pooling, size=joint, units=hidden, hidden=mlp, dropout=dropout)
        assert isinstance(pool, ScorePooling | VectorPooling)
        pool.scorer = FNet(pool.scorer.first.in_features, mlp, dropout)  # as wide as what is pooled
        self.pool = pool
        xavier_(self, forget_bias=forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        _, (q, _) = lstm_to_the_end(self.lang_lstm, self.embed_words(batch.words), batch.lengths)
        logits, scores = self.pool(self.relations(self.dropout(q), batch))
        return Judgement(logits=logits, scores=scores, order=batch.as_they_come)

    def relations(self, q: Tensor, batch: Batch) -> Tensor:
        """Σ_ik g(o_i, o_k, q) over all ordered pairs of a box's items, (batch, box, joint), for q (batch, hidden).

        An item pairs with itself as well, so a box of a single item has a relation too.
        """
        parts = [ITEM_FEATURES, ITEM_FEATURES, q.size(-1)]
        of_first, of_second, of_question = torch.split(self.g1.weight, parts, dim=1)
        # W [o_i; o_k; q] by parts: the wide concatenation is nowhere laid out, and q is read once for all pairs.
        question = linear(q, of_question, self.g1.bias)[:, None, None]
        items = placed(batch.items, self.coordinates)
        first = linear(items, of_first) + question
        second = linear(items, of_second)
        pairs = torch.relu(first[:, :, :, None] + second[:, :, None])  # (batch, box, item, item, joint)
        g = torch.relu(self.g3(torch.relu(self.g2(pairs))))
        there = batch.item_mask[:, :, :, None] & batch.item_mask[:, :, None]
        return g.masked_fill(~there[..., None], 0).sum(dim=(2, 3))


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
