"""BiDAF (Seo et al. 2016, reimplemented as in appendix A.2): the statement is the document, a box's items the query.

Section 3.1 says so in its comparison: query-to-document attention is the one "from the objects to the words", and it
ends in the document's representation. Letters as in Seo et al.: h the document, u the query.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from veriscene.config import size
from veriscene.data.batch import Batch, required
from veriscene.data.vocabulary import Vocabulary
from veriscene.models.base import Judgement
from veriscene.models.biatt import ReadingConfig, ReadingModel
from veriscene.models.layers.attention import Sequences, element_max, masked_softmax
from veriscene.models.layers.pooling import make_pooling
from veriscene.models.layers.recurrence import BiLSTM, xavier_
from veriscene.world.schema import World


@dataclass(frozen=True)
class BiDAFConfig(ReadingConfig):
    name: str = "bidaf"
    mlp: int = size(512)


class BiDAF(ReadingModel):
    Config = BiDAFConfig
    summary = "BiDAF: the statement as the document, the items as the query"

    def __init__(self, config: BiDAFConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        hidden, dropout = config.hidden, config.dropout
        self.w_similarity = nn.Linear(6 * hidden, 1, bias=False)
        self.model_lstm1 = BiLSTM(8 * hidden, hidden, dropout)
        self.model_lstm2 = BiLSTM(2 * hidden, hidden, dropout)
        self.pool = make_pooling(config, world, 2 * hidden)
        xavier_(self, forget_bias=config.forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        statement, items = batch.statement, required(batch.items)
        document, query = self.read(batch)
        a, g = self.attention_flow(document, query)
        boxes = items.lengths.shape
        lengths = statement.lengths[:, None].expand(boxes).flatten()
        m = self.model_lstm2(self.model_lstm1(g.flatten(0, 1), lengths), lengths).unflatten(0, boxes)
        logits, scores = self.pool(element_max(m, statement.mask[:, None]), items.box_mask)
        return Judgement(logits=logits, scores=scores, order=items.given_order, alpha=a)

    def attention_flow(self, document: Sequences, query: Sequences) -> tuple[Tensor, Tensor]:
        """h (batch, word, 2 hidden), u (batch, box, item, 2 hidden) -> how much each word attends to each item,
        (batch, box, word, item), and G, the words aware of the items, (batch, box, word, 8 hidden)."""
        h, u, query_mask = document.states[:, None], query.states, query.mask[:, :, None]
        s = self.similarity(h, u)
        a = masked_softmax(s, query_mask)  # document to query
        u_tilde = a @ u
        most_similar = s.masked_fill(~query_mask, -torch.inf).amax(dim=-1)
        b = masked_softmax(most_similar, document.mask[:, None])  # query to document
        h_tilde = b[:, :, None] @ h  # (batch, box, 1, 2 hidden): one vector, the same for every word
        return a, torch.cat([h.expand_as(u_tilde), u_tilde, h * u_tilde, h * h_tilde], dim=-1)

    def similarity(self, h: Tensor, u: Tensor) -> Tensor:
        """w · [h_t; u_k; h_t ∘ u_k], (batch, box, word, item), in parts: no vector is materialised for a pair."""
        of_h, of_u, of_both = self.w_similarity.weight.chunk(3, dim=1)
        return linear(h, of_h) + linear(u, of_u).transpose(-1, -2) + (h * of_both[0]) @ u.transpose(-1, -2)
