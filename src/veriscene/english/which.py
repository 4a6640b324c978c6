"""Rules about particular boxes: the left one, both outer ones, all but the first.

What can be said of a box is in contents.py; rules that compare boxes are in between.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from veriscene.english import meaning as mean
from veriscene.english.contents import (
    HAS,
    HAVE,
    Content,
    amount,
    box_kind,
    content,
    general,
    several_boxes,
    short_content,
    tell,
    two_kinds,
)
from veriscene.english.speaker import NO, Domain, Kind, Quantity, Sentence, Speaker
from veriscene.english.words import Place

BOXES = mean.ALL_BOXES
Bind = Callable[[str], str]


def another(box: str, test: str) -> str:
    """Returns the condition that # is another box and meets a condition."""
    return mean.both(f"# != {box}", test)


def two_boxes(say: Speaker) -> tuple[Domain, Domain]:
    """Two particular boxes; the second is often said as "the right one"."""
    first, second = say.rng.sample(say.lexicon.distinct_places, 2)
    domain = say.place_of(second)
    if say.chance(0.5):
        subject = f"the {say.rng.choice(second.words)} one"
        domain = Domain(second.box, f"in {subject}", subject, box=second.box)
    return _named(say, first), domain


def _named(say: Speaker, place: Place) -> Domain:
    """A particular box at its first mention, thus not as "the left one"."""
    while (domain := say.place_of(place)).subject.endswith(" one"):
        pass
    return replace(domain, where=f"in{domain.where[2:]}") if domain.where.startswith("of ") else domain


def this_box(say: Speaker) -> Domain:
    return _named(say, say.rng.choice(say.lexicon.places))


def short(say: Speaker, domain: Domain) -> str:
    """The words for a box, after "is": "the left one", "the one on the left"."""
    places = [place for place in say.lexicon.places if place.box == domain.box]
    place = say.rng.choice(places)
    word = say.rng.choice(place.words)
    return say.pick(
        f"the {word} one",
        f"the {word} {say.box}",
        f"the one on the {word.removesuffix('most')}" if place.is_side else f"the {word} one",
    )


# ---------------------------------------------------------------- groups of boxes


def group(say: Speaker) -> Domain:
    """Several particular boxes: both outer ones, neither the left nor the right one, all but the first."""
    low, high = say.world.boxes
    box, boxes = say.box, say.boxes
    first, second = say.rng.sample(say.lexicon.distinct_places, 2)
    v, w = say.rng.choice(first.words), say.rng.choice(second.words)
    a, b = first.box, second.box
    fixed = low == high > 2
    how = say.weighted(
        *((3, "both"), (2, "neither"), (1.5, "either"), (2 * fixed, "outer"), (1.5 * fixed, "two"), (2.5, "except")),
    )

    def all_of(*places: str) -> Bind:
        return lambda test: mean.both(*(at(test, place) for place in places))

    def domain(words: str, bind: Bind, *, plural: bool = True, place: bool = True) -> Domain:
        words = say.expand(words)
        return Domain("#", f"in {words}" if place else "", words, plural, bind, is_quantified=True, box="#")

    if how == "both":
        words = f"([both] the {v} and {w} {boxes}|both the {v} and the {w} {box}|the {v} {box} and the {w} one)"
        return domain(words, all_of(a, b))
    if how == "neither":
        return domain(
            f"neither the {v} nor the {w} {box}",
            lambda test: mean.both(*(mean.negation(at(test, each)) for each in (a, b))),
            plural=False,
            place=False,
        )
    if how == "either":
        words = f"(the {v} or the {w} {box}|either the {v} or the {w} {box}|at least one of the {v} and {w} {boxes})"
        return domain(words, lambda test: mean.either(at(test, a), at(test, b)), plural=False)
    if how == "outer":
        words = f"(both (outer|end)|the [two] outer) {boxes}"
        words = f"({words}|the [two] {boxes} (on|at) the ends|the first and the last {box})"
        return domain(words, all_of(BOXES + "[0]", f"{BOXES}[{high - 1}]"))
    if how == "two":
        if say.chance(0.5):
            words = f"([both of] the first two {boxes}|the two {boxes} on the left|the two leftmost {boxes})"
            return domain(words, all_of(f"{BOXES}[0]", f"{BOXES}[1]"))
        words = f"(the last two {boxes}|the two {boxes} on the right|the two rightmost {boxes})"
        return domain(words, all_of(f"{BOXES}[{high - 2}]", f"{BOXES}[{high - 1}]"))
    where = this_box(say)
    plural = say.chance(0.6)
    every = f"(all {boxes}|all the {boxes}|all of the {boxes})" if plural else f"(every|each) {box}"
    return domain(f"{every} (except|but|except for) {short(say, where)}", _except(where.box), plural=plural)


