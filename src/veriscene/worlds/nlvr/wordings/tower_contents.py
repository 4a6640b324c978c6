"""Contents that only a tower has: a base, a top, a second block. Meanings are about the box `b`."""

from __future__ import annotations

from veriscene.worlds.nlvr.wordings import box_contents, nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.wording import Pattern, Phrase, Voice, Weighted, both, joined

LEVELS = {"first": "is_bottom(x)", "second": "is_second(x)", "third": "is_third(x)"}


def _blocks_at(position: nouns.Place, color: str) -> str:
    return f"exist(filter_obj({q.ITEMS_OF_BOX}, lambda x: {nouns.COLORS[color]} and {position.test}))"


def holds_block_at(voice: Voice) -> Phrase:
    """As in "a black block at the top", perhaps "and a blue block at the base"."""
    if voice.simple:
        return _block_at(voice, voice.one_of(nouns.TOP, nouns.BASE))
    first, second = voice.two_of(nouns.TOP, nouns.BASE)
    if voice.chance(0.08):
        color = voice.one_of(*nouns.COLORS)
        words = f"a {color} {voice.item} at the {first.names[0]} and at the {second.names[0]}"
        return Phrase(words, both(_blocks_at(first, color), _blocks_at(second, color)))
    if voice.chance(0.08):
        return _block_at(voice, nouns.MIDDLE)
    one = _block_at(voice, first)
    return one if voice.chance(0.75) else joined([one, _block_at(voice, second)])


def _block_at(voice: Voice, position: nouns.Place) -> Phrase:
    color = voice.one_of(*nouns.COLORS)
    ends: Weighted[str] = ((12, "at the"), (2, "as the"), (1, "at {its}"))
    preposition = "in the" if position is nouns.MIDDLE else voice.weighted(*ends)
    name = voice.one_of(*position.names)
    return Phrase(f"a {color} {voice.item} {preposition} {name}", _blocks_at(position, color))


def holds_painted_end(voice: Voice) -> Phrase:
    """As in "a blue base", "a yellow top and a black base"."""
    if voice.box != "tower":
        return holds_block_at(voice)  # "a box with a blue base" would be unusual.
    ends, colors = voice.two_of(nouns.TOP, nouns.BASE), voice.two_of(*nouns.COLORS)
    painted = [
        Phrase(f"a {color} {end.names[0]}", _blocks_at(end, color)) for end, color in zip(ends, colors, strict=True)
    ]
    return joined(painted) if voice.chance(0.3) else painted[0]


def holds_between(voice: Voice) -> Phrase:
    return q.quantified(voice, nouns.some_color(voice).that(nouns.in_between(voice)), q.ITEMS_OF_BOX, ((1, q.A),))


def holds_number_and_end(voice: Voice) -> Phrase:
    """As in "exactly three blocks having a yellow block at the top"."""
    number, end = q.quantified(voice, nouns.anything(voice), q.ITEMS_OF_BOX, q.COUNTS, least=2), holds_block_at(voice)
    link = voice.weighted((3, "having"), (3, "and"), (2, "with"))
    return Phrase(f"{number.words} {link} {end.words}", both(number.meaning, end.meaning))


def holds_single(voice: Voice) -> Phrase:
    """As in "exactly one block which is of blue color"."""
    color = voice.one_of(*nouns.COLORS)
    determiner = voice.one_of(f"exactly {voice.number(1)}", f"only {voice.number(1)}", "a single")
    ending = voice.one_of(f"which is {color}", f"that is {color}", f"which is of {color} {voice.color}")
    meaning = both(f"count({q.ITEMS_OF_BOX}) == 1", f"All({q.ITEMS_OF_BOX}, lambda x: {nouns.COLORS[color]})")
    return Phrase(f"{determiner} {voice.item} {ending}", meaning)


def holds_next_to_end(voice: Voice) -> Phrase:
    """As in "a blue block below the top block", directly below it."""
    words, neighbours, end = voice.one_of(
        ("below the top", "get_above", nouns.TOP), ("above the base", "get_below", nouns.BASE)
    )
    beside_end = f"exist(filter_obj({neighbours}(x), lambda x: {end.test}))"
    things = nouns.some_color(voice).that(Phrase(f"{words} {voice.item}", beside_end, 0.3))
    return q.quantified(voice, things, q.ITEMS_OF_BOX, ((1, q.A),))


TOWER_CONTENTS: Weighted[Pattern] = (
    (20, holds_block_at),
    (16, box_contents.holds_some),
    (12, box_contents.holds_number),
    (9, box_contents.holds_neighbours),
    (9, holds_number_and_end),
    (7, box_contents.holds_only),
    (6, box_contents.holds_several),
    (6, box_contents.holds_of_which),
    (5, holds_painted_end),
    (4, box_contents.holds_variety),
    (4, holds_single),
    (4, box_contents.holds_touching_pair),
    (3, box_contents.holds_two_colors),
    (2, holds_between),
    (2, box_contents.compared),
    (2, holds_next_to_end),
    (1, box_contents.holds_parity),
)


def end_is(voice: Voice) -> Phrase:
    """As in "the base is blue", "the top is yellow and the base is black"."""
    first, second = voice.two_of(nouns.TOP, nouns.BASE)
    one, other = voice.one_of(*nouns.COLORS), voice.one_of(*nouns.COLORS)
    if one == other and voice.chance(0.5):
        words = f"the {first.names[0]} and the {second.names[0]} are both {one}"
        return Phrase(words, both(_blocks_at(first, one), _blocks_at(second, one)))
    clauses = [
        Phrase(f"the {end.names[0]} is {color}", _blocks_at(end, color))
        for end, color in ((first, one), (second, other))
    ]
    return joined(clauses) if voice.chance(0.4) else clauses[0]


def ends_agree(voice: Voice) -> Phrase:
    """As in "the base and the top are the same color"."""
    first, second = voice.two_of(nouns.TOP, nouns.BASE)
    ends = f"filter_obj({q.ITEMS_OF_BOX}, lambda x: {nouns.TOP.test} or {nouns.BASE.test})"
    negation = voice.weighted((3, ""), (1, "not "))
    words = f"the {first.names[0]} and the {second.names[0]} are {negation}the same"
    color = voice.one_of(voice.color, f"in {voice.color}")
    return Phrase(f"{words} {color}", f"{negation}all_same_color({ends})")


def level_is(voice: Voice) -> Phrase:
    """As in "the second block from the base is blue"."""
    level = voice.weighted((1, "first"), (5, "second"), (2, "third"))
    color = voice.one_of(*nouns.COLORS)
    words = f"the {level} {voice.item} from the base is {color}"
    return Phrase(words, f"exist(filter_obj({q.ITEMS_OF_BOX}, lambda x: {nouns.COLORS[color]} and {LEVELS[level]}))")


TOWER_CLAUSES: Weighted[Pattern] = ((4, end_is), (2, ends_agree), (3, level_is))
