"""What boxes and towers hold, worded to follow "with" or "has": things, numbers of things, and parts of the contents.

Meanings are about the box `b`. In the words, {it} and {its} become "them" and "their" after several boxes.
"""

from __future__ import annotations

from collections.abc import Mapping

from veriscene.worlds.nlvr.kinds import SceneKind
from veriscene.worlds.nlvr.wordings import nouns, walls
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.nouns import COLORS, SHAPES
from veriscene.worlds.nlvr.wordings.wording import (
    ITEMS_OF_BOX,
    Phrase,
    Things,
    Voice,
    Weighted,
    agree,
    both,
    every,
    joined,
    number_of,
    those,
)

# ---------------------------------------------------------------- things


def some(voice: Voice) -> Phrase:
    """As in "exactly two blue circles"."""
    quantifiers = q.SIMPLE_INSIDE if voice.simple else q.INSIDE
    return q.quantified(voice, nouns.some_things_alone(voice), ITEMS_OF_BOX, quantifiers)


def number_of_items(voice: Voice) -> Phrase:
    """As in "at least three items"."""
    number = q.quantified(voice, nouns.anything(voice), ITEMS_OF_BOX, q.NUMBER_INSIDE)
    return Phrase(f"{number.words} in {{it}}", number.meaning) if voice.chance(0.08) else number


def some_plural(voice: Voice) -> Phrase:
    """As in "blue blocks": at least one."""
    things = nouns.some_things(voice)
    return Phrase(things.plural, f"exist({things.among(ITEMS_OF_BOX)})")


def no_things(voice: Voice) -> Phrase:
    """As in "no blue item", "no circles"."""
    things = nouns.some_things(voice)
    return Phrase(f"no {voice.one_of(things.singular, things.plural)}", f"not exist({things.among(ITEMS_OF_BOX)})")


def many(voice: Voice) -> Phrase:
    """As in "many items"."""
    return q.quantified(voice, nouns.anything(voice), ITEMS_OF_BOX, ((2, q.MANY), (1, q.A_LOT_OF)))


def several(voice: Voice) -> Phrase:
    """As in "a yellow square, a black circle and more than 2 blue items"."""
    things = nouns.different_things(voice, voice.weighted((6, 2), (3, 3), (1, 4 if voice.kind == "scatter" else 3)))
    if voice.kind == "scatter" and voice.chance(0.05):
        things[-1] = things[-1].that(walls.some_border(voice, of_a_box=False))
    if voice.kind == "scatter" and voice.chance(0.05):
        things[-1] = things[-1].that(Phrase("not being of small size", "not is_small(x)", 2 / 3))
    return joined([q.quantified(voice, each, ITEMS_OF_BOX, q.FEW) for each in things])


def two_colored(voice: Voice) -> Phrase:
    """As in "a yellow and blue circle", "two triangles and one circle that are black"."""
    one, other = voice.two_of(*COLORS)
    shape, second = voice.two_of(*SHAPES)
    found, other_color = (f"{COLORS[color]} and {SHAPES[shape]}" for color in (one, other))
    exist = f"exist({those(found)}) and exist({those(other_color)})"
    counted = f"{number_of(found)} == 2 and {number_of(f'{COLORS[one]} and {SHAPES[second]}')} == 1"
    return voice.phrase(
        (3, f"a {one} and {other} {shape}", exist),
        (3, f"a {one} and a {other} {shape}", exist),
        (2, f"{one} {shape}s and {other} {shape}s", exist),
        (2, f"{voice.number(2)} {shape}s and {voice.number(1)} {second} that are {one}", counted),
    )


def at_border(voice: Voice) -> Phrase:
    """As in "two circles touching the base"."""
    return q.quantified(voice, walls.things_at_border(voice, of_a_box=False), ITEMS_OF_BOX, q.INSIDE)


