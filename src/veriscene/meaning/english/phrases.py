"""The parts that sentences are put together from: words, each with what they mean.

Meanings are written in the notation of programs. A meaning about an item calls it `x`, one about a box calls it `b`.
An inner `lambda x` hides the outer `x`, so phrases nest without renaming.
"""

from __future__ import annotations

from dataclasses import dataclass

from veriscene.meaning.english.wording import agree


@dataclass(frozen=True)
class Phrase:
    """Words that say something, and what they say. `plural` tells the verb."""

    words: str
    meaning: str
    plural: bool = False


@dataclass(frozen=True)
class Attribute:
    """What can be said of an item, after "touching", "that is" …; `share`: of how many items it is true, about."""

    words: str
    meaning: str
    share: float = 1 / 3

    def negated(self) -> Attribute:
        return Attribute(f"not {self.words}", f"not ({self.meaning})", 1 - self.share)


@dataclass(frozen=True)
class Things:
    """A noun with its adjectives and relative clauses, without a determiner. No meaning: true of everything."""

    singular: str
    plural: str
    meaning: str = ""
    share: float = 1.0
    variable: str = "x"

    def that(self, attribute: Attribute) -> Things:
        return Things(
            f"{self.singular} {agree(attribute.words, plural=False)}",
            f"{self.plural} {agree(attribute.words, plural=True)}",
            both(self.meaning, attribute.meaning),
            self.share * attribute.share,
            self.variable,
        )

    def among(self, where: str) -> str:
        return f"filter_obj({where}, lambda {self.variable}: {self.meaning})" if self.meaning else where


def both(*meanings: str) -> str:
    return " and ".join(meaning for meaning in meanings if meaning)
