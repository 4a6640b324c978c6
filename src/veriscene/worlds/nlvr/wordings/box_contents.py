"""Contents of a box or a tower, worded to follow "with" or "has".

Meanings are about the box `b`. In the words, {it} and {its} become "them" and "their" after several boxes.
"""

from __future__ import annotations

from collections.abc import Mapping

from veriscene.worlds.nlvr.scene_drawing import SceneKind
from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.wording import Pattern, Phrase, Things, Voice, Weighted, both, joined


def holds_some(voice: Voice) -> Phrase:
    """As in "exactly two blue circles"."""
    quantifiers = q.SIMPLE_INSIDE if voice.simple else q.INSIDE
    return q.quantified(voice, nouns.some_things_alone(voice), q.ITEMS_OF_BOX, quantifiers)


def holds_number(voice: Voice) -> Phrase:
    """As in "at least three items"."""
    number = q.quantified(voice, nouns.anything(voice), q.ITEMS_OF_BOX, q.NUMBER_INSIDE)
    return Phrase(f"{number.words} in {{it}}", number.meaning) if voice.chance(0.08) else number


def holds_several(voice: Voice) -> Phrase:
    """As in "a yellow square, a black circle and at least one blue triangle"."""
    few: Weighted[q.Quantifier] = ((5, q.A), (3, q.AT_LEAST), (3, q.NUMBER), (2, q.EXACTLY), (1, q.ONLY))
    several = nouns.different_things(voice, voice.weighted((7, 2), (2, 3)))
    return joined([q.quantified(voice, things, q.ITEMS_OF_BOX, few) for things in several])


def holds_two_colors(voice: Voice) -> Phrase:
    """As in "two blue and one yellow item"."""
    one, other = voice.two_of(*nouns.COLORS)
    few, many = voice.rng.randint(1, 2), voice.rng.randint(1, 3)
    noun = nouns.anything(voice).plural if many > 1 else nouns.anything(voice).singular
    counts = (
        f"count({nouns.colored(voice, color).among(q.ITEMS_OF_BOX)}) == {number}"
        for color, number in ((one, few), (other, many))
    )
    return Phrase(f"{voice.number(few)} {one} and {voice.number(many)} {other} {noun}", both(*counts))


def holds_at_border(voice: Voice) -> Phrase:
    """As in "a blue circle touching the wall"."""
    things = nouns.some_things(voice).that(nouns.at_border(voice, of_a_box=False))
    return q.quantified(voice, things, q.ITEMS_OF_BOX, q.INSIDE)


def holds_neighbours(voice: Voice) -> Phrase:
    """As in "a blue block over a black block", "a circle touching a blue item"."""
    things = nouns.some_things(voice).that(nouns.neighboured(voice))
    return q.quantified(voice, things, q.ITEMS_OF_BOX, ((6, q.A), (1, q.AT_LEAST)))


TOUCHING_PAIRS: Mapping[SceneKind, tuple[tuple[str, str], ...]] = {
    "tower": (("stacked together", "get_touching"), ("touching each other", "get_touching")),
    "scatter": (("touching each other", "get_touching"), ("closely touching each other", "get_closely_touching")),
}


def holds_touching_pair(voice: Voice) -> Phrase:
    """As in "two blue blocks touching each other": a pair that touches, whatever else there is."""
    things = nouns.some_things(voice)
    words, neighbours = voice.one_of(*TOUCHING_PAIRS[voice.kind])
    pair = things.that(nouns.next_to(words, neighbours, things))
    at_least = "at least " if voice.chance(0.4) else ""
    return Phrase(f"{at_least}{voice.number(2)} {things.plural} {words}", f"exist({pair.among(q.ITEMS_OF_BOX)})")


def holds_only(voice: Voice) -> Phrase:
    """As in "only blue and black items": both colours, and no other."""
    one, other = voice.two_of(*nouns.COLORS)
    things = nouns.anything(voice).plural
    if voice.chance(0.4):
        words = voice.one_of(f"only {one} {things}", f"{things} of {one} {voice.color} only")
        return Phrase(words, _all_of(nouns.COLORS[one]))
    words = voice.one_of(f"only {one} and {other} {things}", f"{things} of only {one} and {other} {voice.color}")
    colors = f"{{Color.{one.upper()}, Color.{other.upper()}}}"
    return Phrase(words, f"equal_set(get_set_colors({q.ITEMS_OF_BOX}), {colors})")


