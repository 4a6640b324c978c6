"""Rules about boxes: boxes that have something, how items are distributed over them, particular boxes, and boxes
compared by how much they contain. What can be said of a box is in contents.py."""

from __future__ import annotations

from dataclasses import replace

from veriscene.english import meaning as mean
from veriscene.english.clauses import (
    HAS,
    HAVE,
    SEE,
    A,
    Content,
    amount,
    free_kind,
    several_boxes,
    slots,
    those_with,
    two_kinds,
)
from veriscene.english.contents import BOXES, another, at, content, short, short_content, this_box, two_boxes
from veriscene.english.speaker import NO, SOME, Kind, Quantity, Sentence, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)


def _some(test: str) -> str:
    """Some box meets the condition."""
    return mean.some(BOXES, test, "#")


def _none(test: str) -> str:
    """No box meets the condition."""
    return mean.none(BOXES, test, "#")


def _count(test: str) -> str:
    """The number of boxes that meet the condition."""
    return mean.count(BOXES, test, "#")


def number_of_boxes(say: Speaker) -> Quantity:
    """A quantity of boxes."""
    return say.quantity(high=max(2, say.world.boxes[1] - 1))


@several_boxes
def there_are_boxes(say: Speaker) -> Sentence:
    """ "There is a box with two circles"; "three boxes where everything is blue"."""
    found, box = content(say), Kind(say.box, say.boxes)
    quantity = A if say.chance(0.45) else number_of_boxes(say)
    boxes = f"{quantity.of(box)} {those_with(say, found, plural=quantity.plural)}"
    words = {"are": "are" if quantity.plural else "is", "see": SEE, "found": boxes, "boxes": say.boxes, "box": say.box}
    texts = [*_TABLES["there_are"].wordings]
    if quantity.test == SOME:
        texts += _TABLES["there_is"].wordings
        words["one"] = those_with(say, found, plural=False)
    return Sentence(say.rng.choice(texts).format(**words), quantity.holds(mean.those(BOXES, found.test, "#")))


@several_boxes
def count_boxes(say: Speaker) -> Sentence:
    """ "The number of boxes with a circle is two"; "boxes without squares: at least one"."""
    found, number = content(say, things=True), amount(say, 1, say.world.boxes[1])
    if say.chance(0.15):
        number = Quantity("zero", NO)
    boxes = f"{say.boxes} {those_with(say, found, plural=True)}"
    texts = [f"the number of {boxes} ~is {number.words}"] * 2 + [f"[number of] {boxes}: {number.words}"]
    return Sentence(say.pick(*texts), number.holds(mean.those(BOXES, found.test, "#")))


@several_boxes
def whichever(say: Speaker) -> Sentence:
    """ "Whichever box you look in, it has a circle"; "two circles per box"."""
    found, box = content(say, things=True), say.box
    words = {"box": box, "boxes": say.boxes, "things": found.things, "there": found.there, "has": HAS, "have": HAVE}
    return Sentence(_TABLES["whichever"].say(say, **words), mean.every(BOXES, found.test, "#"))


@several_boxes
def all_of_it(say: Speaker) -> Sentence | None:
    """ "The left box is all blue"; "no box is entirely yellow"; "one of the shelves is empty"."""
    where = say.which() if say.chance(0.4) else say.quantified()
    be = "are" if where.plural else "is"
    if say.world.items[0] == 0 and say.chance(0.5):  # boxes can be empty
        text, test = say.pick(("(empty|completely empty)", "not exist({})"), ("not empty", "exist({})"))
        return Sentence(f"{where.subject} ~{be} {text}", where.bind(test.format(where.items)))
    options = [each for each in say.world.attributes if each.kind == "categorical" and not each.is_noun]
    if not options:
        return None
    attribute = say.rng.choice(options)
    choice = say.rng.choice(attribute.choices)
    test = where.bind(mean.every(where.items, say.has(attribute, choice)))
    return Sentence(f"{where.subject} ~{be} (all|entirely|completely) {say.rng.choice(choice.words)}", test)


# ---------------------------------------------------------------- boxes with something that have something else


