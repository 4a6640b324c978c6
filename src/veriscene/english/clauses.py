"""Parts of clauses that many rules share: settings, frames that say that things are there, amounts, predicates.

Wordings are filled in with the plural and the singular of a kind, {Xs} and {X}, of a second one, {Ys} and {Y}, with a
property as it is said after "are" and "is", {ps} and {p}, and with an amount, {n}.
"""

from __future__ import annotations

from collections.abc import Sequence

from veriscene.english import meaning as mean
from veriscene.english.pattern import statement
from veriscene.english.places import placed_kind
from veriscene.english.speaker import SOME, Domain, Kind, Property, Quantity, Speaker
from veriscene.english.words import FOREIGN
from veriscene.world.schema import Attribute


def domain(say: Speaker, quantified: float, *, negative: bool = True) -> Domain:
    """A domain that can be said in front of a clause: not "in none of the boxes"; `negative`: "no box" is possible."""
    while True:
        where = say.domain(quantified=quantified)
        is_odd = where.subject.startswith(("not every", "not all", "none of", "only one of", "just one of"))
        if not where.is_quantified or not (is_odd or (is_negative(where) and not negative)):
            return where


def setting(
    say: Speaker, quantified: float = 0.0, *, modified: float = 0.12, generic: float = 0.12
) -> tuple[Domain, Kind]:
    """A domain and a kind of item. Only the domain says in which box the items are."""
    where = domain(say, quantified)
    while True:
        kind = say.kind(modified=modified, generic=generic)
        if ".box ==" not in kind.condition:
            return where, kind


def setting_and_predicate(
    say: Speaker, quantified: float, *, modified: float = 0.12, generic: float = 0.12
) -> tuple[Domain, Kind, Property]:
    """A domain, a kind of item, and what is said of it: not of an attribute that the kind already tells."""
    while True:
        where, kind = setting(say, quantified, modified=modified, generic=generic)
        found = predicate(say, kind, where)
        if found.condition.partition("==")[0] not in kind.condition or not kind.condition:
            return where, kind, found


def place(where: Domain) -> str:
    """The place as it is said after a noun; "in total" is none."""
    return "" if where.where in ("overall", "in total") or where.is_quantified else where.where


def placed(kind: Kind, where: Domain) -> Kind:
    """The kind with its place: "circle in the left box"."""
    at = place(where)
    return kind.that(at, at, "") if at else kind


def framed(where: Domain, clause: str) -> str:
    """A clause with the place in front that its noun could not have: "in every box, …"."""
    return within(where, clause) if where.is_quantified else clause


def is_negative(where: Domain) -> bool:
    return where.subject.startswith(("no ", "not ", "none "))


def within(where: Domain, clause: str) -> str:
    """A clause with its place in front: "in the left box, …", "there is no box where …"."""
    subject, at = where.subject, where.where if where.is_quantified else place(where)
    starts = ("no ", "not ", "only ", "just ", "a ", "exactly ")
    if where.is_quantified and subject.startswith(starts) and " of the " not in subject:
        return f"there ~{'are' if where.plural else 'is'} {subject} (where|in which) {statement(clause)}"
    return f"{at}, {clause}" if at else clause


def presence(where: Domain, things: str, plural: bool, *, negative: bool = False, several: bool = False) -> list[str]:
    """Wordings that say that things are there. `negative`: the things are none, as in "no circles"; `several`: they are
    plural as a subject, "a circle and a square appear", whatever follows "there"."""
    be, (are, s) = ("are" if plural else "is"), (("are", "") if plural or several else ("is", "s"))
    has = "(have|contain|hold|show|include)" if where.plural else "(has|contains|holds|shows|includes|features)"
    texts = [f"{where.subject} ~{has} {things}"] * 2
    if not where.plural:
        texts.append(f"{where.subject} ~has {things} in it")
    if where.is_quantified:
        if is_negative(where):
            return texts
        texts += [within(where, f"there ~{be} {things}")] * 2
        # A negative quantity before the place could be read with the other scope.
        return texts if negative else [*texts, f"there ~{be} {things} {where.where}"]
    at = where.where
    texts += [
        *[f"there ~{be} {things} {at}"] * 3,
        *[f"{where.front}there ~{be} {things}"] * 2,
        f"(I|you|we) ~(can see|see|count|can find) {things} {at}",
        f"{things} ~(can be seen|can be found|{are} present|{are} shown|{are} to be found) {at or 'here'}",
        f"{things} ~(appear{s}|show{s} up) {at or 'in the picture'}",
        f"(we've|you've|it's) got {things} {at}",
        f"{things} {at}",
    ]
    if where.box:
        texts += [f"{where.subject}: {things}", f"{where.subject} with {things}", f"{at} {be} {things}"]
    return texts


