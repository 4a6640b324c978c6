"""Predicates, "touches a wall", which any subject can have, "two of the circles", and which can restrict a noun,
"circles touching a wall"; and the clauses made of both. places.py and compare.py say which predicates there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from veriscene.english import meaning as mean
from veriscene.english.pattern import negated
from veriscene.english.speaker import NO, SOME, Domain, Kind, Sentence, Speaker


@dataclass(frozen=True)
class Predicate:
    """What is said of one item, "~touches a wall", or of several, "~touch a wall", with words for the same after a
    noun, "that touches a wall", and after a colon, "touching a wall"."""

    one: str
    many: str
    after: str
    after_many: str
    bare: str
    condition: str  # on the item @
    given: str = ""  # what the words take for granted: that there is only one square, for "the" square
    is_there: bool = False  # whether it is a place: "in a corner there is a circle"


@dataclass(frozen=True)
class Subject:
    """Items with a quantity, "none of the circles": `holds` gives the program that they meet a condition."""

    words: str
    plural: bool
    sort: str  # some, every, not every, no, number, part
    holds: Callable[[str], str]
    quantity: str = ""  # the words after "there is", if they are possible there

    def does(self, predicate: Predicate) -> str:
        return predicate.many if self.plural else predicate.one

    def with_after(self, predicate: Predicate) -> str:
        return f"{self.quantity} {predicate.after_many if self.plural else predicate.after}"


def being(
    words: str, condition: str, *, verbs: bool = True, that: str = "[{}]", given: str = "", is_there: bool = False
) -> Predicate:
    """A predicate with "is" or, with `verbs`, with another verb of place; `<it>` and `<its>` stand for the item.
    `that`: "{}" if "that is" is needed after a noun."""
    one, many = "~is", "~are"
    if verbs:
        one = "~(is|is|is|is|sits|lies|is placed|is located|is positioned|is situated)"
        many = "~(are|are|are|are|sit|lie|are placed|are located|are positioned|are situated)"
    after, after_many = that.format("(that|which) is"), that.format("(that|which) are")
    said = (f"{one} {words}", f"{many} {words}", f"{after} {words}", f"{after_many} {words}", words)
    return Predicate(*_agreeing(said), condition, given, is_there)


def doing(verbs: tuple[str, str, str], words: str, condition: str, *, given: str = "") -> Predicate:
    """A predicate with a verb in three forms: touches, touch, touching."""
    one, many, participle = verbs
    said = (
        f"~({one}|is {participle})" if participle == "touching" else f"~{one}",
        f"~({many}|are {participle})" if participle == "touching" else f"~{many}",
        f"({participle}|that {one})",
        f"({participle}|that {many})",
        participle,
    )
    return Predicate(*_agreeing(tuple(f"{each} {words}" for each in said)), condition, given)


def having(words: str, condition: str, *, given: str = "") -> Predicate:
    """ "Has a circle above it"."""
    said = ("~has", "~have", "(with|with|that has)", "(with|with|that have)", "with")
    return Predicate(*_agreeing(tuple(f"{each} {words}" for each in said)), condition, given)


def _agreeing(said: tuple[str, ...]) -> tuple[str, str, str, str, str]:
    singular = [each.replace("<its>", "its").replace("<it>", "it") for each in said]
    plural = [each.replace("<its>", "their").replace("<it>", "them") for each in said]
    return singular[0], plural[1], singular[2], plural[3], plural[4]


def negative(say: Speaker, predicate: Predicate) -> Predicate:
    """ "Does not touch a wall"; contracted verbs are not marked, as questions are not asked with them."""

    def negate(text: str) -> str:
        words = negated(say.expand(text), say.rng)
        return words.replace("~", "") if "n't" in words or "cannot" in words else words

    one, many = negate(predicate.one), negate(predicate.many)
    after, after_many = f"that {one.replace('~', '')}", f"that {many.replace('~', '')}"
    bare = f"not {predicate.bare}"
    return Predicate(one, many, after, after_many, bare, mean.negation(predicate.condition), predicate.given)


def domain(say: Speaker, quantified: float = 0.0) -> Domain:
    """A domain whose words can stand after a noun, too: not "overall"."""
    where = say.domain(quantified=quantified)
    return replace(where, where="") if where.where in ("overall", "in total") else where


def subject(say: Speaker, kind: Kind, items: str, high: int = 4) -> Subject:
    """Items of a kind with a quantity: "two circles", "most of the circles"."""
    if say.chance(0.5):
        quantity = say.quantity(high=high)
        sort = {SOME: "some", NO: "no"}.get(quantity.test, "number")
        things = quantity.of(kind)
        holds: Callable[[str], str] = lambda condition: quantity.holds(kind.among(items, condition))  # noqa: E731
        return Subject(things, quantity.plural, sort, holds, things)
    one, kinds = kind.singular, kind.plural
    value = say.small(2, max(2, high))
    said, test = say.number(value), say.pick("==", "==", ">=")
    exactly = "(|exactly |just |only )" if test == "==" else "(at least|no fewer than) "

    def some(condition: str) -> str:
        return f"exist({kind.among(items, condition)})"

    def every(condition: str) -> str:
        return f"not exist({kind.among(items, mean.negation(condition))})"

    def none(condition: str) -> str:
        return f"not exist({kind.among(items, condition)})"

    def not_every(condition: str) -> str:
        return f"exist({kind.among(items, mean.negation(condition))})"

    def number(condition: str) -> str:
        return f"count({kind.among(items, condition)}) {test} {value}"

    def most(condition: str) -> str:
        others = kind.among(items, mean.negation(condition))
        return f"count({kind.among(items, condition)}) > count({others})"

    def all_but_one(condition: str) -> str:
        return f"count({kind.among(items, mean.negation(condition))}) == 1"

    return say.weighted(
        (3, Subject(f"(all|all the|all of the|all) {kinds}", True, "every", every)),
        (2.5, Subject(f"(every|each|every single|every) {one}", False, "every", every)),
        (0.7, Subject(f"each of the {kinds}", False, "every", every)),
        (0.7, Subject(f"the {kinds} [all]", True, "every", every)),
        (2, Subject(f"none of the {kinds}", True, "no", none)),
        (
            0.5,
            Subject(f"(none of the {kinds}|not one of the {kinds}|not a single one of the {kinds})", False, "no", none),
        ),
        (0.7, Subject(f"(not all|not all of the|not all the) {kinds}", True, "not every", not_every)),
        (0.5, Subject(f"not every {one}", False, "not every", not_every)),
        (1, Subject(f"(one|at least one) of the {kinds}", False, "some", some)),
        (1, Subject(f"(some|some of the|one or more of the) {kinds}", True, "some", some)),
        (1.3, Subject(f"{exactly}{said} of the {kinds}", True, "number", number)),
        (0.8, Subject(f"(most|most of the|the majority of the|more than half of the) {kinds}", True, "part", most)),
        (0.4, Subject(f"(all but one of the|all except one of the) {kinds}", True, "part", all_but_one)),
    )


def clause(
    say: Speaker, where: Domain, who: Subject, predicate: Predicate, kind: Kind, *, is_fronted: bool = False
) -> Sentence:
    """The sentence that a subject has a predicate, in one of its word orders. `is_fronted`: with the place first."""
    meaning = where.bind(mean.both(predicate.given, who.holds(predicate.condition)))
    does, be = who.does(predicate), "are" if who.plural else "is"
    if where.is_negative:  # "in no box, two circles touch a wall" would be hard to understand
        return Sentence(f"{where.where} is there {kind.a} {predicate.after}", meaning)
    if where.is_quantified:
        texts = [f"{where.where}, {who.words} {does}", f"{where.where} {who.words} {does.replace('~', '')}"]
    elif where.box:
        texts = [f"{where.front}{who.words} {does}", f"{who.words} {where.where} {does}"][: 2 - is_fronted]
    else:
        texts = [f"{who.words} {does}", f"{who.words} {does}", f"{where.front}{who.words} {does}"]
    if who.quantity:
        things = who.with_after(predicate)
        has = "(have|contain|hold)" if where.plural else "(has|contains|holds|includes)"
        texts += [f"{where.subject} ~{has} {things}"] * (not is_fronted) if where.box else [f"there ~{be} {things}"]
        if not where.is_quantified:
            texts += [f"{where.front}there ~{be} {things}"]
            texts += [f"{where.front}(I|you|we) ~(can see|see|have|can find) {things}"] * (who.sort != "no")
        if predicate.is_there and not where.is_quantified and who.sort != "no":
            texts += [f"{predicate.bare} {where.where}[,] there ~{be} {who.quantity}"]
    if not where.is_quantified:
        texts += _emphatic(say, where, who, predicate, kind)
    return Sentence(say.pick(*texts), meaning)


def _emphatic(say: Speaker, where: Domain, who: Subject, predicate: Predicate, kind: Kind) -> list[str]:
    """Other words for all and none: "circles: none touching a wall", "there is no circle that is not blue"."""
    kinds = f"{kind.plural} {where.where}".strip()
    if who.sort == "no":
        return [
            f"{kinds}: none {predicate.bare}",
            f"{where.front}(you can't find|I can't see|I don't see) any {kind.plural} {predicate.after_many}",
        ]
    if who.sort != "every" or predicate.given:
        return []
    unlike = negative(say, predicate)
    verb = predicate.one.replace("~", "")
    texts = [f"{kinds}: all {predicate.bare}", f"{where.front}there ~is no {kind.singular} {unlike.after}"]
    texts += [f"{where.front}(you can't find|I don't see) {kind.a} {unlike.after}"]
    return texts if where.box else [*texts, f"(if it's {kind.a}, it|whichever {kind.singular} you pick, it) {verb}"]
