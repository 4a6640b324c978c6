"""CNN-BiENC (appendix A.3.3): the similarity of a statement's last hidden output and what a CNN makes of a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from veriscene.config import choice
from veriscene.data.batch import Batch
from veriscene.models.base import Judgement
from veriscene.models.layers.attention import CellReader
from veriscene.models.layers.pooling import SCORE_COMBINATIONS
from veriscene.models.layers.recurrence import last_outputs
from veriscene.models.reading import CellReadingConfig, CellReadingModel


@dataclass(frozen=True)
class CNNBiENCConfig(CellReadingConfig):
    name: str = "cnn-bienc"
    pooling: str = choice("max", SCORE_COMBINATIONS)


class CNNBiENC(CellReadingModel):
    Config = CNNBiENCConfig
    summary = "CNN-BiENC: similarity of the statement's last hidden output and a CNN's"

    def __init__(
        self, *, hidden: int, filters: int, dropout: float, pooling: str, forget_bias: float, **reading: Any
    ) -> None:
        """`reading`: the other settings of CellReadingModel."""
        super().__init__(hidden=hidden, dropout=dropout, **reading)
        self.cell_cnn = CellReader(2 * hidden, filters)
        self.dropout = nn.Dropout(dropout)
        self.similarity = nn.Linear(2 * hidden, filters, bias=False)
        self.combine = SCORE_COMBINATIONS[pooling]
        self.initialize(forget_bias=forget_bias)

    def layers_on_maps(self) -> tuple[nn.Module, nn.Module]:
        return self.embed_cells, self.cell_cnn

    def forward(self, batch: Batch) -> Judgement:
        h = last_outputs(self.read_statement(batch), batch.statement.lengths)
        g = self.dropout(self.cell_cnn(self.read_cells(batch)))
        scores = torch.einsum("bd,bjd->bj", self.similarity(h), g)
        return Judgement(logits=self.combine(scores, None), scores=scores)
