"""Nouns for items, with their adjectives: "blue circle", "small black square", "item that is not yellow" …"""

from __future__ import annotations

from collections.abc import Callable

from veriscene.meaning.english.phrases import Attribute, Things, both
from veriscene.meaning.english.wording import Voice, Weighted

COLORS = {"yellow": "is_yellow(x)", "black": "is_black(x)", "blue": "is_blue(x)"}
SHAPES = {"square": "is_square(x)", "circle": "is_circle(x)", "triangle": "is_triangle(x)"}
SIZES = {"small": "is_small(x)", "medium": "is_medium(x)", "big": "is_big(x)"}


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


SCATTER_NOUNS: Weighted[Callable[[Voice], Things]] = (
    (38, colored_shape),
    (34, some_color),
    (16, some_shape),
    (8, sized),
    (2, of_medium_size),
    (3, of_either_color),
)


def some_things(voice: Voice) -> Things:
    """A noun that picks out some of the items."""
    if voice.kind == "tower":
        return some_color(voice)
    return voice.weighted(SCATTER_NOUNS)(voice)


def some_things_alone(voice: Voice) -> Things:
    """As `some_things`, but nothing may follow: "items that are not blue touching …" would be hard to read."""
    return not_of_color(voice) if not voice.simple and voice.chance(0.04) else some_things(voice)


def different_things(voice: Voice, number: int) -> list[Things]:
    """Nouns of which none is a case of another, as "blue circle" is of "circle"."""
    chosen: list[Things] = []
    while len(chosen) < number:
        things = some_things(voice)
        tests = set(things.meaning.split(" and "))
        if not any(tests <= (other := set(known.meaning.split(" and "))) or other <= tests for known in chosen):
            chosen.append(things)
    return chosen
