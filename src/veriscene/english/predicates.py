"""Predicates of items: "touches a wall", "is blue". Any subject can have one, "two of the circles touch a wall", and it
can restrict any noun, "circles touching a wall". places.py and compare.py say which predicates there are."""

from __future__ import annotations

from dataclasses import dataclass

from veriscene.english import meaning as mean
from veriscene.english.pattern import negated
from veriscene.english.speaker import Kind, Property, Speaker


@dataclass(frozen=True)
class Words:
    """Holds the words of a predicate, of one item or of several."""

    does: str  # "~touches a wall"
    that: str  # after a noun: "(touching|that touches) a wall"
    bare: str  # after a colon: "touching a wall"


@dataclass(frozen=True)
class Predicate:
    """Says something of one item or of several."""

    one: Words
    many: Words
    condition: str  # on the item @
    given: str = ""  # what the words take for granted: that there is only one square, for "the" square
    is_value: bool = False  # "blue", "a circle": "anything but blue" is possible
    is_there: bool = False  # whether it is a place: "in a corner there is a circle"
    is_alone: bool = False  # "a circle in the left box is as big as a square" could mean a square of any box

    def slots(self, say: Speaker) -> dict[str, str]:
        """Returns the words that patterns with `{does}`, `{do}`, `{that}`, `{p}` and so on are filled in with."""
        unlike = negative(say, self)
        one, many = self.one, self.many
        slots = {"does": one.does, "do": many.does, "doesnt": unlike.one.does, "dont": unlike.many.does}
        slots |= {"that": one.that, "thats": many.that, "not_that": unlike.one.that, "not_thats": unlike.many.that}
        slots |= {"p": one.bare, "ps": many.bare}
        if self.is_value:
            slots |= {"v": one.bare, "vs": many.bare}
            if one.bare == many.bare and one.bare.replace("-", "").isalpha():
                slots["adj"] = one.bare
        if self.is_value and one.bare.startswith("a ") and " or " not in one.bare:
            slots["nouns"] = many.bare
        if self.is_there:
            slots["spot"] = one.bare
        return slots

    def restrict(self, say: Speaker, kind: Kind) -> Kind:
        """Returns the kind with this predicate after its noun."""
        return kind.that(say.expand(self.one.that), say.expand(self.many.that), self.condition)


def _predicate(one: tuple[str, str, str], many: tuple[str, str, str], condition: str, given: str = "") -> Predicate:
    """A predicate of words in which `<it>` and `<its>` stand for the item."""
    singular = [each.replace("<its>", "its").replace("<it>", "it") for each in one]
    plural = [each.replace("<its>", "their").replace("<it>", "them") for each in many]
    return Predicate(Words(*singular), Words(*plural), condition, given)


def being(words: str, condition: str, *, verbs: bool = True, that: str = "[{}]", given: str = "") -> Predicate:
    """Returns a predicate with "is" or, with `verbs`, with another verb of place. `that`: "{}" if "that is" is needed
    after a noun."""
    is_, are = "~is", "~are"
    if verbs:
        is_ = "~(is|is|is|is|sits|lies|is placed|is located|is positioned|is situated)"
        are = "~(are|are|are|are|sit|lie|are placed|are located|are positioned|are situated)"
    one = (f"{is_} {words}", f"{that.format('(that|which) is')} {words}", words)
    many = (f"{are} {words}", f"{that.format('(that|which) are')} {words}", words)
    return _predicate(one, many, condition, given)


def doing(verbs: tuple[str, str, str], words: str, condition: str, *, given: str = "") -> Predicate:
    """Returns a predicate with a verb in three forms: touches, touch, touching."""
    does, do, participle = verbs
    if participle == "touching":
        does, do = f"({does}|is touching)", f"({do}|are touching)"
    one = (f"~{does} {words}", f"({participle}|that {does}) {words}", f"{participle} {words}")
    many = (f"~{do} {words}", f"({participle}|that {do}) {words}", f"{participle} {words}")
    return _predicate(one, many, condition, given)


def having(words: str, condition: str, *, given: str = "") -> Predicate:
    """Says "Has a circle above it"."""
    one = (f"~has {words}", f"(with|with|that has) {words}", f"with {words}")
    many = (f"~have {words}", f"(with|with|that have) {words}", f"with {words}")
    return _predicate(one, many, condition, given)


def valued(found: Property) -> Predicate:
    """Says "Is blue"; "is a circle"."""
    one = Words(f"~is {found.singular}", f"(that|which) is {found.singular}", found.singular)
    many = Words(f"~are {found.plural}", f"(that|which) are {found.plural}", found.plural)
    return Predicate(one, many, found.condition, is_value=True)


def negative(say: Speaker, predicate: Predicate) -> Predicate:
    """Says "Does not touch a wall"; contracted verbs are not marked, as questions are not asked with them."""

    def negate(words: Words) -> Words:
        does = negated(say.expand(words.does), say.rng)
        said = does.replace("~", "")
        return Words(said if "n't" in said or "cannot" in said else does, f"that {said}", f"not {words.bare}")

    return Predicate(negate(predicate.one), negate(predicate.many), mean.negation(predicate.condition), predicate.given)
