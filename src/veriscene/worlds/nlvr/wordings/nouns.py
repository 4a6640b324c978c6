"""Noun phrases for items ("small black square") and their neighbours ("on a blue block")."""

from __future__ import annotations

from collections.abc import Callable

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


def of_size(voice: Voice) -> Things:
    size = voice.one_of(*SIZES)
    return colored_shape(voice).that(Phrase(f"of {size} size", SIZES[size]))


# More sizes than NLVR has: a model that rarely met them ignored them.
SCATTER_NOUNS: Weighted[Callable[[Voice], Things]] = (
    (38, colored_shape),
    (34, some_color),
    (16, some_shape),
    (20, sized),
    (6, of_size),
    (3, of_either_color),
)


def some_things(voice: Voice) -> Things:
    """A noun that fits some of the items."""
    if voice.kind == "tower":
        return some_color(voice)
    return voice.weighted(*SCATTER_NOUNS)(voice)


def some_things_alone(voice: Voice) -> Things:
    """Like `some_things`, or "items that are not blue", which would be hard to read with another attribute."""
    if voice.simple or not voice.chance(0.04):
        return some_things(voice)
    color = voice.one_of(*COLORS)
    which = voice.one_of("that {is} not", "which {is} not")
    named = voice.one_of(color, color, f"the {voice.color} {color}")
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
