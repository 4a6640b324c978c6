"""Towers described as boxes of items: "a black item touching the wall and a blue one on top of it".

Meanings are about the box `b`. In a tower, the lowest block is the one that touches the wall.
"""

from __future__ import annotations

from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.broad import likeness, parts
from veriscene.worlds.nlvr.wordings.broad.tower_parts import exists
from veriscene.worlds.nlvr.wordings.wording import Pattern, Phrase, Voice, Weighted, both

AT_WALL: Weighted[str] = ((10, "touching the wall"), (1, "touching the base"), (1, "touching the bottom"))


def _among(found: str, color: str) -> str:
    return f"filter_obj({found}, lambda x: {nouns.COLORS[color]})"


def some_of_color(voice: Voice) -> Phrase:
    return q.quantified(voice, nouns.some_color(voice), q.ITEMS_OF_BOX, q.COUNTS[:3])


def item_on_top(voice: Voice) -> Phrase:
    """As in "3 items and a black one on top", "at least 2 items and a yellow item touching the wall"."""
    color = voice.one_of(*nouns.COLORS)
    block = voice.weighted((3, f"{color} {voice.item}"), (2, f"{color} one"))
    wholes: Weighted[Pattern] = ((5, parts.total), (2, likeness.variety), (2, likeness.only_kinds), (2, some_of_color))
    whole = voice.weighted(*wholes)(voice)
    if voice.chance(0.25):
        whole = Phrase("", "")
        block = f"{color} {voice.item}"
    place, test = voice.weighted(
        (6, ("on top", "is_top(x)")),
        (5, (voice.weighted(*AT_WALL), "is_touching_wall(x)")),
        (1, ("on the top", "is_top(x)")),
    )
    the = voice.weighted((6, "a"), (1, "the"))
    link = " and " if whole.words else ""
    verb = voice.weighted((5, ""), (1, "is ")) if whole.words else ""
    words = f"{whole.words}{link}{the} {block} {verb}{place}"
    return Phrase(words, both(whole.meaning, exists(f"{nouns.COLORS[color]} and {test}")))


def wall_and_above(voice: Voice) -> Phrase:
    """As in "a black item touching the wall and a blue one on top of it"."""
    one, other = voice.one_of(*nouns.COLORS), voice.one_of(*nouns.COLORS)
    item, number = voice.item, voice.rng.randint(1, 2)
    another = f"another {voice.one_of(other + ' ' + item, other + ' ' + item, other + ' one')}" if one == other else ""
    second = another or voice.weighted((3, f"a {other} {item}"), (2, f"a {other} one"))
    all_above = f"count({_among('get_box_all_above(x)', other)})"
    items = f"{item}s" if number > 1 else item
    words, test = voice.weighted(
        (8, (f"and {second} on top of it", f"exist({_among('get_above(x)', other)})")),
        (3, (f"and {second} above it", f"exist({_among('get_above(x)', other)})")),
        (2, (f"with {second} on top of it", f"exist({_among('get_above(x)', other)})")),
        (1, (f"and {second} right on top of it", f"exist({_among('get_above(x)', other)})")),
        (
            5,
            (
                f"and {second} on top",
                f"exist(filter_obj(x.box.all_items_in_box(), lambda x: {nouns.COLORS[other]} and is_top(x)))",
            ),
        ),
        (2, (f"and {voice.number(number)} {other} {items} on top of it", f"{all_above} == {number}")),
        (1, (f"and at least {voice.number(number)} {other} {items} on top of it", f"{all_above} >= {number}")),
        (1, (f"and only {other} {item}s on top of it", f"All(get_box_all_above(x), lambda x: {nouns.COLORS[other]})")),
        (
            1,
            (
                f"and {voice.number(number)} {items} at most on top of it",
                f"count(x.box.all_items_in_box()) <= {number + 1}",
            ),
        ),
        (1, (f"and at least {voice.number(number)} {items} on top of it", f"count(get_box_all_above(x)) >= {number}")),
    )
    return Phrase(
        f"a {one} {item} {voice.weighted(*AT_WALL)} {words}",
        exists(both(nouns.COLORS[one], "is_touching_wall(x)", test)),
    )


