"""What can be said of one box: "two circles but no square", "everything is blue", "only one colour".

Rules about boxes with a quantifier (boxes.py) and about particular boxes (which.py) say these of their boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

from veriscene.english import meaning as mean
from veriscene.english.speaker import NO, SOME, Domain, Kind, Property, Quantity, Sentence, Speaker
from veriscene.english.words import FOREIGN, plural_of
from veriscene.world.schema import Attribute

HAS = "(has|has|has|contains|contains|holds|shows|includes|features)"
HAVE = "(have|have|have|contain|contain|hold|show|include|feature)"
A = Quantity("a {}", SOME, plural=False)
_CLOSED = ("no ", "none ", "not ", "neither ", "zero ")  # subjects that cannot be put in front as a place


@dataclass(frozen=True)
class Content:
    """Something that is true or false of the box #. It has at least one of the two wordings."""

    test: str
    things: str = ""  # after "has" and "with": "two circles but no square"
    be: str = "is"  # of "there are two circles"
    clause: str = ""  # with `{}` where the box may be named: "everything {} ~is blue"
    is_negative: bool = False  # "no circle": ambiguous where "every" follows

    def of(self, box: str) -> str:
        """Returns the test of another box than #."""
        return self.test.replace("#", box)

    def at(self, place: str) -> str:
        """Returns the clause with words for the place."""
        return self.clause.replace("{}", place)

    @property
    def subordinate(self) -> str:
        """The clause without place and verb mark, as it follows "where"."""
        return (self.at("") if self.clause else f"there {self.be} {self.things}").replace("~", "")


def several_boxes(rule: Callable[[Speaker], Sentence | None]) -> Callable[[Speaker], Sentence | None]:
    """Makes a rule return None in worlds of one box."""

    @wraps(rule)
    def checked(say: Speaker) -> Sentence | None:
        return rule(say) if say.world.boxes[1] > 1 else None

    return checked


def box_kind(say: Speaker, *, modified: float = 0.1, generic: float = 0.1) -> Kind:
    """A kind of item that is not restricted to a box, as a box is named elsewhere in the statement."""
    while True:
        kind = say.kind(modified=modified, generic=generic)
        if "@.box" not in kind.condition and kind.singular.split()[0] != "one":
            return kind


def two_kinds(say: Speaker) -> tuple[Kind, Kind]:
    """Two kinds of which neither is a part of the other, as blue circles are of circles."""
    while True:
        found = say.kind(plain=True, generic=0), say.kind(plain=True, generic=0)
        first, second = (set(kind.condition.split(" and ")) for kind in found)
        if not first <= second and not second <= first:
            return found


def general(say: Speaker) -> Kind:
    """Any item."""
    return Kind("thing", "things") if say.item == "one" or say.chance(0.2) else Kind(say.item, say.items)


def disjoint_kinds(say: Speaker, number: int) -> list[Kind]:
    """Kinds of which no item can be two: values of one attribute."""
    options = [each for each in say.world.attributes if len(each.choices) >= number and not _is_phrase(each)]
    if not options:
        return []
    attribute, item = say.rng.choice(options), general(say)
    found = []
    for choice in say.rng.sample(attribute.choices, number):
        if attribute.is_noun:
            singular, plural = say.rng.choice(say.lexicon.nouns[attribute.name, choice.name])
        else:
            word = say.rng.choice(choice.words)
            singular, plural = f"{word} {item.singular}", f"{word} {item.plural}"
        found.append(Kind(singular, plural, say.has(attribute, choice)))
    return found


def _has_noun(say: Speaker, kind: Kind) -> bool:
    """Whether a kind is named by a value, as circles are."""
    noun = say.world.noun
    return noun is not None and f"{say.lexicon.names[noun.name]}(@)" in kind.condition


def _is_phrase(attribute: Attribute) -> bool:
    return any(" " in word for choice in attribute.choices for word in choice.words)


def small_amount(say: Speaker) -> Quantity:
    """ "A" or another positive quantity."""
    return A if say.chance(0.6) else say.quantity(negative=False, high=4)


