"""BiATT (section 3.1): joint bidirectional attention between the words of a statement and the items of each box."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from veriscene.models.base import Judgement
from veriscene.models.layers.attention import BiLSTM, element_max, masked_softmax, matching, xavier_
from veriscene.models.layers.coordinates import ItemEmbedding
from veriscene.models.layers.pooling import pooling as make_pooling
from veriscene.models.layers.streams import concurrently
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import PADDING


class BiATT(nn.Module):
    def __init__(
        self,
        *,
        vocabulary: int,
        embedding: int = 128,
        hidden: int = 256,
        item: int = 64,
        joint: int = 512,
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
        self.b1 = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.b2 = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.w_lang = nn.Linear(8 * hidden, joint, bias=False)
        self.w_obj = nn.Linear(8 * hidden, joint, bias=False)
        self.word_lstm = BiLSTM(joint, hidden, dropout)
        self.item_lstm = BiLSTM(joint, hidden, dropout)
        self.pool = make_pooling(pooling, size=4 * hidden, units=hidden, hidden=mlp, dropout=dropout)
        xavier_(self, forget_bias=forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        h, g = concurrently(
            lambda: self.lang_lstm.dropout(self.read_statement(batch)),
            lambda: self.read_items(self.embed_items(batch.items), batch),
        )
        return self.match(h, g, batch, batch.as_they_come)

    def read_statement(self, batch: Batch) -> Tensor:
        """LANG-LSTM, equation 1, before dropout: (batch, word, 2 hidden)."""
        return self.lang_lstm.read(self.embed_words(batch.words), batch.lengths)

    def read_items(self, e: Tensor, batch: Batch) -> Tensor:
        """OBJ-LSTM, equation 3: items e (batch, box, place, item) in any order -> (batch, box, place, 2 hidden)."""
        counts = batch.counts.flatten()  # boxes are rows of their own to an LSTM
        g: Tensor = self.obj_lstm(e.flatten(0, 1), counts).unflatten(0, batch.counts.shape)
        return g

    def match(self, h: Tensor, g: Tensor, batch: Batch, order: Tensor) -> Judgement:
        """Words h (batch, word, 2 hidden) against items g (batch, box, place, 2 hidden), read in the given order."""
        boxes, counts = batch.counts.shape, batch.counts.flatten()
        item_mask, word_mask = batch.item_mask, batch.word_mask[:, None].expand(*batch.counts.shape, -1)

        def words_with_items() -> tuple[Tensor, Tensor]:
            alpha = masked_softmax(torch.einsum("btd,bjkd->bjtk", self.b1(h), g), item_mask[:, :, None])  # 4
            c = alpha @ g  # 5
            h_hat = matching(self.w_lang.weight, h[:, None], c)  # 6
            lengths = batch.lengths[:, None].expand(boxes).flatten()
            h_bar = self.word_lstm(h_hat.flatten(0, 1), lengths).unflatten(0, boxes)  # 10
            return alpha, element_max(h_bar, word_mask)  # 12

        def items_with_words() -> tuple[Tensor, Tensor]:
            beta = masked_softmax(torch.einsum("bjkd,btd->bjkt", self.b2(g), h), word_mask[:, :, None])  # 7
            d = beta @ h[:, None]  # 8
            g_hat = matching(self.w_obj.weight, g, d)  # 9
            g_bar = self.item_lstm(g_hat.flatten(0, 1), counts).unflatten(0, boxes)  # 11
            return beta, element_max(g_bar, item_mask)  # 13

        (alpha, h_bar), (beta, g_bar) = concurrently(words_with_items, items_with_words)
        logits, scores = self.pool(torch.cat([h_bar, g_bar], dim=-1))  # 14, 15
        return Judgement(logits=logits, scores=scores, order=order, alpha=alpha, beta=beta)
