"""BiENC (appendix A.3.3): the similarity of a statement's and a box's last hidden outputs, without attention."""

from __future__ import annotations

import torch
from torch import nn

from veriscene.errors import InputError
from veriscene.models.base import Judgement
from veriscene.models.layers.attention import BiLSTM, last_outputs, xavier_
from veriscene.models.layers.coordinates import ItemEmbedding
from veriscene.models.layers.pooling import SCORE_COMBINATIONS
from veriscene.models.layers.streams import concurrently
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import PADDING


class BiENC(nn.Module):
    def __init__(
        self,
        *,
        vocabulary: int,
        embedding: int = 128,
        hidden: int = 256,
        item: int = 64,
        dropout: float = 0.3,
        pooling: str = "max",
        forget_bias: float = 0.0,
        coordinates: str = "corner",
    ) -> None:
        super().__init__()
        if pooling not in SCORE_COMBINATIONS:
            allowed = " or ".join(SCORE_COMBINATIONS)
            raise InputError(f"pooling {pooling!r} needs box vectors, which bienc has not; choose {allowed}")
        self.embed_words = nn.Embedding(vocabulary, embedding, padding_idx=PADDING)
        self.embed_items = ItemEmbedding(item, coordinates)
        self.lang_lstm = BiLSTM(embedding, hidden, dropout)
        self.obj_lstm = BiLSTM(item, hidden, dropout)
        self.similarity = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.combine = SCORE_COMBINATIONS[pooling]
        xavier_(self, forget_bias=forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        counts = batch.counts.flatten()
        h, g = concurrently(
            lambda: last_outputs(self.lang_lstm(self.embed_words(batch.words), batch.lengths), batch.lengths),
            lambda: last_outputs(self.obj_lstm(self.embed_items(batch.items).flatten(0, 1), counts), counts),
        )
        g = g.view(*batch.counts.shape, -1)
        scores = torch.einsum("bd,bjd->bj", self.similarity(h), g)
        return Judgement(logits=self.combine(scores), scores=scores, order=batch.as_they_come)
