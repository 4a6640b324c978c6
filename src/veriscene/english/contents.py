"""What can be said of a domain: counts, shares, values and places; and the rule that says it. Domains are the scene, a
particular box, several, as both outer ones or all but the first, and boxes with a quantifier."""

from __future__ import annotations

from collections.abc import Callable

from veriscene.english import counts, places, shares
from veriscene.english import meaning as mean
from veriscene.english.clauses import EACH_BOX, Content, tell
from veriscene.english.speaker import Domain, Sentence, Speaker
from veriscene.english.words import Place

BOXES = mean.ALL_BOXES
_Bind = Callable[[str], str]


def domain(say: Speaker) -> Domain:
    """Any domain: the scene, a particular box, several, or boxes with a quantifier."""
    if say.world.boxes[1] == 1:
        return say.scene()
    how = say.weighted((3.6, "scene"), (3.2, "box"), (2.7, "quantified"), (0.5, "group"))
    if how == "scene":
        return say.scene()
    return say.which() if how == "box" else say.quantified() if how == "quantified" else group(say)


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
    return domain


def this_box(say: Speaker) -> Domain:
    """A particular box."""
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


def at(test: str, box: str) -> str:
    """Returns the condition on a particular box instead of #."""
    return test.replace("#", box)


def group(say: Speaker) -> Domain:
    """Several particular boxes: both outer ones, neither the left nor the right one, all but the first."""
    low, high = say.world.boxes
    box, boxes, is_fixed = say.box, say.boxes, low == high > 2
    first, second = say.rng.sample(say.lexicon.distinct_places, 2)
    v, w, a, b = say.rng.choice(first.words), say.rng.choice(second.words), first.box, second.box
    ends = [f"{BOXES}[{at}]" for at in (0, 1, high - 2, high - 1)]
    exception = this_box(say)
    but = f"(except|but|except for) {short(say, exception)}"

    def all_of(*places: str) -> _Bind:
        return lambda test: mean.both(*(at(test, place) for place in places))

    def neither(test: str) -> str:
        return mean.both(*(mean.negation(at(test, place)) for place in (a, b)))

    def either(test: str) -> str:
        return mean.either(at(test, a), at(test, b))

    def all_but(test: str) -> str:
        """The exception does not meet the condition: that is what "except" says."""
        others = mean.none(BOXES, another(exception.box, mean.negation(test)), "#")
        return mean.both(mean.negation(at(test, exception.box)), others)

    both = f"([both] the {v} and {w} {boxes}|both the {v} and the {w} {box}|the {v} {box} and the {w} one)"
    some = f"([either] the {v} or the {w} {box}|at least one of the {v} and {w} {boxes})"
    outer = f"((both|the [two]) outer {boxes}|the [two] {boxes} (on|at) the ends|the first and the last {box})"
    start = f"([both of] the first two {boxes}|the two {boxes} on the left|the two leftmost {boxes})"
    rest = f"(the last two {boxes}|the two {boxes} on the right|the two rightmost {boxes})"
    rows: tuple[tuple[float, tuple[str, bool, _Bind]], ...] = (
        (3, (both, True, all_of(a, b))),
        (2, (f"neither the {v} nor the {w} {box}", False, neither)),
        (1.5, (some, False, either)),
        (2.0 * is_fixed, (outer, True, all_of(ends[0], ends[3]))),
        (0.8 * is_fixed, (start, True, all_of(*ends[:2]))),
        (0.8 * is_fixed, (rest, True, all_of(*ends[2:]))),
        (1.5, (f"(all {boxes}|all the {boxes}|all of the {boxes}) {but}", True, all_but)),
        (1, (f"(every|each) {box} {but}", False, all_but)),
    )
    return say.boxes_with(*say.weighted(*rows))


# ---------------------------------------------------------------- contents

_CONTENTS = (*counts.CONTENTS, *shares.CONTENTS, *places.CONTENTS)


def content(say: Speaker, where: Domain = EACH_BOX, *, things: bool = False) -> Content:
    """Draws something that can be said of a domain; `things`: in a wording that follows "has"."""
    while True:
        found = say.weighted(*_CONTENTS)(say, where)
        # "A box where circles: two" is not English.
        is_note = found is not None and where is EACH_BOX and (":" in found.clause or "?" in found.clause)
        if found is not None and not is_note and (found.things or not things):
            return found


def short_content(say: Speaker) -> Content:
    """Contents of each box in few words and without commas, to be said next to others."""
    while True:
        found = counts.how_many(say, EACH_BOX, 3) if say.chance(0.75) else content(say, things=True)
        if "," not in found.things and " and " not in found.things and len(found.things.split()) < 8:
            return found


def stated(say: Speaker) -> Sentence | None:
    """ "There are two circles"; "in every box, most circles are blue"; "the left box has the same number of both"."""
    where = domain(say)
    found = content(say, where)
    if found.is_negative and where.is_negative:
        return None  # "no box has no circle" is rare
    text = tell(say, where, found)
    return Sentence(text, where.bind(found.test)) if text else None


RULES = ((60.0, stated),)
