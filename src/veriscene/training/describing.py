"""The rendered backbone with what it is trained to tell: the targets of surroundings.py, cell by cell."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from veriscene.models.vision.base import Backbone
from veriscene.tensors.items import CORNER
from veriscene.training.surroundings import BOX_TARGETS, ITEM_TARGETS, Description, describe

PRESENCE_WEIGHT, TARGET_WEIGHT = 10.0, 100.0
MAGNITUDE_WEIGHT = 3.0  # of the backbone's features, to which noise of variance 1 is added
TOLERANCE, POSITION_TOLERANCE = 0.25, 0.05  # half of the smallest step of a count; about four pixels


class DescribingBackbone(nn.Module):
    """A backbone with a 1 x 1 convolution that predicts, for every cell, whether it holds an item's centre, the targets
    of that item and those of the box.

    In training, noise is added to the backbone's features, whose magnitude is penalised. So they say what is where as
    clearly as possible and nothing else, from which a model with few examples could tell boxes apart without
    understanding them.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.heads = nn.Conv2d(backbone.channels, 1 + ITEM_TARGETS + BOX_TARGETS, 1)

    def forward(self, pixels: Tensor) -> Tensor:
        """(n, 3, 100, 100, RGB) uint8 -> (3 n, 1 + ITEM_TARGETS + BOX_TARGETS, GRID, GRID)."""
        features = self.backbone(pixels.flatten(0, 1))
        self.magnitude: Tensor = features.float().square().mean()  # of the last batch, for the loss
        heads: Tensor = self.heads(features + torch.randn_like(features) if self.training else features)
        return heads

    def loss(self, outputs: Tensor, classes: Tensor) -> Tensor:
        """`classes`: cells.targets."""
        presence, item_errors, box_errors, targets = compare(outputs, classes)
        present = targets.present.float()
        return (
            PRESENCE_WEIGHT * binary_cross_entropy_with_logits(presence, present)
            + TARGET_WEIGHT * (item_errors.square().mean(dim=-1) * present).sum() / present.sum()
            + TARGET_WEIGHT * box_errors.square().mean()
            + MAGNITUDE_WEIGHT * self.magnitude
        )

    def exact(self, outputs: Tensor, classes: Tensor) -> Tensor:
        """(box,): whether presence is right and every target within its tolerance."""
        presence, item_errors, box_errors, targets = compare(outputs, classes)
        tolerances = item_errors.new_full((ITEM_TARGETS,), TOLERANCE)
        tolerances[CORNER] = POSITION_TOLERANCE
        right_items = (item_errors.abs() < tolerances).all(dim=-1) | ~targets.present
        right_boxes = (box_errors.abs() < TOLERANCE).all(dim=-1)
        right: Tensor = ((presence > 0) == targets.present) & right_items & right_boxes
        return right.all(dim=1)


def compare(outputs: Tensor, classes: Tensor) -> tuple[Tensor, Tensor, Tensor, Description]:
    """For every cell (box, cell, …): the logit of presence, errors of item targets and of box targets; the targets."""
    targets = describe(classes)
    values = outputs.float().flatten(2).transpose(1, 2)
    presence, of_items, of_boxes = values.tensor_split((1, 1 + ITEM_TARGETS), dim=2)
    return presence.squeeze(2), of_items - targets.items, of_boxes - targets.boxes[:, None], targets
