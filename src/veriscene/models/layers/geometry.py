"""What items have to do with the walls of their box and with one another, as numbers between -1 and 1.

One pixel decides whether things touch, and a network learns such a threshold on coordinates slowly. So every threshold
of the program language is a feature of its own. All are computed from the items' features.
"""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor, nn

from veriscene.data.items import CORNER, Items, choices, constant, extents
from veriscene.models.layers.pooling import max_over, min_over
from veriscene.world.schema import World

HALF = 0.5  # positions are whole pixels but for rounding errors
SIDES, CONTACTS = slice(4, 8), slice(9, 11)  # in pair features


def edges(items: Tensor, world: World) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Left, right, bottom and top edge in pixels, y growing upwards: (…, feature) -> four times (…)."""
    width, height = world.canvas
    left, top = (items[..., 0] + 1) * width / 2, height - (items[..., 1] + 1) * height / 2
    extent = extents(items, world)
    return left, left + extent[..., 0], top - extent[..., 1], top


def wall_features(items: Tensor, world: World) -> Tensor:
    """(…, feature) -> (…, wall feature).

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
    compared = [*_comparisons(flat, world), *same_place]
    return torch.cat([within, torch.stack(compared, dim=-1)], dim=-1)


def _comparisons(flat: Tensor, world: World) -> list[Tensor]:
    """For each categorical attribute, whether two items have the same value, (batch, i, j); then, for each ordered and
    numeric one, whether the values are the same, and their difference."""
    same, differences = [], []
    for attribute in reversed(world.attributes):
        own = flat[..., world.columns[attribute.name]]
        if attribute.kind == "categorical":
            same.append((own[:, :, None] * own[:, None]).sum(dim=-1))
            continue
        if attribute.has_extents:
            quantity, unit = extents(flat, world)[..., 0], world.canvas[0]
            smallest = 1 / unit
        else:
            quantity, unit = own[..., 0], 2
            if attribute.kind == "ordered":
                steps: float = len(attribute.choices) - 1
            else:
                steps = (attribute.high - attribute.low) / attribute.step if attribute.step else 1000
            smallest = 0.5 / max(1, steps)
        larger = (quantity[:, :, None] - quantity[:, None]) / unit
        differences += [(larger.abs() < smallest).to(larger.dtype), larger]
    return [*same, *differences]


# ---------------------------------------------------------------- the index of a box, and numbers

MAX_THRESHOLDS = 64  # of a numeric attribute


def box_index_features(items: Items) -> Tensor:
    """(batch, box, …): which box it is from the left, which from the right, and whether it is in the
    middle."""
    most, device = items.features.size(1), items.features.device
    number = torch.arange(most, device=device)
    count = torch.full(items.features.shape[:1], most, device=device) if items.boxes is None else items.boxes
    from_right = count[:, None] - 1 - number  # (batch, box)
    from_left = number.expand_as(from_right)
    hot = [each[..., None] == number for each in (from_left, from_right)]
    return torch.cat([*hot, (from_left == from_right)[..., None]], dim=-1).to(items.features.dtype)


def number_features(items: Tensor, world: World) -> Tensor:
    """(…, feature) -> (…, threshold): whether each numeric attribute reaches each of its thresholds, one for each step
    if these are not too many."""
    found = [items[..., :0]]
    for each in world.attributes:
        if each.kind == "numeric":
            steps = round(min(MAX_THRESHOLDS, (each.high - each.low) / each.step if each.step else MAX_THRESHOLDS))
            found.append(at_least((items[..., world.columns[each.name].start] + 1) / 2 * steps, steps))
    return torch.cat(found, dim=-1)


# ---------------------------------------------------------------- coordinates

# How the position of an item is encoded for a model (appendix A.3.1: "the location", normalised to [-1, 1]).

# corner: the top-left corner, as in the file. contact: the share of the way from wall to wall, with a gap at the walls.
COORDINATES = ("corner", "contact")