def thing_at_border(voice: Voice) -> Phrase:
    """As in "a small yellow square and it is not touching the wall", "only one circle and it is touching the wall"."""
    things, place = walls.some_things(voice), voice.one_of(walls.at_border, walls.not_at_border)(voice, False)
    found = f"exist({things.that(place).among(ITEMS_OF_BOX)})"
    words, counted = voice.one_of(
        (f"a {things.singular}", ""),
        (f"only {voice.number(1)} {things.singular}", f"count({things.among(ITEMS_OF_BOX)}) == 1"),
    )
    return Phrase(f"{words} and it is {place.words}", both(counted, found))


def neighbours(voice: Voice) -> Phrase:
    """As in "a blue block over a black block", "a circle touching a blue item"."""
    things = nouns.some_things(voice).that(nouns.neighboured(voice))
    return q.quantified(voice, things, ITEMS_OF_BOX, ((6, q.A), (1, q.AT_LEAST)))


TOUCHING_PAIRS: Mapping[SceneKind, tuple[tuple[str, str], ...]] = {
    "tower": (("stacked together", "get_touching"), ("touching each other", "get_touching")),
    "scatter": (("touching each other", "get_touching"), ("closely touching each other", "get_closely_touching")),
}


def touching_pair(voice: Voice) -> Phrase:
    """As in "two blue blocks touching each other": a pair that touches, whatever else there is."""
    things = nouns.some_things(voice)
    words, near = voice.one_of(*TOUCHING_PAIRS[voice.kind])
    pair = things.that(nouns.next_to(words, near, things))
    at_least = "at least " if voice.chance(0.4) else ""
    return Phrase(f"{at_least}{voice.number(2)} {things.plural} {words}", f"exist({pair.among(ITEMS_OF_BOX)})")


def parity(voice: Voice) -> Phrase:
    """As in "an even number of items"."""
    parity, remainder = voice.one_of(("even", 0), ("odd", 1))
    return Phrase(f"a {parity} number of {nouns.anything(voice).plural}", f"count({ITEMS_OF_BOX}) % 2 == {remainder}")


# ---------------------------------------------------------------- parts of the contents


def total(voice: Voice, least: int = 2) -> Phrase:
    """As in "only three items", of which parts can be told."""
    return q.quantified(voice, nouns.anything(voice), ITEMS_OF_BOX, q.TOTALS, least=least)


def some_predicate(voice: Voice) -> Phrase:
    """What parts of the contents are: "{is} blue", "{is} a circle" …"""
    color, shape = voice.one_of(*COLORS), voice.one_of(*SHAPES)
    colors: Weighted[Phrase] = (
        (8, Phrase(f"{{is}} {color}", COLORS[color])),
        (1, Phrase(f"{{is}} {color} in {voice.color}", COLORS[color])),
        (1, Phrase(f"{{is}} of {color} {voice.color}", COLORS[color])),
        (1, Phrase(f"{{is}} not {color}", f"not {COLORS[color]}")),
    )
    if voice.kind == "tower":
        return voice.weighted(*colors)
    if voice.chance(0.2):
        place = voice.weighted((3, walls.at_border), (1, walls.not_at_border))(voice, False)
        return Phrase(f"{{is}} {place.words}", place.meaning, place.share)
    # After {is}, {circle} becomes "a circle" or "circles".
    colored = f"a {color} {shape}|{color} {shape}s"
    shapes: Weighted[Phrase] = (
        (5, Phrase(f"{{is}} {{{shape}}}", SHAPES[shape])),
        (7, Phrase(f"{{is}} {colored}", both(COLORS[color], SHAPES[shape]), 1 / 9)),
    )
    return voice.weighted(*colors, *shapes)


def agreed(predicate: Phrase, plural: bool) -> str:
    """The predicate's words; the two numbers of a noun that is not in the table of forms are separated by a bar."""
    singular, bar, other = agree(predicate.words, plural).partition("|")
    return f"are {other}" if plural and bar else singular