# ---------------------------------------------------------------- contents


def amount(say: Speaker, high: int = 6) -> Content:
    """ "At least two circles"."""
    kind, quantity = box_kind(say), say.quantity(high=high)
    if not kind.condition and say.world.items[0] > 0 and quantity.test in (SOME, NO):
        kind = box_kind(say, generic=0)  # boxes are never empty
    words, be = quantity.of(kind), "are" if quantity.plural else "is"
    if "==" in quantity.test and quantity.test != NO and "%" not in quantity.test and say.chance(0.08):
        words += say.pick(", no more and no less", ", no more, no less", ", no more and no fewer", " and no more")
    elif quantity.test.startswith("{} >=") and quantity.words.startswith("at least") and say.chance(0.08):
        words = words.removeprefix("at least ") + say.pick(
            ", if not more", ", maybe more", ", possibly more", " at the very least"
        )
    return Content(quantity.holds(kind.among("#")), words, be, is_negative=quantity.test == NO)


def number(say: Speaker) -> Content:
    """ "The number of circles is two"."""
    kind, n = box_kind(say, generic=0.2), say.small(1, 5)
    counted, said = f"count({kind.among('#')})", say.number(n)
    words, test = say.pick(
        *[(said, f"{counted} == {n}")] * 3, (f"(exactly|precisely) {said}", f"{counted} == {n}"),
        (f"(at least|no less than) {said}", f"{counted} >= {n}"), (f"{said} or (more|higher)", f"{counted} >= {n}"),
        (f"(more|greater|higher) than {said}", f"{counted} > {n}"), (f"at most {said}", f"{counted} <= {n}"),
        (f"(less|lower|smaller) than {said}", f"{counted} < {n}"), (f"(under|below) {said}", f"{counted} < {n}"),
        ("even", f"{counted} % 2 == 0"), ("odd", f"{counted} % 2 == 1"), ("zero", f"not exist({kind.among('#')})"),
        ("not zero", f"exist({kind.among('#')})"),
    )  # fmt: skip
    return Content(test, clause=f"the number of {kind.plural} {{}} ~is {words}")


def pair(say: Speaker) -> Content:
    """ "A circle and two squares"."""
    kinds, quantities = two_kinds(say), (small_amount(say), small_amount(say))
    a, b = (quantity.of(kind) for quantity, kind in zip(quantities, kinds, strict=True))
    test = mean.both(*(each.holds(kind.among("#")) for each, kind in zip(quantities, kinds, strict=True)))
    be = "are" if quantities[0].plural else "(is|are)"
    joined = f"{a} (and|and|and|and also|as well as|plus|along with|together with|(accompanied|joined) by) {b}"
    return Content(
        test, say.pick(joined, joined, f"both {a} and {b}", f"not only {a} but also {b}", f"{a}, and {b} too"), be
    )


def but_no(say: Speaker) -> Content:
    """ "Two circles but no square"."""
    (kind, other), quantity = two_kinds(say), small_amount(say)
    a, be = quantity.of(kind), "are" if quantity.plural else "is"
    things = say.pick(
        f"{a} (but|but|and|yet) no {other.plural}", f"{a} but no {other.singular}", f"{a} but not {other.a}",
        f"{a} but not a single {other.singular}", f"{a} (and|but) zero {other.plural}",
        f"{a} without [any] {other.plural}", f"no {other.plural} but {a}", f"{a}, but no {other.plural}",
    )  # fmt: skip
    return Content(mean.both(quantity.holds(kind.among("#")), f"not exist({other.among('#')})"), things, be)


