"""What is English about the grammar: how one statement is worded throughout, number words, agreement, articles."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from veriscene.meaning.scene_drawing import SceneKind

Option = TypeVar("Option")
Weighted = Sequence[tuple[int, Option]]

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

# Phrases write in braces what follows the number of their subject.
SINGULAR = {"is": "is", "has": "has", "contains": "contains", "it": "it", "its": "its"}
PLURAL = {"is": "are", "has": "have", "contains": "contain", "it": "them", "its": "their"}
SINGULAR |= {"circle": "a circle", "square": "a square", "triangle": "a triangle"}
PLURAL |= {"circle": "circles", "square": "squares", "triangle": "triangles"}


@dataclass(frozen=True)
class Voice:
    """How one statement is worded: who says "box" says "item", and does not mix digits with number words."""

    rng: random.Random
    kind: SceneKind
    box: str
    boxes: str
    item: str
    digits: bool = True
    color: str = "color"
    simple: bool = False

    def one_of(self, options: Sequence[Option]) -> Option:
        return options[int(self.rng.random() * len(options))]

    def weighted(self, options: Weighted[Option]) -> Option:
        weights = [weight for weight, _ in options]
        return self.rng.choices(options, weights)[0][1]

    def two_of(self, options: Sequence[Option]) -> tuple[Option, Option]:
        """Two different options, in random order."""
        first, second = self.rng.sample(options, 2)
        return first, second

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def number(self, number: int) -> str:
        return str(number) if self.digits else NUMBER_WORDS[number]


def agree(words: str, plural: bool) -> str:
    return words.format_map(PLURAL if plural else SINGULAR)


def listed(parts: Sequence[str]) -> str:
    """Gives "x", "x and y", or "x, y and z"."""
    return " and ".join((", ".join(parts[:-1]), parts[-1])) if len(parts) > 1 else parts[0]


def with_articles(words: str) -> str:
    """Every "a" before a vowel becomes "an"; "one" begins with a consonant."""
    return re.sub(r"\ba (?=[aei]|o(?!ne\b))", "an ", words)


def sentence(words: str, capital: bool, full_stop: bool) -> str:
    words = with_articles(words)
    if capital:
        words = words[0].upper() + words[1:]
    return words + "." if full_stop else words
