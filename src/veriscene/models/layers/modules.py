"""The modules of a neural module network, on maps (…, cell) with values in [0, 1]: how much each cell belongs.

Maps are fuzzy sets of cells, so modules without words have no weights. Cells are those of a square grid, row by row.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

MOST_COUNTED = 5  # larger counts are told apart only by the linear term


def intersection(a: Tensor, b: Tensor) -> Tensor:
    return a * b


def union(a: Tensor, b: Tensor) -> Tensor:
    return a + b - a * b


def difference(a: Tensor, b: Tensor) -> Tensor:
    return a * (1 - b)


def displacements(grid: int) -> Tensor:
    """(7, source, target): whether a target stands in each of seven relations to a source, along one axis.

    With d = target - source: before (d < 0), just before (-3 to -1), equal, near (-1 to 1), just after, after, any.
    The centres of two neighbouring blocks of a tower are two cells apart.
    """
    d = torch.arange(grid)[None, :] - torch.arange(grid)[:, None]
    relations = [d < 0, (d < 0) & (d >= -3), d == 0, d.abs() <= 1, (d > 0) & (d <= 3), d > 0, d.abs() < grid]
    return torch.stack(relations).float()


class Relate(nn.Module):
    """The places that stand in a relation to the cells of a map: a vertical and a horizontal displacement, each a
    mixture of seven that the relation's words choose."""

    kernels: Tensor

    def __init__(self, *, size: int, grid: int) -> None:
        super().__init__()
        self.grid = grid
        self.register_buffer("kernels", displacements(grid), persistent=False)
        self.choose = nn.Linear(size, 2 * len(self.kernels))

    def forward(self, words: Tensor, maps: Tensor) -> Tensor:
        """words (batch, size), maps (batch, …, cell) -> (batch, …, cell)."""
        vertical, horizontal = self.choose(words).unflatten(-1, (2, -1)).softmax(dim=-1).unbind(dim=-2)
        return self.moved(vertical, horizontal, maps)

    def moved(self, vertical: Tensor, horizontal: Tensor, maps: Tensor) -> Tensor:
        """With the given mixtures (batch, 7)."""
        by_rows = torch.einsum("bk,kst->bst", vertical, self.kernels)
        by_columns = torch.einsum("bk,kst->bst", horizontal, self.kernels)
        grids = maps.reshape(len(maps), -1, self.grid, self.grid)
        related: Tensor = by_rows.transpose(1, 2)[:, None] @ grids @ by_columns[:, None]
        return related.clamp(max=1).reshape(maps.shape)


class Surroundings(nn.Module):
    """How many objects lie above, below, left and right of each cell, in its own row or column and those next to it.

    It tells the top block of a tower from the others.
    """

    kernels: Tensor

    def __init__(self, *, grid: int) -> None:
        super().__init__()
        self.grid = grid
        self.register_buffer("kernels", displacements(grid), persistent=False)

    def forward(self, presence: Tensor) -> Tensor:
        """(…, cell) -> (…, cell, 4)."""
        before, _, _, near, _, after, _ = self.kernels.unbind()
        grids = presence.reshape(*presence.shape[:-1], self.grid, self.grid)
        near_columns, near_rows = grids @ near, near.T @ grids
        counts = [after.T @ near_columns, before.T @ near_columns, near_rows @ after, near_rows @ before]
        return torch.stack(counts, dim=-1).flatten(-3, -2)
