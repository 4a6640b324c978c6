"""Wording: consistent word choice, number words, agreement, articles, and phrases paired with their meanings.

Meanings are program text. A meaning about an item refers to it as `x`, one about a box as `b`. An inner `lambda x`
hides the outer `x`, so phrases can be nested without renaming.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from veriscene.worlds.nlvr.kinds import SceneKind

Option = TypeVar("Option")
Weighted = Sequence[tuple[int, Option]]

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

# The collections that programs ask about. ITEMS_OF_BOX belongs to the box `b`, ITEMS_OF_SAME_BOX to the item `x`.
ALL_BOXES, ALL_ITEMS = "all_boxes", "all_items"
ITEMS_OF_BOX, ITEMS_OF_SAME_BOX = "b.all_items_in_box()", "x.box.all_items_in_box()"

# Words in braces agree in number with the subject of the phrase.
SINGULAR = {"is": "is", "has": "has", "contains": "contains", "it": "it", "its": "its"}
PLURAL = {"is": "are", "has": "have", "contains": "contain", "it": "them", "its": "their"}
SINGULAR |= {"circle": "a circle", "square": "a square", "triangle": "a triangle"}
PLURAL |= {"circle": "circles", "square": "squares", "triangle": "triangles"}


@dataclass(frozen=True)
class Voice:
    """The random generator and the word choices of one statement.

    Digits and number words are not mixed, unless by a `mixed` voice. A `simple` voice uses few quantifiers and numbers.
    """

    rng: random.Random
    kind: SceneKind
    box: str
    boxes: str
    item: str
    digits: bool = True
    color: str = "color"
    simple: bool = False
    mixed: bool = False

    def one_of(self, *options: Option) -> Option:
        return options[int(self.rng.random() * len(options))]

    def weighted(self, *options: tuple[int, Option]) -> Option:
        return self.rng.choices(options, [weight for weight, _ in options])[0][1]

    def phrase(self, *options: tuple[int, str, str]) -> Phrase:
        """One of several wordings, each given as weight, words and meaning."""
        _, words, meaning = self.rng.choices(options, [option[0] for option in options])[0]
        return Phrase(words, meaning)

    def two_of(self, *options: Option) -> tuple[Option, Option]:
        """Two different options, in random order."""
        first, second = self.rng.sample(options, 2)
        return first, second

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def number(self, number: int) -> str:
        digits = self.digits if not self.mixed else self.chance(0.5)
        return str(number) if digits else NUMBER_WORDS[number]


def agree(words: str, plural: bool) -> str:
    return words.format_map(PLURAL if plural else SINGULAR)


def sentence(words: str, capital: bool, full_stop: bool) -> str:
    words = re.sub(r"\ba (?=[aei]|o(?!ne\b))", "an ", words)  # "one" starts with a consonant sound.
    if capital:
        words = words[0].upper() + words[1:]
    return words + "." if full_stop else words


@dataclass(frozen=True)
class Phrase:
    """Words and their meaning: a sentence, a part of one, or an attribute that follows a noun ("touching the wall").

    `share` is roughly the fraction of things that an attribute fits; `plural` decides the form of the verb.
    """

    words: str
    meaning: str
    share: float = 1 / 3
    plural: bool = False


Pattern = Callable[[Voice], Phrase]


def joined(phrases: Sequence[Phrase]) -> Phrase:
    """As in "a yellow square, a black circle and two triangles"; the verb agrees with the first phrase."""
    *words, last = (phrase.words for phrase in phrases)
    meaning = both(*(phrase.meaning for phrase in phrases))
    return Phrase(f"{', '.join(words)} and {last}" if words else last, meaning, plural=phrases[0].plural)


@dataclass(frozen=True)
class Things:
    """A noun with adjectives and relative clauses, but no determiner. An empty meaning is true of everything."""

    singular: str
    plural: str
    meaning: str = ""
    share: float = 1.0
    variable: str = "x"

    def that(self, attribute: Phrase) -> Things:
        singular, plural = (agree(attribute.words, plural) for plural in (False, True))
        meaning, share = both(self.meaning, attribute.meaning), self.share * attribute.share
        return Things(f"{self.singular} {singular}", f"{self.plural} {plural}", meaning, share, self.variable)

    def among(self, where: str) -> str:
        return f"filter_obj({where}, lambda {self.variable}: {self.meaning})" if self.meaning else where


def both(*meanings: str) -> str:
    return " and ".join(meaning for meaning in meanings if meaning)


def those(test: str, where: str = ITEMS_OF_BOX) -> str:
    """The items of a collection that pass a test."""
    return f"filter_obj({where}, lambda x: {test})"


def exists(test: str, where: str = ITEMS_OF_BOX) -> str:
    return f"exist({those(test, where)})"


def number_of(test: str, where: str = ITEMS_OF_BOX) -> str:
    return f"count({those(test, where)})"


def every(test: str, where: str = ITEMS_OF_BOX) -> str:
    return f"All({where}, lambda x: {test})"


def some_box(test: str) -> str:
    return f"exist(filter_obj(all_boxes, lambda b: {test}))"
