"""Words about items, each with its meaning: nouns, adjectives, places, neighbours, and the quantifiers before them.

Meanings are written in the notation of programs. A meaning about an item calls it `x`, one about a box calls it `b`.
An inner `lambda x` hides the outer `x`, so phrases nest without renaming.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from veriscene.meaning.english.wording import Voice, Weighted, agree

COLORS = {"yellow": "is_yellow(x)", "black": "is_black(x)", "blue": "is_blue(x)"}
SHAPES = {"square": "is_square(x)", "circle": "is_circle(x)", "triangle": "is_triangle(x)"}
SIZES = {"small": "is_small(x)", "medium": "is_medium(x)", "big": "is_big(x)"}


@dataclass(frozen=True)
class Phrase:
    """Words that say something, and what they say. `plural` tells the verb."""

    words: str
    meaning: str
    plural: bool = False


@dataclass(frozen=True)
class Attribute:
    """What can be said of an item, after "touching", "that is" …; `share`: of how many items it is true, about."""

    words: str
    meaning: str
    share: float = 1 / 3

    def negated(self) -> Attribute:
        return Attribute(f"not {self.words}", f"not {self.meaning}", 1 - self.share)


@dataclass(frozen=True)
class Things:
    """A noun with its adjectives and relative clauses, without a determiner. No meaning: true of everything."""

    singular: str
    plural: str
    meaning: str = ""
    share: float = 1.0
    variable: str = "x"

    def that(self, attribute: Attribute) -> Things:
        return Things(
            f"{self.singular} {agree(attribute.words, plural=False)}",
            f"{self.plural} {agree(attribute.words, plural=True)}",
            both(self.meaning, attribute.meaning),
            self.share * attribute.share,
            self.variable,
        )

    def among(self, where: str) -> str:
        return f"filter_obj({where}, lambda {self.variable}: {self.meaning})" if self.meaning else where


def both(*meanings: str) -> str:
    return " and ".join(meaning for meaning in meanings if meaning)


# ---------------------------------------------------------------- nouns


def anything(voice: Voice) -> Things:
    return Things(voice.item, f"{voice.item}s")


def colored(voice: Voice, color: str) -> Things:
    return Things(f"{color} {voice.item}", f"{color} {voice.item}s", COLORS[color], 1 / 3)


def some_color(voice: Voice) -> Things:
    return colored(voice, voice.one_of(tuple(COLORS)))


def some_shape(voice: Voice) -> Things:
    shape = voice.one_of(tuple(SHAPES))
    return Things(shape, f"{shape}s", SHAPES[shape], 1 / 3)


def described(adjective: str, meaning: str, things: Things, share: float = 1 / 3) -> Things:
    return Things(
        f"{adjective} {things.singular}",
        f"{adjective} {things.plural}",
        both(meaning, things.meaning),
        things.share * share,
    )


def colored_shape(voice: Voice) -> Things:
    color = voice.one_of(tuple(COLORS))
    return described(color, COLORS[color], some_shape(voice))


def sized(voice: Voice) -> Things:
    size = voice.one_of(tuple(SIZES))
    return described(size, SIZES[size], voice.weighted(((3, some_color), (3, colored_shape), (2, some_shape)))(voice))


def of_medium_size(voice: Voice) -> Things:
    return colored_shape(voice).that(Attribute("of medium size", SIZES["medium"]))


def of_either_color(voice: Voice) -> Things:
    one, other = voice.two_of(tuple(COLORS))
    either = f"({COLORS[one]} or {COLORS[other]})"
    return described(f"{one} or {other}", either, some_shape(voice), share=2 / 3)


def not_of_color(voice: Voice) -> Things:
    color = voice.one_of(tuple(COLORS))
    which = voice.one_of(("that {is} not", "which {is} not"))
    return anything(voice).that(Attribute(f"{which} {color}", f"not {COLORS[color]}", 2 / 3))


SCATTER_NOUNS = ((38, colored_shape), (34, some_color), (16, some_shape), (8, sized), (2, of_medium_size))
RARE_NOUNS = ((3, of_either_color), (2, not_of_color))


def some_things(voice: Voice) -> Things:
    """A noun that picks out some of the items."""
    if voice.kind == "tower":
        return some_color(voice)
    if voice.simple:
        return voice.weighted(SCATTER_NOUNS[:3])(voice)
    return voice.weighted(SCATTER_NOUNS + RARE_NOUNS)(voice)


# ---------------------------------------------------------------- attributes of items


@dataclass(frozen=True)
class Place:
    """A part of the box's border: its names, and the test with a gap for "closely_"."""

    names: tuple[str, ...]
    test: str
    share: float


