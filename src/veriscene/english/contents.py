"""What can be said of a domain: counts, shares, values and places; and the rule that says it. Domains are the scene, a
particular box, several, as both outer ones or all but the first, and boxes with a quantifier."""

from __future__ import annotations

from veriscene.english import compare, counts, places, shares
from veriscene.english import meaning as mean
from veriscene.english.clauses import EACH_BOX, Content, tell
from veriscene.english.pattern import is_imperative
from veriscene.english.speaker import Domain, Sentence, Speaker
from veriscene.english.tables import tables
from veriscene.english.words import Place

_TABLES = tables(__name__)
BOXES = mean.ALL_BOXES


def domain(say: Speaker) -> Domain:
    """Draws any domain: the scene, a particular box, several, or boxes with a quantifier."""
    if say.world.boxes[1] == 1:
        return say.scene()
    how = say.weighted((3.6, "scene"), (3.2, "box"), (2.7, "quantified"), (0.6, "group"))
    if how == "scene":
        return say.scene()
    return say.which() if how == "box" else say.quantified() if how == "quantified" else group(say)


def another(box: str, test: str) -> str:
    """Returns the condition that # is another box and meets a condition."""
    return mean.both(f"# != {box}", test)


def two_boxes(say: Speaker) -> tuple[Domain, Domain]:
    """Draws two particular boxes; the second is often said as "the right one"."""
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
    """Draws a particular box."""
    return _named(say, say.rng.choice(say.lexicon.places))


def short(say: Speaker, domain: Domain) -> str:
    """Draws the words for a box, after "is": "the left one", "the one on the left"."""
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
    """Draws several particular boxes: both outer ones, neither the left nor the right one, all but the first."""
    low, high = say.world.boxes
    (first, second), exception = say.rng.sample(say.lexicon.distinct_places, 2), this_box(say)
    places = {"a": first.box, "b": second.box, "exception": exception.box}
    if low == high > 2:
        ends = {"first": 0, "second": 1, "penultimate": high - 2, "last": high - 1}
        places |= {name: f"{BOXES}[{number}]" for name, number in ends.items()}
    rows = [(weight, row) for weight, row in _TABLES["groups"].rows if places.keys() >= set(row.columns[2].split())]
    row = say.weighted(*rows)
    number, how, boxes = row.columns

    def bind(test: str) -> str:
        tests = [at(test, places[each]) for each in boxes.split()]
        if how == "none":
            return mean.both(*map(mean.negation, tests))
        if how == "all but":  # the exception does not meet the condition: that is what "except" says
            others = mean.none(BOXES, another(exception.box, mean.negation(test)), "#")
            return mean.both(mean.negation(tests[0]), others)
        if how == "not all":
            return mean.negation(mean.both(*tests))
        if how == "exactly one":
            return f"({tests[0]}) != ({tests[1]})"
        return mean.either(*tests) if how == "some" else mean.both(*tests)

    words = {"v": say.rng.choice(first.words), "w": say.rng.choice(second.words), "one": short(say, exception)}
    return say.boxes_with(row.say(say, box=say.box, boxes=say.boxes, **words), number == "many", bind)


def together(say: Speaker) -> Domain:
    """Draws the items of all boxes but one: "the two outer boxes together"; of any two if none are particular."""
    missing = say.rng.choice(say.lexicon.distinct_places)
    words = ", ".join(["{}"] * (len(others := all_but(say, missing.box)) - 1)) + " and {}"
    subject = words.format(*(f"the {word}" if at else f"the {word} {say.box}" for at, word in enumerate(others)))
    if len(others) == 2 and say.chance(0.4):
        subject = f"the {others[0]} and {others[1]} {say.boxes}"
    elif len(others) == 2 and missing.is_middle:
        subject = f"the [two] (outer|outside|end) {say.boxes}"
    elif say.chance(0.3):
        subject = f"all {say.boxes} but the {say.rng.choice(missing.words)} one"
    subject = say.expand(f"{subject} (together|combined|taken together|put together)")
    return Domain(mean.those(mean.ALL_ITEMS, f"@.box != {missing.box}"), f"in {subject}", subject, plural=True)


def all_but(say: Speaker, box: str) -> list[str]:
    """Draws words for the other boxes, as "left", "last"."""
    return [say.rng.choice(place.words) for place in say.lexicon.distinct_places if place.box != box]


# ---------------------------------------------------------------- contents

_CONTENTS = (*counts.CONTENTS, *shares.CONTENTS, *places.CONTENTS, *compare.CONTENTS)


def content(say: Speaker, where: Domain = EACH_BOX, *, things: bool = False) -> Content:
    """Draws something that can be said of a domain; `things`: in a wording that follows "has"."""
    while True:
        found = say.weighted(*_CONTENTS)(say, where)
        # "A box where circles: two" is not English.
        is_note = (
            found is not None and where is EACH_BOX and (is_imperative(found.clause) or set(":?") & set(found.clause))
        )
        if found is not None and not is_note and (found.things or not things):
            return found


def short_content(say: Speaker) -> Content:
    """Draws contents of each box in few words and without commas, to be said next to others."""
    while True:
        found = counts.how_many(say, EACH_BOX, 3) if say.chance(0.75) else content(say, things=True)
        if "," not in found.things and " and " not in found.things and len(found.things.split()) < 8:
            return found


def stated(say: Speaker) -> Sentence | None:
    """Says "There are two circles"; "in every box, most circles are blue"; "the left box has as many of both"."""
    low, high = say.world.boxes
    if low == high == len(say.lexicon.distinct_places) > 2 and say.chance(0.025):
        where = together(say)
        found = say.weighted(*counts.CONTENTS)(say, where)
    else:
        where = domain(say)
        found = content(say, where)
    if found is None:
        return None
    if found.is_negative and where.is_negative:
        return None  # "no box has no circle" is rare
    text = tell(say, where, found)
    return Sentence(text, where.bind(found.test)) if text else None


def stated_plainly(say: Speaker) -> Sentence | None:
    """Says how many items of a kind there are somewhere, as people do first: "the left box has two circles"."""
    where = say.scene()
    if say.world.boxes[1] > 1 and say.chance(0.55):
        where = this_box(say) if say.chance(0.75) else say.quantified()
    found = counts.how_many(say, where, high=3)
    if found.is_negative and where.is_negative:
        return None
    text = tell(say, where, found)
    if say.chance(0.6):
        of_boxes = where.is_quantified or where.box
        text = f"{where.subject} ~{'have' if where.plural else 'has'} {found.things}" if of_boxes else found.there
    return Sentence(text, where.bind(found.test)) if text else None


RULES = ((60.0, stated),)
