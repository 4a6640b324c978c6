"""Structs of tensors. Items as tensors, in the feature layout of their world (`World.columns`), and what these say."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import pairwise
from typing import Any, Self

import torch
from torch import Tensor

from veriscene.data.encoder import ItemOrder
from veriscene.world.scene import Side
from veriscene.world.schema import Attribute, World

CORNER = slice(0, 2)  # x and y, which come first in every world


@dataclass(frozen=True)
class TensorStruct:
    """Fields are tensors, other structs, or None. Whatever works on all of them goes through `map`, so that a new field
    cannot be forgotten."""

    def map(self, function: Callable[..., Tensor], *others: Self) -> Self:
        """Returns the struct of function(tensor, *corresponding tensors of the others); None stays None.

        Raises ValueError if a field is None in some of the structs only.
        """

        def mapped(name: str) -> object:
            mine, *theirs = (vars(struct)[name] for struct in (self, *others))
            if any((mine is None) != (other is None) for other in theirs):
                raise ValueError(f"{name} is missing in one of the structs")
            if mine is None:
                return None
            return mine.map(function, *theirs) if isinstance(mine, TensorStruct) else function(mine, *theirs)

        return replace(self, **{field.name: mapped(field.name) for field in fields(self)})

    def tensors(self) -> list[Tensor]:
        found: list[Tensor] = []

        def collect(tensor: Tensor) -> Tensor:
            found.append(tensor)
            return tensor

        self.map(collect)
        return found

    def to(self, device: torch.device | str) -> Self:
        return self.map(lambda tensor: tensor.to(device))

    def concatenated(self, other: Self) -> Self:
        """Returns the examples of both, which must be padded alike and have the same fields."""
        return self.map(lambda mine, theirs: torch.cat([mine, theirs]), other)

    def fingerprint(self) -> int:
        """Returns a checksum that changes with any value or shape."""
        checksum = 0
        for tensor in self.tensors():
            checksum = zlib.crc32(repr(tuple(tensor.shape)).encode(), checksum)
            checksum = zlib.crc32(tensor.cpu().contiguous().numpy().tobytes(), checksum)
        return checksum


@dataclass(frozen=True)
class Items(TensorStruct):
    features: Tensor  # (batch, box, item, feature); zeros beyond a box's last item
    counts: Tensor  # (batch, box), int64: items in each box
    positions: Tensor  # (batch, box, item), int64: the index of each item in the scene's own list
    boxes: Tensor | None = None  # (batch,), int64: boxes in each scene; None: as many in all scenes of the world

    @classmethod
    def of_fields(cls, world: World, fields: Mapping[str, Tensor], is_item: Tensor, boxes: Tensor | None) -> Items:
        """Makes items, as `World.features` describes them, of numbers (batch, box, item): pixels, ranks of choices,
        the value of each numeric attribute. Items fill the first places of a box (`is_item`)."""
        features = torch.zeros((*is_item.shape, world.feature_count), device=is_item.device)

        def scaled(name: str, low: float, high: float) -> None:
            # In double precision, as Python computes the features of a single item.
            where, number = world.columns[name].start, fields[name].double()
            features[..., where] = (2 * (number - low) / ((high - low) or 1) - 1).float()

        for name, span in world.spans.items():
            scaled(name, 0, span)
        for attribute in world.attributes:
            where, number = world.columns[attribute.name], fields[attribute.name]
            if attribute.kind == "categorical":
                ranks = torch.arange(len(attribute.choices), device=number.device)
                features[..., where] = (number[..., None] == ranks).float()
            elif attribute.kind == "ordered":
                features[..., where] = constant(features, _features(attribute))[number.long()][..., None]
            else:
                scaled(attribute.name, *attribute.scale)
        positions = torch.arange(is_item.size(2), device=is_item.device).expand(is_item.shape)
        return cls(features * is_item[..., None], is_item.sum(dim=2), positions, boxes)

    @classmethod
    def empty(cls, world: World) -> Items:
        """Returns a scene of empty boxes, which tells the sizes of what is computed of items."""
        features = torch.zeros(1, world.boxes[1], 1, world.feature_count)
        return cls(features, features[..., 0, 0].long(), features[..., 0].long())

    @property
    def mask(self) -> Tensor:
        """(batch, box, item): whether there is an item."""
        return torch.arange(self.features.size(2), device=self.features.device) < self.counts[:, :, None]

    @property
    def lengths(self) -> Tensor:
        """(batch, box): items to read. An empty box is read as one item without any features."""
        return self.counts.clamp(min=1)

    @property
    def box_mask(self) -> Tensor | None:
        """(batch, box): whether there is a box; None: there always is."""
        if self.boxes is None:
            return None
        return torch.arange(self.features.size(1), device=self.features.device) < self.boxes[:, None]

    @property
    def given_order(self) -> Tensor:
        """(batch, box, item): the order of a model that reads the items as they come."""
        return torch.arange(self.features.size(2), device=self.features.device).expand(self.features.shape[:3])

    def reordered(self, order: Tensor) -> Items:
        """Returns the items in an `order` (batch, box, item), which holds the item that is read at each place."""
        return Items(take_items(self.features, order), self.counts, self.positions.gather(2, order), self.boxes)

    def shuffled(self, keys: Tensor) -> Items:
        """Sorts each box's items by `keys` (batch, box, item), for example random ones; padding stays at the end."""
        return self.reordered(keys.masked_fill(~self.mask, torch.inf).argsort(dim=2, stable=True))


