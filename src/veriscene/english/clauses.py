"""Parts of statements that many rules share: contents of a scene or of a box, and the sentences that tell them.

A rule about counts, shares or values draws a `Content` of a domain: of the whole scene, of a particular box, or of the
box of a quantifier. `tell` puts it into words; {at} in a clause is where the place can be named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from veriscene.english import meaning as mean
from veriscene.english.pattern import is_imperative, statement
from veriscene.english.speaker import SOME, Domain, Kind, Property, Quantity, Speaker
from veriscene.english.tables import tables
from veriscene.english.words import FOREIGN
from veriscene.world.schema import Attribute

_TABLES = tables(__name__)
HAS = "(has|has|has|contains|contains|holds|shows|includes|features)"
HAVE = "(have|have|have|contain|contain|hold|show|include|feature)"
SEE = "(I|you|we) ~(can see|see|can find|have)"
A = Quantity("a {}", SOME, plural=False)
EACH_BOX = Domain("#", "", "it", is_quantified=True, box="#")  # for contents of the boxes of a quantifier


@dataclass(frozen=True)
class Content:
    """A content is true or false of a domain. It has at least one of the two wordings."""

    test: str  # on the items of the domain
    things: str = ""  # that are there: "two circles but no square"
    plural: bool = False  # whether "there are" introduces the things
    clause: str = ""  # "everything {at} ~is blue"
    is_negative: bool = False  # "no circle": ambiguous where "every" follows
    lacked: Kind | None = None  # the kind, if the content is that there is none

    def of(self, box: str) -> str:
        """Returns the test of a particular box instead of #."""
        return self.test.replace("#", box)

    @property
    def there(self) -> str:
        """Says "there are two circles"."""
        return f"there ~{'are' if self.plural else 'is'} {self.things}"

    def told(self, place: str = "") -> str:
        """Returns the clause with words for the place."""
        return self.clause.replace("{at}", place) if self.clause else f"{self.there} {place}"

    @property
    def is_simple(self) -> bool:
        """Returns whether words for a place can follow the things."""
        return not re.search(r",|:|they|them|that's|nothing else| it\b", self.things)


# ---------------------------------------------------------------- sentences


def tell(say: Speaker, where: Domain, found: Content) -> str | None:
    """Returns a sentence that the domain has a content; None where there is none, as for a clause about no box."""
    if found.things and (not found.clause or say.chance(0.6)):
        return say.pick(*_presence(where, found))
    if where.is_quantified:
        return within(where, found.told())
    if not where.where or "{at}" not in found.clause or say.chance(0.35):
        return where.front + found.told()
    return found.told(where.where)


def within(where: Domain, clause: str) -> str | None:
    """Returns a clause about boxes with a quantifier: "in every box, …", "there is no box where …"."""
    subject = where.subject
    if subject.startswith(("no ", "not ", "none ", "only ", "just ", "a ", "exactly ", "neither ", "zero ")):
        is_odd = " of the " in subject or subject.startswith(("neither ", "not every", "not all"))
        if is_odd or ":" in clause or is_imperative(clause):  # "in not every box, …", "no box where circles: two"
            return None
        return f"there ~{'are' if where.plural else 'is'} {subject} (where|in which) {statement(clause)}"
    return f"{where.where}, {clause}"


def _presence(where: Domain, found: Content) -> list[str]:
    """Wordings that say that things are there."""
    are, s = ("are", "") if found.plural else ("is", "s")
    words = {"that": where.subject, "things": found.things, "there": found.there, "at": where.where, "see": SEE}
    words |= {"are": are, "s": s, "at_or_here": where.where or "here", "at_or_picture": where.where or "in the picture"}
    words |= {"front": where.front, "HAS": HAVE if where.plural else HAS, "be": "are" if where.plural else "is"}
    words |= {"have": "have", "it": "them"} if where.plural else {"have": "has", "it": "it"}

    def said(*names: str) -> list[str]:
        return [text.format(**words) for name in names for text in _TABLES[name].wordings]

    texts = said("has", *["has_in_it"] * found.is_simple)
    if found.lacked is not None:
        texts += _lacking(where, found.lacked)
    if where.is_quantified:
        texts += said("after_colon")
        texts += [told for told in [within(where, found.there)] if told] * 3
        # A negative quantity before the place could be read with the other scope.
        is_last = found.is_simple and not found.is_negative and not where.is_negative and bool(where.where)
        return texts + said(*["before_place"] * is_last)
    if not found.is_simple:
        return texts + said("after_place")
    return texts + said("around_place", *["of_box"] * bool(where.box))


def _lacking(where: Domain, kind: Kind) -> list[str]:
    """ "The left box lacks circles"; "two boxes are without a square"; "circles are missing from the middle box"."""
    that, lack, be, do = where.subject, *(("lack", "are", "do") if where.plural else ("lacks", "is", "does"))
    texts = _TABLES["lacks"].wordings
    if not that.startswith(("every", "each", "all", "both", "no", "zero")):  # the scope of "not" would be in doubt
        texts = texts + _TABLES["does_not_have"].wordings
    words = {"x": kind.a, "X": kind.singular, "Xs": kind.plural}
    return [text.format(that=that, lack=lack, be=be, do=do, **words) for text in texts]