def either(say: Speaker) -> Content:
    """ "A circle or a square"; "either a circle or a square but not both"; "neither a circle nor a square"."""
    first, second = two_kinds(say)
    tests = [f"exist({kind.among('#')})" for kind in (first, second)]
    how = say.weighted((2, "or"), (1, "one"), (2, "neither"))
    if how == "or":
        words = f"({first.a} or {second.a}|either {first.a} or {second.a}|{first.a} or {second.a} or both)"
        return Content(mean.either(*tests), words)
    if how == "one":
        words = f"(|either ){first.a} or {second.a}(,|) but not both"
        return Content(mean.both(mean.either(*tests), mean.negation(mean.both(*tests))), words)
    words = say.pick(
        f"neither {first.a} nor {second.a}", f"neither {first.plural} nor {second.plural}",
        f"no {first.plural} and no {second.plural}", f"no {first.plural} or {second.plural}",
    )  # fmt: skip
    return Content(mean.both(*(f"not {test}" for test in tests)), words, "(is|are)", is_negative=True)


def only(say: Speaker) -> Content:
    """ "Nothing but circles"; "everything is a circle"."""
    kind, item = box_kind(say, generic=0), general(say)
    test, kinds = mean.every("#", kind.condition), kind.plural
    clause = say.pick(
        f"everything {{}} ~is {kind.a}", f"(all|all the|all of the) {item.plural} {{}} ~are {kinds}",
        f"(every|each|every single) {item.singular} {{}} ~is {kind.a}", f"the {item.plural} {{}} ~are all {kinds}",
        f"(there ~is nothing|nothing ~can be seen) {{}} (except|other than) {kinds}",
        f"{kinds} ~are the only {item.plural} {{}}",
        f"nothing {{}} ~is anything but {kind.a}", f"there ~is nothing {{}} that (is not|isn't) {kind.a}",
    )  # fmt: skip
    things, be = say.pick(
        *[(f"(only|only|just|exclusively) {kinds}", "are")] * 3, (f"nothing (but|other than|except) {kinds}", "is"),
        (f"{kinds} and nothing else", "are"), (f"{kinds} (only|exclusively)", "are"),
        (f"no {item.plural} (other than|except|but) {kinds}", "are"),
    )  # fmt: skip
    return Content(test, things, be, clause)


def more(say: Speaker) -> Content:
    """ "More circles than squares"; "as many circles as squares"; "twice as many"."""
    first, second = two_kinds(say)
    a, b = f"count({first.among('#')})", f"count({second.among('#')})"
    x, y, n = first.plural, second.plural, say.small(1, 3)
    how = say.weighted(
        (4, "more"), (2, "equal"), (0.7, "difference"), (0.7, "twice"), (0.7, "at least"), (0.5, "unequal")
    )
    if how == "more":
        things = f"(more|more|a greater number of|a larger number of) {x} than {y}"
        clause = say.pick(
            f"(the|) {x} {{}} ~outnumber (the|) {y}", f"{{}} there ~are (more {x} than {y}|fewer {y} than {x})",
            f"there ~are fewer {y} than {x} {{}}", f"the number of {x} {{}} ~exceeds the number of {y}",
            f"there ~are not as many {y} as {x} {{}}", f"{x} {{}} ~are more numerous than {y}",
        )  # fmt: skip
        return Content(f"{a} > {b}", say.pick(things, things, f"(fewer|fewer|less) {y} than {x}"), "are", clause)
    if how == "equal":
        things = f"(as many {x} as {y}|(the same number of|equally many|an equal number of) {x} and {y})"
        clause = f"(there ~are|there ~are just) as many {x} as {y} {{}}"
        return Content(f"{a} == {b}", things, "are", clause)
    if how == "difference":
        words = f"(|exactly ){say.number(n)} more {x if n > 1 else first.singular} than {y}"
        return Content(f"{a} == {b} + {n}", words, "are" if n > 1 else "is")
    if how == "twice":
        return Content(
            f"{a} == {b} + {b}", f"(|exactly )(twice as many {x} as {y}|two times as many {x} as {y})", "are"
        )
    if how == "unequal":
        return Content(f"{a} != {b}", f"(different numbers of {x} and {y}|unequal numbers of {x} and {y})", "are")
    return Content(f"{a} >= {b}", f"at least as many {x} as {y}", "are")


