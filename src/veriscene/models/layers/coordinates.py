"""How the position of an item is encoded for a model (appendix A.3.1: "the location", normalised to [-1, 1])."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from veriscene.data.items import CORNER, ITEM_FEATURES, extents
from veriscene.world.scene import BOX_EXTENT

# corner: the top-left corner, as in the file. contact: the share of the way from wall to wall, with a gap at the walls.
COORDINATES = ("corner", "contact")
# From wall to wall as -1 to 1, anything beyond this touches the wall: one pixel is more than 2 / BOX_EXTENT.
AT_A_WALL = 1 - 1 / BOX_EXTENT


def encode_positions(items: Tensor, coordinates: str) -> Tensor:
    """Items (…, ITEM_FEATURES), whose position is that of the corner, in the given coordinates.

    In "contact", -1 is one wall and 1 the other for items of any size, and items that touch no wall are kept within
    half of it: one pixel decides whether an item touches, and without a gap a model needs weights of forty to see it.
    """
    if coordinates == "corner":
        return items
    corner, rest = items[..., CORNER], items[..., CORNER.stop :]
    way = (corner + 1) / (1 - extents(items)[..., None] / BOX_EXTENT) - 1
    return torch.cat([torch.where(way.abs() > AT_A_WALL, way, way / 2), rest], dim=-1)


class ItemEmbedding(nn.Linear):
    """e = W o + b, equation 2."""

    def __init__(self, size: int, coordinates: str) -> None:
        super().__init__(ITEM_FEATURES, size)
        self.coordinates = coordinates

    def forward(self, items: Tensor) -> Tensor:
        return super().forward(encode_positions(items, self.coordinates))