@several_boxes
def boxes_with_have(say: Speaker) -> Sentence | None:
    """ "Two of the boxes with a circle also have a square"."""
    premise, conclusion = short_content(say), short_content(say)
    if premise.test == conclusion.test:
        return None
    box, boxes, n = say.box, say.boxes, say.boxes_number(2)
    one, many = those_with(say, premise, plural=False), those_with(say, premise, plural=True)
    also = "" if conclusion.is_negative else "(also |)"
    has, have = f"{also}~{HAS} {conclusion.things}", f"{also}~{HAVE} {conclusion.things}"
    yes, no = mean.both(premise.test, conclusion.test), mean.both(premise.test, mean.negation(conclusion.test))
    only = mean.both(mean.negation(premise.test), conclusion.test)
    text, meaning = say.weighted(
        (3, (f"(every|each|any) {box} {one} {has}", _none(no))),
        (2, (f"all [the] {boxes} {many} {have}", _none(no))),
        (2, (f"(if|when|whenever) a {box} (has|contains) {premise.things}, [then] it {has}", _none(no))),
        (2, (f"no {box} {one} ~{HAS} {conclusion.things}", _none(yes))),
        (2, (f"(at least one|some) {box} {one} {has}", _some(yes))),
        (1, (f"one of the {boxes} {many} {has}", _some(yes))),
        (1, (f"not every {box} {one} {has}", _some(no))),
        (1, (f"none of the {boxes} {many} ~{HAVE} {conclusion.things}", _none(yes))),
        (1, (f"[exactly] {say.number(n)} of the {boxes} {many} {have}", f"{_count(yes)} == {n}")),
        (1, (f"only {boxes} {many} ~{HAVE} {conclusion.things}", _none(only))),
        (1.5, (f"(the|the only) {box} {one} {has}", mean.both(f"{_count(premise.test)} == 1", _some(yes)))),
    )
    return Sentence(text, meaning)


# ---------------------------------------------------------------- how items are distributed


@several_boxes
def distribution(say: Speaker) -> Sentence:
    """ "A circle and a square share a box"; "all boxes have the same number of circles"; "circles are in two boxes"."""
    row = _TABLES["distributions"].draw(say)
    text, (first, second) = say.rng.choice(row.wordings), two_kinds(say)
    if "_y" not in row.columns[0]:
        first = free_kind(say, generic=0.15)
    quantity = number_of_boxes(say)
    if quantity.test in (SOME, NO):
        quantity = Quantity("(only|just|exactly) one {}", "{} == 1", plural=False)
    x, y, counted = f"exist({first.among('#')})", f"exist({second.among('#')})", f"count({first.among('#')})"
    outer = f"b{2 * counted.count('lambda') + 1}"
    another = _some(f"# != {outer} and {counted} == {counted.replace('#', outer)}")
    more, sign, than = say.pick(*[("more", ">", "than")] * 2, ("fewer", "<", "than"), ("as many", "==", "as"))
    meaning = row.columns[0].format(
        sign=sign,
        with_x=_count(x),
        without_x=_count(f"not {x}"),
        with_y=_count(y),
        x_with_y=_some(mean.both(x, y)),
        x_without_y=_some(mean.both(x, f"not {y}")),
        two_in_one=_some(f"{counted} >= 2"),
        same_numbers=f"all_same_attribute({BOXES}, {mean.bind(counted, '#')})",
        two_alike=f"exist(filter_obj({BOXES}, lambda {outer}: {another}))",
        so_many=quantity.test.format(_count(x)),
    )
    words = slots(say, first, second) | {"more": more, "than": than, "number": quantity.of(Kind(say.box, say.boxes))}
    return Sentence(text.format(**words, occur="(occur|appear|are found|can be found|show up|exist|are)"), meaning)


# ---------------------------------------------------------------- particular boxes


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


# ---------------------------------------------------------------- boxes compared


