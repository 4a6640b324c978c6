"""The items of a batch as a scene has them, out of their nine numbers: the inverse of `item_features`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from veriscene.scenes.scene import BOX_EXTENT, Side, Size
from veriscene.tensors.batch import Batch


@dataclass(frozen=True)
class Items:
    """In whole pixels and truth values, so that edges meet or do not. All zero where a box has no more items."""

    x: Tensor  # (batch, box, item), int64: the left edge
    y: Tensor  # (batch, box, item), int64: the upper edge, growing downwards
    sizes: Tensor  # (batch, box, item, 3), bool, in the order of Size
    walls: Tensor  # (batch, box, item, 4), bool: which walls it touches, in the order of Side
    shapes: Tensor  # (batch, box, item, 3), bool, in the order of Shape
    colors: Tensor  # (batch, box, item, 3), bool, in the order of Color

    @classmethod
    def of(cls, batch: Batch) -> Items:
        there = batch.item_mask
        place, size, shapes, colors = torch.split(batch.items, [2, 1, 3, 3], dim=-1)
        x, y = ((place + 1) * BOX_EXTENT / 2).round().long().masked_fill(~there[..., None], 0).unbind(-1)
        step = Size.LARGE.value - Size.MEDIUM.value
        extent = (size.squeeze(-1) * step + Size.MEDIUM.value).round().long()
        touched = {
            Side.TOP: y == 0,
            Side.BOTTOM: y + extent == BOX_EXTENT,
            Side.LEFT: x == 0,
            Side.RIGHT: x + extent == BOX_EXTENT,
        }
        return cls(
            x=x,
            y=y,
            sizes=torch.stack([extent == one.value for one in Size], dim=-1) & there[..., None],
            walls=torch.stack([touched[side] for side in Side], dim=-1) & there[..., None],
            shapes=(shapes > 0.5) & there[..., None],
            colors=(colors > 0.5) & there[..., None],
        )