def top_and_beneath(voice: Voice) -> Phrase:
    """As in "a yellow item on top and a blue item right beneath it"."""
    one, other = voice.one_of(*nouns.COLORS), voice.one_of(*nouns.COLORS)
    item, number = voice.item, voice.rng.randint(1, 2)
    below = voice.one_of("right beneath it", "beneath it", "right below it", "directly under it")
    items = f"{item}s" if number > 1 else item
    test = nouns.COLORS[one]
    top, above = f"{test} and is_top(x)", voice.one_of("directly on top of", "on top of", "above")
    words, meaning = voice.weighted(
        (
            5,
            (
                f"a {one} {item} on top and a {other} {item} {below}",
                exists(f"{top} and exist({_among('get_below(x)', other)})"),
            ),
        ),
        (
            2,
            (
                f"a {one} {item} on top and {voice.number(number)} {other} {items} beneath it",
                exists(f"{top} and count({_among('get_box_all_below(x)', other)}) == {number}"),
            ),
        ),
        (
            2,
            (
                f"a {one} {item} {above} the {item} touching the wall",
                exists(f"{test} and exist(filter_obj(get_below(x), lambda x: is_touching_wall(x)))"),
            ),
        ),
        (
            2,
            (
                f"a {one} {item} {voice.one_of('beneath', 'below')} the {item} on top",
                exists(f"{test} and exist(filter_obj(get_above(x), lambda x: is_top(x)))"),
            ),
        ),
        (2, (f"a {one} {item} on top of other {item}s", exists(f"{top} and exist(get_below(x))"))),
        (1, (f"{one} {item}s both on top and on the bottom", both(exists(top), exists(f"{test} and is_bottom(x)")))),
    )
    return Phrase(words, meaning)


def between_and_nothing_above(voice: Voice) -> Phrase:
    """As in "a black item between 2 items of the same color and no item on top of that"."""
    color, two = voice.one_of(*nouns.COLORS), voice.number(2)
    same, all_same = voice.one_of(
        (" of the same color", " and all_same_color(union(get_above(x), get_below(x)))"), ("", "")
    )
    above, last = voice.one_of(
        (f" and no {voice.item} on top of that", " and exist(filter_obj(get_above(x), lambda x: is_top(x)))"), ("", "")
    )
    words = f"a {color} {voice.item} between {two} {voice.item}s{same}{above}"
    return Phrase(
        words, exists(f"{nouns.COLORS[color]} and exist(get_above(x)) and exist(get_below(x)){all_same}{last}")
    )


def item_is(voice: Voice) -> Phrase:
    """A sentence, as in "the blue item is on top", "there is only one color on top in all 3 boxes"."""
    color, item, three = voice.one_of(*nouns.COLORS), voice.item, voice.number(3)
    place, test = voice.one_of(("on top", "is_top(x)"), ("touching the wall", "is_touching_wall(x)"))
    there, values = (
        f"filter_obj(all_items, lambda x: {test})",
        f"get_set_colors(filter_obj(all_items, lambda x: {test}))",
    )
    other = voice.one_of(*(name for name in nouns.COLORS if name != color))
    n2 = voice.number(2)
    words, meaning = voice.weighted(
        (3, (f"the {color} {item} is {place}", exists(f"{nouns.COLORS[color]} and {test}", "all_items"))),
        (2, (f"there is only {voice.number(1)} {voice.color} {place} in all {three} boxes", f"count({values}) == 1")),
        (2, (f"the same {voice.color} is {place} in all {three} boxes", f"count({values}) == 1")),
        (2, (f"{item}s of all {three} different {voice.color}s are {place}", f"count({values}) == 3")),
        (2, (f"the {item}s of all {three} {voice.color}s are {place}", f"count({values}) == 3")),
        (1, (f"there are {n2} different {voice.color}s {place}", f"count({values}) == 2")),
        (2, (f"only {color} {item}s are {place}", f"All({there}, lambda x: {nouns.COLORS[color]})")),
        (
            2,
            (
                f"only {color} and {other} {item}s are {place}",
                f"All({there}, lambda x: {nouns.COLORS[color]} or {nouns.COLORS[other]})",
            ),
        ),
        (
            2,
            (
                f"there are {n2} {color} {item}s {place}",
                f"count(filter_obj({there}, lambda x: {nouns.COLORS[color]})) == 2",
            ),
        ),
        (
            1,
            (
                f"there is only {voice.number(1)} {color} {item} {place}",
                f"count(filter_obj({there}, lambda x: {nouns.COLORS[color]})) == 1",
            ),
        ),
    )
    return Phrase(words, meaning)
