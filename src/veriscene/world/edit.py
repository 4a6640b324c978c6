"""One small change of a scene, and how it is said in English."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from veriscene.world.scene import BOX_EXTENT, Box, Item, Side, item_to_json
from veriscene.worlds.nlvr.kinds import BLOCK_STEP, tower_colors

EditKind = Literal["recolor", "reshape", "resize", "move", "remove", "add"]
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_WALLS = {
    Side.TOP: ("at ", "the top wall"),
    Side.BOTTOM: ("on ", "the floor"),
    Side.LEFT: ("at ", "the left wall"),
    Side.RIGHT: ("at ", "the right wall"),
}


@dataclass(frozen=True)
class Edit:
    """`before` is None for an added item, `after` for a removed one.

    In a tower, the blocks above close the gap or make room; `before` and `after` are the block that is meant.
    """

    kind: EditKind
    box: int  # index in the scene
    before: Item | None
    after: Item | None
    items: tuple[Item, ...] = field(compare=False, repr=False)  # of the box before this edit

    @property
    def text(self) -> str:
        """An instruction. It names an item so that no other item of the box can be meant."""
        where = f"box {self.box + 1}"
        if self.before is None:
            assert self.after is not None
            preposition, place = self._place(self.after)
            look = _look(self.after, self.items, with_size=not _is_tower(self.items))
            return f"add a {look} to {where}, {preposition}{place}"
        item = f"the {name(self.before, self.items)} in {where}"
        if self.after is None:
            return f"remove {item}"
        match self.kind:
            case "recolor":
                return f"paint {item} {self.after.color.name.lower()}"
            case "reshape":
                return f"turn {item} into a {self.after.shape.value}"
            case "resize":
                return f"make {item} {self.after.size.name.lower()}"
        return f"move {item} to {self._place(self.after)[1]}"

    def to_json(self) -> dict[str, Any]:
        """Items as in NLVR's structured_rep; boxes are counted from 0."""
        before, after = (None if item is None else item_to_json(item) for item in (self.before, self.after))
        return {"kind": self.kind, "box": self.box, "before": before, "after": after, "text": self.text}

    def _place(self, after: Item) -> tuple[str, str]:
        """Where an item comes to be: a preposition and the place."""
        others = [item for item in self.items if item != self.before]
        if _is_tower(self.items):
            level = after.bottom // BLOCK_STEP
            if level in (0, len(others)):
                return "at ", "the top" if level else "the bottom"
            return "in ", f"the {_ORDINALS[level]} place from the bottom"
        walls = [side for side in Side if side in after.walls()]
        if self.before is None or not after.walls() <= self.before.walls():
            if len(walls) == 1:
                return _WALLS[walls[0]]
            if walls:
                return "in ", f"the {' '.join(side.value for side in walls)} corner"
        for other in others:
            if after.touches(other):
                return "", f"just {_direction(after, other)} the {name(other, self.items)}"
        middle = (BOX_EXTENT - after.size.value) // 2
        return (
            ("in ", "the middle") if (after.x, after.y) == (middle, middle) else ("at ", "a free place near the middle")
        )


def name(item: Item, items: Sequence[Item]) -> str:
    """What to call this item of a box, so that no other can be meant: "black square", "small black square",
    "leftmost black square", "second black block from the bottom"."""
    look = _look(item, items, with_size=False)
    alike = [other for other in items if _look(other, items, with_size=False) == look]
    if len({other.size for other in alike}) > 1:
        look = _look(item, items, with_size=True)
        alike = [other for other in alike if other.size is item.size]
    if len(alike) == 1:
        return look
    for values, value, low, high in (
        ([other.left for other in alike], item.left, "left", "right"),
        ([other.bottom for other in alike], item.bottom, "bottom", "top"),
    ):
        if values.count(value) == 1:
            return _ranked(look, sorted(values), value, low, high)
    return f"{look} whose upper left corner is at ({item.x}, {item.y})"


def _is_tower(items: Sequence[Item]) -> bool:
    return tower_colors(Box(tuple(items))) is not None


def _look(item: Item, items: Sequence[Item], *, with_size: bool) -> str:
    if _is_tower(items):
        return f"{item.color.name.lower()} block"  # the blocks of a tower have one size
    return f"{item.size.name.lower() + ' ' if with_size else ''}{item.color.name.lower()} {item.shape.value}"


def _ranked(look: str, values: list[int], value: int, low: str, high: str) -> str:
    """The look with the rank of `value`, which is there once, among values that grow from `low` to `high`."""
    if value == values[0]:
        return f"{'leftmost' if low == 'left' else 'lowest'} {look}"
    if value == values[-1]:
        return f"{high}most {look}"
    return f"{_ORDINALS[sum(other < value for other in values)]} {look} from the {low}"


def _direction(item: Item, other: Item) -> str:
    if item.bottom >= other.top:
        return "above"
    if item.top <= other.bottom:
        return "below"
    return "left of" if item.right <= other.left else "right of"
