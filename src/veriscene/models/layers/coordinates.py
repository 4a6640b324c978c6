"""Where an item is, in the numbers that a model reads: its location, normalised to [-1, 1] (appendix A.3.1)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from veriscene.errors import InputError
from veriscene.scenes.scene import BOX_EXTENT, Size
from veriscene.tensors.features import ITEM_FEATURES

# An item's side as a share of the box's: what a size feature of 0 means, and what it changes by for each size.
MEDIUM = Size.MEDIUM.value / BOX_EXTENT
SIZE_STEP = (Size.LARGE.value - Size.MEDIUM.value) / BOX_EXTENT
# On the way from wall to wall, as -1 to 1, what is beyond touches the wall: a pixel is more than 2 / BOX_EXTENT of it.
AT_A_WALL = 1 - 1 / BOX_EXTENT

Place = Callable[[Tensor, Tensor], Tensor]  # the corner's (…, x and y), a side's share of the box's (…, 1) -> (…, 2)


def _from_wall_to_wall(corner: Tensor, side: Tensor) -> Tensor:
    """-1 at one wall and 1 at the other, for items of any size."""
    return (corner + 1) / (1 - side) - 1


def _apart_from_walls(corner: Tensor, side: Tensor) -> Tensor:
    """The same, but items that touch no wall are kept within half of the way.

    A pixel decides whether an item touches; without a gap a model would need weights of forty to see it.
    """
    way = _from_wall_to_wall(corner, side)
    return torch.where(way.abs() > AT_A_WALL, way, way / 2)


_PLACES: dict[str, Place] = {
    "centre": lambda corner, side: corner + side,
    "walls": _from_wall_to_wall,
    "contact": _apart_from_walls,
}
COORDINATES = ("corner", *_PLACES)  # the upper left corner, as in the file


def placed(items: Tensor, coordinates: str) -> Tensor:
    """Items (…, ITEM_FEATURES), which come with the corner's coordinates, in others."""
    if coordinates == "corner":
        return items
    corner, rest = items[..., :2], items[..., 2:]
    return torch.cat([_PLACES[coordinates](corner, MEDIUM + SIZE_STEP * rest[..., :1]), rest], dim=-1)


def check_coordinates(name: str) -> str:
    if name not in COORDINATES:
        raise InputError(f"unknown coordinates {name!r}; choose from {', '.join(COORDINATES)}")
    return name


class ItemEmbedding(nn.Linear):
    """e = W o + b, equation 2, with the place in the given coordinates."""

    def __init__(self, size: int, coordinates: str) -> None:
        super().__init__(ITEM_FEATURES, size)
        self.coordinates = check_coordinates(coordinates)

    def forward(self, items: Tensor) -> Tensor:
        return super().forward(placed(items, self.coordinates))