@several_boxes
def compare(say: Speaker) -> Sentence:
    """ "The left box has more circles than the right one"; "the right tower has twice as many blocks"."""
    (first, second), kind = two_boxes(say), free_kind(say, generic=0.25)
    row = _TABLES["comparisons"].draw(say)
    a, b = (f"count({kind.among(each.box)})" for each in (first, second))
    if say.chance(0.12) and say.world.boxes[0] > 2:
        rest = f"(the (other|remaining) {say.number(say.world.boxes[0] - 1)}|all the other|the other) {say.boxes}"
        rest = f"(the other {say.number(say.world.boxes[0] - 1)}|the others|{rest}) (combined|together|put together)"
        second = replace(second, subject=rest, where=f"in {rest}")
        b = f"count({kind.among(mean.ALL_ITEMS, f'@.box != {first.box}')})"
    n = say.small(1, 4)
    slots = {"here": first.subject, "there": second.subject, "in_here": first.where, "in_there": second.where}
    slots |= {"has": HAS, "xs": kind.plural, "m": say.number(n)}
    slots |= {"xn": kind.plural, "are": "are"} if n > 1 else {"xn": kind.singular, "are": "is"}
    return Sentence(say.rng.choice(row.wordings).format(**slots), row.columns[0].format(a=a, b=b, n=n))


@several_boxes
def compare_kinds(say: Speaker) -> Sentence:
    """ "The left box has more circles than the right one has squares"."""
    (first, second), (x, y) = two_boxes(say), two_kinds(say)
    a, b = f"count({x.among(first.box)})", f"count({y.among(second.box)})"
    words, sign, than = say.pick(
        ("more", ">", "than"), ("more", ">", "than"), ("fewer", "<", "than"), ("as many", "==", "as")
    )
    texts = [
        f"{first.subject} ~has {words} {x.plural} {than} {second.subject} has {y.plural}",
        f"there ~are {words} {x.plural} {first.where} {than} [there are] {y.plural} {second.where}",
    ]
    return Sentence(say.pick(*texts), f"{a} {sign} {b}")


_MORE = {"most": "most", "more": "more", "fewer": "fewer", "many": "many", "biggest": "(largest|greatest|highest)"}
_FEWER = {"most": "(fewest|fewest|least)", "more": "(fewer|fewer|less)", "fewer": "more", "many": "few"}


@several_boxes
def most(say: Speaker) -> Sentence:
    """ "The left box has the most circles"; "the box with the fewest items is the middle one"."""
    where, kind, is_most = this_box(say), free_kind(say, generic=0.25), say.chance(0.6)
    words = slots(say, kind) | (_MORE if is_most else _FEWER | {"biggest": "(smallest|lowest)"})
    words |= {"here": where.subject, "in_here": where.where, "one": short(say, where)}
    words["rest"] = f"(any other|any other {say.box}|the others|any of the others|the other {say.boxes})"
    if not kind.condition:
        words["full"] = "(fullest|most crowded)" if is_most else "emptiest"
    text = say.rng.choice([each for each in _TABLES["most"].wordings if "full" in words or "{full}" not in each])
    counted = f"count({kind.among('#')})"
    test = another(where.box, f"{counted} {'>=' if is_most else '<='} {at(counted, where.box)}")
    return Sentence(text.format(**words), mean.none(BOXES, test, "#"))


@several_boxes
def fullest_has(say: Speaker) -> Sentence:
    """ "The box with the most items has no circle": every box of which none has more."""
    kind, found = free_kind(say, generic=0.5, modified=0), content(say, things=True)
    is_most = say.chance(0.6)
    words = "most" if is_most else "(fewest|fewest|least)"
    counted = f"count({kind.among('#')})"
    best = at(counted, f"{'max' if is_most else 'min'}({BOXES}, key={mean.bind(counted, '#')})")
    meaning = mean.none(BOXES, mean.both(f"{counted} == {best}", mean.negation(found.test)), "#")
    subject = f"the {say.box} (with|that has|containing) the {words} {kind.plural}"
    if not kind.condition and is_most and say.chance(0.3):
        subject = f"the fullest {say.box}"
    texts = [f"{subject} ~{HAS} {found.things}"] * 3 + [f"in {subject}, {found.there}"]
    texts += [f"{found.there} in {subject}"] * found.is_simple
    return Sentence(say.pick(*texts), meaning)


RULES = (
    *((4.0, there_are_boxes), (0.7, count_boxes), (0.6, whichever), (0.6, all_of_it)),
    *((1.8, boxes_with_have), (5.9, distribution)),
    *((1.5, only_this), (4.0, particular), (1.5, listing), (0.7, others_have)),
    *((3.0, compare), (0.5, compare_kinds), (2.0, most), (0.6, fullest_has)),
)
