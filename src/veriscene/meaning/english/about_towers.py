"""What only a tower can have: a base, a top, a second block. Meanings are about the box `b`."""

from __future__ import annotations

from veriscene.meaning.english.about_boxes import (
    Content,
    holds_more,
    holds_neighbours,
    holds_number,
    holds_of_which,
    holds_only,
    holds_parity,
    holds_several,
    holds_some,
    holds_touching_pair,
    holds_two_colors,
    holds_variety,
)
from veriscene.meaning.english.phrases import (
    BASE,
    COLORS,
    MIDDLE,
    TOP,
    Attribute,
    Phrase,
    Position,
    both,
    in_between,
    some_color,
)
from veriscene.meaning.english.quantifiers import AT_LEAST, EXACTLY, ITEMS_OF_BOX, NUMBER, A, quantified
from veriscene.meaning.english.wording import Voice, Weighted

LEVELS = {"first": "is_bottom(x)", "second": "is_second(x)", "third": "is_third(x)"}


def _blocks_at(position: Position, color: str) -> str:
    return f"exist(filter_obj({ITEMS_OF_BOX}, lambda x: {COLORS[color]} and {position.test}))"


def holds_block_at(voice: Voice) -> Phrase:
    """ "a black block at the top", perhaps "and a blue block at the base"."""
    if voice.simple:
        return _block_at(voice, voice.one_of((TOP, BASE)))
    first, second = voice.two_of((TOP, BASE))
    if voice.chance(0.08):
        color = voice.one_of(tuple(COLORS))
        words = f"a {color} {voice.item} at the {first.names[0]} and at the {second.names[0]}"
        return Phrase(words, both(_blocks_at(first, color), _blocks_at(second, color)))
    if voice.chance(0.08):
        return _block_at(voice, MIDDLE)
    one = _block_at(voice, first)
    if voice.chance(0.75):
        return one
    other = _block_at(voice, second)
    return Phrase(f"{one.words} and {other.words}", both(one.meaning, other.meaning))


def _block_at(voice: Voice, position: Position) -> Phrase:
    color = voice.one_of(tuple(COLORS))
    preposition = "in the" if position is MIDDLE else "at the"
    if position is TOP and not voice.simple:
        preposition = voice.weighted(((8, "at the"), (2, "on the"), (1, "as the")))
    name = position.names[0] if voice.simple else voice.one_of(position.names)
    return Phrase(f"a {color} {voice.item} {preposition} {name}", _blocks_at(position, color))


def holds_painted_end(voice: Voice) -> Phrase:
    """ "a blue base", "a yellow top and a black base"."""
    (first, second), (one, other) = voice.two_of((TOP, BASE)), voice.two_of(tuple(COLORS))
    words, meaning = f"a {one} {first.names[0]}", _blocks_at(first, one)
    if voice.chance(0.3):
        words, meaning = f"{words} and a {other} {second.names[0]}", both(meaning, _blocks_at(second, other))
    return Phrase(words, meaning)


def holds_between(voice: Voice) -> Phrase:
    return quantified(voice, some_color(voice).that(in_between(voice)), ITEMS_OF_BOX, ((1, A),))


def holds_number_and_end(voice: Voice) -> Phrase:
    """ "exactly three blocks having a yellow block at the top"."""
    number, end = holds_number(voice), holds_block_at(voice)
    link = voice.weighted(((3, "having"), (3, "and"), (2, "with")))
    return Phrase(f"{number.words} {link} {end.words}", both(number.meaning, end.meaning))


def holds_single(voice: Voice) -> Phrase:
    """ "exactly one block which is of blue color"."""
    color = voice.one_of(tuple(COLORS))
    determiner = voice.one_of((f"exactly {voice.number(1)}", f"only {voice.number(1)}", "a single"))
    ending = voice.one_of((f"which is {color}", f"that is {color}", f"which is of {color} {voice.color}"))
    meaning = both(f"count({ITEMS_OF_BOX}) == 1", f"All({ITEMS_OF_BOX}, lambda x: {COLORS[color]})")
    return Phrase(f"{determiner} {voice.item} {ending}", meaning)


def holds_some_below(voice: Voice) -> Phrase:
    """ "two blue blocks below the top block"."""
    words, position = voice.one_of((("below the top", TOP), ("above the base", BASE)))
    things = some_color(voice).that(Attribute(f"{words} {voice.item}", f"not {position.test}", 0.6))
    return quantified(voice, things, ITEMS_OF_BOX, ((3, A), (2, NUMBER), (1, EXACTLY), (1, AT_LEAST)))


TOWER_CONTENTS: Weighted[Content] = (
    (20, holds_block_at),
    (16, holds_some),
    (12, holds_number),
    (9, holds_neighbours),
    (9, holds_number_and_end),
    (7, holds_only),
    (6, holds_several),
    (6, holds_of_which),
    (5, holds_painted_end),
    (4, holds_variety),
    (4, holds_single),
    (4, holds_touching_pair),
    (3, holds_two_colors),
    (2, holds_between),
    (2, holds_more),
    (2, holds_some_below),
    (1, holds_parity),
)


# ---------------------------------------------------------------- sentences about one tower, to follow "where"


def end_is(voice: Voice) -> Phrase:
    """ "the base is blue", "the top is yellow and the base is black"."""
    (first, second), (one, other) = (
        voice.two_of((TOP, BASE)),
        (voice.one_of(tuple(COLORS)), voice.one_of(tuple(COLORS))),
    )
    if voice.chance(0.2) and one == other:
        words = f"the {first.names[0]} and the {second.names[0]} are both {one}"
        return Phrase(words, both(_blocks_at(first, one), _blocks_at(second, one)))
    words, meaning = f"the {first.names[0]} is {one}", _blocks_at(first, one)
    if voice.chance(0.4):
        words, meaning = f"{words} and the {second.names[0]} is {other}", both(meaning, _blocks_at(second, other))
    return Phrase(words, meaning)


def ends_agree(voice: Voice) -> Phrase:
    """ "the base and the top are the same color"."""
    first, second = voice.two_of((TOP, BASE))
    ends = f"filter_obj({ITEMS_OF_BOX}, lambda x: {TOP.test} or {BASE.test})"
    same, meaning = voice.weighted(
        (
            (3, ("the same", f"all_same_color({ends})")),
            (1, ("not the same", f"not all_same_color({ends})")),
        )
    )
    words = f"the {first.names[0]} and the {second.names[0]} are {same}"
    return Phrase(f"{words} {voice.one_of((voice.color, f'in {voice.color}'))}", meaning)


def level_is(voice: Voice) -> Phrase:
    """ "the second block from the base is blue"."""
    level = voice.weighted(((1, "first"), (5, "second"), (2, "third")))
    color = voice.one_of(tuple(COLORS))
    words = f"the {level} {voice.item} from the base is {color}"
    return Phrase(words, f"exist(filter_obj({ITEMS_OF_BOX}, lambda x: {COLORS[color]} and {LEVELS[level]}))")


TOWER_CLAUSES: Weighted[Content] = ((4, end_is), (2, ends_agree), (3, level_is))
