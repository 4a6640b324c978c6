"""CNN-BiENC (appendix A.3.3): the similarity of a statement's last hidden output and what a CNN makes of a box."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from veriscene.config import ModelConfig, choice, number, share, size
from veriscene.models.base import Judgement
from veriscene.models.layers.attention import CellReader
from veriscene.models.layers.bilstm import BiLSTM, last_outputs, xavier_
from veriscene.models.layers.pooling import SCORE_COMBINATIONS
from veriscene.models.vision.seeing import SeeingConfig, SeeingModel
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import PADDING, Vocabulary


@dataclass(frozen=True)
class CNNBiENCConfig(SeeingConfig, ModelConfig):
    name: str = "cnn-bienc"
    embedding: int = size(128)
    hidden: int = size(256)
    filters: int = size(512)
    dropout: float = share(0.3)
    pooling: str = choice("max", SCORE_COMBINATIONS)
    forget_bias: float = number(0.0, -10.0, 10.0)


class CNNBiENC(SeeingModel):
    Config = CNNBiENCConfig
    summary = "CNN-BiENC: similarity of the statement's last hidden output and a CNN's"

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        embedding: int,
        hidden: int,
        filters: int,
        dropout: float,
        pooling: str,
        forget_bias: float,
        backbone: str,
        end_to_end: bool,
        backbone_rate: float,
        cell_rate: float,
    ) -> None:
        super().__init__(backbone=backbone, end_to_end=end_to_end, backbone_rate=backbone_rate, cell_rate=cell_rate)
        self.embed_words = nn.Embedding(len(vocabulary), embedding, padding_idx=PADDING)
        self.lang_lstm = BiLSTM(embedding, hidden, dropout)
        self.embed_cells = nn.Linear(self.backbone.channels, 2 * hidden)
        self.cell_cnn = CellReader(2 * hidden, filters)
        self.dropout = nn.Dropout(dropout)
        self.similarity = nn.Linear(2 * hidden, filters, bias=False)
        self.combine = SCORE_COMBINATIONS[pooling]
        for part in (self.embed_words, self.lang_lstm, self.embed_cells, self.cell_cnn, self.similarity):
            xavier_(part, forget_bias=forget_bias)

    def cell_layers(self) -> list[nn.Module]:
        return [self.embed_cells, self.cell_cnn]

    def forward(self, batch: Batch) -> Judgement:
        statement = batch.statement
        h = last_outputs(self.lang_lstm(self.embed_words(statement.words), statement.lengths), statement.lengths)
        a = torch.relu(self.embed_cells(self.see(batch).flatten(3).transpose(2, 3)))  # (batch, box, cell, 2 hidden)
        g = self.dropout(self.cell_cnn(a))
        scores = torch.einsum("bd,bjd->bj", self.similarity(h), g)
        return Judgement(logits=self.combine(scores), scores=scores)
