"""CNN-BiATT (appendix A.1): BiATT with the cells of a feature map as objects, and CNNs in the place of their LSTMs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from veriscene.config import choice, size
from veriscene.data.batch import Batch
from veriscene.models.base import Judgement
from veriscene.models.layers.attention import CellMatching, Sequences
from veriscene.models.layers.pooling import POOLINGS, make_pooling
from veriscene.models.reading import CellReadingConfig, CellReadingModel
from veriscene.world.schema import World


@dataclass(frozen=True)
class CNNBiATTConfig(CellReadingConfig):
    name: str = "cnn-biatt"
    joint: int = size(512)
    mlp: int = size(512)
    pooling: str = choice("max", POOLINGS)


class CNNBiATT(CellReadingModel):
    Config = CNNBiATTConfig
    summary = "CNN-BiATT: BiATT between words and the cells of a feature map"

    def __init__(
        self,
        *,
        world: World,
        hidden: int,
        joint: int,
        filters: int,
        mlp: int,
        dropout: float,
        pooling: str,
        forget_bias: float,
        **reading: Any,
    ) -> None:
        """`reading`: the other settings of CellReadingModel."""
        super().__init__(world=world, hidden=hidden, dropout=dropout, **reading)
        self.matching = CellMatching(size=2 * hidden, joint=joint, hidden=hidden, filters=filters, dropout=dropout)
        self.pool = make_pooling(
            pooling, boxes=world.boxes[1], size=2 * hidden + filters, units=hidden, hidden=mlp, dropout=dropout
        )
        self.initialize(forget_bias=forget_bias)

    def layers_on_maps(self) -> tuple[nn.Module, nn.Module]:
        return self.embed_cells, self.matching.cell_cnn

    def forward(self, batch: Batch) -> Judgement:
        h, a = self.read_statement(batch), self.read_cells(batch)
        cells = torch.full(a.shape[:2], a.size(2), device=a.device)
        matched = self.matching(Sequences(h, batch.statement.lengths), Sequences(a, cells))
        logits, scores = self.pool(matched.vectors, None)
        return Judgement(logits=logits, scores=scores, alpha=matched.alpha, beta=matched.beta)
