"""Determiners ("a", "no", "exactly two"), each with its meaning as a test on a set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from veriscene.worlds.nlvr.kinds import SceneKind
from veriscene.worlds.nlvr.wordings.wording import (
    ALL_BOXES,
    ALL_ITEMS,
    ITEMS_OF_BOX,
    ITEMS_OF_SAME_BOX,
    Phrase,
    Things,
    Voice,
    Weighted,
)

LARGEST_NUMBER, LARGEST_SIMPLE_NUMBER = 9, 2
MAX_COUNT: Mapping[SceneKind, Mapping[str, int]] = {
    "tower": {ALL_BOXES: 3, ITEMS_OF_BOX: 4, ITEMS_OF_SAME_BOX: 4},
    "scatter": {ALL_BOXES: 3, ITEMS_OF_BOX: 7, ITEMS_OF_SAME_BOX: 7},
}

# Typical counts. Numbers are drawn around them, so that statements are neither always true nor always false.
USUAL_COUNT: Mapping[SceneKind, Mapping[str, float]] = {
    "tower": {ALL_BOXES: 3.0, ALL_ITEMS: 7.5, ITEMS_OF_BOX: 2.5, ITEMS_OF_SAME_BOX: 2.5},
    "scatter": {ALL_BOXES: 3.0, ALL_ITEMS: 11.5, ITEMS_OF_BOX: 3.8, ITEMS_OF_SAME_BOX: 3.8},
}


@dataclass(frozen=True)
class Quantifier:
    """`least` is the smallest number that makes sense; `plural` is None if it depends on the number."""

    words: str
    meaning: str
    least: int = 1
    plural: bool | None = None


# The readings that NLVR's raters prefer: a number is exact, alone or after "only".
A = Quantifier("a {things}", "exist({all})", plural=False)
NUMBER = Quantifier("{n} {things}", "count({all}) == {n}")
EXACTLY = Quantifier("exactly {n} {things}", "count({all}) == {n}")
ONLY = Quantifier("only {n} {things}", "count({all}) == {n}")
AT_LEAST = Quantifier("at least {n} {things}", "count({all}) >= {n}")
AT_MOST = Quantifier("at most {n} {things}", "count({all}) <= {n}")
NOT_MORE_THAN = Quantifier("not more than {n} {things}", "count({all}) <= {n}")
MORE_THAN = Quantifier("more than {n} {things}", "count({all}) > {n}")
LESS_THAN = Quantifier("less than {n} {things}", "count({all}) < {n}", least=2)
NUMBER_AT_MOST = Quantifier("{n} {things} at most", "count({all}) <= {n}")
NO = Quantifier("no {things}", "not exist({all})", plural=False)
MULTIPLE = Quantifier("multiple {things}", "count({all}) >= 2", plural=True)
MANY = Quantifier("many {things}", "count({all}) >= 3", plural=True)
A_LOT_OF = Quantifier("a lot of {things}", "count({all}) >= 3", plural=True)
A_SINGLE = Quantifier("a single {things}", "count({all}) == 1", plural=False)

COUNTS: Weighted[Quantifier] = (
    (24, NUMBER),
    (22, EXACTLY),
    (22, AT_LEAST),
    (7, ONLY),
    (6, AT_MOST),
    (2, NOT_MORE_THAN),
    (5, MORE_THAN),
    (4, LESS_THAN),
)
OF_ITEMS: Weighted[Quantifier] = (
    *((34, A), (24, EXACTLY), (18, NUMBER), (14, AT_LEAST), (7, NO), (4, ONLY), (2, AT_MOST)),
    *((2, MORE_THAN), (1, LESS_THAN), (2, replace(NO, plural=True))),
)
OF_BOXES: Weighted[Quantifier] = (
    *((100, A), (28, NUMBER), (14, AT_LEAST), (7, EXACTLY), (4, ONLY), (3, NO), (1, AT_MOST), (1, NOT_MORE_THAN)),
)
INSIDE: Weighted[Quantifier] = (*COUNTS, (26, A), (2, MULTIPLE), (1, MANY), (1, A_LOT_OF))
NUMBER_INSIDE: Weighted[Quantifier] = (*COUNTS, (2, NUMBER_AT_MOST), (2, MULTIPLE), (3, A_SINGLE))
FEW: Weighted[Quantifier] = (
    *((8, A), (5, AT_LEAST), (5, NUMBER), (3, EXACTLY), (2, ONLY), (1, MORE_THAN), (1, A_LOT_OF)),
)
TOTALS: Weighted[Quantifier] = (
    *((24, NUMBER), (16, EXACTLY), (8, ONLY), (5, AT_LEAST), (2, replace(NUMBER_AT_MOST, least=2)), (2, AT_MOST)),
    *((4, MULTIPLE), (1, A_LOT_OF), (1, MANY)),
    (1, Quantifier("{n} or more {things}", "count({all}) >= {n}", least=2)),
    (2, MORE_THAN),
)
SIMPLE: Weighted[Quantifier] = ((4, A), (3, AT_LEAST), (2, NO))
SIMPLE_INSIDE: Weighted[Quantifier] = ((3, A), (1, AT_LEAST))


def quantified(voice: Voice, things: Things, where: str, quantifiers: Weighted[Quantifier], least: int = 1) -> Phrase:
    """As in "exactly two blue circles", counted in the collection `where`; the number is at least `least`."""
    quantifier = voice.weighted(*quantifiers)
    least = max(least, quantifier.least)
    if quantifier is AT_LEAST and not things.meaning:
        least = max(least, 2)  # No box is empty.
    usual = USUAL_COUNT[voice.kind][where] * things.share
    largest = LARGEST_SIMPLE_NUMBER if voice.simple else LARGEST_NUMBER
    lowest = min(max(least, math.floor(usual * 0.6)), largest)
    number = voice.rng.randint(lowest, min(max(lowest, math.ceil(usual * 1.4)), largest))
    if not voice.simple:
        number = max(least, _natural_number(voice, quantifier, number, where))
    plural = number > 1 if quantifier.plural is None else quantifier.plural
    words = quantifier.words.format(n=voice.number(number), things=things.plural if plural else things.singular)
    return Phrase(words, quantifier.meaning.format(all=things.among(where), n=number), plural=plural)


def _natural_number(voice: Voice, quantifier: Quantifier, number: int, where: str) -> int:
    """The number or one that people prefer, as in "at least one", "only one", "one box"; sometimes the next larger."""
    if where == ALL_BOXES:
        return voice.weighted((55, 1), (30, 2), (4, 3))
    if quantifier in (AT_LEAST, ONLY) and voice.chance(0.5):
        return 1
    return number + (number < MAX_COUNT[voice.kind].get(where, LARGEST_NUMBER) and voice.chance(0.2))
