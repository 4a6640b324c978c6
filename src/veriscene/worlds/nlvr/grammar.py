"""Random English statements about NLVR's scenes, with their programs.

The level "full" is the dialect of NLVR's writers, with their habits (habits.txt); "simple" has few kinds of sentences,
about towers, which a small network learns in minutes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache

from veriscene import worlds
from veriscene.config import LEVELS
from veriscene.english.pattern import with_articles
from veriscene.errors import InputError
from veriscene.language.program import Statement
from veriscene.worlds.nlvr.dialect import NUMBER_WORDS, Phrase, Voice, agree, lines_of, program
from veriscene.worlds.nlvr.looks import SCENE_KINDS, WORLD, Color, SceneKind

MIXED = 0.08  # The share of statements that mix digits and number words.
# Writers of one kind of statement keep to the same nouns: weight, box, item.
NOUNS: Mapping[SceneKind, Sequence[tuple[int, str, str]]] = {
    "tower": (
        *((72, "tower", "block"), (17, "box", "item"), (5, "tower", "object"), (2, "box", "square")),
        *((2, "box", "block"), (1, "tower", "item"), (1, "tower", "square")),
    ),
    "scatter": (
        *((70, "box", "item"), (9, "box", "object"), (2, "box", "shape")),
        *((12, "grey box", "object"), (8, "grey square", "object")),
    ),
}
SIMPLE_NOUNS = NOUNS["tower"][:3]
LOST_CAPITAL = ("ll ", "t least ")
DOUBLE_BLANK = 0.02


def draw(rng: random.Random, level: str = "full") -> Statement:
    """Draws a random statement with its program; raises InputError for an unknown level."""
    if level not in LEVELS:
        raise InputError(f"unknown level {level!r}", allowed=f"choose from {', '.join(LEVELS)}")
    simple = level == "simple"
    kind: SceneKind = "tower" if simple else rng.choice(SCENE_KINDS)
    nouns = SIMPLE_NOUNS if simple else NOUNS[kind]
    ((_, box, item),) = rng.choices(nouns, [weight for weight, *_ in nouns])
    color = "color" if rng.random() < 0.85 else "colour"
    mixed, digits = rng.random() < MIXED and not simple, rng.random() < 0.36
    if simple:
        phrase = _Simple(rng, box, item, digits).sentence()
        words = phrase.words
    else:
        phrase = Voice(rng, kind, box, item, digits, color, mixed).sentence()
        words = with_articles(rewrite(rng, phrase.words))
    if rng.random() < 0.75 and not words.startswith(LOST_CAPITAL):
        words = words[0].upper() + words[1:]
    text = words + "." if rng.random() < 0.55 else words
    return Statement(text=text, kind=kind, program=worlds.parse(phrase.meaning, WORLD))


@cache
def habits() -> list[tuple[float, re.Pattern[str], str]]:
    """Returns the share, the wording and what is written instead, of each habit."""
    found = []
    for line in lines_of("habits.txt"):
        share, _, rest = line.partition(" ")
        pattern, _, written = rest.partition(" =>")
        found.append((float(share), re.compile(pattern), written.strip()))
    return found


def rewrite(rng: random.Random, words: str) -> str:
    """Returns the words as somebody in a hurry writes them; the meaning stays."""
    for share, pattern, written in habits():
        if rng.random() < share:
            words = pattern.sub(written, words, count=1)
    if rng.random() < DOUBLE_BLANK:
        blank = rng.choice([found.start() for found in re.finditer(" ", words)])
        words = f"{words[:blank]} {words[blank:]}"
    return words


WITH = {"with": 84, "that has#": 8, "which has#": 12, "having": 7, "that contains#": 2, "containing": 1}
ENDS = {"is_top(x)": ("top",), "is_bottom(x)": ("base", "base", "bottom")}
QUANTITIES = {"a": 4, "at least": 3, "no": 2}


class _Simple:
    """Whether some, no or every tower has a colour at its top, base or anywhere.

    The order in which random numbers are drawn is fixed: the corpus of the main job follows from it.
    """

    def __init__(self, rng: random.Random, box: str, item: str, digits: bool) -> None:
        self.rng, self.box, self.item, self.digits = rng, box, item, digits

    def sentence(self) -> Phrase:
        which = self._weighted({"items": 2, "boxes": 6, "every": 2})
        tower = "b.is_tower()" if self.box == "tower" else "any"
        if which == "items":
            phrase = self._quantified(*self._colored(), "[{} in all_items]", QUANTITIES)
            phrase = Phrase(f"there {'are' if phrase.plural else 'is'} {phrase.words}", phrase.meaning)
        elif which == "boxes":
            content = self._content()
            noun = f"{self.box}# {self._weighted(WITH)} {content.words}"
            meaning = f"{tower} and {content.meaning}"
            phrase = self._quantified(noun, meaning, "{{{}}}", QUANTITIES)
            phrase = Phrase(f"there {'are' if phrase.plural else 'is'} {phrase.words}", phrase.meaning)
        else:
            content = self._content()
            self.rng.random()
            subject = self._weighted({"each": 10, "every": 6, "all the": 6})
            words = agree(f"{self.box}# has# {content.words}", plural=subject == "all the")
            phrase = Phrase(f"{subject} {words}", f"count({{{tower} and {content.meaning}}}) == 3")
        return Phrase(with_articles(phrase.words), program(phrase.meaning))

    def _content(self) -> Phrase:
        """What a tower has: a block at an end, or somewhere."""
        if self.rng.random() >= 0.6:
            return self._quantified(*self._colored(), "[{}]", {"a": 3, "at least": 1})
        end = self._one_of("is_top(x)", "is_bottom(x)")
        block, color = self._colored()
        preposition = self._weighted({"at the": 12, "as the": 2, "at its#": 1})
        words = f"a {block.removesuffix('#')} {preposition} {self._one_of(*ENDS[end])}"
        return Phrase(words, f"exist([{color} and {end}])")

    def _colored(self) -> tuple[str, str]:
        color = self._one_of(*Color)
        return f"{color} {self.item}#", f"is_{color}(x)"

    def _quantified(self, noun: str, meaning: str, where: str, quantities: Mapping[str, int]) -> Phrase:
        quantity, number = self._weighted(quantities), self.rng.randint(1, 2)
        plural, found = quantity == "at least" and number == 2, where.format(meaning)
        if quantity == "at least":
            words = f"at least {number if self.digits else NUMBER_WORDS[number]}"
            return Phrase(f"{words} {agree(noun, plural)}", f"count({found}) >= {number}", plural)
        return Phrase(f"{quantity} {agree(noun, False)}", f"{'not ' if quantity == 'no' else ''}exist({found})", plural)

    def _one_of(self, *options: str) -> str:
        return options[int(self.rng.random() * len(options))]

    def _weighted(self, options: Mapping[str, int]) -> str:
        return self.rng.choices(list(options), list(options.values()))[0]
