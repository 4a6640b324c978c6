"""What can be said of an item: where it lies in its box, what it touches, which block of a tower it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from veriscene.meaning.english.nouns import some_color, some_things
from veriscene.meaning.english.phrases import Attribute, Things, both
from veriscene.meaning.english.wording import Voice, Weighted


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


def at_border(voice: Voice, of_a_box: bool = True) -> Attribute:
    """As in "closely touching the bottom". `of_a_box`: whether "of a box" may follow; not so after "a box with"."""
    place = voice.weighted(PLACES)
    verb, closely = voice.weighted(TOUCHING)
    names = [name for name in place.names if of_a_box or not name.endswith("of a box")]
    return Attribute(f"{verb} {voice.one_of(names)}", place.test.format(closely), place.share)


def not_at_border(voice: Voice, of_a_box: bool = True) -> Attribute:
    """As in "not touching any edge"; nobody says "not nearly touching"."""
    at = at_border(voice, of_a_box)
    while not at.words.startswith("touching"):
        at = at_border(voice, of_a_box)
    return at.negated()


def next_to(words: str, neighbours: str, things: Things, share: float = 0.5) -> Attribute:
    """As in "touching a blue circle", "on a black block" …"""
    near = things.among(f"{neighbours}(x)")
    return Attribute(f"{words} a {things.singular}", f"exist({near})", share * things.share)


# The words, and where the neighbour is looked for: what is above a block has that block below it.
SCATTER_NEIGHBOURS: Weighted[tuple[str, str]] = (
    (6, ("touching", "get_touching")),
    (5, ("closely touching", "get_closely_touching")),
    (2, ("above", "get_below")),
    (2, ("below", "get_above")),
)
# In a tower only the next block counts, also for "above": where the two readings differ, NLVR's raters chose this one.
TOWER_NEIGHBOURS: Weighted[tuple[str, str]] = (
    (8, ("on", "get_below")),
    (8, ("above", "get_below")),
    (6, ("over", "get_below")),
    (4, ("on top of", "get_below")),
    (3, ("attached to", "get_touching")),
    (4, ("below", "get_above")),
    (3, ("beneath", "get_above")),
    (3, ("under", "get_above")),
    (1, ("underneath", "get_above")),
    (1, ("right beneath", "get_above")),
)


def neighboured(voice: Voice) -> Attribute:
    words, neighbours = voice.weighted(TOWER_NEIGHBOURS if voice.kind == "tower" else SCATTER_NEIGHBOURS)
    if voice.chance(0.1):
        return Attribute(f"{words} another {voice.item}", f"exist({neighbours}(x))", 0.5)
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


def at_end(voice: Voice) -> Attribute:
    """As in "at the base", of a tower that was spoken of."""
    position = voice.one_of((TOP, BASE))
    return Attribute(f"at the {voice.one_of(position.names)}", position.test, position.share)


def at_tower_end(voice: Voice) -> Attribute:
    """As in "at the base of a tower"."""
    position = voice.one_of((TOP, BASE))
    meaning = f"x.box.is_tower() and {position.test}"
    return Attribute(f"at the {voice.one_of(position.names)} of a tower", meaning, position.share)


def as_tower_end(voice: Voice) -> Attribute:
    """As in "as the base of a tower"."""
    at_end = at_tower_end(voice)
    return replace(at_end, words=at_end.words.replace("at", "as", 1))
