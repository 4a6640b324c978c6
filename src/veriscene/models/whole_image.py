"""Models that judge the three boxes of an image at once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import torch
from torch import Tensor, nn

from veriscene.models.base import Judgement
from veriscene.tensors.batch import Batch


class WholeImage(nn.Module):
    @abstractmethod
    def judge(self, batch: Batch) -> Tensor:
        """(batch,): log-odds that the statement is true."""

    def forward(self, batch: Batch) -> Judgement:
        return Judgement(logits=self.judge(batch), scores=self._scores(batch), order=batch.as_they_come)

    def _scores(self, batch: Batch) -> Tensor | None:
        """(batch, box), when not training: they only inform the reader, and cost three times the judgement itself."""
        if self.training:
            return None
        with torch.no_grad():
            return self.judge(boxes_alike(batch)).view(batch.counts.shape)


def boxes_alike(batch: Batch) -> Batch:
    """For each example three, (batch * box) in all: one for each of its boxes, with that box in all three places."""
    examples, boxes = batch.counts.shape
    example = torch.arange(examples, device=batch.words.device).repeat_interleave(boxes)

    def thrice(of_boxes: Tensor) -> Tensor:
        return of_boxes.flatten(0, 1)[:, None].expand(-1, boxes, *of_boxes.shape[2:])

    return replace(
        batch,
        words=batch.words[example],
        lengths=batch.lengths[example],
        items=thrice(batch.items),
        counts=thrice(batch.counts),
        positions=thrice(batch.positions),
        labels=None,
    )