def listed(say: Speaker) -> Content | None:
    """ "One circle, two squares and nothing else"."""
    kinds = disjoint_kinds(say, say.weighted((1, 1), (4, 2), (1.5, 3)))
    if not kinds:
        return None
    numbers = [say.small(1, 3) for _ in kinds]
    said = [
        f"{say.number(n)} {kind.plural}" if n > 1 else say.pick(kind.a, f"one {kind.singular}")
        for n, kind in zip(numbers, kinds, strict=True)
    ]
    words = " and ".join([", ".join(said[:-1]), said[-1]]) if len(said) > 1 else said[0]
    things = say.pick(
        f"{words} and nothing else", f"{words}, (and|) nothing else", f"{words} and that's (it|all)",
        f"{words} and no other {general(say).plural}",
    )  # fmt: skip
    counts = [f"{mean.count('#', kind.condition)} == {n}" for n, kind in zip(numbers, kinds, strict=True)]
    return Content(mean.both(*counts, f"count(#) == {sum(numbers)}"), things, "are" if numbers[0] > 1 else "is")


def of_which(say: Speaker) -> Content:
    """ "Three items, all of them blue"; "four circles, two of which are black"."""
    kind = general(say) if say.chance(0.6) else box_kind(say, modified=0, generic=0)
    kind = kind if FOREIGN not in kind.condition else general(say)
    found = say.property(noun=not _has_noun(say, kind), avoid=kind.condition)
    n = say.rng.randint(2, 5)
    part = say.rng.randint(1, n - 1)
    those, others = kind.among("#", found.condition), kind.among("#", mean.negation(found.condition))
    some = f"{say.number(part)} of which are {found.plural}" if part > 1 else f"one of which is {found.singular}"
    words, test = say.weighted(
        (3, (f", (all of them|all|all of which are) {found.plural}", f"not exist({others})")),
        (2, (f" and (they are|they're) all {found.plural}", f"not exist({others})")),
        (1, (f", none of (them|which are) {found.plural}", f"not exist({those})")),
        (2, (f", {some}", f"count({those}) == {part}")),
    )
    return Content(
        mean.both(f"count({kind.among('#')}) == {n}", test), f"(|exactly ){say.number(n)} {kind.plural}{words}", "are"
    )


def alike(say: Speaker) -> Content | None:
    """ "Everything has the same colour"; "no two items of the same size"; "two different colours"."""
    options = [each for each in say.world.attributes if not _is_phrase(each)]
    if not options:
        return None
    attribute, item = say.rng.choice(options), general(say)
    name, items = say.rng.choice(attribute.words), item.plural
    names, values = plural_of(name), f"{say.lexicon.names[attribute.name]}(#)"
    how = say.weighted((3, "same"), (2, "different"), (2, "number"))
    if how == "same":
        clause = say.pick(
            f"everything {{}} ~(has|is of) the same {name}", f"all [the|of the] {items} {{}} ~have the same {name}",
            f"[all] the {items} {{}} ~(share a|share one|are of the same|are all of one|have one and the same) {name}",
            f"no two {items} {{}} ~(differ in {name}|have different {names})",
            f"the {items} {{}} all have the same {name}",
            f"every {item.singular} {{}} ~has the same {name}", f"all [the] {items} {{}} ~match in {name}",
        )  # fmt: skip
        things = say.pick(f"only {items} of (one|a single|the same) {name}", f"{items} of (one|a single) {name} only")
        return Content(f"count({values}) <= 1", things, "are", clause)
    if how == "different":
        clause = say.pick(
            f"no two {items} {{}} ~(have the same|share a|are of the same) {name}",
            f"no {name} {{}} ~(occurs|appears) (twice|more than once)",
            f"all [the|of the] {items} {{}} ~(have different {names}|differ in {name})",
            f"(every|each) {item.singular} {{}} ~has (a different|its own) {name}",
        )  # fmt: skip
        things = say.pick(f"no two {items} of the same {name}", f"only {items} of different {names}")
        return Content(f"count({values}) == count(#)", things, "are", clause)
    if not attribute.choices:
        return None
    different = "(different|different|distinct|) " if not attribute.is_noun else "different kinds of "
    noun = (
        Kind(different + name, different + names)
        if not attribute.is_noun
        else Kind(different + items, different + items)
    )
    total = len(attribute.choices)
    if total > 2 and not attribute.is_noun and say.chance(0.2):
        return Content(
            f"count({values}) == {total}", f"(all {say.number(total)} {names}|every {name}|all the {names})", "are"
        )
    quantity = say.quantity(negative=False, high=total)
    if quantity.test == SOME or (not quantity.plural and attribute.is_noun):
        quantity = Quantity("more than one {}" if not attribute.is_noun else "several {}", "{} >= 2", attribute.is_noun)
    words = quantity.of(noun)
    if not quantity.plural and "more than" not in words:
        words = quantity.of(Kind(name, names))
    return Content(quantity.test.format(f"count({values})"), words, "are" if quantity.plural else "is")


