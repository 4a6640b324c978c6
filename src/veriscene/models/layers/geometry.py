"""Where items are with respect to walls and to one another, as numbers between -1 and 1.

One pixel decides whether things touch, and a network learns such a threshold on coordinates slowly. So every threshold
of the program language (meaning/language/placed.py) is a feature of its own. All are computed from the nine features.
"""

from __future__ import annotations

import torch
from torch import Tensor

from veriscene.data.items import COLORS, SHAPES, X, Y, extents
from veriscene.world.scene import BOX_EXTENT

TOUCHING, CLOSE = 1.5, 4.5  # items at most 1 or 4 pixels apart; coordinates are whole pixels but for rounding errors
AT_WALL, CLOSE_TO_WALL = 0.5, 4.5
NOT_BELOW_ZERO = -0.5
WALL_FEATURES = 16
PAIR_FEATURES = 19
SIDES, CONTACTS = slice(4, 8), slice(9, 11)  # in pair features


def edges(items: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Left, right, bottom and top edge in pixels, y growing upwards: (…, ITEM_FEATURES) -> four times (…)."""
    left, top = (items[..., X] + 1) * BOX_EXTENT / 2, BOX_EXTENT - (items[..., Y] + 1) * BOX_EXTENT / 2
    extent = extents(items)
    return left, left + extent, top - extent, top


def wall_features(items: Tensor) -> Tensor:
    """(…, ITEM_FEATURES) -> (…, WALL_FEATURES).

    The distance of each wall (left, right, bottom, top). Then, exactly and closely: which walls are touched, whether
    any is, and whether a corner is, which means two walls.
    """
    left, right, bottom, top = edges(items)
    gaps = torch.stack([left, BOX_EXTENT - right, bottom, BOX_EXTENT - top], dim=-1)
    parts = [gaps / BOX_EXTENT]
    for margin in (AT_WALL, CLOSE_TO_WALL):
        touched = gaps < margin
        count = touched.sum(dim=-1, keepdim=True)
        parts += [part.to(gaps.dtype) for part in (touched, count > 0, count == 2)]
    return torch.cat(parts, dim=-1)


def pair_features(items: Tensor) -> Tensor:
    """Each item i of a scene with each item j, (batch, box, item, ITEM_FEATURES) -> (batch, i, j, PAIR_FEATURES), where
    i and j number the items of all boxes.

    For items of one box: the gaps between facing edges, which of them are gaps (j is wholly to the left, to the right,
    below, above), whether some facing edges are close, whether i and j touch, also closely, whether they overlap
    horizontally and vertically. For all: same colour, shape and size, which is larger, same box, same item.
    """
    flat = items.flatten(1, 2)
    left, right, bottom, top = (edge[:, :, None] for edge in edges(flat))
    gaps = torch.stack([left - right.mT, left.mT - right, bottom - top.mT, bottom.mT - top], dim=-1)
    distance, sideways, upright = gaps.amax(dim=-1), gaps[..., :2].amax(dim=-1), gaps[..., 2:].amax(dim=-1)
    flags = [
        gaps.abs().amin(dim=-1) < CLOSE,
        distance < TOUCHING,
        distance < CLOSE,
        sideways < NOT_BELOW_ZERO,
        upright < NOT_BELOW_ZERO,
    ]
    number = torch.arange(flat.size(1), device=flat.device)
    box = number // items.size(2)
    same_box, same_item = box[:, None] == box, number[:, None] == number
    apart = torch.cat([(gaps > NOT_BELOW_ZERO), torch.stack(flags, dim=-1)], dim=-1).to(gaps.dtype)
    within = torch.cat([gaps / BOX_EXTENT, apart], dim=-1) * (same_box & ~same_item)[..., None]
    extent = extents(flat)
    larger = (extent[:, :, None] - extent[:, None]) / BOX_EXTENT
    same_look = [(flat[:, :, None, look] * flat[:, None, :, look]).sum(dim=-1) for look in (COLORS, SHAPES)]
    same_place = [same.to(gaps.dtype).expand_as(larger) for same in (same_box, same_item)]
    same_size = (larger.abs() < 1 / BOX_EXTENT).to(gaps.dtype)
    return torch.cat([within, torch.stack([*same_look, same_size, larger, *same_place], dim=-1)], dim=-1)