WALL = Place(
    ("the wall", "a wall", "the edge", "an edge", "any edge", "the side", "the side of the box", "a wall of a box"),
    "is_{}touching_wall(x)",
    0.45,
)
LINE = Place(("the line of the box",), "is_{}touching_wall(x)", 0.45)
BOTTOM = Place(
    ("the base", "the bottom", "the bottom of a box", "the bottom edge", "the bottom wall"),
    "is_{}touching_wall(x, Side.BOTTOM)",
    0.22,
)
RIGHT = Place(
    ("the right wall", "the right side", "the right edge", "right wall of a box"),
    "is_{}touching_wall(x, Side.RIGHT)",
    0.22,
)
LEFT = Place(("the left wall", "the left side", "the left edge"), "is_{}touching_wall(x, Side.LEFT)", 0.08)
ROOF = Place(("the roof of a box", "the roof", "the top edge", "the top wall"), "is_{}touching_wall(x, Side.TOP)", 0.08)
CORNER = Place(
    ("a corner", "the corner", "a corner of a box", "the corner of the box"), "is_{}touching_corner(x)", 0.08
)
PLACES: Weighted[Place] = ((36, WALL), (2, LINE), (20, BOTTOM), (12, RIGHT), (4, LEFT), (4, ROOF), (12, CORNER))
TOUCHING: Weighted[tuple[str, str]] = (
    (60, ("touching", "")),
    (26, ("closely touching", "closely_")),
    (3, ("nearly touching", "closely_")),
    (3, ("almost touching", "closely_")),
    (3, ("attached to", "")),
)


def at_border(voice: Voice) -> Attribute:
    if voice.simple:
        return Attribute("touching the wall", WALL.test.format(""), WALL.share)
    place = voice.weighted(PLACES)
    verb, closely = voice.weighted(TOUCHING)
    return Attribute(f"{verb} {voice.one_of(place.names)}", place.test.format(closely), place.share)


def next_to(words: str, neighbours: str, things: Things, share: float = 0.5) -> Attribute:
    """ "touching a blue circle", "on a black block" …"""
    near = things.among(f"{neighbours}(x)")
    return Attribute(f"{words} a {things.singular}", f"exist({near})", share * things.share)


SCATTER_NEIGHBOURS: Weighted[tuple[str, str]] = (
    (6, ("touching", "get_touching")),
    (5, ("closely touching", "get_closely_touching")),
    (2, ("above", "get_above")),
    (2, ("below", "get_below")),
)
TOWER_NEIGHBOURS: Weighted[tuple[str, str]] = (
    (8, ("on", "get_below")),
    (8, ("above", "get_below")),
    (6, ("over", "get_below")),
    (4, ("on top of", "get_below")),
    (3, ("attached to", "get_touching")),
    (4, ("below", "get_above")),
    (3, ("beneath", "get_above")),
    (3, ("under", "get_above")),
    (1, ("right beneath", "get_above")),
)


def neighboured(voice: Voice) -> Attribute:
    words, neighbours = voice.weighted(TOWER_NEIGHBOURS if voice.kind == "tower" else SCATTER_NEIGHBOURS)
    return next_to(words, neighbours, some_things(voice))


def in_between(voice: Voice) -> Attribute:
    """Of towers: "between two yellow blocks"."""
    things = some_color(voice)
    above, below = (f"exist({things.among(f'{side}(x)')})" for side in ("get_above", "get_below"))
    return Attribute(
        f"{voice.one_of(('between', 'in between'))} {voice.number(2)} {things.plural}", both(above, below), 0.1
    )


@dataclass(frozen=True)
class Position:
    """A place in a tower: its names without an article, and the test."""

    names: tuple[str, ...]
    test: str
    share: float = 0.4


TOP = Position(("top",), "is_top(x)")
BASE = Position(("base", "base", "bottom"), "is_bottom(x)")
MIDDLE = Position(("middle",), "not is_top(x) and not is_bottom(x)", 0.25)


def at_tower_end(voice: Voice) -> Attribute:
    """ "at the base of a tower"."""
    position = voice.one_of((TOP, BASE))
    meaning = f"x.box.is_tower() and {position.test}"
    return Attribute(f"at the {voice.one_of(position.names)} of a tower", meaning, position.share)


def as_tower_end(voice: Voice) -> Attribute:
    """ "as the base of a tower"."""
    at_end = at_tower_end(voice)
    return replace(at_end, words=at_end.words.replace("at", "as", 1))
