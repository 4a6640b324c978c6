"""Noun phrases for items ("small black square") and their attributes ("touching the wall", "on a blue block")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from veriscene.worlds.nlvr.wordings.wording import Phrase, Things, Voice, Weighted, both

COLORS = {"yellow": "is_yellow(x)", "black": "is_black(x)", "blue": "is_blue(x)"}
SHAPES = {"square": "is_square(x)", "circle": "is_circle(x)", "triangle": "is_triangle(x)"}
SIZES = {"small": "is_small(x)", "medium": "is_medium(x)", "big": "is_big(x)"}


def anything(voice: Voice) -> Things:
    return Things(voice.item, f"{voice.item}s")


def colored(voice: Voice, color: str) -> Things:
    return described(color, COLORS[color], anything(voice))


def some_color(voice: Voice) -> Things:
    return colored(voice, voice.one_of(*COLORS))


def shaped(shape: str) -> Things:
    return Things(shape, f"{shape}s", SHAPES[shape], 1 / 3)


def some_shape(voice: Voice) -> Things:
    return shaped(voice.one_of(*SHAPES))


def described(adjective: str, meaning: str, things: Things, share: float = 1 / 3) -> Things:
    singular, plural = f"{adjective} {things.singular}", f"{adjective} {things.plural}"
    return Things(singular, plural, both(meaning, things.meaning), things.share * share)


def colored_shape(voice: Voice) -> Things:
    color = voice.one_of(*COLORS)
    return described(color, COLORS[color], some_shape(voice))


def sized(voice: Voice) -> Things:
    size = voice.one_of(*SIZES)
    return described(size, SIZES[size], voice.weighted((3, some_color), (3, colored_shape), (2, some_shape))(voice))


def of_either_color(voice: Voice) -> Things:
    one, other = voice.two_of(*COLORS)
    either = f"({COLORS[one]} or {COLORS[other]})"
    return described(f"{one} or {other}", either, some_shape(voice), share=2 / 3)


SCATTER_NOUNS: Weighted[Callable[[Voice], Things]] = (
    (38, colored_shape),
    (34, some_color),
    (16, some_shape),
    (8, sized),
    (2, lambda voice: colored_shape(voice).that(Phrase("of medium size", SIZES["medium"]))),
    (3, of_either_color),
)


def of_size(voice: Voice) -> Things:
    size = voice.one_of(*SIZES)
    return colored_shape(voice).that(Phrase(f"of {size} size", SIZES[size]))


# More sizes than NLVR has: a model that rarely met them ignored them.
BROAD_NOUNS: Weighted[Callable[[Voice], Things]] = (*SCATTER_NOUNS[:3], (20, sized), (6, of_size), SCATTER_NOUNS[-1])


def some_things(voice: Voice) -> Things:
    """A noun that fits some of the items."""
    if voice.kind == "tower":
        return some_color(voice)
    return voice.weighted(*(BROAD_NOUNS if voice.broad else SCATTER_NOUNS))(voice)


def some_things_alone(voice: Voice) -> Things:
    """Like `some_things`, or "items that are not blue", which would be hard to read with another attribute."""
    if voice.simple or not voice.chance(0.04):
        return some_things(voice)
    color = voice.one_of(*COLORS)
    which = voice.one_of("that {is} not", "which {is} not")
    named = voice.one_of(color, color, f"the {voice.color} {color}") if voice.broad else color
    return anything(voice).that(Phrase(f"{which} {named}", f"not {COLORS[color]}", 2 / 3))


def different_things(voice: Voice, number: int) -> list[Things]:
    """Nouns of which none implies another, as "blue circle" implies "circle"."""
    chosen: list[Things] = []
    while len(chosen) < number:
        things = some_things(voice)
        tests = set(things.meaning.split(" and "))
        if not any(tests <= (other := set(known.meaning.split(" and "))) or other <= tests for known in chosen):
            chosen.append(things)
    return chosen


@dataclass(frozen=True)
class Place:
    """A part of a box's border or of a tower: names, test, and the share of items there.

    The test of a border has a placeholder for "closely_"; the names of a position in a tower have no article.
    """

    names: tuple[str, ...]
    test: str
    share: float = 0.4


def _edge(share: float, names: str, side: str = "", part: str = "wall") -> Place:
    return Place(tuple(names.split(", ")), f"is_{{}}touching_{part}(x{side and f', Side.{side}'})", share)


PLACES: Weighted[Place] = (
    (36, _edge(0.45, "the wall, a wall, the edge, an edge, any edge, the side, the side of the box, a wall of a box")),
    (2, _edge(0.45, "the line of the box")),
    (20, _edge(0.22, "the base, the bottom, the bottom of a box, the bottom edge, the bottom wall", "BOTTOM")),
    (12, _edge(0.22, "the right wall, the right side, the right edge, right wall of a box", "RIGHT")),
    (4, _edge(0.08, "the left wall, the left side, the left edge", "LEFT")),
    (4, _edge(0.08, "the roof of a box, the roof, the top edge, the top wall", "TOP")),
    (12, _edge(0.08, "a corner, the corner, a corner of a box, the corner of the box", part="corner")),
)
TOUCHING: Weighted[tuple[str, str]] = (
    (60, ("touching", "")),
    (26, ("closely touching", "closely_")),
    (3, ("nearly touching", "closely_")),
    (3, ("almost touching", "closely_")),
    (3, ("attached to", "")),
)


def at_border(voice: Voice, of_a_box: bool = True) -> Phrase:
    """As in "closely touching the bottom". `of_a_box` allows "of a box", which cannot follow "a box with"."""
    place = voice.weighted(*PLACES)
    verb, closely = voice.weighted(*TOUCHING)
    names = [name for name in place.names if of_a_box or not name.endswith("of a box")]
    return Phrase(f"{verb} {voice.one_of(*names)}", place.test.format(closely), place.share)


def not_at_border(voice: Voice, of_a_box: bool = True) -> Phrase:
    """As in "not touching any edge". Other verbs are redrawn: "not nearly touching" is unusual."""
    at = at_border(voice, of_a_box)
    while not at.words.startswith("touching"):
        at = at_border(voice, of_a_box)
    return Phrase(f"not {at.words}", f"not ({at.meaning})", 1 - at.share)


def next_to(words: str, neighbours: str, things: Things, share: float = 0.5) -> Phrase:
    """As in "touching a blue circle", "on a black block" …"""
    near = things.among(f"{neighbours}(x)")
    return Phrase(f"{words} a {things.singular}", f"exist({near})", share * things.share)


# Words, and the function that finds the neighbour: if x is above y, then y is found by get_below(x).
SCATTER_NEIGHBOURS: Weighted[tuple[str, str]] = (
    (6, ("touching", "get_touching")),
    (5, ("closely touching", "get_closely_touching")),
    (2, ("above", "get_below")),
    (2, ("below", "get_above")),
)
# In a tower, "above" means directly above: where the two readings differ, NLVR's labels agree with this one.
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


def neighboured(voice: Voice) -> Phrase:
    words, neighbours = voice.weighted(*(TOWER_NEIGHBOURS if voice.kind == "tower" else SCATTER_NEIGHBOURS))
    if voice.chance(0.1):
        return Phrase(f"{words} another {voice.item}", f"exist({neighbours}(x))", 0.5)
    return next_to(words, neighbours, some_things(voice))


def in_between(voice: Voice) -> Phrase:
    """As in "between two yellow blocks", in a tower."""
    things = some_color(voice)
    above, below = (f"exist({things.among(f'{side}(x)')})" for side in ("get_above", "get_below"))
    between = voice.one_of("between", "in between")
    return Phrase(f"{between} {voice.number(2)} {things.plural}", both(above, below), 0.1)


# Positions in a tower.
TOP = Place(("top",), "is_top(x)")
BASE = Place(("base", "base", "bottom"), "is_bottom(x)")
MIDDLE = Place(("middle",), "not is_top(x) and not is_bottom(x)", 0.25)


def at_end(voice: Voice) -> Phrase:
    """As in "at the base", of a tower mentioned before."""
    position = voice.one_of(TOP, BASE)
    return Phrase(f"at the {voice.one_of(*position.names)}", position.test, position.share)


def at_tower_end(voice: Voice, preposition: str = "at") -> Phrase:
    """As in "at the base of a tower", "as the base of a tower"."""
    end = at_end(voice)
    words = end.words.replace("at", preposition, 1)
    return Phrase(f"{words} of a tower", f"x.box.is_tower() and {end.meaning}", end.share)