def encode_positions(items: Tensor, coordinates: str, world: World) -> Tensor:
    """Items (…, feature), whose position is that of the corner, in the given coordinates.

    In "contact", -1 is one wall and 1 the other for items of any size, and items that touch no wall are kept within
    half of it: one pixel decides whether an item touches, and without a gap a model needs weights of forty to see it.
    """
    if coordinates == "corner":
        return items
    corner, rest, canvas = items[..., CORNER], items[..., CORNER.stop :], constant(items, world.canvas)
    # An item as large as its box touches both walls; it is said to touch the first one.
    room = (1 - extents(items, world) / canvas).clamp(min=1e-6)
    way = (corner + 1) / room - 1
    # From wall to wall as -1 to 1, anything beyond this touches the wall: one pixel is more than 2 / canvas.
    at_wall = 1 - 1 / canvas
    return torch.cat([torch.where(way.abs() > at_wall, way, way / 2), rest], dim=-1)


class ItemEmbedding(nn.Linear):
    """e = W o + b, equation 2."""

    def __init__(self, size: int, coordinates: str, world: World) -> None:
        super().__init__(world.feature_count, size)
        self.coordinates, self.world = coordinates, world

    def forward(self, items: Tensor) -> Tensor:
        return super().forward(encode_positions(items, self.coordinates, self.world))


# ---------------------------------------------------------------- counting

# How many things of each look there are: around an item, in its box and in the scene. Statements count, and a network
# learns the threshold between two and three slowly. So each threshold is a feature.

MAX_NEIGHBOURS = 3
COMPARISONS = 4


def at_least(counts: Tensor, most: int) -> Tensor:
    """(…) -> (…, most): entry k is 1 if the count is at least k + 1, 0 if it is at most k, linear between."""
    thresholds = torch.arange(most, device=counts.device, dtype=counts.dtype)
    return (counts[..., None] - thresholds).clamp(0, 1)


def looks(items: Items, world: World) -> Tensor:
    """(batch, box, item, look): one, for any item; its choices; pairs of its categorical choices, as colour with shape.
    Zeros beyond a box's last item."""
    features, found = items.features, choices(items.features, world)
    own = {name: found[name].to(features.dtype) for name in reversed(world.by_name) if name in found}
    ordered = [name for name in own if world.by_name[name].kind == "ordered"]
    categorical = [name for name in own if name not in ordered]
    both = [
        (own[first][..., :, None] * own[second][..., None, :]).flatten(-2)
        for first, second in combinations(categorical, 2)
    ]
    singles = [own[name] for name in (*categorical, *ordered)]
    every = torch.cat([torch.ones_like(features[..., :1]), *singles, *both], dim=-1)
    return every * items.mask[..., None]


def neighbour_features(pairs: Tensor, looks: Tensor) -> Tensor:
    """Counts how many others of each look stand in each relation to an item, from its scene's pair features.

    (batch, i, j, …), (batch, box, item, look) -> (batch, box, item, neighbour feature). Relations: wholly to one side,
    close on that side, touching, close. A relation to things of one look is then a feature, and not a product that
    attention has to find first.
    """
    sides, contacts = pairs[..., SIDES], pairs[..., CONTACTS]
    relations = torch.cat([sides, sides * contacts[..., 1:], contacts], dim=-1)
    counts = relations.mT @ looks.flatten(1, 2)[:, None]  # (batch, i, relation, look)
    return at_least(counts, MAX_NEIGHBOURS).view(*looks.shape[:3], -1)


def count_features(looks: Tensor, world: World, exists: Tensor | None) -> Tensor:
    """Counts the items of each look in an item's box and in its scene, and says whether other boxes have as many items
    as its box, and whether none has fewer or more: (batch, box, item, look) -> (batch, box, item, count feature).
    `exists` (batch, box; None: always) says which boxes there are."""
    in_box = looks.sum(dim=2)  # (batch, box, look)
    in_scene = in_box.sum(dim=1, keepdim=True).expand_as(in_box)
    items = in_box[..., 0]
    same = items[:, :, None] == items[:, None]
    equal = (same if exists is None else same & exists[:, None]).sum(dim=-1)
    extremes = torch.stack([items == some(items, exists)[:, None] for some in (min_over, max_over)], dim=-1)
    counts = [at_least(some, world.items[1]).flatten(2) for some in (in_box, in_scene)]
    compared = [at_least(equal.to(looks.dtype) - 1, COMPARISONS - extremes.size(-1)), extremes.to(looks.dtype)]
    return torch.cat([*counts, *compared], dim=-1)[:, :, None].expand(-1, -1, looks.size(2), -1)
