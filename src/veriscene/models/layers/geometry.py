"""What items have to do with the walls of their box and with one another, as numbers between -1 and 1.

One pixel decides whether things touch, and a network learns such a threshold on coordinates slowly. So every threshold
of the program language is a feature of its own. All are computed from the items' features.
"""

from __future__ import annotations

import torch
from torch import Tensor

from veriscene.data.items import constant, extents
from veriscene.world.schema import World

HALF = 0.5  # positions are whole pixels but for rounding errors
WALL_FEATURES = 16
SIDES, CONTACTS = slice(4, 8), slice(9, 11)  # in pair features
_WITHIN_BOX = 13


def pair_feature_count(world: World) -> int:
    categorical = sum(attribute.kind == "categorical" for attribute in world.attributes)
    return _WITHIN_BOX + categorical + 2 * (len(world.attributes) - categorical) + 2


def edges(items: Tensor, world: World) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Left, right, bottom and top edge in pixels, y growing upwards: (…, feature) -> four times (…)."""
    width, height = world.canvas
    left, top = (items[..., 0] + 1) * width / 2, height - (items[..., 1] + 1) * height / 2
    extent = extents(items, world)
    return left, left + extent[..., 0], top - extent[..., 1], top


def wall_features(items: Tensor, world: World) -> Tensor:
    """(…, feature) -> (…, WALL_FEATURES).

    The distance of each wall (left, right, bottom, top). Then, exactly and closely: which walls are touched, whether
    any is, and whether a corner is, which means two walls.
    """
    left, right, bottom, top = edges(items, world)
    width, height = world.canvas
    gaps = torch.stack([left, width - right, bottom, height - top], dim=-1)
    parts = [gaps / constant(gaps, [width, width, height, height])]
    for margin in (HALF, world.close + HALF):
        touched = gaps < margin
        count = touched.sum(dim=-1, keepdim=True)
        parts += [part.to(gaps.dtype) for part in (touched, count > 0, count == 2)]
    return torch.cat(parts, dim=-1)


def pair_features(items: Tensor, world: World) -> Tensor:
    """Each item i of a scene with each item j, (batch, box, item, feature) -> (batch, i, j, pair feature), where i and
    j number the items of all boxes.

    For items of one box: the gaps between facing edges, which of them are gaps (j is wholly to the left, to the right,
    below, above), whether some facing edges are close, whether i and j touch, also closely, whether they overlap
    horizontally and vertically. For all: the same value of each categorical attribute; for each ordered or numeric one
    whether the values are the same, and their difference; the same box, the same item.
    """
    flat = items.flatten(1, 2)
    left, right, bottom, top = (edge[:, :, None] for edge in edges(flat, world))
    gaps = torch.stack([left - right.mT, left.mT - right, bottom - top.mT, bottom.mT - top], dim=-1)
    distance, sideways, upright = gaps.amax(dim=-1), gaps[..., :2].amax(dim=-1), gaps[..., 2:].amax(dim=-1)
    touching, close = world.touching + HALF, world.close + HALF
    flags = [
        gaps.abs().amin(dim=-1) < close,
        distance < touching,
        distance < close,
        sideways < -HALF,
        upright < -HALF,
    ]
    number = torch.arange(flat.size(1), device=flat.device)
    box = number // items.size(2)
    same_box, same_item = box[:, None] == box, number[:, None] == number
    apart = torch.cat([(gaps > -HALF), torch.stack(flags, dim=-1)], dim=-1).to(gaps.dtype)
    width, height = world.canvas
    scaled = gaps / constant(gaps, [width, width, height, height])
    within = torch.cat([scaled, apart], dim=-1) * (same_box & ~same_item)[..., None]
    same_place = [same.to(gaps.dtype).expand_as(distance) for same in (same_box, same_item)]
    compared = [*_same_choices(flat, world), *_differences(flat, world), *same_place]
    return torch.cat([within, torch.stack(compared, dim=-1)], dim=-1)


def _same_choices(flat: Tensor, world: World) -> list[Tensor]:
    """For each categorical attribute, whether two items have the same value: (batch, i, j)."""
    own = [flat[..., world.columns[each.name]] for each in reversed(world.attributes) if each.kind == "categorical"]
    return [(look[:, :, None] * look[:, None]).sum(dim=-1) for look in own]


def _differences(flat: Tensor, world: World) -> list[Tensor]:
    """For each ordered and numeric attribute, whether two items have the same value, and the difference."""
    found = []
    for attribute in reversed(world.attributes):
        if attribute.kind == "categorical":
            continue
        if attribute.has_extents:
            quantity, unit = extents(flat, world)[..., 0], world.canvas[0]
            smallest = 1 / unit
        else:
            quantity, unit = flat[..., world.columns[attribute.name].start], 2
            steps = (
                len(attribute.choices) - 1
                if attribute.kind == "ordered"
                else ((attribute.high - attribute.low) / (attribute.step or (attribute.high - attribute.low) / 1000))
            )
            smallest = 0.5 / max(1, steps)
        larger = (quantity[:, :, None] - quantity[:, None]) / unit
        found += [(larger.abs() < smallest).to(larger.dtype), larger]
    return found
