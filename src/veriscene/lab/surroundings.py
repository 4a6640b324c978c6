"""What a cell of the rendered backbone's map tells about the box: the item in it, what is around it, and how much there
is of everything.

A model that matches words with cells one by one sees only what a cell tells. OBJ-LSTM tells an item of its box's other
items before words are matched with them; these targets make a feature map do the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from veriscene.data.items import SIZE_STEP
from veriscene.language.placed import CLOSE
from veriscene.models.layers.coordinates import encode_positions
from veriscene.models.vision import cells
from veriscene.world.scene import BOX_EXTENT, MOST_ITEMS

COUNT_UNIT = 2  # counts are divided by it, so that they vary about as much as the other targets
MOST_COLORED, MOST_SHAPED, MOST_ALIKE = 4, 4, 2  # counts of a colour, of a shape and of both are told up to these
ITEM_TARGETS, BOX_TARGETS = 42, 52


@dataclass(frozen=True)
class Description:
    """Of n boxes with GRID x GRID cells each, row by row."""

    present: Tensor  # (n, cell), bool: whether the centre of an item lies in the cell
    items: Tensor  # (n, cell, ITEM_TARGETS): the item's own features, then its surroundings; zero where there is none
    boxes: Tensor  # (n, BOX_TARGETS): how much there is of everything, the same for every cell of a box


def describe(classes: Tensor) -> Description:
    """`classes`: cells.targets (box, head, row, column)."""
    flat = classes.long().flatten(2)
    present = flat[:, 0] != cells.ABSENT
    # A box has at most MOST_ITEMS items: pairs of those, not of cells, are compared.
    found = present.long().argsort(dim=1, descending=True, stable=True)[:, :MOST_ITEMS]
    shape, color, size, right, down = flat.clamp(min=0).gather(2, found[:, None].expand(-1, flat.size(1), -1)).unbind(1)
    items = _Items(
        exists=present.gather(1, found),
        x=cells.CELL * (found % cells.GRID) + right,
        y=cells.CELL * (found // cells.GRID) + down,
        size=size,
        shape=one_hot(shape, len(cells.SHAPES)).float(),
        color=one_hot(color, len(cells.COLORS)).float(),
    )
    features = torch.cat([items.own(), items.surroundings()], dim=-1) * items.exists[..., None]
    everywhere = features.new_zeros(*present.shape, features.size(-1))
    # Those of `found` that do not exist are empty cells, which get zeros.
    everywhere.scatter_(1, found[..., None].expand_as(features), features)
    return Description(present, everywhere, items.counts())


@dataclass(frozen=True)
class _Items:
    exists: Tensor  # (n, item), bool, as all others: (n, item)
    x: Tensor  # of the centre
    y: Tensor
    size: Tensor  # a number of cells.SIZES
    shape: Tensor  # (n, item, 3), one-hot
    color: Tensor  # (n, item, 3), one-hot

    @property
    def extent(self) -> Tensor:
        return torch.tensor([size.value for size in cells.SIZES], device=self.size.device)[self.size]

    def own(self) -> Tensor:
        """The nine features that models of items read, with positions from wall to wall ("contact")."""
        left, upper, medium = self.x - self.extent // 2, self.y - self.extent // 2, cells.SIZES[1].value
        numbers = [2 * left / BOX_EXTENT - 1, 2 * upper / BOX_EXTENT - 1, (self.extent - medium) / SIZE_STEP]
        return encode_positions(torch.cat([torch.stack(numbers, dim=-1), self.shape, self.color], dim=-1), "contact")

    def walls(self) -> Tensor:
        """(n, item, 4): whether the item touches the left, upper, right and lower wall."""
        left, upper = self.x - self.extent // 2, self.y - self.extent // 2
        right, lower = left + self.extent, upper + self.extent
        touched = torch.stack([left == 0, upper == 0, right == BOX_EXTENT, lower == BOX_EXTENT], dim=-1)
        return (touched & self.exists[..., None]).float()

    def surroundings(self) -> Tensor:
        """(n, item, …): walls; colours of what is above, below, left, right and closely touching above and below;
        colours and shapes of all that is closely touching; whether it is the highest and the lowest item; and how many
        others have its colour, shape and size."""
        left, upper = self.x - self.extent // 2, self.y - self.extent // 2
        right, lower = left + self.extent, upper + self.extent
        # [i, j]: how far j begins beyond i's edge, in each direction; negative if it does not lie beyond.
        above, below = upper[:, :, None] - lower[:, None], upper[:, None] - lower[:, :, None]
        before, after = left[:, :, None] - right[:, None], left[:, None] - right[:, :, None]
        others = self.exists[:, None] & ~torch.eye(MOST_ITEMS, dtype=torch.bool, device=above.device)
        touching = torch.stack([above, below, before, after]).amax(dim=0) <= CLOSE
        directions = [above >= 0, below >= 0, before >= 0, after >= 0]

        def count(related: Tensor, kinds: Tensor) -> Tensor:
            return (related & others).float() @ kinds / COUNT_UNIT

        highest = torch.where(self.exists, upper, BOX_EXTENT).amin(dim=1, keepdim=True)
        lowest = torch.where(self.exists, upper, 0).amax(dim=1, keepdim=True)
        sizes = one_hot(self.size, len(cells.SIZES)).float()
        alike = [
            (others.float() * (kinds @ kinds.transpose(1, 2))).sum(-1) / COUNT_UNIT
            for kinds in (self.color, self.shape, sizes)
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
                thermometer(self.color, MOST_COLORED),
                thermometer(self.shape, MOST_SHAPED),
                thermometer(both, MOST_ALIKE),
                thermometer(exists, MOST_ITEMS)[:, 1:],
                (walled * exists).sum(dim=1) / COUNT_UNIT,
            ],
            dim=-1,
        )
