"""CNN-BiATT (appendix A.1): BiATT with the cells of a feature map as objects, and CNNs in the place of their LSTMs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from veriscene.config import ModelConfig, choice, number, share, size
from veriscene.models.base import Judgement
from veriscene.models.layers.attention import CellMatching, Sequences
from veriscene.models.layers.bilstm import BiLSTM, xavier_
from veriscene.models.layers.pooling import POOLINGS, make_pooling
from veriscene.models.vision.seeing import SeeingConfig, SeeingModel
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import PADDING, Vocabulary


@dataclass(frozen=True)
class CNNBiATTConfig(SeeingConfig, ModelConfig):
    name: str = "cnn-biatt"
    embedding: int = size(128)
    hidden: int = size(256)
    joint: int = size(512)
    filters: int = size(512)
    mlp: int = size(512)
    dropout: float = share(0.3)
    pooling: str = choice("max", POOLINGS)
    forget_bias: float = number(0.0, -10.0, 10.0)  # initial bias of the LSTMs' forget gates


class CNNBiATT(SeeingModel):
    Config = CNNBiATTConfig
    summary = "CNN-BiATT: BiATT between words and the cells of a feature map"

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        embedding: int,
        hidden: int,
        joint: int,
        filters: int,
        mlp: int,
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
        self.embed_cells = nn.Linear(self.backbone.channels, 2 * hidden)  # W_x, b_x
        self.matching = CellMatching(size=2 * hidden, joint=joint, hidden=hidden, filters=filters, dropout=dropout)
        self.pool = make_pooling(pooling, size=2 * hidden + filters, units=hidden, hidden=mlp, dropout=dropout)
        for part in (self.embed_words, self.lang_lstm, self.embed_cells, self.matching, self.pool):
            xavier_(part, forget_bias=forget_bias)

    def cell_layers(self) -> list[nn.Module]:
        return [self.embed_cells, self.matching.cell_cnn]

    def forward(self, batch: Batch) -> Judgement:
        statement = batch.statement
        h = self.lang_lstm(self.embed_words(statement.words), statement.lengths)
        a = torch.relu(self.embed_cells(self.see(batch).flatten(3).transpose(2, 3)))  # (batch, box, cell, 2 hidden)
        cells = torch.full(a.shape[:2], a.size(2), device=a.device)
        matched = self.matching(Sequences(h, statement.lengths), Sequences(a, cells))
        logits, scores = self.pool(matched.vectors)
        return Judgement(logits=logits, scores=scores, alpha=matched.alpha, beta=matched.beta)