def those_with(say: Speaker, found: Content, *, plural: bool) -> str:
    """Says "with two circles", "that contain two circles" or "in which there are two circles"."""
    texts = []
    if found.things:
        have = "(have|contain|hold)" if plural else "(has|contains|holds)"
        texts += [f"with {found.things}"] * 3
        texts += [f"(that|which) {have} {found.things}", f"(containing|holding|featuring) {found.things}"]
        texts += [f"with {found.things} in {'them' if plural else 'it'}"] * found.is_simple
    if found.clause or say.chance(0.5):
        texts += [f"(where|where|in which) {statement(found.told())}"] * 2
    return say.pick(*texts)


# ---------------------------------------------------------------- kinds and amounts


def free_kind(say: Speaker, *, modified: float = 0.12, generic: float = 0.12) -> Kind:
    """Draws a kind of item that is not restricted to a box, as the domain says in which box the items are."""
    while True:
        kind = say.kind(modified=modified, generic=generic)
        if "@.box" not in kind.condition and kind.singular.split()[0] != "one":
            return kind


def general(say: Speaker) -> Kind:
    """Draws any item."""
    return Kind("thing", "things") if say.item == "one" or say.chance(0.2) else Kind(say.item, say.items)


def two_kinds(say: Speaker) -> tuple[Kind, Kind]:
    """Draws two kinds of which neither is a part of the other, as blue circles are of circles."""
    while True:
        found = say.kind(plain=True, generic=0), say.kind(plain=True, generic=0)
        first, second = (set(kind.condition.split(" and ")) for kind in found)
        if not first <= second and not second <= first:
            return found


def small_amount(say: Speaker) -> Quantity:
    """Draws "a" or another positive quantity."""
    return A if say.chance(0.55) else say.quantity(negative=False, high=4)


def amount(say: Speaker, low: int = 2, high: int = 6) -> Quantity:
    """Draws a number, said alone: "at least three", "more than two"; never none."""
    while True:
        found = say.quantity(low=low, high=high, negative=False)
        words = found.words.removesuffix(" {}")
        is_number = not words.endswith((" of", "several", "multiple", "few", "single")) and "{" not in words
        if is_number and found.test != SOME and "%" not in found.test:
            return Quantity(words, found.test, found.plural)


def named_attributes(say: Speaker, avoid: str = "") -> list[Attribute]:
    """Returns attributes that can be named, "colour", "price", in one word, and are not in the conditions `avoid`;
    "on offer" has two words."""
    return [
        each
        for each in say.world.attributes
        if each.name not in say.fixed
        and (each.choices or each.step)  # any two numbers differ where there are no steps
        and f"{say.lexicon.names[each.name]}(" not in avoid
        and not any(" " in word for choice in each.choices for word in choice.words)
    ]


def free_attribute(say: Speaker, taken: str) -> Attribute | None:
    """Returns an attribute that can be named and that the conditions `taken` are not about."""
    free = named_attributes(say, taken)
    return say.rng.choice(free) if free and FOREIGN not in taken else None


def value_kinds(say: Speaker, number: int, *, avoid: str = "", bare: bool = False) -> list[Kind]:
    """Draws kinds that differ in the value of one attribute: circles, squares; blue items, yellow ones; fewer if there
    are not so many. `bare`: without the general noun, "blue", "yellow"."""
    options = [each for each in named_attributes(say, avoid) if each.choices]
    if not options:
        return []
    attribute = say.rng.choice(options)
    found = []
    for choice in say.rng.sample(attribute.choices, min(number, len(attribute.choices))):
        if attribute.is_noun:
            singular, plural = say.rng.choice(say.lexicon.nouns[attribute.name, choice.name])
        else:
            singular = plural = say.rng.choice(choice.words)
            if not bare:
                singular, plural = f"{singular} {say.item}", f"{plural} {say.items}"
        found.append(Kind(singular, plural, say.has(attribute, choice)))
    return found


def alternatives(say: Speaker) -> list[Kind]:
    """Draws two kinds, or sometimes three that differ in one attribute; no general ones."""
    if say.chance(0.5) and len(values := value_kinds(say, 3)) >= 2:
        return values if say.chance(0.25) else values[:2]
    return list(two_kinds(say))


def joined(kinds: Sequence[Kind], conjunction: str, after: str = "") -> Kind:
    """Returns several kinds as one: "circles and squares"."""

    def words(names: list[str]) -> str:
        return f"{', '.join(names[:-1])} {conjunction} {names[-1]}{after}"

    singular, plural = words([each.singular for each in kinds]), words([each.plural for each in kinds])
    return Kind(singular, plural, mean.either(*(each.condition for each in kinds)))


def value_of(say: Speaker, kind: Kind) -> Property:
    """Draws a value that is said of a kind: "blue", "circles", "blue circles", "blue or yellow", "non-blue"."""
    how = say.weighted((9, "value"), (1.5, "kind"), (0.7, "or"), (0.4, "non"))
    if how == "kind":
        other = say.kind(plain=True, generic=0)
        told = {part.partition("(")[0] for part in kind.condition.split(" and ")}
        if not told & {part.partition("(")[0] for part in other.condition.split(" and ")}:
            return Property(other.a, other.plural, other.condition)
    if how == "or" and len(values := value_kinds(say, 2, avoid=kind.condition, bare=True)) == 2:
        article = "a " if values[0].singular != values[0].plural else ""
        words = (f"{article}{values[0].singular} or {article}{values[1].singular}", joined(values, "or").plural)
        return Property(*words, mean.either(*(each.condition for each in values)))
    found = say.property(avoid=kind.condition)
    if how == "non" and found.condition != FOREIGN and found.singular == found.plural and " " not in found.singular:
        return Property(f"non-{found.singular}", f"non-{found.plural}", mean.negation(found.condition))
    return found
