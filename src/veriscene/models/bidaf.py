"""BiDAF (Seo et al. 2016, reimplemented as in appendix A.2): the statement is the document, a box's items the query.

Section 3.1 says so when it compares: query-to-document attention is the one "from the objects to the words", and it
ends in the document's representation. Letters as in Seo et al.: h the document, u the query.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from veriscene.models.base import Judgement
from veriscene.models.layers.attention import BiLSTM, element_max, masked_softmax, xavier_
from veriscene.models.layers.coordinates import ItemEmbedding
from veriscene.models.layers.pooling import pooling as make_pooling
from veriscene.models.layers.streams import concurrently
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import PADDING


class BiDAF(nn.Module):
    def __init__(
        self,
        *,
        vocabulary: int,
        embedding: int = 128,
        hidden: int = 256,
        item: int = 64,
        mlp: int = 512,
        dropout: float = 0.3,
        pooling: str = "max",
        forget_bias: float = 0.0,
        coordinates: str = "corner",
    ) -> None:
        super().__init__()
        self.embed_words = nn.Embedding(vocabulary, embedding, padding_idx=PADDING)
        self.embed_items = ItemEmbedding(item, coordinates)
        self.lang_lstm = BiLSTM(embedding, hidden, dropout)
        self.obj_lstm = BiLSTM(item, hidden, dropout)
        self.w_similarity = nn.Linear(6 * hidden, 1, bias=False)
        self.model_lstm1 = BiLSTM(8 * hidden, hidden, dropout)
        self.model_lstm2 = BiLSTM(2 * hidden, hidden, dropout)
        self.pool = make_pooling(pooling, size=2 * hidden, units=hidden, hidden=mlp, dropout=dropout)
        xavier_(self, forget_bias=forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        boxes, counts = batch.counts.shape, batch.counts.flatten()  # boxes are rows of their own to an LSTM
        h, u = concurrently(
            lambda: self.lang_lstm(self.embed_words(batch.words), batch.lengths)[:, None],  # the same for every box
            lambda: self.obj_lstm(self.embed_items(batch.items).flatten(0, 1), counts).unflatten(0, boxes),
        )
        a, g = self.attention_flow(h, u, batch)
        lengths = batch.lengths[:, None].expand(boxes).flatten()
        m = self.model_lstm2(self.model_lstm1(g.flatten(0, 1), lengths), lengths).unflatten(0, boxes)
        logits, scores = self.pool(element_max(m, batch.word_mask[:, None]))
        return Judgement(logits=logits, scores=scores, order=batch.as_they_come, alpha=a)

    def attention_flow(self, h: Tensor, u: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """h (batch, 1, word, 2 hidden), u (batch, box, item, 2 hidden) -> how much each word looks at each item,
        (batch, box, word, item), and G, the words aware of the items, (batch, box, word, 8 hidden)."""
        item_mask = batch.item_mask[:, :, None]
        s = self.similarity(h, u)
        a = masked_softmax(s, item_mask)  # document to query
        u_tilde = a @ u
        likest_item = s.masked_fill(~item_mask, -torch.inf).amax(dim=-1)
        b = masked_softmax(likest_item, batch.word_mask[:, None])  # query to document
        h_tilde = b[:, :, None] @ h  # (batch, box, 1, 2 hidden): one vector, the same for every word
        return a, torch.cat([h.expand_as(u_tilde), u_tilde, h * u_tilde, h * h_tilde], dim=-1)

    def similarity(self, h: Tensor, u: Tensor) -> Tensor:
        """w · [h_t; u_k; h_t ∘ u_k], (batch, box, word, item), by parts: no vector is laid out for a pair."""
        of_h, of_u, of_both = self.w_similarity.weight.chunk(3, dim=1)
        return linear(h, of_h) + linear(u, of_u).transpose(-1, -2) + (h * of_both[0]) @ u.transpose(-1, -2)
