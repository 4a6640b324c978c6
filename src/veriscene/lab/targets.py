"""Per-cell regression targets of the rendered backbone: item, neighbourhood, box counts.

A model that matches words with cells one by one sees only what a cell tells. OBJ-LSTM tells an item of its box's other
items before words are matched with them; these targets make a feature map do the same.

A cell's targets t become as many features as the backbone has channels: f = [relu(E t); relu(-E t)], with a fixed
random matrix E. So f tells t, by E^T (f1 - f2), and nothing else, from which a model with few examples could tell boxes
apart without understanding them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from veriscene.data import eyes as cells
from veriscene.data.items import CORNER
from veriscene.models.layers.geometry import encode_positions
from veriscene.models.vision.networks import Backbone
from veriscene.worlds.nlvr.looks import BOX_EXTENT, CLOSE, EXTENTS, MAX_ITEMS, WORLD, Size

COUNT_UNIT = 2  # counts are divided by it, so that they vary about as much as the other targets
MAX_COLORED, MAX_SHAPED, MAX_ALIKE = 4, 4, 2  # counts of a colour, of a shape and of both are told up to these
ITEM_TARGETS, BOX_TARGETS = 42, 52
TARGETS = 1 + ITEM_TARGETS + BOX_TARGETS  # presence comes first
SCALE = 8.0  # of E: features of items are then about one
ITEM_WEIGHT = 10.0  # of cells with an item in the loss; there are about five in a hundred
TOLERANCE, POSITION_TOLERANCE = 0.25, 0.05  # half of the smallest step of a count; about four pixels
MATRIX_SEED = 0


class TargetBackbone(nn.Module):
    """A backbone with the loss that makes its features tell the targets of each cell."""

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
        """Returns the mean squared error relative to what a map of zeros would have. `classes`: cells.targets."""
        targets = cell_targets(classes)
        expected = self.encode(targets)
        weights = torch.where(targets[..., 0] > 0, ITEM_WEIGHT, 1.0)
        errors = (maps.float().flatten(2).transpose(1, 2) - expected).square().sum(dim=-1)
        return (weights * errors).sum() / (weights * expected.square().sum(dim=-1)).sum()

    def exact(self, maps: Tensor, classes: Tensor) -> Tensor:
        """(box,): whether a map tells every target within its tolerance."""
        targets = cell_targets(classes)
        told = self.decode(maps.float().flatten(2).transpose(1, 2))
        tolerances = told.new_full((TARGETS,), TOLERANCE)
        tolerances[1 + CORNER.start : 1 + CORNER.stop] = POSITION_TOLERANCE
        is_right = (told - targets).abs() < tolerances
        # Where no item is, what the map tells about one does not matter.
        is_right[..., 1 : 1 + ITEM_TARGETS] |= targets[..., :1] == 0
        right: Tensor = is_right.flatten(1).all(dim=1)
        return right

    def encode(self, targets: Tensor) -> Tensor:
        """(…, TARGETS) -> (…, channel)."""
        projected = targets @ self.matrix.T
        return torch.cat([projected.relu(), (-projected).relu()], dim=-1)

    def decode(self, features: Tensor) -> Tensor:
        """Inverts `encode` if there are at least twice as many channels as targets."""
        positive, negative = features.chunk(2, dim=-1)
        return (positive - negative) @ self.matrix / SCALE**2


def random_matrix(rows: int) -> Tensor:
    """Returns E (rows, TARGETS), with orthogonal columns if there are rows enough; always the same."""
    generator = torch.Generator().manual_seed(MATRIX_SEED)
    orthogonal, _ = torch.linalg.qr(torch.randn(max(rows, TARGETS), TARGETS, generator=generator))
    matrix: Tensor = SCALE * orthogonal[:rows]
    return matrix


def cell_targets(classes: Tensor) -> Tensor:
    """cells.targets (box, head, row, column) -> (box, cell, TARGETS).

    A cell's targets are whether the centre of an item lies in it; that item's own features and neighbourhood, zero if
    there is none; and the counts of the box, the same for all its cells.
    """
    flat = classes.long().flatten(2)
    present = flat[:, 0] != cells.ABSENT
    # A box has at most MAX_ITEMS items: pairs of those, not of cells, are compared.
    found = present.long().argsort(dim=1, descending=True, stable=True)[:, :MAX_ITEMS]
    shape, color, size, right, down = flat.clamp(min=0).gather(2, found[:, None].expand(-1, flat.size(1), -1)).unbind(1)
    extent = torch.tensor(list(EXTENTS.values()), device=size.device)[size]
    items = _Items(
        exists=present.gather(1, found),
        left=cells.CELL * (found % cells.GRID) + right - extent // 2,
        upper=cells.CELL * (found // cells.GRID) + down - extent // 2,
        extent=extent,
        shape=one_hot(shape, cells.HEADS[0]).float(),
        color=one_hot(color, cells.HEADS[1]).float(),
        size=one_hot(size, cells.HEADS[2]).float(),
    )
    features = torch.cat([items.own(), items.neighbourhood()], dim=-1) * items.exists[..., None]
    everywhere = features.new_zeros(*present.shape, features.size(-1))
    # Those of `found` that do not exist are empty cells, which get zeros.
    everywhere.scatter_(1, found[..., None].expand_as(features), features)
    counts = items.counts()[:, None].expand(-1, present.size(1), -1)
    return torch.cat([present[..., None].float(), everywhere, counts], dim=-1)


@dataclass(frozen=True)
class _Items:
    """The items of n boxes; pixels count from the box's upper left corner."""

    exists: Tensor  # (n, item), bool
    left: Tensor  # (n, item)
    upper: Tensor  # (n, item)
    extent: Tensor  # (n, item)
    shape: Tensor  # (n, item, 3), one-hot
    color: Tensor  # (n, item, 3), one-hot
    size: Tensor  # (n, item, 3), one-hot

    @property
    def right(self) -> Tensor:
        return self.left + self.extent

    @property
    def lower(self) -> Tensor:
        return self.upper + self.extent

    def own(self) -> Tensor:
        """Returns the nine features that models of items read, with positions from wall to wall ("contact")."""
        size = (self.extent - Size.MEDIUM.extent) / (Size.LARGE.extent - Size.MEDIUM.extent)
        numbers = [2 * self.left / BOX_EXTENT - 1, 2 * self.upper / BOX_EXTENT - 1, size]
        features = torch.cat([torch.stack(numbers, dim=-1), self.shape, self.color], dim=-1)
        return encode_positions(features, "contact", WORLD)

    def walls(self) -> Tensor:
        """(n, item, 4): whether the item touches the left, upper, right and lower wall."""
        at_left, at_top = self.left == 0, self.upper == 0
        touched = torch.stack([at_left, at_top, self.right == BOX_EXTENT, self.lower == BOX_EXTENT], dim=-1)
        return (touched & self.exists[..., None]).float()

    def neighbourhood(self) -> Tensor:
        """(n, item, …): walls; colours of what is above, below, left, right and closely touching above and below;
        colours and shapes of all that is closely touching; whether it is the highest and the lowest item; and how many
        others have its colour, shape and size."""
        left, upper, right, lower = self.left, self.upper, self.right, self.lower
        # [i, j]: how far j begins beyond i's edge, in each direction; negative if it does not lie beyond.
        above, below = upper[:, :, None] - lower[:, None], upper[:, None] - lower[:, :, None]
        before, after = left[:, :, None] - right[:, None], left[:, None] - right[:, :, None]
        others = self.exists[:, None] & ~torch.eye(MAX_ITEMS, dtype=torch.bool, device=above.device)
        touching = torch.stack([above, below, before, after]).amax(dim=0) <= CLOSE
        directions = [above >= 0, below >= 0, before >= 0, after >= 0]

        def count(related: Tensor, kinds: Tensor) -> Tensor:
            return (related & others).float() @ kinds / COUNT_UNIT

        highest = torch.where(self.exists, upper, BOX_EXTENT).amin(dim=1, keepdim=True)
        lowest = torch.where(self.exists, upper, 0).amax(dim=1, keepdim=True)
        alike = [
            (others.float() * (kinds @ kinds.transpose(1, 2))).sum(-1) / COUNT_UNIT
            for kinds in (self.color, self.shape, self.size)
        ]
        return torch.cat(
            [
                self.walls(),
                *(count(direction, self.color) for direction in directions),
                *(count(direction & touching, self.color) for direction in directions[:2]),
                count(touching, self.color),
                count(touching, self.shape),
                torch.stack([(upper == highest).float(), (upper == lowest).float(), *alike], dim=-1),
            ],
            dim=-1,
        )

    def counts(self) -> Tensor:
        """(n, BOX_TARGETS): whether the box has at least one, two, … items of each colour, of each shape, of each
        colour and shape, of any kind; and how many of each colour touch a wall."""
        exists = self.exists[..., None].float()
        both = (self.color[..., :, None] * self.shape[..., None, :]).flatten(2)
        walled = self.walls().amax(dim=-1, keepdim=True) * self.color

        def thermometer(kinds: Tensor, most: int) -> Tensor:
            counts = (kinds * exists).sum(dim=1)
            return (counts[..., None] >= torch.arange(1, most + 1, device=counts.device)).float().flatten(1)

        return torch.cat(
            [
                thermometer(self.color, MAX_COLORED),
                thermometer(self.shape, MAX_SHAPED),
                thermometer(both, MAX_ALIKE),
                thermometer(exists, MAX_ITEMS)[:, 1:],
                (walled * exists).sum(dim=1) / COUNT_UNIT,
            ],
            dim=-1,
        )
