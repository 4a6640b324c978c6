"""A World says what scenes can contain: boxes, the canvas of a box, and the attributes of items.

It is a frozen value, written as a TOML file and stored in every checkpoint (world_file.py). From it follow the
validation of scenes, the features that models read, the drawing, the page's palette and the words of items.
docs/own-world.md describes the file.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from veriscene.errors import InputError
from veriscene.world.scene import Box, Item, Number, Scene, Side, Value

Kind = Literal["categorical", "ordered", "numeric"]
Room = tuple[Number, Number]

MAX_LOOKS = 4096  # of items that are remembered

_repr = reprlib.Repr()  # bounded in depth: `repr` fails on deeply nested lists
_repr.maxlevel = 2


@dataclass(frozen=True)
class Noun:
    """Holds a noun and its plural."""

    singular: str
    plural: str


@dataclass(frozen=True)
class Choice:
    """One value of a categorical or ordered attribute."""

    name: str  # in scenes and programs
    stored: Value  # in files; equal to the name unless the world's files have their own spelling
    words: tuple[str, ...]  # in English; the first one is used in descriptions
    plural: tuple[str, ...] = ()  # of the words, if the choice is said as a noun
    extent: tuple[Number, Number] | None = None  # width and height of items with this value
    fill: str | None = None  # CSS colour
    shape: str | None = None  # a name of drawing.SHAPES
    outline: str | None = None  # CSS colour
    label: str | None = None  # text drawn on the item

    @property
    def word(self) -> str:
        return self.words[0]


@dataclass(frozen=True)
class Attribute:
    """Describes a property that every item of a world has."""

    name: str
    kind: Kind
    field: str  # its name in files
    words: tuple[str, ...]  # for the attribute itself: "colour", "price"
    choices: tuple[Choice, ...] = ()  # of categorical and ordered attributes; ordered ones ascend
    low: Number = 0  # numeric attributes: the smallest value,
    high: Number = 0  # the largest,
    step: Number = 0  # and the step between values; 0: any number in the range
    unit: str = ""  # drawn and said after a number
    is_noun: bool = False  # whether its values name items: "square" in "black square"
    more: str = ""  # "more expensive"; ordered and numeric attributes
    less: str = ""  # "cheaper"
    most: str = ""  # "most expensive"
    least: str = ""  # "cheapest"
    change: str = ""  # an instruction with {item} and {value}: "paint {item} {value}"
    draw: str = ""  # how a number is drawn: "turn", "shade"; written on the item if empty

    @cached_property
    def by_name(self) -> dict[Value, Choice]:
        return {choice.name: choice for choice in self.choices}

    @cached_property
    def by_stored(self) -> dict[Value, Choice]:
        return {choice.stored: choice for choice in self.choices}

    @cached_property
    def rank(self) -> dict[Value, int]:
        """Returns the place of each choice in the world file."""
        return {choice.name: place for place, choice in enumerate(self.choices)}

    @property
    def allowed(self) -> str:
        """Says what files may say, for messages."""
        if self.kind != "numeric":
            return f"allowed: {', '.join(str(choice.stored) for choice in self.choices)}"
        step = f" in steps of {self.step:g}" if self.step else ""
        return f"allowed: a number from {self.low:g} to {self.high:g}{step}"

    @cached_property
    def scale(self) -> tuple[float, float]:
        """Returns the numbers that become the features -1 and 1: of extents, ranks or values."""
        if self.kind == "numeric":
            return self.low, self.high
        if self.has_extents:
            widths = [choice.extent[0] for choice in self.choices if choice.extent]
            return min(widths), max(widths)
        return 0, len(self.choices) - 1

    @cached_property
    def has_extents(self) -> bool:
        """Says whether the values determine how large items are."""
        return bool(self.choices) and all(choice.extent for choice in self.choices)

    @cached_property
    def features(self) -> dict[Value, list[float]]:
        """Returns the features of each choice: 0 or 1 for each categorical one, a number from -1 to 1 if ordered."""
        if self.kind == "categorical":
            return {name: [float(name == other) for other in self.by_name] for name in self.by_name}
        return {name: [self.scaled(name)] for name in self.by_name}

    def scaled(self, value: Value) -> float:
        """Returns the feature, from -1 to 1, of a value of an ordered or numeric attribute."""
        low, high = self.scale
        return 2 * (self.number(value) - low) / ((high - low) or 1) - 1

    def number(self, value: Value) -> Number:
        """Returns the quantity behind a value of an ordered or numeric attribute: what `scale` scales."""
        if self.kind == "numeric":
            assert not isinstance(value, str)
            return value
        extent = self.by_name[value].extent
        return extent[0] if extent else self.rank[value]

    def say(self, value: Value) -> str:
        """Returns the value in words, for descriptions: "17€", "28 years"."""
        if isinstance(value, str):
            return self.by_name[value].word
        is_word = len(self.unit) > 2 and self.unit.isalpha()
        unit = self.unit.removesuffix("s") if is_word and value == 1 else self.unit
        return f"{value:g}{' ' if is_word else ''}{unit}"


@dataclass(frozen=True)
class Towers:
    """Boxes whose items all have these values, with aligned right edges, are towers of blocks."""

    values: tuple[tuple[str, Value], ...]
    step: Number  # from the lower edge of a block to that of the next


@dataclass(frozen=True)
class World:
    """Canvas units are pixels: `canvas` is the width and height of every box."""

    name: str
    canvas: tuple[int, int]
    boxes: tuple[int, int]  # the smallest and the largest number of boxes in a scene
    items: tuple[int, int]  # of items in a box
    box: Noun
    item: Noun
    attributes: tuple[Attribute, ...]
    extent: tuple[Number, Number] | None = None  # of every item, unless an attribute or the item itself says it
    overlap: bool = False  # whether items may overlap; later ones then lie in front
    centers: bool = False  # whether items are placed by their centers, which must be in the box, and compared by them
    whole: bool = False  # whether positions are whole numbers
    walls: bool = True  # whether statements may be about the walls of a box
    towers: Towers | None = None
    touching: Number = 1  # the distance up to which two items touch
    close: Number = 4  # the distance up to which things are nearly touching
    fields: tuple[str, str, str, str] = ("x", "y", "width", "height")  # their names in files
    scene_field: str = "scene"  # of the boxes in a line of a file
    background: str | None = None  # CSS colour of boxes
    _hash: int = field(default=0, init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        if not self._hash:  # a world is a key of many caches
            object.__setattr__(self, "_hash", hash((self.name, self.canvas, self.boxes, self.items, self.attributes)))
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        # Hashes of text differ between processes, and what follows from the fields is computed again.
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    @classmethod
    def read(cls, path: str | Path) -> World:
        """Returns the world of a TOML file; raises InputError with the first problem."""
        from veriscene.world.world_file import read_world

        return read_world(path)

    # ------------------------------------------------------------ attributes

    @cached_property
    def by_name(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    def attribute(self, name: str) -> Attribute:
        """Returns the attribute of that name; raises InputError if the world has none."""
        if name not in self.by_name:
            what, allowed = f"unknown attribute {name!r:.40}", f"choose from {', '.join(self.by_name)}"
            raise InputError(what, where=f"world {self.name}", allowed=allowed)
        return self.by_name[name]

    @cached_property
    def noun(self) -> Attribute | None:
        """Returns the attribute whose values name items, if there is one."""
        return next((attribute for attribute in self.attributes if attribute.is_noun), None)

    @cached_property
    def sizes(self) -> Attribute | None:
        """Returns the attribute that determines extents, if there is one."""
        return next((attribute for attribute in self.attributes if attribute.has_extents), None)

    @cached_property
    def has_free_extents(self) -> bool:
        """Says whether each item states its own width and height."""
        return self.extent is None and self.sizes is None

    # ------------------------------------------------------------ items

    def make(self, x: Number, y: Number, *, width: Number = 0, height: Number = 0, **values: Any) -> Item:
        """Returns an item of this world. Its extent is given only in worlds whose items state it.

        Values are not checked; `parse` checks what comes from outside.
        """
        if self.sizes is not None:
            width, height = self.sizes.by_name[values[self.sizes.name]].extent or (width, height)
        elif self.extent is not None:
            width, height = self.extent
        return Item(x, y, width, height, tuple((name, values[name]) for name in self.by_name))

    def check(self, scene: Scene) -> None:
        """Raises InputError unless the items of a scene made in Python have this world's attributes and values.

        What is parsed has been checked.
        """
        for values in {item.values for item in scene.items}:
            if [name for name, _ in values] != [*self.by_name]:
                allowed = f"{self.item.plural} of the world {self.name} have {', '.join(self.by_name)}"
                raise InputError("is about another world", where="scene", allowed=allowed)
            for name, value in values:
                attribute = self.by_name[name]
                if isinstance(value, str) if attribute.kind == "numeric" else value not in attribute.by_name:
                    raise not_allowed(value, attribute.allowed).at(name).at("scene")

    def changed(self, item: Item, **changes: Value) -> Item:
        """Returns the item with other values, and with the extent that follows; or, for x and y, at another place."""
        values: dict[str, Value] = {**dict(item.values), **changes}
        place = {name: values.pop(name) for name in ("x", "y") if name in values}
        x, y = place.get("x", item.x), place.get("y", item.y)
        assert not isinstance(x, str) and not isinstance(y, str)
        return self.make(x, y, width=item.width, height=item.height, **values)

    def walls_of(self, item: Item, margin: Number = 0) -> frozenset[Side]:
        """Returns the walls of the box within `margin` of this item."""
        gaps = (item.y, self.canvas[1] - item.lower, item.x, self.canvas[0] - item.right)  # in the order of Side
        return frozenset(side for side, gap in zip(Side, gaps, strict=True) if gap <= margin)

    def touches(self, item: Item, other: Item, margin: Number | None = None) -> bool:
        return item.distance(other) <= (self.touching if margin is None else margin)

    def is_tower(self, box: Box) -> bool:
        """Returns whether the box is not empty and all its items are blocks with aligned right edges."""
        if self.towers is None or not box.items:
            return False
        return len({item.right for item in box.items}) == 1 and all(
            item[name] == value for item in box.items for name, value in self.towers.values
        )

    # ------------------------------------------------------------ features

    @cached_property
    def spans(self) -> dict[str, int]:
        """Lists what is measured of an item, with the number of pixels that becomes the feature 1; none becomes -1."""
        names = ("x", "y", "width", "height") if self.has_free_extents else ("x", "y")
        return dict(zip(names, self.canvas * 2, strict=False))

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Says where the features of each field are: x, y, width and height if items state them, then the attributes.

        A categorical attribute has one feature for each value, 0 or 1; the others have one, from -1 to 1. In the
        paper's world these are its nine (appendix A.3.1).
        """
        widths = dict.fromkeys(self.spans, 1)
        widths |= {each.name: len(each.choices) if each.kind == "categorical" else 1 for each in self.attributes}
        ends = accumulate(widths.values())
        return {name: slice(end - widths[name], end) for name, end in zip(widths, ends, strict=True)}

    @cached_property
    def feature_count(self) -> int:
        return int(max(where.stop for where in self.columns.values()))

    def features(self, item: Item) -> list[float]:
        """Returns the features of one item, in the order of `columns`."""
        measured = [2 * getattr(item, name) / span - 1 for name, span in self.spans.items()]
        return measured + self.value_features(item.values)

    def value_features(self, values: tuple[tuple[str, Value], ...]) -> list[float]:
        """Returns the features of an item that follow from its attributes' values."""
        found: list[float] = []
        for attribute, (_, value) in zip(self.attributes, values, strict=True):
            found += attribute.features[value] if attribute.choices else [attribute.scaled(value)]
        return found

    # ------------------------------------------------------------ scenes as JSON

    def parse(self, value: object) -> Scene:
        """Returns the scene that a JSON value describes; raises InputError with the first problem."""
        problems: list[InputError] = []
        scene = self.read_scene(value, problems)
        if scene is None:
            raise problems[0]
        return scene

    def read_scene(self, value: object, problems: list[InputError]) -> Scene | None:
        """Like `parse`, but adds every wrong item to `problems` and returns None if there is one."""
        if isinstance(value, Mapping) and len(value) == 1 and ("boxes" in value or self.scene_field in value):
            value = next(iter(value.values()))
        before = len(problems)
        members = _members(value, self.boxes, self.box, self.scene_field, problems)
        boxes = [
            self._read_box(box, f"{self.box.singular} {number}", problems) for number, box in enumerate(members, 1)
        ]
        return Scene(tuple(boxes)) if len(problems) == before else None

    def to_json_scene(self, scene: Scene) -> list[list[dict[str, Value]]]:
        """Returns the JSON value from which `parse` makes an equal scene."""
        return [[self.to_json_item(item) for item in box.items] for box in scene.boxes]

    def to_json_item(self, item: Item) -> dict[str, Value]:
        x, y, width, height = self.fields
        record: dict[str, Value] = {x: item.x, y: item.y}
        if self.has_free_extents:
            record |= {width: item.width, height: item.height}
        for attribute, (_, value) in zip(self.attributes, item.values, strict=True):
            record[attribute.field] = value if attribute.kind == "numeric" else attribute.by_name[value].stored
        return record

    def _read_box(self, value: object, where: str, problems: list[InputError]) -> Box:
        """Returns the valid items of a box; overlaps are reported only if all items are valid."""
        found: list[Item] = []
        members = _members(value, self.items, self.item, where, problems)
        place = f"{where}, {self.item.singular}"
        for number, item in enumerate(members, 1):
            try:
                found.append(self._parse_item(item))
            except InputError as error:
                problems.append(error.at(f"{place} {number}"))
        if len(found) == len(members) and not self.overlap:
            allowed = f"{self.item.plural} must not overlap"
            edges = [(item.x, item.y, item.x + item.width, item.y + item.height) for item in found]
            problems += [
                InputError(f"overlaps {self.item.singular} {earlier}", where=f"{place} {number}", allowed=allowed)
                for number, (left, top, right, lower) in enumerate(edges, 1)
                for earlier, (x, y, end, bottom) in enumerate(edges[: number - 1], 1)
                if left < end and x < right and top < bottom and y < lower
            ]
        return Box(tuple(found))

    @cached_property
    def _known_fields(self) -> tuple[str, ...]:
        own = self.fields if self.has_free_extents else self.fields[:2]
        return (*own, *(attribute.field for attribute in self.attributes))

    def _parse_item(self, record: object) -> Item:
        """Items that look like earlier ones, at whole numbers, are checked without the words for what may be wrong."""
        look: tuple[object, ...] | None = None
        if type(record) is dict and len(record) == len(self._known_fields):
            x, y, *rest = map(record.get, self._known_fields)
            look = (*rest, *map(type, rest))  # True is not 1
            try:
                known = self._looks.get(look)
            except TypeError:  # a list
                look = known = None
            if known is not None and type(x) is type(y) is int:
                item, (left, right), (top, lower) = known
                if left <= x <= right and top <= y <= lower:
                    return Item(x, y, item.width, item.height, item.values)
        found = self._check_item(record)
        if look is not None and len(self._looks) < MAX_LOOKS:
            self._looks[look] = found, self._room(found.width, 0), self._room(found.height, 1)
        return found

    @cached_property
    def _looks(self) -> dict[tuple[object, ...], tuple[Item, Room, Room]]:
        """Valid items by all that files say of them but their place, and where such items can be."""
        return {}

    def _room(self, size: Number, axis: int) -> Room:
        """The smallest and the largest x or y of an item of this width or height."""
        least = -size / 2 if self.centers else 0
        return least, self.canvas[axis] - size - least

    def _check_item(self, record: object) -> Item:
        if not isinstance(record, Mapping):
            raise not_allowed(record, f"it must be an object with {', '.join(self._known_fields)}")
        for name in record:
            if name not in self._known_fields:
                allowed = f"the world {self.name} has {', '.join(self._known_fields)}"
                raise InputError(f"unknown field {name!r:.40}", allowed=allowed)
        values: dict[str, Any] = {each.name: _value(each, record.get(each.field)) for each in self.attributes}
        x, y, width, height = self.fields
        extent: dict[str, Any] = {"width": 0, "height": 0}
        if self.has_free_extents:
            for name, own, most in (("width", width, self.canvas[0]), ("height", height, self.canvas[1])):
                extent[name] = _number(record.get(own), own, 0, most, f"a number above 0 and up to {most}", above=True)
        item = self.make(0, 0, **extent, **values)
        whole = "whole number" if self.whole else "number"
        corner = []
        for axis, (name, size) in enumerate(((x, item.width), (y, item.height))):
            least, limit = self._room(size, axis)
            article = "an" if self.item.singular[:1].lower() in "aeiou" else "a"
            allowed = f"{article} {self.item.singular} of size {size:g} needs a {whole} from {least:g} to {limit:g}"
            corner.append(_number(record.get(name), name, least, limit, allowed, whole=self.whole))
        return item.at(corner[0], corner[1])


