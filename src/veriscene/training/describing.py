"""What the rendered backbone learns: the features of the item whose centre lies in a cell.

They are those that models of items read, with positions from wall to wall ("contact"), so that a model of feature maps
finds in a cell what a model of items is told about an item.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

from veriscene.models.layers.coordinates import encode_positions
from veriscene.models.vision import cells
from veriscene.models.vision.base import Backbone
from veriscene.scenes.scene import BOX_EXTENT
from veriscene.tensors.items import COLORS, CORNER, ITEM_FEATURES, SHAPES, SIZE, SIZE_STEP

PRESENCE_WEIGHT, FEATURE_WEIGHT = 10.0, 100.0
MAGNITUDE_WEIGHT = 3.0  # of the backbone's features, to which noise of variance 1 is added
ONE_PIXEL = 2 / BOX_EXTENT  # of a position in [-1, 1]


class DescribingBackbone(nn.Module):
    """A backbone with a 1 x 1 convolution that predicts whether a cell holds an item's centre, and the item's features.

    In training, noise is added to the backbone's features, whose magnitude is penalised. So they say what is where as
    clearly as possible and nothing else, from which a model with few examples could tell boxes apart without
    understanding them.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.heads = nn.Conv2d(backbone.channels, 1 + ITEM_FEATURES, 1)

    def forward(self, pixels: Tensor) -> Tensor:
        """(n, 3, 100, 100, RGB) uint8 -> (3 n, 1 + ITEM_FEATURES, GRID, GRID)."""
        features = self.backbone(pixels.flatten(0, 1))
        self.magnitude: Tensor = features.float().square().mean()  # of the last batch, for the loss
        heads: Tensor = self.heads(features + torch.randn_like(features) if self.training else features)
        return heads

    def loss(self, outputs: Tensor, classes: Tensor) -> Tensor:
        """`classes`: cells.targets."""
        presence, described = outputs.float()[:, 0], outputs.float()[:, 1:]
        present = (classes[:, 0] != cells.ABSENT).float()
        errors = (described - item_features(classes)).square().mean(dim=1) * present
        return (
            PRESENCE_WEIGHT * binary_cross_entropy_with_logits(presence, present)
            + FEATURE_WEIGHT * errors.sum() / present.sum()
            + MAGNITUDE_WEIGHT * self.magnitude
        )

    def exact(self, outputs: Tensor, classes: Tensor) -> Tensor:
        """(box,): whether presence, shape, color and size are right and positions are less than a pixel off."""
        described, expected = outputs.float()[:, 1:].movedim(1, -1), item_features(classes).movedim(1, -1)
        present = classes[:, 0] != cells.ABSENT
        right = (described[..., CORNER] - expected[..., CORNER]).abs().amax(-1) < ONE_PIXEL
        right &= (described[..., SIZE] - expected[..., SIZE]).abs() < 0.5
        for kind in (SHAPES, COLORS):
            right &= described[..., kind].argmax(-1) == expected[..., kind].argmax(-1)
        right_cells: Tensor = ((outputs[:, 0] > 0) == present) & (right | ~present)
        return right_cells.flatten(1).all(1)


def item_features(classes: Tensor) -> Tensor:
    """cells.targets (box, head, row, column) -> (box, ITEM_FEATURES, row, column), of any value where no item is."""
    shape, color, size, right, down = classes.long().clamp(min=0).unbind(dim=1)
    numbers = cells.CELL * torch.arange(cells.GRID, device=classes.device)
    extents = torch.tensor([each.value for each in cells.SIZES], device=classes.device)[size]
    x, y = numbers + right - extents // 2, numbers[:, None] + down - extents // 2
    medium = cells.SIZES[1].value
    plain = torch.cat(
        [
            torch.stack([2 * x / BOX_EXTENT - 1, 2 * y / BOX_EXTENT - 1, (extents - medium) / SIZE_STEP], dim=-1),
            one_hot(shape, len(cells.SHAPES)),
            one_hot(color, len(cells.COLORS)),
        ],
        dim=-1,
    )
    return encode_positions(plain, "contact").movedim(-1, 1)
