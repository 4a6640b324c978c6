"""World files: TOML to World and back. Every error names the key, its value and what is allowed."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from veriscene.errors import InputError
from veriscene.files import read_text
from veriscene.world.drawing import SHAPES
from veriscene.world.scene import Number, Value
from veriscene.world.schema import Attribute, Choice, Kind, Noun, Towers, World, not_allowed

MAX_BOXES, MAX_ITEMS, MAX_CHOICES, MAX_ATTRIBUTES, MAX_CANVAS = 16, 64, 256, 32, 10_000
MAX_NAME = 40
MAX_FILE_BYTES = 1 << 20
_NAME = re.compile(rf"[^\W\d][\w-]{{0,{MAX_NAME - 1}}}")  # letters of any script
_COLOR = re.compile(r"#[0-9a-fA-F]{3}|#[0-9a-fA-F]{6}|[a-zA-Z]{3,30}")
_RESERVED = ("x", "y", "width", "height", "box", "boxes", "item", "items", "all", "any", "not", "and", "or", "in", "if")
# Of the tables of a world file. "box" and "item" may be one word or [singular, plural].
_WORLD_KEYS = (
    *("name", "canvas", "boxes", "items", "box", "item", "extent", "overlap", "centers", "whole", "walls", "towers"),
    *("touching", "close", "fields", "scene_field", "background", "attributes"),
)
_COMPARISONS = ("more", "less", "most", "least", "change")
_ATTRIBUTE_KEYS = ("kind", "values", "field", "words", "range", "step", "unit", "draw", "noun", *_COMPARISONS)
_DRAWN = ("", "turn", "shade")
_CHOICE_KEYS = ("stored", "words", "plural", "extent", "fill", "shape", "outline", "label")


def read_world(path: str | Path) -> World:
    """Returns the world of a TOML file; raises InputError with the first problem."""
    problems: list[InputError] = []
    world = check_world(path, problems)
    if world is None:
        raise problems[0]
    return world


def check_world(path: str | Path, problems: list[InputError]) -> World | None:
    """Like `read_world`, but adds every problem to `problems` and returns None if there is one."""
    path = Path(path)
    try:
        tree = tomllib.loads(read_text(path, limit=MAX_FILE_BYTES))
    except (ValueError, RecursionError) as error:  # ValueError: not TOML, or a number with thousands of digits
        problems.append(InputError(f"not TOML: {error}", where=path, allowed="docs/own-world.md shows a world file"))
        return None
    found: list[InputError] = []
    world = parse_world(tree, found)
    problems += [problem.at(path) for problem in found]
    return world


def world_of(tree: object, *, where: str) -> World:
    """Returns the world that `to_tree` wrote; raises InputError with the first problem."""
    problems: list[InputError] = []
    world = parse_world(tree, problems)
    if world is None:
        raise problems[0].at(where)
    return world


def parse_world(tree: object, problems: list[InputError]) -> World | None:
    """Returns the world that the tables of a world file describe, or None after adding what is wrong to `problems`."""
    world = _Reader(problems).world(tree)
    return None if problems else world


class _Reader:
    """Reads tables; what is wrong is added to `problems`, and a harmless value is returned in its place."""

    def __init__(self, problems: list[InputError]) -> None:
        self.problems = problems

    def wrong(self, what: str, where: str, allowed: str) -> None:
        self.problems.append(InputError(what, where=where or None, allowed=allowed))

    def refuse(self, value: object, where: str, allowed: str) -> None:
        self.problems.append(not_allowed(value, allowed).at(where))

    def table(self, value: object, where: str, known: tuple[str, ...] | None) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self.refuse(value, where, "it must be a table of keys and values")
            return {}
        for key in value if known is not None else ():
            if key not in known:  # type: ignore[operator]
                self.wrong(f"unknown key {key!r:.40}", where, f"choose from {', '.join(known or ())}")
        return value

    def text(self, value: object, where: str, default: str = "", limit: int = 80) -> str:
        if value is None:
            return default
        if isinstance(value, str) and 0 < len(value) <= limit and value.isprintable():
            return value
        self.refuse(value, where, f"it must be printable text of at most {limit} characters")
        return default

    def flag(self, value: object, where: str, default: bool) -> bool:
        if isinstance(value, bool) or value is None:
            return default if value is None else value
        self.refuse(value, where, "it must be true or false")
        return default

    def number(self, value: object, where: str, default: Number, low: float, high: float) -> Number:
        if value is None:
            return default
        if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
            return value
        self.refuse(value, where, f"it must be a number from {low:g} to {high:g}")
        return default

    def words(self, value: object, where: str, default: tuple[str, ...]) -> tuple[str, ...]:
        if value is None:
            return default
        values = [value] if isinstance(value, str) else value
        if isinstance(values, list) and values:
            return tuple(self.text(word, where, "?") for word in values)
        self.refuse(value, where, "it must be a word or a list of words")
        return default

    def count(self, value: object, where: str, low: int, high: int) -> tuple[int, int]:
        """Returns a number, or [smallest, largest]; the largest is 1 at least."""
        pair = [value, value] if isinstance(value, int) and not isinstance(value, bool) else value
        is_pair = isinstance(pair, list) and len(pair) == 2 and all(type(each) is int for each in pair)
        if is_pair and low <= pair[0] <= pair[1] <= high and pair[1]:  # type: ignore[index]
            return pair[0], pair[1]  # type: ignore[index]
        self.refuse(value, where, f"it must be a number from 1 to {high}, or [smallest, largest], from {low}")
        return max(low, 1), max(low, 1)

    def extent(self, value: object, where: str) -> tuple[Number, Number] | None:
        """Returns a side length, or [width, height]."""
        if value is None:
            return None
        pair: list[Any] = value if isinstance(value, list) and len(value) == 2 else [value, value]
        if all(isinstance(each, int | float) and type(each) is not bool and 0 < each <= MAX_CANVAS for each in pair):
            return pair[0], pair[1]
        self.refuse(value, where, "it must be a number above 0, or [width, height]")
        return 1, 1

    def noun(self, value: object, where: str, default: str) -> Noun:
        if isinstance(value, list) and len(value) == 2:
            return Noun(self.text(value[0], where, default), self.text(value[1], where, default))
        word = self.text(value, where, default)
        return Noun(word, plural_of(word))

    # ------------------------------------------------------------ tables

    def world(self, tree: object) -> World:
        known = self.table(tree, "", _WORLD_KEYS)
        name = self.text(known.get("name"), "name", limit=MAX_NAME)
        if not _NAME.fullmatch(name):
            self.refuse(known.get("name"), "name", "it must begin with a letter, then letters, digits, _ or -")
        canvas = known.get("canvas")
        is_size = isinstance(canvas, list) and len(canvas) == 2 and all(type(side) is int for side in canvas)
        if not is_size or not all(1 <= side <= MAX_CANVAS for side in canvas):  # type: ignore[union-attr]
            self.refuse(canvas, "canvas", f"it must be [width, height], whole numbers from 1 to {MAX_CANVAS}")
            canvas = [100, 100]
        assert isinstance(canvas, list)
        attributes = self.attributes(known.get("attributes"))
        world = World(
            name=name,
            canvas=(canvas[0], canvas[1]),
            boxes=self.count(known.get("boxes"), "boxes", 1, MAX_BOXES),
            items=self.count(known.get("items"), "items", 0, MAX_ITEMS),
            box=self.noun(known.get("box"), "box", "box"),
            item=self.noun(known.get("item"), "item", "item"),
            attributes=attributes,
            extent=self.extent(known.get("extent"), "extent"),
            overlap=self.flag(known.get("overlap"), "overlap", False),
            centers=self.flag(known.get("centers"), "centers", False),
            whole=self.flag(known.get("whole"), "whole", False),
            walls=self.flag(known.get("walls"), "walls", True),
            towers=self.towers(known.get("towers"), attributes),
            touching=self.number(known.get("touching"), "touching", 1, 0, MAX_CANVAS),
            close=self.number(known.get("close"), "close", 4, 0, MAX_CANVAS),
            fields=self.fields(known.get("fields")),
            scene_field=self.text(known.get("scene_field"), "scene_field", "scene"),
            background=self.color(known, "background", "background"),
        )
        self.check_whole(world)
        return world

    def check_whole(self, world: World) -> None:
        """What no table shows by itself: extents that are said twice or do not fit, fields of one name."""
        saying = [attribute.name for attribute in world.attributes if attribute.has_extents]
        if len(saying) + (world.extent is not None) > 1:
            places = [*(f"attributes.{name}" for name in saying), *(["extent"] if world.extent else [])]
            self.wrong(f"extents are given by {' and by '.join(places)}", "", "only one of them may give them")
        extents = [choice.extent for each in world.attributes for choice in each.choices if choice.extent]
        for width, height in [*extents, *([world.extent] if world.extent else [])]:
            if width > world.canvas[0] or height > world.canvas[1]:
                allowed = f"the canvas is {world.canvas[0]} x {world.canvas[1]}"
                self.wrong(f"an extent of {width:g} x {height:g} does not fit", "extent", allowed)
        fields = [*world.fields, *(attribute.field for attribute in world.attributes)]
        for name in {each for each in fields if fields.count(each) > 1}:
            self.wrong(f"two fields of an item are called {name!r}", "", "give each a name of its own")
        if sum(attribute.is_noun for attribute in world.attributes) > 1:
            self.wrong("several attributes have noun = true", "attributes", "only one may name items")

    def fields(self, value: object) -> tuple[str, str, str, str]:
        names = ("x", "y", "width", "height")
        given = self.table({} if value is None else value, "fields", names)
        x, y, width, height = (self.text(given.get(name), f"fields.{name}", name) for name in names)
        return x, y, width, height

    def towers(self, value: object, attributes: tuple[Attribute, ...]) -> Towers | None:
        if value is None:
            return None
        by_name = {attribute.name: attribute for attribute in attributes}
        given = self.table(value, "towers", ("step", *by_name))
        values = []
        for name, wanted in given.items():
            if name == "step" or name not in by_name:
                continue
            if not isinstance(wanted, str) or wanted not in by_name[name].by_name:
                self.refuse(wanted, f"towers.{name}", by_name[name].allowed)
            values.append((name, wanted))
        return Towers(tuple(values), self.number(given.get("step"), "towers.step", 1, 0, MAX_CANVAS))

    def attributes(self, value: object) -> tuple[Attribute, ...]:
        tables = self.table(value, "attributes", None)
        if not 1 <= len(tables) <= MAX_ATTRIBUTES:
            self.wrong(f"there are {len(tables)} attributes", "attributes", f"allowed: 1 to {MAX_ATTRIBUTES}")
        return tuple(self.attribute(name, table) for name, table in tables.items())

    def attribute(self, name: str, value: object) -> Attribute:
        where = f"attributes.{name:.40}"
        if not _NAME.fullmatch(name) or name in _RESERVED:
            what = f"an attribute cannot be called {name!r:.40}"
            self.wrong(what, "attributes", "use a letter, then letters, digits, _")
        table = self.table(value, where, _ATTRIBUTE_KEYS)
        kind: Kind = table.get("kind", "categorical" if "values" in table else "numeric")
        if kind not in get_args(Kind):
            self.refuse(kind, f"{where}.kind", f"choose from {', '.join(get_args(Kind))}")
            kind = "categorical"
        for key in ("range", "step", "unit", "draw") if kind != "numeric" else ("values", "noun"):
            if key in table:
                self.wrong(f"{key} does not go with kind = {kind!r}", where, "remove it, or change the kind")
        low, high = self.range(table.get("range"), f"{where}.range") if kind == "numeric" else (0, 0)
        attribute = Attribute(
            name=name,
            kind=kind,
            field=self.text(table.get("field"), f"{where}.field", name),
            words=self.words(table.get("words"), f"{where}.words", (name.replace("_", " "),)),
            choices=() if kind == "numeric" else self.choices(table.get("values"), f"{where}.values"),
            low=low,
            high=high,
            step=self.number(table.get("step"), f"{where}.step", 0, 0, 1e9),
            unit=self.text(table.get("unit"), f"{where}.unit"),
            draw=self.text(table.get("draw"), f"{where}.draw"),
            is_noun=self.flag(table.get("noun"), f"{where}.noun", False),
            **{key: self.text(table.get(key), f"{where}.{key}") for key in _COMPARISONS},
        )
        if attribute.draw not in _DRAWN:
            self.refuse(attribute.draw, f"{where}.draw", f"choose from {', '.join(_DRAWN[1:])}")
        if attribute.change and not {"{item}", "{value}"} <= set(re.findall(r"\{[^{}]*\}", attribute.change)):
            self.refuse(attribute.change, f"{where}.change", "it must contain {item} and {value}")
        if any(choice.extent for choice in attribute.choices) and not attribute.has_extents:
            self.wrong("only some values have an extent", f"{where}.values", "give one to each, or to none")
        widths = [choice.extent[0] for choice in attribute.choices if choice.extent]
        if kind == "ordered" and any(small >= large for small, large in pairwise(widths)):
            what = "the extents of an ordered attribute must ascend"
            self.wrong(what, f"{where}.values", "list the smallest first")
        return attribute

    def range(self, value: object, where: str) -> tuple[Number, Number]:
        is_pair = isinstance(value, list) and len(value) == 2 and all(type(each) in (int, float) for each in value)
        if is_pair and -1e12 <= value[0] < value[1] <= 1e12:  # type: ignore[index]
            return value[0], value[1]  # type: ignore[index]
        self.refuse(value, where, "it must be [smallest, largest]")
        return 0, 1

    def choices(self, value: object, where: str) -> tuple[Choice, ...]:
        tables = {name: {} for name in value if isinstance(name, str)} if isinstance(value, list) else value
        if isinstance(value, list) and len(tables) != len(value):  # type: ignore[arg-type]
            self.wrong("a value is repeated, or not text", where, "each must be text, and occur once")
        tables = self.table(tables, where, None)
        if not 1 <= len(tables) <= MAX_CHOICES:
            self.wrong(f"there are {len(tables)} values", where, f"allowed: 1 to {MAX_CHOICES}")
        found = tuple(self.choice(name, table, f"{where}.{name:.40}") for name, table in tables.items())
        stored = [choice.stored for choice in found]
        for each in {each for each in stored if stored.count(each) > 1}:
            self.wrong(f"two values are stored as {each!r:.40}", where, "give each a value of its own")
        return found

    def choice(self, name: str, value: object, where: str) -> Choice:
        self.text(name, where)
        table = self.table(value, where, _CHOICE_KEYS)
        stored: Value = table.get("stored", name)
        if not isinstance(stored, str | int | float) or isinstance(stored, bool):
            self.refuse(stored, f"{where}.stored", "it must be text or a number")
            stored = name
        shape = self.text(table.get("shape"), f"{where}.shape") or None
        if shape is not None and shape not in SHAPES:
            allowed = f"choose from {', '.join(SHAPES)}; without one, a labelled tile is drawn"
            self.refuse(shape, f"{where}.shape", allowed)
        return Choice(
            name=name,
            stored=stored,
            words=self.words(table.get("words"), f"{where}.words", (name.replace("_", " "),)),
            plural=self.words(table.get("plural"), f"{where}.plural", ()),
            extent=self.extent(table.get("extent"), f"{where}.extent"),
            shape=shape,
            label=self.text(table.get("label"), f"{where}.label", limit=8) or None,
            fill=self.color(table, "fill", f"{where}.fill"),
            outline=self.color(table, "outline", f"{where}.outline"),
        )

    def color(self, table: Mapping[str, Any], key: str, where: str) -> str | None:
        color = self.text(table.get(key), where) or None
        if color is not None and not _COLOR.fullmatch(color):
            self.refuse(color, where, "it must be a CSS colour: a name or #rrggbb")
        return color


def to_tree(world: World) -> dict[str, Any]:
    """Returns tables from which `world_of` makes an equal world, for checkpoints and the page."""

    def written(choice: Choice) -> dict[str, Any]:
        table = {key: getattr(choice, key) for key in _CHOICE_KEYS}
        return {key: _plain(each) for key, each in table.items() if each not in (None, ())}

    attributes = {}
    for each in world.attributes:
        table: dict[str, Any] = {"kind": each.kind, "field": each.field, "words": list(each.words)}
        if each.kind == "numeric":
            table |= {"range": [each.low, each.high], "step": each.step, "unit": each.unit, "draw": each.draw}
        else:
            table |= {"values": {choice.name: written(choice) for choice in each.choices}, "noun": each.is_noun}
        table |= {key: getattr(each, key) for key in _COMPARISONS}
        attributes[each.name] = {key: value for key, value in table.items() if value not in ("", 0, False)}
    tree = {key: _plain(getattr(world, key)) for key in _WORLD_KEYS if key not in ("attributes", "towers", "fields")}
    tree |= {key: [noun.singular, noun.plural] for key, noun in (("box", world.box), ("item", world.item))}
    tree["fields"] = dict(zip(("x", "y", "width", "height"), world.fields, strict=True))
    if world.towers is not None:
        tree["towers"] = {"step": world.towers.step, **dict(world.towers.values)}
    return {**{key: value for key, value in tree.items() if value is not None}, "attributes": attributes}


def to_toml(world: World) -> str:
    """Returns the text of a world file from which `read_world` makes an equal world."""
    return "".join(_toml_lines(to_tree(world), ()))


def _toml_lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if path and (plain or not table):
        yield f"\n[{'.'.join(map(_toml_key, path))}]\n"
    yield from (f"{_toml_key(key)} = {_toml(value)}\n" for key, value in plain.items())
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _toml_lines(value, (*path, key))


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def _toml(value: object) -> str:
    # JSON's strings, numbers, booleans and lists are also TOML's, and a quoted key is one too.
    return json.dumps(value, ensure_ascii=False)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def plural_of(word: str) -> str:
    """Guesses the plural of an English noun, where only the singular is given."""
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    if word.endswith("f") and not word.endswith("ff"):
        return f"{word[:-1]}ves"
    return f"{word}es" if re.search(r"(s|x|z|ch|sh)$", word) else f"{word}s"