def at(test: str, box: str) -> str:
    return test.replace("#", box)


def _except(box: str) -> Bind:
    """The exception does not meet the condition: that is what "except" says."""
    return lambda test: mean.both(
        mean.negation(at(test, box)), mean.none(BOXES, another(box, mean.negation(test)), "#")
    )


# ---------------------------------------------------------------- one box, or several


@several_boxes
def this_has(say: Speaker) -> Sentence | None:
    """ "The left box has two circles but no square"; "everything in the middle box is blue"."""
    where, found = say.which(), content(say)
    text = tell(say, where, found)
    return Sentence(text, found.of(where.box)) if text else None


@several_boxes
def this_lacks(say: Speaker) -> Sentence:
    """ "The left box doesn't have any circles"; "circles are missing from the middle box"."""
    where, kind = say.which(), box_kind(say, generic=0)
    xs = kind.plural
    texts = [
        f"{where.subject} (~does not|doesn't) (have|contain|hold) (any {xs}|{kind.a}|a single {kind.singular})",
        f"{where.subject} ~(lacks|is without|is free of|is missing) {xs}", f"{where.subject} ~is without {kind.a}",
        f"{xs} ~are (missing|absent) from {where.subject}",
        f"(I|you|we) (can't|cannot|don't) see (any {xs}|{kind.a}) {where.where}",
        f"there (~is not|isn't) {kind.a} {where.where}", f"there (~are not|aren't) any {xs} {where.where}",
        f"{where.front}there (isn't {kind.a}|aren't any {xs})", f"{where.subject} without {xs}",
        f"none of the {general(say).plural} {where.where} ~is {kind.a}", f"nothing {where.where} ~is {kind.a}",
        f"{xs} {where.where}: (none|zero|0)", f"you won't find {kind.a} {where.where}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), f"not exist({kind.among(where.box)})")


@several_boxes
def shared(say: Speaker) -> Sentence:
    """ "A circle and a square are both in the left box"; "a circle shares the left box with a square"."""
    where, (first, second) = this_box(say), two_kinds(say)
    texts = [
        f"{first.a} and {second.a} ~(are|are both|are together|can be found|appear) {where.where}",
        f"{first.a} ~shares {where.subject} with {second.a}", f"{first.a} and {second.a} ~share {where.subject}",
        f"there ~is {first.a} {where.where}, and {second.a} too", f"{first.a} {where.where} and also {second.a}",
        f"in addition to {first.a}, {where.subject} ~{HAS} {second.a}",
        f"{where.subject} has {first.a}, and it has {second.a} too",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), mean.both(*(f"exist({kind.among(where.box)})" for kind in (first, second))))


@several_boxes
def empty(say: Speaker) -> Sentence | None:
    """ "The top shelf is empty"; only in worlds where boxes can be empty."""
    if say.world.items[0] > 0:
        return None
    where = say.which()
    text, meaning = say.pick(
        (f"{where.subject} ~(is|is completely|stands) empty", f"not exist({where.box})"),
        (f"{where.subject} ~(has|contains) nothing", f"not exist({where.box})"),
        (f"there ~is nothing {where.where}", f"not exist({where.box})"),
        (f"{where.subject} ~is not empty", f"exist({where.box})"),
        (f"there ~is something {where.where}", f"exist({where.box})"),
    )  # fmt: skip
    return Sentence(text, meaning)


