"""BiENC (appendix A.3.3): the similarity of a statement's and a box's last hidden outputs, without attention."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from veriscene.config import choice, size
from veriscene.models.base import Judgement, Model, RecurrentConfig
from veriscene.models.layers.bilstm import BiLSTM, last_outputs, xavier_
from veriscene.models.layers.coordinates import ItemEmbedding
from veriscene.models.layers.pooling import SCORE_COMBINATIONS
from veriscene.models.layers.streams import concurrently
from veriscene.tensors.batch import Batch, required
from veriscene.tensors.vocabulary import PADDING, Vocabulary


@dataclass(frozen=True)
class BiENCConfig(RecurrentConfig):
    name: str = "bienc"
    item: int = size(64)
    pooling: str = choice("max", SCORE_COMBINATIONS)  # there are no box vectors that the others could merge


class BiENC(Model):
    Config = BiENCConfig
    summary = "BiENC: similarity of the last hidden outputs"

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        embedding: int,
        hidden: int,
        item: int,
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
        self.similarity = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.combine = SCORE_COMBINATIONS[pooling]
        xavier_(self, forget_bias=forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        statement, items = batch.statement, required(batch.items)
        lengths, counts = statement.lengths, items.counts.flatten()
        h, g = concurrently(
            lambda: last_outputs(self.lang_lstm(self.embed_words(statement.words), lengths), lengths),
            lambda: last_outputs(self.obj_lstm(self.embed_items(items.features).flatten(0, 1), counts), counts),
        )
        g = g.view(*items.counts.shape, -1)
        scores = torch.einsum("bd,bjd->bj", self.similarity(h), g)
        return Judgement(logits=self.combine(scores), scores=scores, order=items.given_order)
