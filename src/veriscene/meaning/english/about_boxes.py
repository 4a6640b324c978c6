"""What a box or a tower can hold, worded to follow "with" or "has".

Meanings are about the box `b`; {it} and {its} in the words become "them" and "their" after several boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from veriscene.meaning.english.attributes import at_border, neighboured, next_to
from veriscene.meaning.english.nouns import (
    COLORS,
    SHAPES,
    anything,
    colored,
    different_things,
    some_things,
    some_things_alone,
)
from veriscene.meaning.english.phrases import Phrase, Things, both
from veriscene.meaning.english.quantifiers import (
    AT_LEAST,
    EXACTLY,
    INSIDE,
    ITEMS_OF_BOX,
    NUMBER,
    NUMBER_INSIDE,
    ONLY,
    SIMPLE_INSIDE,
    A,
    Quantifier,
    quantified,
)
from veriscene.meaning.english.wording import Voice, Weighted, listed
from veriscene.meaning.scene_drawing import SceneKind

Content = Callable[[Voice], Phrase]


def holds_some(voice: Voice) -> Phrase:
    """As in "exactly two blue circles"."""
    quantifiers = SIMPLE_INSIDE if voice.simple else INSIDE
    return quantified(voice, some_things_alone(voice), ITEMS_OF_BOX, quantifiers)


def holds_number(voice: Voice) -> Phrase:
    """As in "at least three items"."""
    number = quantified(voice, anything(voice), ITEMS_OF_BOX, NUMBER_INSIDE)
    return Phrase(f"{number.words} in {{it}}", number.meaning) if voice.chance(0.08) else number


def holds_several(voice: Voice) -> Phrase:
    """As in "a yellow square, a black circle and at least one blue triangle"."""
    few: Weighted[Quantifier] = ((5, A), (3, AT_LEAST), (3, NUMBER), (2, EXACTLY), (1, ONLY))
    several = different_things(voice, voice.weighted(((7, 2), (2, 3))))
    parts = [quantified(voice, things, ITEMS_OF_BOX, few) for things in several]
    return Phrase(listed([part.words for part in parts]), both(*(part.meaning for part in parts)))


def holds_two_colors(voice: Voice) -> Phrase:
    """As in "two blue and one yellow item"."""
    one, other = voice.two_of(tuple(COLORS))
    few, many = voice.rng.randint(1, 2), voice.rng.randint(1, 3)
    noun = anything(voice).plural if many > 1 else anything(voice).singular
    counts = (
        f"count({colored(voice, color).among(ITEMS_OF_BOX)}) == {number}"
        for color, number in ((one, few), (other, many))
    )
    return Phrase(f"{voice.number(few)} {one} and {voice.number(many)} {other} {noun}", both(*counts))


def holds_at_border(voice: Voice) -> Phrase:
    """As in "a blue circle touching the wall"."""
    return quantified(voice, some_things(voice).that(at_border(voice, of_a_box=False)), ITEMS_OF_BOX, INSIDE)


def holds_neighbours(voice: Voice) -> Phrase:
    """As in "a blue block over a black block", "a circle touching a blue item"."""
    return quantified(voice, some_things(voice).that(neighboured(voice)), ITEMS_OF_BOX, ((6, A), (1, AT_LEAST)))


TOUCHING_PAIRS: Mapping[SceneKind, tuple[tuple[str, str], ...]] = {
    "tower": (("stacked together", "get_touching"), ("touching each other", "get_touching")),
    "scatter": (("touching each other", "get_touching"), ("closely touching each other", "get_closely_touching")),
}


def holds_touching_pair(voice: Voice) -> Phrase:
    """As in "two blue blocks touching each other": a pair that touches, whatever else there is."""
    things = some_things(voice)
    words, neighbours = voice.one_of(TOUCHING_PAIRS[voice.kind])
    pair = things.that(next_to(words, neighbours, things))
    at_least = "at least " if voice.chance(0.4) else ""
    return Phrase(f"{at_least}{voice.number(2)} {things.plural} {words}", f"exist({pair.among(ITEMS_OF_BOX)})")


def holds_only(voice: Voice) -> Phrase:
    """As in "only blue and black items": both colours, and no other."""
    one, other = voice.two_of(tuple(COLORS))
    things = anything(voice).plural
    if voice.chance(0.4):
        words = voice.one_of((f"only {one} {things}", f"{things} of {one} {voice.color} only"))
        return Phrase(words, _all_of(COLORS[one]))
    words = voice.one_of((f"only {one} and {other} {things}", f"{things} of only {one} and {other} {voice.color}"))
    colors = f"{{{_member(one)}, {_member(other)}}}"
    return Phrase(words, f"equal_set(get_set_colors({ITEMS_OF_BOX}), {colors})")


def holds_either(voice: Voice) -> Phrase:
    """As in "items of either blue or black color": every item is one of the two."""
    one, other = voice.two_of(tuple(COLORS))
    words = f"{anything(voice).plural} of either {one} or {other} {voice.color}"
    return Phrase(words, _all_of(f"{COLORS[one]} or {COLORS[other]}"))


def holds_variety(voice: Voice) -> Phrase:
    """As in "three items of two different colors", "items of the same shape"."""
    total = Phrase(anything(voice).plural, "")
    if voice.chance(0.5):
        few: Weighted[Quantifier] = ((3, NUMBER), (2, AT_LEAST), (1, EXACTLY))
        total = quantified(voice, anything(voice), ITEMS_OF_BOX, few, least=2)
    what, values = (voice.color, "get_set_colors")
    if voice.kind == "scatter":
        what, values = voice.weighted(
            ((6, (what, values)), (3, ("shape", "get_set_shapes")), (1, ("size", "get_set_sizes")))
        )
    several = f"count({values}({ITEMS_OF_BOX}))"
    words, meaning = voice.one_of(
        (
            (f"of the same {what}", f"{several} == 1"),
            (f"of {voice.number(2)} different {what}s", f"{several} == 2"),
            (f"of {voice.number(3)} different {what}s", f"{several} == 3"),
            (f"of all {voice.number(3)} {what}s", f"{several} == 3"),
        )
    )
    return Phrase(f"{total.words} {words}", both(total.meaning, meaning))


def holds_of_which(voice: Voice) -> Phrase:
    """As in "four items of which two are blue", "three blocks including a yellow one"."""
    color = voice.one_of(tuple(COLORS))
    total = voice.rng.randint(2, 4 if voice.kind == "tower" else 6)
    part = voice.rng.randint(1, min(3, total - 1))
    how_many, test = voice.weighted(((4, ("", "==")), (3, ("exactly ", "==")), (2, ("at least ", ">="))))
    all_are = "both are" if (total, test) == (2, "==") else "they are all"
    are = "are" if part > 1 else "is"
    of_color = f"count({colored(voice, color).among(ITEMS_OF_BOX)})"
    words, meaning = voice.weighted(
        (
            (4, (f"of which {voice.number(part)} {are} {color}", f"{of_color} == {part}")),
            (2, (f"of which at least {voice.number(part)} {are} {color}", f"{of_color} >= {part}")),
            (2, (f"including a {color} one", f"{of_color} >= 1")),
            (1, (f"including at least {voice.number(2)} {color} ones", f"{of_color} >= 2")),
            (2, (f"but only {voice.number(part)} {are} {color}", f"{of_color} == {part}")),
            (2, (f"and {all_are} {color}", _all_of(COLORS[color]))),
            (1, (f"but no {color} {voice.item}", f"{of_color} == 0")),
        )
    )
    words = f"{how_many}{voice.number(total)} {anything(voice).plural} {words}"
    return Phrase(words, both(f"count({ITEMS_OF_BOX}) {test} {total}", meaning))


def holds_parity(voice: Voice) -> Phrase:
    parity, remainder = voice.one_of((("even", 0), ("odd", 1)))
    return Phrase(f"a {parity} number of {anything(voice).plural}", f"count({ITEMS_OF_BOX}) % 2 == {remainder}")


def holds_more(voice: Voice) -> Phrase:
    """As in "more blue items than black items"."""
    return compared(voice, ITEMS_OF_BOX)


def compared(voice: Voice, where: str) -> Phrase:
    """As in "more yellow blocks than black blocks", "the same number of circles and squares"."""
    one, other = _two_kinds(voice)
    words, relation = voice.weighted(
        (
            (4, ("more {} than {}", ">")),
            (1, ("less {} than {}", "<")),
            (1, ("fewer {} than {}", "<")),
            (2, ("as many {} as {}", "==")),
            (2, ("the same number of {} and {}", "==")),
        )
    )
    number, other_number = (f"count({things.among(where)})" for things in (one, other))
    return Phrase(words.format(one.plural, other.plural), f"{number} {relation} {other_number}", plural=True)


def _two_kinds(voice: Voice) -> tuple[Things, Things]:
    if voice.kind == "scatter" and voice.chance(0.4):
        one, other = voice.two_of(tuple(SHAPES))
        return Things(one, f"{one}s", SHAPES[one]), Things(other, f"{other}s", SHAPES[other])
    one, other = voice.two_of(tuple(COLORS))
    return colored(voice, one), colored(voice, other)


def _all_of(meaning: str) -> str:
    return f"All({ITEMS_OF_BOX}, lambda x: {meaning})"


def _member(color: str) -> str:
    return f"Color.{color.upper()}"


SCATTER_CONTENTS: Weighted[Content] = (
    (30, holds_some),
    (20, holds_several),
    (12, holds_number),
    (10, holds_at_border),
    (8, holds_of_which),
    (7, holds_only),
    (7, holds_variety),
    (4, holds_two_colors),
    (3, holds_touching_pair),
    (3, holds_neighbours),
    (2, holds_more),
    (1, holds_either),
    (1, holds_parity),
)
