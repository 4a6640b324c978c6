"""Dropout for feature maps."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class CellDropout(nn.Dropout):
    """Drops the same units in all cells of an example's boxes: cells stay comparable, and what a dropped unit says
    cannot be read from a neighbouring cell."""

    def forward(self, cells: Tensor) -> Tensor:
        """(batch, box, cell, size), of the same shape."""
        return cells * super().forward(torch.ones_like(cells[:, :1, :1]))