def share(say: Speaker) -> Content:
    """ "Most of the circles are blue"; "both squares are black"; "two of the three items are small"."""
    kind = general(say) if say.chance(0.5) else box_kind(say, modified=0.05, generic=0)
    found: Property = say.property(noun=not _has_noun(say, kind), avoid=kind.condition)
    kinds, p, ps, items = kind.plural, found.singular, found.plural, kind.among("#")
    those, others = kind.among("#", found.condition), kind.among("#", mean.negation(found.condition))
    total = say.rng.randint(2, 5)
    part = say.rng.randint(1, total - 1)
    n, of = say.number(total), say.number(part)
    are_part = f"are {ps}" if part > 1 else f"is {p}"
    all_are, none_are = f"not exist({others})", f"not exist({those})"
    everything = (2 * (not kind.condition), f"everything {{}} ~is {p}", all_are)
    nothing = (2 * (not kind.condition), f"nothing {{}} ~is {p}", none_are)
    numbered = "both" if total == 2 and say.chance(0.5) else f"the {n}"
    options = [
        everything,
        nothing,
        (2, f"(all|all the|all of the) {kinds} {{}} ~are {ps}", all_are),
        (1, f"the {kinds} {{}} ~are all {ps}", all_are),
        (1, f"the {kinds} {{}} ~are (mostly|for the most part) {ps}", f"count({those}) > count({others})"),
        (1, f"(every|each|every single) {kind.singular} {{}} ~is {p}", all_are),
        (1, f"(no|none of the) {kinds} {{}} ~are {ps}", none_are),
        (1, f"(no|not a single|not one) {kind.singular} {{}} ~is {p}", none_are),
        (2, f"(most|most of the|the majority of the|more than half of the|over half of the) {kinds} {{}} ~are {ps}",
         f"count({those}) > count({others})"),
        (0.7, f"(half|half of the|exactly half of the) {kinds} {{}} ~are {ps}", f"count({those}) == count({others})"),
        (0.7, f"(fewer|less) than half of the {kinds} {{}} ~are {ps}", f"count({those}) < count({others})"),
        (0.7, f"(some of the {kinds} {{}} ~are {ps}|at least one of the {kinds} {{}} ~is {p})", f"exist({those})"),
        (0.7, f"(not all|not all of the|not all the) {kinds} {{}} ~are {ps}", f"exist({others})"),
        (1, f"[exactly|only|just] {of} of the {kinds} {{}} ~{are_part}", f"count({those}) == {part}"),
        (0.7, f"(all but one of the|all except one of the) {kinds} {{}} ~are {ps}", f"count({others}) == 1"),
        (1, f"{of} of the {n} {kinds} {{}} ~{are_part}", f"count({items}) == {total} and count({those}) == {part}"),
        (1, f"{numbered} {kinds} {{}} ~are {ps}", mean.both(f"count({items}) == {total}", all_are)),
        (1, f"(the|the only|the one) {kind.singular} {{}} ~is {p}", mean.both(f"count({items}) == 1", all_are)),
    ]  # fmt: skip
    clause, test = say.weighted(*((weight, (words, test)) for weight, words, test in options))
    return Content(test, clause=clause)


