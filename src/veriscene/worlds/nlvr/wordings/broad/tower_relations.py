"""Blocks of a tower by their neighbours: stacked together, between others. Meanings are about the tower `b`."""

from __future__ import annotations

from veriscene.worlds.nlvr.wordings import box_contents, nouns
from veriscene.worlds.nlvr.wordings.broad.tower_parts import at_part, exists
from veriscene.worlds.nlvr.wordings.wording import Phrase, Voice, both, joined


def stacked(voice: Voice) -> Phrase:
    """As in "two blue blocks stacked together", "three black blocks above a yellow block"."""
    color, other = voice.one_of(*nouns.COLORS), voice.one_of(*nouns.COLORS)
    number, item = voice.weighted((4, 2), (1, 3)), voice.item
    attached = voice.one_of(
        "stacked together", "attached with each other", "attached together", "attached to each other"
    )
    near = f"filter_obj(get_touching(x), lambda x: {nouns.COLORS[color]})"
    run = exists(f"{nouns.COLORS[color]} and count({near}) >= {number - 1}")
    above = f"count(filter_obj(get_box_all_above(x), lambda x: {nouns.COLORS[color]})) == {number}"
    below = above.replace("above", "below")
    same = exists("exist(filter_obj(get_above(x), lambda y: equal_color(query_color(y), query_color(x))))")
    n = voice.number(number)
    words, meaning = voice.weighted(
        (6, (f"{n} {color} {item}s {attached}", run)),
        (3, (f"at least {n} {color} {item}s {attached}", run)),
        (2, (f"{voice.number(2)} {item}s of the same {voice.color} {attached}", same)),
        (2, (f"the same {voice.color} {item}s on top of each other", same)),
        (1, (f"same {voice.color} {item}s over each other", same)),
        (2, (f"{n} {color} {item}s above a {other} {item}", exists(f"{nouns.COLORS[other]} and {above}"))),
        (1, (f"a {other} {item} above {n} {color} {item}s", exists(f"{nouns.COLORS[other]} and {below}"))),
        (
            2,
            (
                f"a {voice.one_of('different color', 'different colored')} {item} above a {color} {item}",
                exists(
                    f"{nouns.COLORS[color]} and exist(filter_obj(get_above(x), lambda x: not {nouns.COLORS[color]}))"
                ),
            ),
        ),
    )
    return Phrase(words, meaning)


def between(voice: Voice) -> Phrase:
    """As in "a black block between two blocks of the same color"."""
    color, other = voice.two_of(*nouns.COLORS)
    item, two = voice.item, voice.number(2)
    link = voice.one_of("between", "in between", "that is between")
    sides = f"filter_obj(union(get_above(x), get_below(x)), lambda x: not {nouns.COLORS[color]})"
    inside = "exist(get_above(x)) and exist(get_below(x))"
    words, test = voice.weighted(
        (
            4,
            (
                f"{two} {item}s of the same {voice.color}",
                f"{inside} and all_same_color(union(get_above(x), get_below(x)))",
            ),
        ),
        (
            2,
            (f"{two} {item}s of same {voice.color}", f"{inside} and all_same_color(union(get_above(x), get_below(x)))"),
        ),
        (2, (f"{two} {item}s", inside)),
        (2, (f"the {two} {item}s that {voice.one_of('is', 'are')} not {color}", f"{inside} and count({sides}) == 2")),
        (
            4,
            (
                f"{two} {other} {item}s",
                both(
                    f"exist(filter_obj(get_above(x), lambda x: {nouns.COLORS[other]}))",
                    f"exist(filter_obj(get_below(x), lambda x: {nouns.COLORS[other]}))",
                ),
            ),
        ),
    )
    return Phrase(f"a {color} {item} {link} {words}", exists(f"{nouns.COLORS[color]} and {test}"))


def stacked_and_end(voice: Voice) -> Phrase:
    """As in "a blue block above a black block and a yellow block at the base"."""
    first = box_contents.holds_neighbours(voice)
    return joined([first, at_part(voice)])
