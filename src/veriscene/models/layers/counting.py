"""How many things of each look there are: around an item, in its box and in the scene.

Statements count, and a network learns the threshold between two and three slowly. So each threshold is a feature.
"""

from __future__ import annotations

import torch
from torch import Tensor

from veriscene.data.items import COLORS, SHAPES, Items, extents
from veriscene.models.layers.geometry import CONTACTS, SIDES
from veriscene.world.scene import MOST_ITEMS, Color, Shape, Size

LOOKS = 1 + len(Color) + len(Shape) + len(Size) + len(Color) * len(Shape)
RELATIONS, MOST_NEIGHBOURS = 10, 3
NEIGHBOUR_FEATURES = RELATIONS * LOOKS * MOST_NEIGHBOURS
COMPARISONS = 4
COUNT_FEATURES = 2 * LOOKS * MOST_ITEMS + COMPARISONS


def at_least(counts: Tensor, most: int) -> Tensor:
    """(…) -> (…, most): entry k is 1 if the count is at least k + 1, 0 if it is at most k, linear between."""
    thresholds = torch.arange(most, device=counts.device, dtype=counts.dtype)
    return (counts[..., None] - thresholds).clamp(0, 1)


def looks(items: Items) -> Tensor:
    """(batch, box, item, LOOKS): one, for any item; its colour, shape and size; its colour with its shape. Zeros beyond
    a box's last item."""
    features = items.features
    colors, shapes = features[..., COLORS], features[..., SHAPES]
    sizes = torch.stack([(extents(features) - size.value).abs() < 1 for size in Size], dim=-1).to(features.dtype)
    both = (colors[..., :, None] * shapes[..., None, :]).flatten(-2)
    every = torch.cat([torch.ones_like(sizes[..., :1]), colors, shapes, sizes, both], dim=-1)
    return every * items.mask[..., None]


def neighbour_features(pairs: Tensor, looks: Tensor) -> Tensor:
    """How many others of each look stand in each relation to an item, from its scene's pair features.

    (batch, i, j, …), (batch, box, item, LOOKS) -> (batch, box, item, NEIGHBOUR_FEATURES). Relations: wholly to one
    side, close on that side, touching, close. A relation to things of one look is then a feature, and not a product
    that attention has to find first.
    """
    sides, contacts = pairs[..., SIDES], pairs[..., CONTACTS]
    relations = torch.cat([sides, sides * contacts[..., 1:], contacts], dim=-1)
    counts = relations.mT @ looks.flatten(1, 2)[:, None]  # (batch, i, relation, look)
    return at_least(counts, MOST_NEIGHBOURS).view(*looks.shape[:3], -1)


def count_features(looks: Tensor) -> Tensor:
    """How many items of each look are in an item's box and in its scene; whether other boxes have as many items as its
    box, and whether none has fewer or more: (batch, box, item, LOOKS) -> (batch, box, item, COUNT_FEATURES)."""
    in_box = looks.sum(dim=2)  # (batch, box, look)
    in_scene = in_box.sum(dim=1, keepdim=True).expand_as(in_box)
    items = in_box[..., 0]
    equal = (items[:, :, None] == items[:, None]).sum(dim=-1)
    extremes = torch.stack([items == items.amin(dim=1, keepdim=True), items == items.amax(dim=1, keepdim=True)], dim=-1)
    counts = [at_least(some, MOST_ITEMS).flatten(2) for some in (in_box, in_scene)]
    compared = [at_least(equal.to(looks.dtype) - 1, COMPARISONS - extremes.size(-1)), extremes.to(looks.dtype)]
    return torch.cat([*counts, *compared], dim=-1)[:, :, None].expand(-1, -1, looks.size(2), -1)
