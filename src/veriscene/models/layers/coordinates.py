"""How the position of an item is encoded for a model (appendix A.3.1: "the location", normalised to [-1, 1])."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from veriscene.data.items import CORNER, constant, extents
from veriscene.world.schema import World

# corner: the top-left corner, as in the file. contact: the share of the way from wall to wall, with a gap at the walls.
COORDINATES = ("corner", "contact")


def encode_positions(items: Tensor, coordinates: str, world: World) -> Tensor:
    """Items (…, feature), whose position is that of the corner, in the given coordinates.

    In "contact", -1 is one wall and 1 the other for items of any size, and items that touch no wall are kept within
    half of it: one pixel decides whether an item touches, and without a gap a model needs weights of forty to see it.
    """
    if coordinates == "corner":
        return items
    corner, rest, canvas = items[..., CORNER], items[..., CORNER.stop :], constant(items, world.canvas)
    # An item as large as its box touches both walls; it is said to touch the first one.
    room = (1 - extents(items, world) / canvas).clamp(min=1e-6)
    way = (corner + 1) / room - 1
    # From wall to wall as -1 to 1, anything beyond this touches the wall: one pixel is more than 2 / canvas.
    at_wall = 1 - 1 / canvas
    return torch.cat([torch.where(way.abs() > at_wall, way, way / 2), rest], dim=-1)


class ItemEmbedding(nn.Linear):
    """e = W o + b, equation 2."""

    def __init__(self, size: int, coordinates: str, world: World) -> None:
        super().__init__(world.feature_count, size)
        self.coordinates, self.world = coordinates, world

    def forward(self, items: Tensor) -> Tensor:
        return super().forward(encode_positions(items, self.coordinates, self.world))