def of_which(voice: Voice) -> Phrase:
    """As in "exactly three objects of which one is a blue circle", "2 items and the two are black".

    "One of which is blue" allows more; "two of which are blue" does not: so the public programs have it.
    """
    predicate, count = some_predicate(voice), voice.rng.randint(1, 2)
    items, item = nouns.anything(voice).plural, voice.item
    one, few = voice.number(1), voice.number(count)
    found = number_of(predicate.meaning)
    at_least, exactly = f"{found} >= {count}", f"{found} == {count}"
    usual = at_least if count == 1 else exactly
    is_, are = agreed(predicate, False), agreed(predicate, count > 1)
    part = voice.phrase(
        (10, f"of which {few} {are}", usual),
        (5, f"of which at least {few} {are}", at_least),
        (2, f"of which only {few} {are}", exactly),
        (2, f"of which exactly {few} {are}", exactly),
        (5, f"{few} of which {are}", usual),
        (4, f"where {one} of the {voice.one_of(item, items)} {is_}", f"{found} >= 1"),
        (2, f"where exactly {few} {are}", exactly),
        (3, f"and {few} {are}", usual),
        (2, f"and {few} of the {items} {are}", usual),
        (2, f"and the {few} {are}", exactly),
        (2, f"but only {few} {are}", exactly),
        (1, f"and some of the {items} {agreed(predicate, True)}", f"{found} >= 1"),
    )
    whole = total(voice, least=count + 1)
    return Phrase(f"{whole.words} {part.words}", both(whole.meaning, part.meaning))


def all_of_which(voice: Voice) -> Phrase:
    """As in "two items and they are both circles", "only one item which is black"."""
    predicate, number = some_predicate(voice), voice.weighted((6, 1), (3, 2), (2, 3), (1, 4))
    things, items = nouns.anything(voice), nouns.anything(voice).plural
    # "One item that is blue" may be one of many.
    count = voice.weighted((3, "exactly "), (3, "only "), (2 * (number > 1), "")) + voice.number(number)
    if number == 1:
        count = voice.weighted((4, count), (1, "a single"))
    are = agreed(predicate, number > 1)
    if number == 1:
        options = [f"which {are}", f"that {are}", f"and it {are}", f"and the {voice.item} {are}"]
    else:
        options = [f"which {are}", f"that {are}", f"and they {are}", f"all of which {are}"]
        options += [f"and the {voice.number(number)} {are}", f"and the {voice.number(number)} {items} {are}"]
    if number == 2:
        options += [f"and both {are}", f"where both {items} {are}"]
    noun = things.plural if number > 1 else things.singular
    meaning = f"count({ITEMS_OF_BOX}) == {number} and {every(predicate.meaning)}"
    return Phrase(f"{count} {noun} {voice.one_of(*options)}", meaning)


def including(voice: Voice) -> Phrase:
    """As in "exactly six items including blue circle"; in a tower "four blocks including two yellow ones"."""
    things, least = nouns.some_things(voice), voice.rng.randint(2, 3)
    whole = total(voice, least=least)
    found, two, ones = f"count({things.among(ITEMS_OF_BOX)})", voice.number(2), things.plural.replace(voice.item, "one")
    part = voice.phrase(
        (3, f"including a {things.singular}", f"{found} >= 1"),
        (2, f"including {things.plural}", f"{found} >= 1"),
        (1, f"including {two} {things.plural}", f"{found} == 2"),
        (1, f"including at least {two} {things.plural}", f"{found} >= 2"),
        (1, f"including {two} {ones}", f"{found} == 2"),
    )
    return Phrase(f"{whole.words} {part.words}", both(whole.meaning, part.meaning))


