"""BiENC (appendix A.3.3): the similarity of a statement's and a box's last hidden outputs, without attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from veriscene.config import choice
from veriscene.data.batch import Batch, required
from veriscene.models.base import Judgement
from veriscene.models.layers.pooling import SCORE_COMBINATIONS
from veriscene.models.layers.recurrence import concurrently, last_outputs, xavier_
from veriscene.models.reading import ReadingConfig, ReadingModel


@dataclass(frozen=True)
class BiENCConfig(ReadingConfig):
    name: str = "bienc"
    pooling: str = choice("max", SCORE_COMBINATIONS)  # there are no box vectors that the others could merge


class BiENC(ReadingModel):
    Config = BiENCConfig
    summary = "BiENC: similarity of the last hidden outputs"

    def __init__(self, *, hidden: int, pooling: str, forget_bias: float, **reading: Any) -> None:
        """`reading`: the other settings of ReadingModel."""
        super().__init__(hidden=hidden, **reading)
        self.similarity = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.combine = SCORE_COMBINATIONS[pooling]
        xavier_(self, forget_bias=forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        statement, items = batch.statement, required(batch.items)
        boxes, lengths = items.lengths.shape, items.lengths.flatten()
        h, g = concurrently(
            lambda: self.lang_lstm.dropout(self.read_statement(statement)),
            lambda: self.read_items(self.embed_items(items.features), items.lengths),
        )
        h, g = last_outputs(h, statement.lengths), last_outputs(g.flatten(0, 1), lengths).view(*boxes, -1)
        scores = torch.einsum("bd,bjd->bj", self.similarity(h), g)
        return Judgement(logits=self.combine(scores, items.box_mask), scores=scores, order=items.given_order)
