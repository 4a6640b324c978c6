"""The counts of a scene and which of them agree with a number; the looks of a scene, without numbers.

After the features of MaxEnt (Suhr et al. 2017), for any world: a *kind* is a combination of the values of the last two
categorical attributes, and a *shade* a value of the last one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from veriscene.data.items import Attributes, Items
from veriscene.world.scene import Side
from veriscene.world.schema import World

_MANY = 10**6  # above any count of a box


def agreement_count(world: World) -> int:
    """How many features `agreements` has for each word."""
    shades, kinds = _sizes(world)
    return 2 * ((2 * kinds + shades) + (2 * kinds + 1))


def look_count(world: World) -> int:
    """How many features `looks` has."""
    return 2 * _sizes(world)[0] + 1


def _names(world: World) -> tuple[str, str | None]:
    """The attributes whose values are shades, and those that make kinds with them."""
    categorical = [each.name for each in reversed(world.attributes) if each.kind == "categorical"]
    discrete = categorical or [each.name for each in reversed(world.attributes) if each.kind == "ordered"]
    return (discrete[0], discrete[1] if len(discrete) > 1 else None) if discrete else ("", None)


def _sizes(world: World) -> tuple[int, int]:
    first, second = _names(world)
    shades = len(world.by_name[first].choices) if first else 1
    return shades, shades * (len(world.by_name[second].choices) if second else 1)


def _shades_and_kinds(items: Attributes, mask: Tensor, world: World) -> tuple[Tensor, Tensor]:
    first, second = _names(world)
    shades = items.values[first] if first else mask[..., None]
    if second is None:
        return shades, shades
    return shades, (shades[..., :, None] & items.values[second][..., None, :]).flatten(-2)


def quantities(seen: Attributes, items: Items, world: World) -> tuple[Tensor, Tensor]:
    """Counts of the image (batch, …): items of each kind, those at a wall, boxes of a single shade.

    Counts of each box (batch, box, …): items of each kind, those at a wall, all items.
    """
    shades, kinds = _shades_and_kinds(seen, items.mask, world)  # (batch, box, item, …)
    at_wall = kinds & seen.walls.any(dim=-1, keepdim=True)
    in_box = torch.cat([kinds, at_wall], dim=-1).sum(dim=2)
    counts = items.counts[..., None]
    of_one_shade = (shades.sum(dim=2) == counts) & (counts > 0)
    image = torch.cat([in_box.sum(dim=1), of_one_shade.sum(dim=1)], dim=-1)
    return image, torch.cat([in_box, counts], dim=-1)


def agreements(values: Tensor, image: Tensor, boxes: Tensor, exists: Tensor | None) -> Tensor:
    """Whether numbers (batch, word) agree with quantities: (batch, word, agreement), bool.

    Four ways: as many in the image, at least so many in the image, as many in some box, at least so many in each box.
    `exists` (batch, box; None: always) says which boxes there are.
    """
    number = values[..., None]  # (batch, word, 1)
    in_some = number[:, :, None] == boxes[:, None]  # (batch, word, box, …)
    fewest = boxes.amin(dim=1) if exists is None else boxes.masked_fill(~exists[..., None], _MANY).amin(dim=1)
    if exists is not None:
        in_some = in_some & exists[:, None, :, None]
    return torch.cat(
        [
            number == image[:, None],
            number <= image[:, None],
            in_some.any(dim=2),
            number <= fewest[:, None],
        ],
        dim=-1,
    )


def looks(items: Attributes, mask: Tensor, world: World) -> Tensor:
    """(batch, look), bool: shades on top of some box, shades on some floor, whether anything is at a wall."""
    shades, _ = _shades_and_kinds(items, mask, world)
    heights = items.y.masked_fill(~mask, torch.iinfo(items.y.dtype).max)
    # Items at equal height are all on top: the order of the file must not decide.
    on_top = items.y == heights.amin(dim=2, keepdim=True)
    on_floor = items.walls[..., tuple(Side).index(Side.BOTTOM)]
    return torch.cat(
        [
            (shades & on_top[..., None]).any(dim=2).any(dim=1),
            (shades & on_floor[..., None]).any(dim=2).any(dim=1),
            items.walls.any(dim=-1).any(dim=2).any(dim=1, keepdim=True),
        ],
        dim=-1,
    )
