"""Determiners ("a", "no", "exactly two"), each with its meaning as a test on a set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from veriscene.worlds.nlvr.scene_drawing import SceneKind
from veriscene.worlds.nlvr.wordings.wording import Phrase, Things, Voice, Weighted

ALL_BOXES = "all_boxes"
ALL_ITEMS = "all_items"
ITEMS_OF_BOX = "b.all_items_in_box()"
ITEMS_OF_SAME_BOX = "x.box.all_items_in_box()"
LARGEST_NUMBER, LARGEST_SIMPLE_NUMBER = 9, 2
MOST: Mapping[SceneKind, Mapping[str, int]] = {
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
NUMBER_AT_MOST = Quantifier("{n} {things} at most", "count({all}) <= {n}")
NO = Quantifier("no {things}", "not exist({all})", plural=False)
NO_PLURAL = Quantifier("no {things}", "not exist({all})", plural=True)
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
    (2, Quantifier("not more than {n} {things}", "count({all}) <= {n}")),
    (5, Quantifier("more than {n} {things}", "count({all}) > {n}")),
    (4, Quantifier("less than {n} {things}", "count({all}) < {n}", least=2)),
)
OF_ITEMS: Weighted[Quantifier] = (*COUNTS, (24, A), (8, NO), (3, NO_PLURAL))
OF_BOXES: Weighted[Quantifier] = (
    (60, A),
    (22, NUMBER),
    (16, AT_LEAST),
    (14, EXACTLY),
    (7, ONLY),
    (7, NO),
    (2, AT_MOST),
)
INSIDE: Weighted[Quantifier] = (*COUNTS, (26, A), (2, MULTIPLE), (1, MANY), (1, A_LOT_OF))
NUMBER_INSIDE: Weighted[Quantifier] = (*COUNTS, (2, NUMBER_AT_MOST), (2, MULTIPLE), (3, A_SINGLE))
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
    if voice.broad:
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
    return number + (number < MOST[voice.kind].get(where, LARGEST_NUMBER) and voice.chance(0.2))