def divided(voice: Voice) -> Phrase:
    """As in "three items of which two are black and one is blue", "two blue, one yellow and one black item"."""
    tests = COLORS if voice.kind == "tower" or voice.chance(0.7) else SHAPES
    names = list(tests)
    voice.rng.shuffle(names)
    names = names[: voice.weighted((3, 2), (2, 3))]
    numbers = {name: voice.rng.randint(1, 2) for name in names}
    parts = [f"{number_of(tests[name])} == {number}" for name, number in numbers.items()]
    if voice.chance(0.5) and tests is COLORS:
        *first, last = (f"{voice.number(number)} {name}" for name, number in numbers.items())
        noun = nouns.anything(voice).plural if numbers[names[-1]] > 1 else voice.item
        return Phrase(f"{', '.join(first)} and {last} {noun}", both(*parts))
    form = "{{is}} {}" if tests is COLORS else "{{is}} {{{}}}"
    *first, last = (
        f"{voice.number(number)} {agree(form.format(name), number > 1)}" for name, number in numbers.items()
    )
    size = sum(numbers.values())
    words = f"{voice.number(size)} {nouns.anything(voice).plural} of which {', '.join(first)} and {last}"
    return Phrase(words, both(f"count({ITEMS_OF_BOX}) == {size}", *parts))


def and_others(voice: Voice) -> Phrase:
    """As in "two yellow squares and other items", "one blue item and two other items"."""
    things = nouns.some_things(voice)
    number, others = voice.rng.randint(1, 2), voice.rng.randint(1, 3)
    noun = things.plural if number > 1 else things.singular
    count = voice.weighted((3, ""), (1, "exactly "), (1, "only ")) + voice.number(number)
    items, size = nouns.anything(voice).plural, f"count({ITEMS_OF_BOX})"
    rest = voice.phrase(
        (3, f"and other {items}", f"{size} > {number}"),
        (1, f"among other {items}", f"{size} > {number}"),
        (3, f"and {voice.number(others)} other {items if others > 1 else voice.item}", f"{size} == {number + others}"),
    )
    found = f"count({things.among(ITEMS_OF_BOX)}) == {number}"
    return Phrase(f"{count} {noun} {rest.words}", both(found, rest.meaning))


def other_kind(voice: Voice) -> Phrase:
    """As in "three circles and only one item of different shape", "a blue item and 2 items of another color"."""
    shape = voice.kind == "scatter" and voice.chance(0.5)
    things: Things = nouns.some_shape(voice) if shape else nouns.some_color(voice)
    number, others = voice.rng.randint(1, 3), voice.rng.randint(1, 2)
    counts: Weighted[tuple[str, str]] = ((3, ("", "==")), (2, ("only ", "==")), (2, ("at least ", ">=")))
    (how, test), (how_other, test_other) = voice.weighted(*counts), voice.weighted(*counts)
    noun = things.plural if number > 1 else things.singular
    item = nouns.anything(voice).plural if others > 1 else voice.item
    another = f"of {voice.one_of('another', 'different', 'a different')} {'shape' if shape else voice.color}"
    words = f"{how}{voice.number(number)} {noun} and {how_other}{voice.number(others)} {item} {another}"
    rest = f"{number_of(f'not {things.meaning}')} {test_other} {others}"
    return Phrase(words, both(f"count({things.among(ITEMS_OF_BOX)}) {test} {number}", rest))


def those_are(voice: Voice) -> Phrase:
    """As in "multiple items and the two black items are squares", "only one blue item and it is a circle"."""
    color, shape = voice.one_of(*COLORS), voice.one_of(*SHAPES)
    number, items = voice.rng.randint(1, 2), nouns.anything(voice).plural
    are, n = agree(f"{{is}} {{{shape}}}", number > 1), voice.number(number)
    if number == 1:
        whole, words = Phrase("", ""), f"{voice.one_of('only', 'exactly')} {n} {color} {voice.item} and it {are}"
    else:
        whole = total(voice, least=number + 1)
        words = f"{whole.words} and the {n} {color} {voice.one_of(items, 'ones')} {are}"
    found = those(COLORS[color])
    return Phrase(words, both(whole.meaning, f"count({found}) == {number}", every(SHAPES[shape], found)))