def bare(say: Speaker) -> Content | None:
    """ "No yellow, just black": a value without a noun."""
    options = [
        each
        for each in say.world.attributes
        if each.kind == "categorical" and not each.is_noun and len(each.choices) > 2
    ]
    if not options:
        return None
    attribute = say.rng.choice(options)
    first, second = say.rng.sample(attribute.choices, 2)
    a, b = (say.rng.choice(each.words) for each in (first, second))
    has = [f"exist({mean.those('#', say.has(attribute, each))})" for each in (first, second)]
    all_are = [mean.every("#", say.has(attribute, each)) for each in (first, second)]
    things, test = say.pick(
        (f"(no|no|zero) {a}", f"not {has[0]}"), (f"(only|just|nothing but) {a}", all_are[0]), (f"some {a}", has[0]),
        (f"[both] {a} and {b}", mean.both(*has)), (f"{a} but no {b}", mean.both(has[0], f"not {has[1]}")),
        (f"neither {a} nor {b}", mean.both(*(f"not {each}" for each in has))),
        (f"no {a}, (just|only) {b}", all_are[1]),
    )  # fmt: skip
    return Content(test, things, is_negative=things.startswith(("no", "(no", "neither")))


_CONTENTS = (
    *(
        (5.0, amount),
        (0.7, number),
        (1.5, pair),
        (1.3, but_no),
        (1.0, either),
        (1.5, only),
        (1.5, more),
        (0.8, listed),
        (0.7, of_which),
    ),
    *((1.2, alike), (2.0, share), (0.4, bare)),
)


def content(say: Speaker, *, things: bool = False) -> Content:
    """Draws something that can be said of a box; `things`: in a wording that follows "has"."""
    while True:
        found = say.weighted(*_CONTENTS)(say)
        if found is not None and (found.things or not things):
            return found


def short_content(say: Speaker) -> Content:
    """Contents in few words and without commas, to be said next to others."""
    while True:
        found = amount(say, 3) if say.chance(0.75) else content(say, things=True)
        if "," not in found.things and " and " not in found.things and len(found.things.split()) < 8:
            return found


def tell(say: Speaker, where: Domain, found: Content) -> str | None:
    """Returns a wording of "the boxes of `where` have this content"; None where it has none, as after "no box"."""
    has, have, them, are = (HAVE, "have", "them", "are") if where.plural else (HAS, "has", "it", "is")
    that, things, there = where.subject, found.things, f"there ~{found.be} {found.things}"
    can_front = bool(where.where) and not that.startswith(_CLOSED)
    place = f"in{where.where[2:]}" if where.where.startswith("of ") else where.where
    is_simple = not any(each in things for each in (",", "they", "that's"))
    texts = []
    if things:
        each = " [each]" if where.plural and not things.startswith(("no", "(no")) and is_simple else ""
        texts += [f"{that} ~{has} {things}{each}"] * 5 + [f"{that}: {things}"]
        if is_simple:
            texts += [f"{that} ~{have} {things} in {them}", f"{that} {have} got {things}"]
        if is_simple and not found.is_negative:
            texts += [f"{that} ~{are} home to {things}"]
    if things and can_front:
        texts += [f"{place}, {there}", f"{place} {there}", f"{place}, (you|we|I) ~(can see|can find|see|have) {things}"]
        if is_simple and not (where.is_quantified and (where.plural or found.is_negative)):
            texts += [f"{there} {place}"] * 3 + [
                f"(you|we|I) ~(can see|can find|see|have) {things} {place}",
                f"{things} {place}",
            ]
        if is_simple and not where.is_quantified and found.be in ("is", "are"):
            texts += [f"{things} ~{found.be} {place}", f"{things} ~can be (found|seen) {place}"]
    if found.clause and can_front:
        clause = found.at("")
        texts += [f"{place}, {clause}", f"{place}, {clause}", f"{place} {clause.replace('~', '')}"]
        if not where.is_quantified:
            texts += [found.at(place)] * 5
    return say.pick(*texts) if texts else None