def amount(say: Speaker, low: int = 2, high: int = 6) -> Quantity:
    """A number, said alone: "at least three", "more than two"; never none."""
    value = say.small(low, high)
    n = say.number(value)
    words, test = say.weighted(
        (4, (f"[exactly|just|precisely|only] {n}", f"{{}} == {value}")),
        (2, (f"(at least {n}|at least {n}|{n} or more|no fewer than {n}|a minimum of {n})", f"{{}} >= {value}")),
        (1.5, (f"(more than|over) {n}", f"{{}} > {value}" if value > 1 else "{} >= 2")),
        (1.2, (f"(at most {n}|no more than {n}|{n} or fewer|up to {n}|a maximum of {n})", f"{{}} <= {value}")),
        (1.2 * (value > low), (f"(fewer|less) than {n}", f"{{}} < {value}")),
    )
    return Quantity(words, SOME if test == "{} >= 1" else test)


def named_attributes(say: Speaker, *, nouns: bool = True) -> list[Attribute]:
    """Attributes that can be named: "colour", "price"; not those that are said in several words, as "on offer"."""
    return [
        each
        for each in say.world.attributes
        if (nouns or not each.is_noun)
        and each.name not in say.fixed
        and not any(" " in word for choice in each.choices for word in choice.words)
    ]


def value_kinds(say: Speaker, number: int, *, avoid: str = "", bare: bool = False) -> list[Kind]:
    """Kinds that differ in the value of one attribute: circles, squares; blue items, yellow items. Fewer if there are
    not so many. `bare`: without the general noun, "blue", "yellow"."""
    options = [
        each for each in named_attributes(say) if each.choices and f"{say.lexicon.names[each.name]}(@)" not in avoid
    ]
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
    """Two kinds, or sometimes three that differ in one attribute; no general ones."""
    if say.chance(0.5) and len(values := value_kinds(say, 3)) >= 2:
        return values if say.chance(0.25) else values[:2]
    while True:
        kinds = say.two_kinds()
        if all(each.condition for each in kinds):
            return list(kinds)


def joined(kinds: Sequence[Kind], conjunction: str, after: str = "") -> Kind:
    """Several kinds as one: "circles and squares"."""

    def words(names: list[str]) -> str:
        return f"{', '.join(names[:-1])} {conjunction} {names[-1]}{after}"

    return Kind(
        words([each.singular for each in kinds]),
        words([each.plural for each in kinds]),
        mean.either(*(each.condition for each in kinds)),
    )


def predicate(say: Speaker, kind: Kind, where: Domain) -> Property:
    """What is said of items of a kind: "blue", "circles", "blue or yellow", "in the left box"."""
    is_free = not where.box and say.world.boxes[1] > 1
    how = say.weighted((9, "value"), (0.7, "or"), (0.4, "non"), (1.5 * is_free, "box"), (0.7, "place"))
    if how == "box":
        box = say.which()
        return Property(box.where, box.where, f"@.box == {box.box}")
    if how == "place" and (touching := placed_kind(say, Kind("", ""))) is not None:
        words, plural = touching.singular.strip(), touching.plural.strip()
        if words.split()[0] not in ("that", "which", "with", "whose", "who", "not"):
            return Property(words, plural, touching.condition)
    if how == "or" and len(values := value_kinds(say, 2, avoid=kind.condition, bare=True)) == 2:
        is_noun = values[0].singular != values[0].plural
        article = "a " if is_noun else ""
        singular = " or ".join(f"{article}{each.singular}" for each in values)
        return Property(
            singular, " or ".join(each.plural for each in values), mean.either(*(v.condition for v in values))
        )
    found = say.property(avoid=kind.condition)
    if how == "non" and found.condition != FOREIGN and found.singular == found.plural and " " not in found.singular:
        return Property(f"non-{found.singular}", f"non-{found.plural}", mean.negation(found.condition))
    return found


def fill(say: Speaker, patterns: Sequence[str], kind: Kind, found: Property | None = None, /, **words: str) -> str:
    """One of the patterns with its words; `{noun}` is a property that is said as a noun, where it is one."""
    slots = {"Xs": kind.plural, "X": kind.singular} | words
    if found is not None:
        slots |= {"ps": found.plural, "p": found.singular}
        if found.singular.startswith("a ") and " or " not in found.singular:
            slots["noun"] = found.plural
    return say.rng.choice([each for each in patterns if "{noun}" not in each or "noun" in slots]).format(**slots)
