"""Rules about particular boxes: only the left one has a circle, the right one does not, the others have two.

What can be said of a box is in contents.py; rules that compare boxes are in between.py.
"""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.clauses import HAS, HAVE, Content, free_kind, several_boxes, slots, two_kinds
from veriscene.english.contents import content, short_content
from veriscene.english.domains import BOXES, another, at, short, this_box, two_boxes
from veriscene.english.speaker import NO, Kind, Quantity, Sentence, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)


@several_boxes
def only_this(say: Speaker) -> Sentence:
    """ "Only the left box has a circle"; "the only box without squares is the middle one"."""
    where, found = this_box(say), content(say, things=True)
    words = {"here": where.subject, "in_here": where.where, "one": short(say, where), "has": HAS, "box": say.box}
    words |= {"things": found.things, "there": found.there, "boxes": say.boxes}
    words["with_it"] = f"(with|that has|that contains|containing) {found.things}"
    texts = [*_TABLES["only"].wordings, *_TABLES["no_other"].wordings * (not found.is_negative)]
    meaning = mean.both(found.of(where.box), mean.none(BOXES, another(where.box, found.test), "#"))
    return Sentence(say.rng.choice(texts).format(**words), meaning)


@several_boxes
def particular(say: Speaker) -> Sentence:
    """ "The left box has a circle but the right one doesn't"; "no circle is outside the left box"."""
    row, (here, there), (first, second) = _TABLES["particular"].draw(say), two_boxes(say), two_kinds(say)
    if "y_" not in row.columns[0]:
        first = free_kind(say, generic=0)
    x, y = f"exist({first.among('#')})", f"exist({second.among('#')})"
    meaning = row.columns[0].format(
        x_here=at(x, here.box),
        x_there=at(x, there.box),
        y_here=at(y, here.box),
        others_have=mean.none(BOXES, another(here.box, mean.negation(x)), "#"),
        outside=f"exist({first.among(mean.ALL_ITEMS, f'@.box != {here.box}')})",
    )
    words = {"here": here.subject, "in_here": here.where, "there": there.subject, "in_there": there.where}
    words["one"] = short(say, here)
    words["without"] = f"((without|that lacks) {first.a}|(without any|that has no|with no) {first.plural})"
    return Sentence(say.rng.choice(row.wordings).format(**slots(say, first, second), **words), meaning)


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


RULES = ((1.5, only_this), (4.0, particular), (1.5, listing), (0.7, others_have))