def in_reading_order(items: Items, order: ItemOrder, generator: torch.Generator) -> Items:
    """Returns items that are in the file's order in that of `reading_order`; but RANDOM is a new random order."""
    if order is ItemOrder.FILE:
        return items
    if order is ItemOrder.SORTED:
        # The whole range of y is less than the smallest difference in x that a float can tell from none.
        keys = items.features[..., 0].double() - items.features[..., 1].double() * 1e-6
    else:
        keys = torch.rand(items.features.shape[:3], generator=generator)
    return items.shuffled(keys.to(items.features.device, torch.float64))


def constant(like: Tensor, values: Sequence[Any]) -> Tensor:
    """Returns the numbers as a tensor of the same type and on the same device. It is made once, since a captured step
    may not copy from the host."""
    return _constant(tuple(values), like.dtype, like.device)


@cache  # for good: graphs know the address
def _constant(values: tuple[Any, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(values, dtype=dtype, device=device)


def take_items(items: Tensor, order: Tensor) -> Tensor:
    """items (batch, box, item, dim) in the given order (batch, box, item)."""
    return items.gather(2, order[..., None].expand(-1, -1, -1, items.size(-1)))


def extents(features: Tensor, world: World) -> Tensor:
    """Returns width and height of each item in pixels: (…, feature) -> (…, 2)."""
    if world.sizes is not None:
        known = [choice.extent for choice in world.sizes.choices if choice.extent]
        ratios = {height / width for width, height in known}
        if world.sizes.kind == "categorical" or len(ratios) > 1:
            return choices(features, world)[world.sizes.name].to(features.dtype) @ constant(features, known)
        low, high = world.sizes.scale
        width = low + (features[..., world.columns[world.sizes.name]] + 1) * ((high - low) / 2)
        return torch.cat([width, width * ratios.pop()], dim=-1)
    canvas = constant(features, world.canvas)
    if world.extent is not None:
        return constant(features, world.extent).expand(*features.shape[:-1], 2)
    own = slice(world.columns["width"].start, world.columns["height"].stop)
    return (features[..., own] + 1) / 2 * canvas


@dataclass(frozen=True)
class Attributes:
    """Holds what the features say, in whole pixels and booleans. All zero beyond a box's last item."""

    x: Tensor  # (batch, box, item), int64: the left edge
    y: Tensor  # (batch, box, item), int64: the upper edge, growing downwards
    walls: Tensor  # (batch, box, item, 4), bool: which walls it touches, in the order of Side
    values: dict[str, Tensor]  # by discrete attribute: (batch, box, item, choice), bool, in the order of the world

    @classmethod
    def of(cls, items: Items, world: World) -> Attributes:
        features, mask = items.features, items.mask
        canvas = constant(features, world.canvas)
        pixels = ((features[..., CORNER] + 1) * canvas / 2).round().long().masked_fill(~mask[..., None], 0)
        x, y = pixels.unbind(-1)
        width, height = extents(features, world).round().long().unbind(-1)
        touched = {
            Side.TOP: y == 0,
            Side.BOTTOM: y + height == world.canvas[1],
            Side.LEFT: x == 0,
            Side.RIGHT: x + width == world.canvas[0],
        }
        is_item = mask[..., None]
        walls = torch.stack([touched[side] for side in Side], dim=-1) & is_item
        return cls(x, y, walls, {name: one_hot & is_item for name, one_hot in choices(features, world).items()})


def choices(features: Tensor, world: World) -> dict[str, Tensor]:
    """Returns, by discrete attribute, which choice each item has: (…, feature) -> (…, choice), bool."""
    found = {}
    for attribute in world.attributes:
        own = features[..., world.columns[attribute.name]]
        if attribute.kind == "categorical":
            found[attribute.name] = own > 0.5
        elif attribute.kind == "ordered":
            values = _features(attribute)
            nearest = min((high - low for low, high in pairwise(values)), default=1.0) / 2
            found[attribute.name] = (own - constant(own, values)).abs() < nearest
    return found


def _features(attribute: Attribute) -> list[float]:
    """The feature of each choice of an ordered attribute."""
    return [feature for (feature,) in attribute.features.values()]
