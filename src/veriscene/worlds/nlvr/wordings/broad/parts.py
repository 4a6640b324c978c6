"""Contents told by their parts: "five items of which two are circles". Meanings are about the box `b`."""

from __future__ import annotations

from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.broad import borders
from veriscene.worlds.nlvr.wordings.wording import Phrase, Things, Voice, Weighted, agree, both

MOST_ITEMS = {"tower": 4, "scatter": 7}
SOME_OR_MORE = q.Quantifier("{n} or more {things}", "count({all}) >= {n}", least=2)
AT_MOST_BEFORE = q.Quantifier("{n} {things} at most", "count({all}) <= {n}", least=2)
TOTALS: Weighted[q.Quantifier] = (
    *((24, q.NUMBER), (16, q.EXACTLY), (8, q.ONLY), (5, q.AT_LEAST), (2, AT_MOST_BEFORE), (2, q.AT_MOST)),
    *((4, q.MULTIPLE), (1, q.A_LOT_OF), (1, q.MANY), (1, SOME_OR_MORE)),
    (2, q.Quantifier("more than {n} {things}", "count({all}) > {n}")),
)


def total(voice: Voice, least: int = 2) -> Phrase:
    return q.quantified(voice, nouns.anything(voice), q.ITEMS_OF_BOX, TOTALS, least=least)


def some_predicate(voice: Voice) -> Phrase:
    """What parts of the contents are: "{is} blue", "{is} a circle" …"""
    color, shape = voice.one_of(*nouns.COLORS), voice.one_of(*nouns.SHAPES)
    colors: Weighted[Phrase] = (
        (8, Phrase(f"{{is}} {color}", nouns.COLORS[color])),
        (1, Phrase(f"{{is}} {color} in {voice.color}", nouns.COLORS[color])),
        (1, Phrase(f"{{is}} of {color} {voice.color}", nouns.COLORS[color])),
        (1, Phrase(f"{{is}} not {color}", f"not {nouns.COLORS[color]}")),
    )
    if voice.kind == "tower":
        return voice.weighted(*colors)
    if voice.chance(0.2):
        place = voice.weighted((3, borders.at_border), (1, borders.not_at_border))(voice, False)
        return Phrase(f"{{is}} {place.words}", place.meaning, place.share)
    # After {is}, {circle} becomes "a circle" or "circles".
    colored = f"a {color} {shape}|{color} {shape}s"
    shapes: Weighted[Phrase] = (
        (5, Phrase(f"{{is}} {{{shape}}}", nouns.SHAPES[shape])),
        (7, Phrase(f"{{is}} {colored}", both(nouns.COLORS[color], nouns.SHAPES[shape]), 1 / 9)),
    )
    return voice.weighted(*colors, *shapes)


def agreed(predicate: Phrase, plural: bool) -> str:
    """The predicate's words; the two numbers of a noun that is not in the table of forms are separated by a bar."""
    words = agree(predicate.words, plural)
    before, bar, after = words.partition("|")
    if not bar:
        return words
    return f"{'are' if plural else 'is'} {after}" if plural else before


def of_which(voice: Voice) -> Phrase:
    """As in "exactly three objects of which one is a blue circle", "2 items and the two are black".

    "One of which is blue" allows more; "two of which are blue" does not: so the public programs have it.
    """
    predicate, some = some_predicate(voice), voice.rng.randint(1, 2)
    items, item = nouns.anything(voice).plural, voice.item
    one, few = voice.number(1), voice.number(some)
    many = f"count(filter_obj({q.ITEMS_OF_BOX}, lambda x: {predicate.meaning}))"
    exact = f"{many} >= 1" if some == 1 else f"{many} == {some}"
    is_, are = agreed(predicate, False), agreed(predicate, some > 1)
    forms: Weighted[tuple[str, str]] = (
        (10, (f"of which {few} {are}", exact)),
        (5, (f"of which at least {few} {are}", f"{many} >= {some}")),
        (2, (f"of which only {few} {are}", f"{many} == {some}")),
        (2, (f"of which exactly {few} {are}", f"{many} == {some}")),
        (5, (f"{few} of which {are}", exact)),
        (4, (f"where {one} of the {voice.one_of(item, items)} {is_}", f"{many} >= 1")),
        (2, (f"where exactly {few} {are}", f"{many} == {some}")),
        (3, (f"and {few} {are}", exact)),
        (2, (f"and {few} of the {items} {are}", exact)),
        (2, (f"and the {few} {are}", f"{many} == {some}")),
        (2, (f"but only {few} {are}", f"{many} == {some}")),
        (1, (f"and some of the {items} {agreed(predicate, True)}", f"{many} >= 1")),
    )
    words, part = voice.weighted(*forms)
    whole = total(voice, least=some + 1)
    return Phrase(f"{whole.words} {words}", both(whole.meaning, part))


