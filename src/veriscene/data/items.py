"""Items as numbers (appendix A.3.1): the one definition of the feature layout, and its inverse."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from veriscene.data.struct import TensorStruct
from veriscene.world.scene import BOX_EXTENT, Color, Item, Shape, Side, Size

# (x, y, size, shape one-hot, colour one-hot). x and y are the top-left corner; x, y and size lie in [-1, 1].
X, Y, SIZE, SHAPES, COLORS = 0, 1, 2, slice(3, 6), slice(6, 9)
CORNER = slice(X, Y + 1)
ITEM_FEATURES = 9
SIZE_STEP = Size.LARGE.value - Size.MEDIUM.value  # pixels per unit of the size feature, which is 0 for a medium item


# The feature x or y for each pixel of a box.
COORDINATES = tuple(2 * pixel / BOX_EXTENT - 1 for pixel in range(BOX_EXTENT + 1))


def item_features(item: Item) -> tuple[float, ...]:
    return (
        COORDINATES[item.x],
        COORDINATES[item.y],
        (item.size.value - Size.MEDIUM.value) / SIZE_STEP,
        *(float(item.shape is shape) for shape in Shape),
        *(float(item.color is color) for color in Color),
    )


def extents(features: Tensor) -> Tensor:
    """The side length of each item in pixels: (…, ITEM_FEATURES) -> (…)."""
    return Size.MEDIUM.value + features[..., SIZE] * SIZE_STEP


@dataclass(frozen=True)
class Items(TensorStruct):
    features: Tensor  # (batch, box, item, ITEM_FEATURES); zeros beyond a box's last item
    counts: Tensor  # (batch, box), int64: items in each box
    positions: Tensor  # (batch, box, item), int64: the index of each item in the scene's own list

    @classmethod
    def of_fields(cls, x: Tensor, y: Tensor, size: Tensor, shape: Tensor, color: Tensor) -> Items:
        """Items that `item_features` would describe in the same way, from whole numbers (batch, box, item): pixels, and
        the numbers of shape and colour. Items fill the first places of a box; beyond them, size is 0."""
        is_item = size > 0
        coordinates = torch.tensor(COORDINATES, device=x.device)
        features = x.new_zeros((*x.shape, ITEM_FEATURES), dtype=torch.float32)
        features[..., X], features[..., Y] = coordinates[x.long()], coordinates[y.long()]
        features[..., SIZE] = (size.float() - Size.MEDIUM.value) / SIZE_STEP
        for where, numbers in ((SHAPES, shape), (COLORS, color)):
            features[..., where] = (numbers[..., None] == torch.arange(3, device=x.device)).float()
        positions = torch.arange(x.size(2), device=x.device).expand(x.shape)
        return cls(features * is_item[..., None], is_item.sum(dim=2), positions)

    @property
    def mask(self) -> Tensor:
        """(batch, box, item): whether there is an item."""
        return torch.arange(self.features.size(2), device=self.features.device) < self.counts[:, :, None]

    @property
    def given_order(self) -> Tensor:
        """(batch, box, item): the order of a model that reads the items as they come."""
        return torch.arange(self.features.size(2), device=self.features.device).expand(self.features.shape[:3])

    def reordered(self, order: Tensor) -> Items:
        """`order` (batch, box, item) holds, for each place, the item that is read there."""
        return Items(take_items(self.features, order), self.counts, self.positions.gather(2, order))

    def shuffled(self, keys: Tensor) -> Items:
        """Each box's items sorted by `keys` (batch, box, item), for example random ones; padding stays at the end."""
        return self.reordered(keys.masked_fill(~self.mask, torch.inf).argsort(dim=2, stable=True))


def take_items(items: Tensor, order: Tensor) -> Tensor:
    """items (batch, box, item, dim) in the given order (batch, box, item)."""
    return items.gather(2, order[..., None].expand(-1, -1, -1, items.size(-1)))


@dataclass(frozen=True)
class Attributes(TensorStruct):
    """What the features say, in whole pixels and booleans. All zero beyond a box's last item."""

    x: Tensor  # (batch, box, item), int64: the left edge
    y: Tensor  # (batch, box, item), int64: the upper edge, growing downwards
    sizes: Tensor  # (batch, box, item, 3), bool, in the order of Size
    walls: Tensor  # (batch, box, item, 4), bool: which walls it touches, in the order of Side
    shapes: Tensor  # (batch, box, item, 3), bool, in the order of Shape
    colors: Tensor  # (batch, box, item, 3), bool, in the order of Color

    @classmethod
    def of(cls, items: Items) -> Attributes:
        features, mask = items.features, items.mask
        pixels = ((features[..., CORNER] + 1) * BOX_EXTENT / 2).round().long().masked_fill(~mask[..., None], 0)
        x, y = pixels.unbind(-1)
        extent = extents(features).round().long()
        touched = {
            Side.TOP: y == 0,
            Side.BOTTOM: y + extent == BOX_EXTENT,
            Side.LEFT: x == 0,
            Side.RIGHT: x + extent == BOX_EXTENT,
        }

        is_item = mask[..., None]
        return cls(
            x=x,
            y=y,
            sizes=torch.stack([extent == size.value for size in Size], dim=-1) & is_item,
            walls=torch.stack([touched[side] for side in Side], dim=-1) & is_item,
            shapes=(features[..., SHAPES] > 0.5) & is_item,
            colors=(features[..., COLORS] > 0.5) & is_item,
        )