def holds_either(voice: Voice) -> Phrase:
    """As in "items of either blue or black color": every item is one of the two."""
    one, other = voice.two_of(*nouns.COLORS)
    words = f"{nouns.anything(voice).plural} of either {one} or {other} {voice.color}"
    return Phrase(words, _all_of(f"{nouns.COLORS[one]} or {nouns.COLORS[other]}"))


def holds_variety(voice: Voice) -> Phrase:
    """As in "three items of two different colors", "items of the same shape"."""
    total = Phrase(nouns.anything(voice).plural, "")
    if voice.chance(0.5):
        few: Weighted[q.Quantifier] = ((3, q.NUMBER), (2, q.AT_LEAST), (1, q.EXACTLY))
        total = q.quantified(voice, nouns.anything(voice), q.ITEMS_OF_BOX, few, least=2)
    look = voice.weighted((6, "color"), (3, "shape"), (1, "size")) if voice.kind == "scatter" else "color"
    what = voice.color if look == "color" else look
    words, values = voice.one_of(
        (f"the same {what}", 1),
        (f"{voice.number(2)} different {what}s", 2),
        (f"{voice.number(3)} different {what}s", 3),
        (f"all {voice.number(3)} {what}s", 3),
    )
    meaning = f"count(get_set_{look}s({q.ITEMS_OF_BOX})) == {values}"
    return Phrase(f"{total.words} of {words}", both(total.meaning, meaning))


def holds_of_which(voice: Voice) -> Phrase:
    """As in "four items of which two are blue", "three blocks including a yellow one"."""
    color = voice.one_of(*nouns.COLORS)
    total = voice.rng.randint(2, 4 if voice.kind == "tower" else 6)
    part = voice.rng.randint(1, min(3, total - 1))
    how_many, test = voice.weighted((4, ("", "==")), (3, ("exactly ", "==")), (2, ("at least ", ">=")))
    all_are = "both are" if (total, test) == (2, "==") else "they are all"
    are = "are" if part > 1 else "is"
    of_color = f"count({nouns.colored(voice, color).among(q.ITEMS_OF_BOX)})"
    words, meaning = voice.weighted(
        (4, (f"of which {voice.number(part)} {are} {color}", f"{of_color} == {part}")),
        (2, (f"of which at least {voice.number(part)} {are} {color}", f"{of_color} >= {part}")),
        (2, (f"including a {color} one", f"{of_color} >= 1")),
        (1, (f"including at least {voice.number(2)} {color} ones", f"{of_color} >= 2")),
        (2, (f"but only {voice.number(part)} {are} {color}", f"{of_color} == {part}")),
        (2, (f"and {all_are} {color}", _all_of(nouns.COLORS[color]))),
        (1, (f"but no {color} {voice.item}", f"{of_color} == 0")),
    )
    words = f"{how_many}{voice.number(total)} {nouns.anything(voice).plural} {words}"
    return Phrase(words, both(f"count({q.ITEMS_OF_BOX}) {test} {total}", meaning))


def holds_parity(voice: Voice) -> Phrase:
    parity, remainder = voice.one_of(("even", 0), ("odd", 1))
    return Phrase(f"a {parity} number of {nouns.anything(voice).plural}", f"count({q.ITEMS_OF_BOX}) % 2 == {remainder}")


def compared(voice: Voice, where: str = q.ITEMS_OF_BOX) -> Phrase:
    """As in "more yellow blocks than black blocks", "the same number of circles and squares"."""
    one, other = _two_kinds(voice)
    words, relation = voice.weighted(
        (4, ("more {} than {}", ">")),
        (1, ("less {} than {}", "<")),
        (1, ("fewer {} than {}", "<")),
        (2, ("as many {} as {}", "==")),
        (2, ("the same number of {} and {}", "==")),
    )
    meaning = f"count({one.among(where)}) {relation} count({other.among(where)})"
    return Phrase(words.format(one.plural, other.plural), meaning, plural=True)


def _two_kinds(voice: Voice) -> tuple[Things, Things]:
    if voice.kind == "scatter" and voice.chance(0.4):
        one, other = voice.two_of(*nouns.SHAPES)
        return nouns.shaped(one), nouns.shaped(other)
    one, other = voice.two_of(*nouns.COLORS)
    return nouns.colored(voice, one), nouns.colored(voice, other)


def _all_of(meaning: str) -> str:
    return f"All({q.ITEMS_OF_BOX}, lambda x: {meaning})"


SCATTER_CONTENTS: Weighted[Pattern] = (
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
    (2, compared),
    (1, holds_either),
    (1, holds_parity),
)
