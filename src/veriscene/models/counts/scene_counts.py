"""The counts of a scene and which of them agree with a number; the looks of a scene, without numbers.

After the features of MaxEnt in the NLVR paper (Suhr et al. 2017).
"""

from __future__ import annotations

import torch
from torch import Tensor

from veriscene.data.items import Attributes
from veriscene.world.scene import Color, Shape, Side

_KINDS = len(Color) * len(Shape)
_IN_IMAGE = 2 * _KINDS + len(Color)
_IN_BOX = 2 * _KINDS + 1
AGREEMENTS = 2 * (_IN_IMAGE + _IN_BOX)
LOOKS = 2 * len(Color) + 1


def quantities(items: Attributes, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Counts of the image (batch, 21): items of each colour and shape, those at a wall, boxes of a single colour.

    Counts of each box (batch, box, 19): items of each colour and shape, those at a wall, all items.
    """
    kinds = (items.colors[..., :, None] & items.shapes[..., None, :]).flatten(-2)  # (batch, box, item, kind)
    at_wall = kinds & items.walls.any(dim=-1, keepdim=True)
    in_box = torch.cat([kinds, at_wall], dim=-1).sum(dim=2)
    of_one_color = items.colors.sum(dim=2) == counts[..., None]
    image = torch.cat([in_box.sum(dim=1), of_one_color.sum(dim=1)], dim=-1)
    return image, torch.cat([in_box, counts[..., None]], dim=-1)


def agreements(values: Tensor, image: Tensor, boxes: Tensor) -> Tensor:
    """Whether numbers (batch, word) agree with quantities: (batch, word, AGREEMENTS), bool.

    Four ways: as many in the image, at least so many in the image, as many in some box, at least so many in each box.
    """
    number = values[..., None]  # (batch, word, 1)
    return torch.cat(
        [
            number == image[:, None],
            number <= image[:, None],
            (number[:, :, None] == boxes[:, None]).any(dim=2),
            number <= boxes.amin(dim=1)[:, None],
        ],
        dim=-1,
    )


def looks(items: Attributes, mask: Tensor) -> Tensor:
    """(batch, LOOKS), bool: colours on top of some box, colours on some floor, whether anything is at a wall."""
    heights = items.y.masked_fill(~mask, torch.iinfo(items.y.dtype).max)
    # Items at equal height are all on top: the order of the file must not decide.
    on_top = items.y == heights.amin(dim=2, keepdim=True)
    on_floor = items.walls[..., tuple(Side).index(Side.BOTTOM)]
    return torch.cat(
        [
            (items.colors & on_top[..., None]).any(dim=2).any(dim=1),
            (items.colors & on_floor[..., None]).any(dim=2).any(dim=1),
            items.walls.any(dim=-1).any(dim=2).any(dim=1, keepdim=True),
        ],
        dim=-1,
    )
