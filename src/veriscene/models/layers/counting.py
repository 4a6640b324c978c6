"""How many things of each look there are: around an item, in its box and in the scene.

Statements count, and a network learns the threshold between two and three slowly. So each threshold is a feature.
"""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor

from veriscene.data.items import Items, choices
from veriscene.models.layers.geometry import CONTACTS, SIDES
from veriscene.models.layers.pooling import max_over, min_over
from veriscene.world.schema import World

RELATIONS, MAX_NEIGHBOURS = 10, 3
COMPARISONS = 4


def look_count(world: World) -> int:
    """How many features `looks` has."""
    discrete = [len(each.choices) for each in world.attributes if each.kind != "numeric"]
    pairs = combinations([len(each.choices) for each in world.attributes if each.kind == "categorical"], 2)
    return 1 + sum(discrete) + sum(first * second for first, second in pairs)


def neighbour_feature_count(world: World) -> int:
    return RELATIONS * look_count(world) * MAX_NEIGHBOURS


def count_feature_count(world: World) -> int:
    return 2 * look_count(world) * world.items[1] + COMPARISONS


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
    """How many others of each look stand in each relation to an item, from its scene's pair features.

    (batch, i, j, …), (batch, box, item, look) -> (batch, box, item, neighbour feature). Relations: wholly to one side,
    close on that side, touching, close. A relation to things of one look is then a feature, and not a product that
    attention has to find first.
    """
    sides, contacts = pairs[..., SIDES], pairs[..., CONTACTS]
    relations = torch.cat([sides, sides * contacts[..., 1:], contacts], dim=-1)
    counts = relations.mT @ looks.flatten(1, 2)[:, None]  # (batch, i, relation, look)
    return at_least(counts, MAX_NEIGHBOURS).view(*looks.shape[:3], -1)


def count_features(looks: Tensor, world: World, exists: Tensor | None) -> Tensor:
    """How many items of each look are in an item's box and in its scene; whether other boxes have as many items as its
    box, and whether none has fewer or more: (batch, box, item, look) -> (batch, box, item, count feature).
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
