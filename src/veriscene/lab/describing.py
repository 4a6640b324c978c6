"""What the rendered backbone learns: a feature map that holds, in every cell, the targets of surroundings.py.

A cell's targets t become as many features as the backbone has channels: f = [relu(E t); relu(-E t)], with a fixed
random matrix E. So f tells t, by E^T (f1 - f2), and nothing else, from which a model with few examples could tell boxes
apart without understanding them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from veriscene.data.items import CORNER
from veriscene.lab.surroundings import BOX_TARGETS, ITEM_TARGETS, Description, describe
from veriscene.models.vision.base import Backbone

TARGETS = 1 + ITEM_TARGETS + BOX_TARGETS  # presence comes first
SCALE = 8.0  # of E: features of items are then about one
ITEM_WEIGHT = 10.0  # of cells with an item in the loss; there are about five in a hundred
TOLERANCE, POSITION_TOLERANCE = 0.25, 0.05  # half of the smallest step of a count; about four pixels
MATRIX_SEED = 0


class DescribingBackbone(nn.Module):
    """A backbone with the loss that makes its features tell the targets."""

    matrix: Tensor

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.register_buffer("matrix", random_matrix(backbone.channels // 2))

    def forward(self, pixels: Tensor) -> Tensor:
        """(n, 3, 100, 100, RGB) uint8 -> feature maps (3 n, channel, GRID, GRID)."""
        maps: Tensor = self.backbone(pixels.flatten(0, 1))
        return maps

    def loss(self, maps: Tensor, classes: Tensor) -> Tensor:
        """`classes`: cells.targets. The mean squared error relative to what a map of zeros would have."""
        description = describe(classes)
        expected = self.encode(together(description))
        weights = torch.where(description.present, ITEM_WEIGHT, 1.0)
        errors = (maps.float().flatten(2).transpose(1, 2) - expected).square().sum(dim=-1)
        return (weights * errors).sum() / (weights * expected.square().sum(dim=-1)).sum()

    def exact(self, maps: Tensor, classes: Tensor) -> Tensor:
        """(box,): whether a map tells every target within its tolerance."""
        description = describe(classes)
        told = self.decode(maps.float().flatten(2).transpose(1, 2))
        tolerances = told.new_full((TARGETS,), TOLERANCE)
        tolerances[1 + CORNER.start : 1 + CORNER.stop] = POSITION_TOLERANCE
        is_right = (told - together(description)).abs() < tolerances
        # Where no item is, what the map tells about one does not matter.
        is_right[..., 1 : 1 + ITEM_TARGETS] |= ~description.present[..., None]
        right: Tensor = is_right.flatten(1).all(dim=1)
        return right

    def encode(self, targets: Tensor) -> Tensor:
        """(…, TARGETS) -> (…, channel)."""
        projected = targets @ self.matrix.T
        return torch.cat([projected.relu(), (-projected).relu()], dim=-1)

    def decode(self, features: Tensor) -> Tensor:
        """The inverse of `encode` if there are at least twice as many channels as targets."""
        positive, negative = features.chunk(2, dim=-1)
        return (positive - negative) @ self.matrix / SCALE**2


def together(description: Description) -> Tensor:
    """All targets of each cell: (n, cell, TARGETS)."""
    boxes = description.boxes[:, None].expand(-1, description.present.size(1), -1)
    return torch.cat([description.present[..., None].float(), description.items, boxes], dim=-1)


def random_matrix(rows: int) -> Tensor:
    """E (rows, TARGETS), with orthogonal columns if there are rows enough; always the same."""
    generator = torch.Generator().manual_seed(MATRIX_SEED)
    orthogonal, _ = torch.linalg.qr(torch.randn(max(rows, TARGETS), TARGETS, generator=generator))
    matrix: Tensor = SCALE * orthogonal[:rows]
    return matrix
