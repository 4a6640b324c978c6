"""BiATT (section 3.1): joint bidirectional attention between the words of a statement and the items of each box."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from veriscene.models.judgement import Judgement
from veriscene.models.layers import BiLSTM, element_max, masked_softmax, matching, xavier_
from veriscene.models.pooling import pooling as make_pooling
from veriscene.tensors.batch import Batch
from veriscene.tensors.features import ITEM_FEATURES
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
    ) -> None:
        super().__init__()
        self.embed_words = nn.Embedding(vocabulary, embedding, padding_idx=PADDING)
        self.embed_items = nn.Linear(ITEM_FEATURES, item)
        self.lang_lstm = BiLSTM(embedding, hidden, dropout)
        self.obj_lstm = BiLSTM(item, hidden, dropout)
        self.b1 = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.b2 = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.w_lang = nn.Linear(8 * hidden, joint, bias=False)
        self.w_obj = nn.Linear(8 * hidden, joint, bias=False)
        self.word_lstm = BiLSTM(joint, hidden, dropout)
        self.item_lstm = BiLSTM(joint, hidden, dropout)
        self.pool = make_pooling(pooling, size=4 * hidden, units=hidden, hidden=mlp, dropout=dropout)
        xavier_(self)

    def forward(self, batch: Batch) -> Judgement:
        h = self.read_statement(batch)
        return self.match(h, self.embed_items(batch.items), batch, batch.as_they_come)

    def read_statement(self, batch: Batch) -> Tensor:
        """LANG-LSTM, equation 1: (batch, word, 2 hidden)."""
        h: Tensor = self.lang_lstm(self.embed_words(batch.words), batch.lengths)
        return h

    def match(self, h: Tensor, e: Tensor, batch: Batch, order: Tensor) -> Judgement:
        """Words h (batch, word, 2 hidden) against items e (batch, box, place, item), already in the given order."""
        boxes = batch.counts.shape  # (batch, box): boxes are rows of their own wherever a sequence is read
        counts = batch.counts.flatten()
        word_mask = batch.word_mask[:, None].expand(*boxes, -1)
        g = self.obj_lstm(e.flatten(0, 1), counts).unflatten(0, boxes)  # equation 3

        alpha = masked_softmax(torch.einsum("btd,bjkd->bjtk", self.b1(h), g), batch.item_mask[:, :, None])  # 4
        c = alpha @ g  # 5
        h_hat = torch.relu(self.w_lang(matching(h[:, None].expand_as(c), c)))  # 6
        beta = masked_softmax(torch.einsum("bjkd,btd->bjkt", self.b2(g), h), word_mask[:, :, None])  # 7
        d = beta @ h[:, None]  # 8
        g_hat = torch.relu(self.w_obj(matching(g, d)))  # 9

        lengths = batch.lengths[:, None].expand(boxes).flatten()
        h_bar = self.word_lstm(h_hat.flatten(0, 1), lengths).unflatten(0, boxes)  # 10
        g_bar = self.item_lstm(g_hat.flatten(0, 1), counts).unflatten(0, boxes)  # 11
        vectors = torch.cat([element_max(h_bar, word_mask), element_max(g_bar, batch.item_mask)], dim=-1)  # 12, 13
        logits, scores = self.pool(vectors)  # 14, 15
        return Judgement(logits=logits, scores=scores, order=order, alpha=alpha, beta=beta)