def all_of_which(voice: Voice) -> Phrase:
    """As in "two items and they are both circles", "only one item which is black"."""
    predicate, number = some_predicate(voice), voice.weighted((6, 1), (3, 2), (2, 3), (1, 4))
    things, items = nouns.anything(voice), nouns.anything(voice).plural
    # "One item that is blue" may be one of many.
    count = voice.weighted((3, "exactly "), (3, "only "), (2 * (number > 1), "")) + voice.number(number)
    if number == 1:
        count = voice.weighted((4, count), (1, "a single"))
    are = agreed(predicate, number > 1)
    single = [f"which {are}", f"that {are}", f"and it {are}", f"and the {voice.item} {are}"]
    plural = [f"which {are}", f"that {are}", f"and they {are}", f"all of which {are}"]
    plural += [f"and the {voice.number(number)} {are}", f"and the {voice.number(number)} {items} {are}"]
    if number == 2:
        plural += [f"and both {are}", f"where both {items} {are}"]
    words = voice.one_of(*(plural if number > 1 else single))
    every = f"All({q.ITEMS_OF_BOX}, lambda x: {predicate.meaning})"
    noun = things.plural if number > 1 else things.singular
    return Phrase(f"{count} {noun} {words}", f"count({q.ITEMS_OF_BOX}) == {number} and {every}")


def including(voice: Voice) -> Phrase:
    """As in "exactly six items including blue circle"; in a tower "four blocks including two yellow ones"."""
    things, some = nouns.some_things(voice), voice.rng.randint(1, 2)
    whole = total(voice, least=some + 1)
    many = f"count({things.among(q.ITEMS_OF_BOX)})"
    words, part = voice.weighted(
        (3, (f"including a {things.singular}", f"{many} >= 1")),
        (2, (f"including {things.plural}", f"{many} >= 1")),
        (1, (f"including {voice.number(2)} {things.plural}", f"{many} == 2")),
        (1, (f"including at least {voice.number(2)} {things.plural}", f"{many} >= 2")),
    )
    return Phrase(f"{whole.words} {words}", both(whole.meaning, part))


def divided(voice: Voice) -> Phrase:
    """As in "three items of which two are black and one is blue", "two blue, one yellow and one black item"."""
    names = list(nouns.COLORS) if voice.kind == "tower" or voice.chance(0.7) else list(nouns.SHAPES)
    tests = nouns.COLORS if names[0] in nouns.COLORS else nouns.SHAPES
    voice.rng.shuffle(names)
    names = names[: voice.weighted((3, 2), (2, 3))]
    numbers = [voice.rng.randint(1, 2) for _ in names]
    parts = [
        f"count(filter_obj({q.ITEMS_OF_BOX}, lambda x: {tests[name]})) == {n}"
        for name, n in zip(names, numbers, strict=True)
    ]
    if voice.chance(0.5) and tests is nouns.COLORS:
        listed = [f"{voice.number(n)} {name}" for name, n in zip(names, numbers, strict=True)]
        noun = nouns.anything(voice).plural if numbers[-1] > 1 else voice.item
        return Phrase(f"{', '.join(listed[:-1])} and {listed[-1]} {noun}", both(*parts))
    described = [f"{voice.number(n)} {_is(tests, name, n)}" for name, n in zip(names, numbers, strict=True)]
    whole = f"{voice.number(sum(numbers))} {nouns.anything(voice).plural}"
    words = f"{whole} of which {', '.join(described[:-1])} and {described[-1]}"
    return Phrase(words, both(f"count({q.ITEMS_OF_BOX}) == {sum(numbers)}", *parts))


def _is(tests: dict[str, str], name: str, number: int) -> str:
    return agree(f"{{is}} {name}" if tests is nouns.COLORS else f"{{is}} {{{name}}}", number > 1)


def and_others(voice: Voice) -> Phrase:
    """As in "two yellow squares and other items", "one blue item and two other items"."""
    things = nouns.some_things(voice)
    number, others = voice.rng.randint(1, 2), voice.rng.randint(1, 3)
    noun = things.plural if number > 1 else things.singular
    count = voice.weighted((3, ""), (1, "exactly "), (1, "only ")) + voice.number(number)
    many, every = f"count({things.among(q.ITEMS_OF_BOX)}) == {number}", f"count({q.ITEMS_OF_BOX})"
    some, item = nouns.anything(voice).plural, nouns.anything(voice).plural if others > 1 else voice.item
    words, rest = voice.weighted(
        (3, (f"and other {some}", f"{every} > {number}")),
        (1, (f"among other {some}", f"{every} > {number}")),
        (3, (f"and {voice.number(others)} other {item}", f"{every} == {number + others}")),
    )
    return Phrase(f"{count} {noun} {words}", both(many, rest))


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
    rest = f"count(filter_obj({q.ITEMS_OF_BOX}, lambda x: not {things.meaning})) {test_other} {others}"
    return Phrase(words, both(f"count({things.among(q.ITEMS_OF_BOX)}) {test} {number}", rest))


def those_are(voice: Voice) -> Phrase:
    """As in "multiple items and the two black items are squares", "only one blue item and it is a circle"."""
    color, shape = voice.one_of(*nouns.COLORS), voice.one_of(*nouns.SHAPES)
    number, items = voice.rng.randint(1, 2), nouns.anything(voice).plural
    found = f"filter_obj({q.ITEMS_OF_BOX}, lambda x: {nouns.COLORS[color]})"
    are, n = agree(f"{{is}} {{{shape}}}", number > 1), voice.number(number)
    if number == 1:
        whole, words = Phrase("", ""), f"{voice.one_of('only', 'exactly')} {n} {color} {voice.item} and it {are}"
    else:
        whole = total(voice, least=number + 1)
        words = f"{whole.words} and the {n} {color} {voice.one_of(items, 'ones')} {are}"
    return Phrase(
        words, both(whole.meaning, f"count({found}) == {number}", f"All({found}, lambda x: {nouns.SHAPES[shape]})")
    )