def _value(attribute: Attribute, value: object) -> Value:
    if attribute.kind == "numeric":
        number = _number(value, attribute.field, attribute.low, attribute.high, attribute.allowed)
        steps = (number - attribute.low) / attribute.step if attribute.step else 0
        if abs(steps - round(steps)) <= 1e-6:
            return number
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and value in attribute.by_stored:
        return attribute.by_stored[value].name
    raise not_allowed(value, attribute.allowed).at(attribute.field)


def _members(value: Any, count: tuple[int, int], noun: Noun, where: str, problems: list[InputError]) -> Sequence[Any]:
    """Returns the members of a list of boxes or items; none, after adding a problem, if it is no list or too long."""
    if type(value).__module__ == "numpy":  # pandas reads nested lists from parquet files as arrays of objects
        value = value.tolist()
    low, high = count
    number = str(low) if low == high else f"{low} to {high}"
    allowed = f"it must be a list of {number} {noun.singular if high == 1 else noun.plural}"
    if not isinstance(value, list | tuple):
        problems.append(not_allowed(value, allowed).at(where))
    elif not low <= len(value) <= high:
        what = f"has {len(value)} {noun.singular if len(value) == 1 else noun.plural}"
        problems.append(InputError(what, where=where, allowed=allowed))
    else:
        return value
    return ()


def _number(
    value: object, where: str, low: Number, high: Number, allowed: str, *, whole: bool = False, above: bool = False
) -> Number:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and low <= value <= high and not (above and value == low):  # type: ignore[operator]
        assert isinstance(value, int | float)
        if float(value).is_integer():
            return int(value)
        if not whole:
            return value
    raise not_allowed(value, allowed).at(where)


def not_allowed(value: object, allowed: str) -> InputError:
    """Returns the error for a value that is wrong or, being None, missing."""
    if value is None:
        return InputError("is missing", allowed=allowed)
    is_huge = isinstance(value, int) and abs(value) >= 10**20  # Python refuses to print integers of 4,300 digits
    shown = "a huge number" if is_huge else " ".join(_repr.repr(value).split())
    return InputError(f"{shown[:60]} is not allowed", allowed=allowed)