@several_boxes
def these_have(say: Speaker) -> Sentence | None:
    """ "Both outer boxes have a circle"; "every box except the left one has two squares"."""
    where, found = group(say), amount(say) if say.chance(0.6) else content(say)
    if where.subject.startswith("neither") and found.is_negative:
        return None
    text = tell(say, where, found)
    return Sentence(text, where.bind(found.test)) if text else None


@several_boxes
def only_this(say: Speaker) -> Sentence:
    """ "Only the left box has a circle"; "the only box without squares is the middle one"."""
    where, found = this_box(say), content(say, things=True)
    that, one, box, boxes, things = where.subject, short(say, where), say.box, say.boxes, found.things
    not_this = "(except|other than|but)"
    meaning = mean.both(found.of(where.box), mean.none(BOXES, another(where.box, found.test), "#"))
    with_it = f"(with|that has|that contains|containing) {things}"
    texts = [
        f"only {that} ~{HAS} {things}", f"only {that} ~{HAS} {things}", f"just {that} ~{HAS} {things}",
        f"{that} alone ~has {things}",
        f"{that} ~is the only (one|{box}) {with_it}", f"the only {box} {with_it} ~is {one}",
        f"the only one {with_it} ~is {that}",
        f"(only|just) {one}: {things}", f"the only {box} {with_it}: {one}", f"the {box} {with_it} ~is {one}",
    ]  # fmt: skip
    if found.is_negative:
        return Sentence(say.pick(*texts), meaning)
    texts += [
        f"{that} ~has {things}, [but|and] (the others don't|the other {boxes} do not|no other {box} does)",
        f"no {box} {not_this} {one} ~{HAS} {things}", f"none of the other {boxes} have {things}, (only|just) {one}",
        f"{where.where} and nowhere else, there ~{found.be} {things}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), meaning)


@several_boxes
def except_this(say: Speaker) -> Sentence:
    """ "The only box without a circle is the left one"; "apart from the left one, every box has a circle"."""
    where, kind = this_box(say), box_kind(say, generic=0)
    that, one, box, boxes = where.subject, short(say, where), say.box, say.boxes
    has = f"exist({kind.among('#')})"
    without = f"((without|that lacks) {kind.a}|(without any|that (has|contains) no|with no) {kind.plural})"
    texts = [
        f"the only (one|{box}) {without} ~is {that}", f"{that} ~is the only (one|{box}) {without}",
        f"only {that} ~(lacks|is without) {kind.a}",
        f"only {that} (~does not|doesn't) (have|contain) (any {kind.plural}|{kind.a})",
        f"only {that} ~has no {kind.plural}",
        f"(apart from|except for) {that}, (every {box} ~has|all {boxes} ~have) {kind.a}",
        f"the {box} {without} ~is {one}",
        f"(every {box}|all {boxes}) (except|but|except for) {one}: {kind.a}",
        f"{that} ~has no {kind.plural}, ^but all the (others|other {boxes}) do",
    ]  # fmt: skip
    meaning = mean.both(
        mean.negation(at(has, where.box)), mean.none(BOXES, another(where.box, mean.negation(has)), "#")
    )
    return Sentence(say.pick(*texts), meaning)


@several_boxes
def contrast(say: Speaker) -> Sentence:
    """ "The left box has a circle but the right one doesn't"; "unlike the right box, the left one has a circle"."""
    (first, second), kind = two_boxes(say), box_kind(say, generic=0)
    here, there, a, xs = first.subject, second.subject, kind.a, kind.plural
    has = [f"exist({kind.among(each.box)})" for each in (first, second)]
    how = say.weighted((3, "but not"), (1, "so does"), (1, "nor"), (0.7, "xor"))
    if how == "so does":
        texts = [
            f"{here} ~has {a}(,|) and so does {there}", f"not only {here} but also {there} ~{HAS} {a}",
            f"there ~is {a} {first.where} and (one|another|another one) {second.where}",
            f"like {there}, {here} ~{HAS} {a}",
            f"{a} ~can be (found|seen) [both] {first.where} and {second.where}", f"{here} and {there} each have {a}",
            f"{a} {first.where}, another {second.where}", f"{here} as well as {there} ~{HAS} {a}",
        ]  # fmt: skip
        return Sentence(say.pick(*texts), mean.both(*has))
    if how == "nor":
        texts = [
            f"{here} has no {xs}(,|) and neither does {there}",
            f"there ~is no {kind.singular} {first.where} or {second.where}",
            f"{here} doesn't have {a}(,| and) {there} doesn't either",
            f"{xs} ~are missing from both {here} and {there}",
            f"no {xs} {first.where}, none {second.where} either",
            f"{here} and {there} are both (without {xs}|free of {xs})",
        ]  # fmt: skip
        return Sentence(say.pick(*texts), mean.both(*(f"not {each}" for each in has)))
    if how == "xor":
        text = f"(|either ){here} or {there} ~{HAS} {a}, but not both"
        return Sentence(text, mean.both(mean.either(*has), mean.negation(mean.both(*has))))
    texts = [
        f"{here} ~has {a}(,|) (but|and) {there} (does not|doesn't)",
        f"there ~is {a} {first.where}(,|) but (not|none) {second.where}",
        f"unlike {there}, {here} ~{HAS} {a}", f"{here} ~{HAS} {a}(,|) (while|whereas|but) {there} has (none|no {xs})",
        f"{here} ~{HAS} {a}, {there} has none", f"{there} has no {kind.singular}, but {here} does",
        f"{a} {first.where}, none {second.where}",
        f"{here} with {a}, {there} without [one]",
        f"there ~are no {xs} {second.where}(,|) but there is {a} {first.where}",
        f"(I|you|we) ~(can see|see|can find) {a} {first.where} but not {second.where}",
        f"{a} ~is {first.where} but not {second.where}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), mean.both(has[0], f"not {has[1]}"))


@several_boxes
def listing(say: Speaker) -> Sentence:
    """ "The left box has two circles, the middle one a square and the right one nothing blue"."""
    places = say.rng.sample(say.lexicon.distinct_places, min(len(say.lexicon.distinct_places), say.pick(2, 2, 3)))
    if say.chance(0.6):
        places.sort(key=lambda place: place.box)
    words = [say.rng.choice(place.words) for place in places]
    found = [short_content(say) for _ in places]
    if say.chance(0.3):  # one kind, several numbers: "left: two circles; right: none"
        kind = box_kind(say, generic=0.2)
        amounts = [say.quantity(negative=True, high=4) for _ in places]
        found = [
            Content(each.holds(kind.among("#")), each.of(kind) if at == 0 else _short(each, kind))
            for at, each in enumerate(amounts)
        ]
    meaning = mean.both(*(each.of(place.box) for each, place in zip(found, places, strict=True)))
    first, *rest = [(word, each.things) for word, each in zip(words, found, strict=True)]
    has, box = say.pick("has", "contains", "holds"), say.box
    how = say.weighted((3, "has"), (2, "elliptic"), (2, "where"), (2, "note"))
    if how == "note":
        between = say.pick("; ", ", ", " / ")
        named = [(word, things) for word, things in (first, *rest)]
        joined = say.pick("{} {box}: {}", "{}: {}", "{}: {}")
        return Sentence(between.join(joined.format(word, things, box=box) for word, things in named), meaning)
    if how == "where":
        clauses = [f"{first[1]} in the {first[0]} {box}"] + [f"{things} in the {word} one" for word, things in rest]
        return Sentence(_and(clauses, ", and "), meaning)
    verb = f" ~{has}" if how == "has" else ""
    clauses = [f"the {first[0]} {box} ~{has} {first[1]}"] + [
        f"the {word} (one|{box}){verb} {things}" for word, things in rest
    ]
    return Sentence(_and(clauses, say.pick(", ^and ", " ^and ", ", ^while ") if how == "has" else " and "), meaning)


def _and(clauses: list[str], last: str) -> str:
    """Joins clauses; those after the first are of equal rank if the last one is."""
    return (", ^" if "^" in last else ", ").join(clauses[:-1]) + last + clauses[-1]


def _short(quantity: Quantity, kind: Kind) -> str:
    """ "Two" or "none": the number without the noun, where that is possible."""
    if quantity.test == NO:
        return "none"
    last = quantity.words.removesuffix(" {}")
    return last if "{" not in last and last not in ("a", "some") else quantity.of(kind)


# ---------------------------------------------------------------- where the items of a kind are


@several_boxes
def are_there(say: Speaker) -> Sentence:
    """ "All circles are in the left box"; "most of the squares are in the middle"; "no circle is outside"."""
    where, kind = this_box(say), box_kind(say, generic=0.05)
    that, xs, x, place = where.subject, kind.plural, kind.singular, where.where
    inside, outside = kind.among(where.box), kind.among(mean.ALL_ITEMS, f"@.box != {where.box}")
    n = say.small(1, 4)
    said, be = say.number(n), "are" if n > 1 else "is"
    all_words = say.pick(
        f"(all|all the|all of the) {xs} ~are {place}", f"(every|each|every single) {x} ~is {place}",
        f"the {xs} ~are all {place}",
        f"no {x} ~is outside [of] {that}", f"there ~are no {xs} outside [of] {that}",
        f"{that} ~(has|contains|holds) all [of] the {xs}",
        f"{xs} only ~(occur|appear) {place}", f"{xs} ~are (confined|limited) to {that}",
        f"(no {xs}|none of the {xs}) ~are in any {say.box} (but|except|other than) {short(say, where)}",
        f"{xs}: (all|only) {place}", f"you ~can find {xs} only {place}",
        f"if (it's|it is) {kind.a}, (it's|it is) {place}",
    )  # fmt: skip
    text, meaning = say.weighted(
        (4, (all_words, f"not exist({outside})")),
        (1, (f"(none of the|no) {xs} ~are {place}", f"not exist({inside})")),
        (1.5, (f"(most|most of the|the majority of the|more than half of the) {xs} ~are {place}",
               f"count({inside}) > count({outside})")),
        (0.7, (f"(half|half of the|exactly half of the) {xs} ~are {place}", f"count({inside}) == count({outside})")),
        (0.7, (f"(not all|not all of the|not all the) {xs} ~are {place}", f"exist({outside})")),
        (0.7, (f"(not every {x} ~is|there ~is {kind.a} that is not) {place}", f"exist({outside})")),
        (1, (f"(|exactly |only |just ){said} of the {xs} ~{be} {place}", f"count({inside}) == {n}")),
        (1, (f"(all but one of the|all except one of the) {xs} ~are {place}", f"count({outside}) == 1")),
        (1.5, (f"the (only|one) {x} ~is {place}",
               mean.both(f"count({kind.among(mean.ALL_ITEMS)}) == 1", f"exist({inside})"))),
        (1, (f"(at least one|some) {x} ~is outside [of] {that}", f"exist({outside})")),
    )  # fmt: skip
    return Sentence(text, meaning)


@several_boxes
def others_have(say: Speaker) -> Sentence:
    """ "The left box has a circle and the others have squares"; "the other two boxes are all blue"."""
    where, this, found = this_box(say), short_content(say), short_content(say)
    low, high = say.world.boxes
    number = [f"the other {say.number(high - 1)}[ {say.boxes}]"] * 2 if low == high > 2 else []
    rest = say.pick("the others", f"the other {say.boxes}", f"all the other {say.boxes}", *number)
    meaning = mean.none(BOXES, another(where.box, mean.negation(found.test)), "#")
    if say.chance(0.4):
        return Sentence(f"(every|each) {say.box} other than {short(say, where)} ~{HAS} {found.things}", meaning)
    text = f"{where.subject} ~{HAS} {this.things}(,|) ^(and|but|while) {rest} ~{HAVE} {found.things}"
    return Sentence(text, mean.both(this.of(where.box), meaning))


RULES = (
    *((4.0, this_has), (1.0, this_lacks), (0.6, shared), (0.5, empty), (2.0, these_have), (1.5, only_this)),
    *((0.8, except_this), (1.5, contrast), (1.5, listing), (2.0, are_there), (0.7, others_have)),
)
