"""Rules about particular boxes: only the left one has a circle, the right one does not, the others have two.

What can be said of a box is in contents.py; rules that compare boxes are in between.py.
"""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.clauses import HAS, HAVE, Content, free_kind, several_boxes, two_kinds
from veriscene.english.contents import content, short_content
from veriscene.english.domains import BOXES, another, at, short, this_box, two_boxes
from veriscene.english.speaker import NO, Kind, Quantity, Sentence, Speaker


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
        f"{where.where} and nowhere else, there ~{'are' if found.plural else 'is'} {things}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), meaning)


@several_boxes
def except_this(say: Speaker) -> Sentence:
    """ "The only box without a circle is the left one"; "apart from the left one, every box has a circle"."""
    where, kind = this_box(say), free_kind(say, generic=0)
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
    (first, second), kind = two_boxes(say), free_kind(say, generic=0)
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
        kind = free_kind(say, generic=0.2)
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
    """ "No circle is outside the left box"; "the left box contains all squares"; "circles only occur on the right"."""
    where, kind = this_box(say), free_kind(say, generic=0.05)
    that, xs, x, place = where.subject, kind.plural, kind.singular, where.where
    outside = f"exist({kind.among(mean.ALL_ITEMS, f'@.box != {where.box}')})"
    texts = [
        f"no {x} ~is outside [of] {that}",
        f"there ~are no {xs} outside [of] {that}",
        f"{that} ~(has|contains|holds) all [of] the {xs}",
        f"{xs} only ~(occur|appear) {place}",
        f"{xs} ~are (confined|limited) to {that}",
        f"(no|none of the) {xs} ~are in any {say.box} (but|except|other than) {short(say, where)}",
        f"you ~can find {xs} only {place}",
    ]
    if say.chance(0.2):
        return Sentence(f"(at least one|some) {x} ~is outside [of] {that}", outside)
    return Sentence(say.pick(*texts), f"not {outside}")


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
    (0.6, shared),
    (1.5, only_this),
    (0.8, except_this),
    (1.5, contrast),
    (1.5, listing),
    (1.0, are_there),
    (0.7, others_have),
)
