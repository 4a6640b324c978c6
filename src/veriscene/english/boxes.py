"""Rules about boxes that have something, and about how items are distributed over the boxes.

Statements about particular boxes are in which.py, what can be said of a box in contents.py.
"""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.clauses import HAS, HAVE, SEE, A, amount, free_kind, several_boxes, slots, those_with, two_kinds
from veriscene.english.contents import content, short_content
from veriscene.english.domains import BOXES
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
    texts = [f"there ~{'are' if quantity.plural else 'is'} {boxes}"] * 5 + [f"{SEE} {boxes}", boxes]
    if quantity.test == SOME:
        one = those_with(say, found, plural=False)
        texts += [
            f"(among|of) the {say.boxes}, there ~is [at least] one {one}",
            f"somewhere there ~is a {say.box} {one}",
            f"at least one of the {say.boxes} ~is a {say.box} {one}",
            f"the (picture|image|scene) ~(has|includes|shows|contains) a {say.box} {one}",
        ]
    return Sentence(say.pick(*texts), quantity.holds(mean.those(BOXES, found.test, "#")))


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
    things = found.things
    texts = [
        f"(whichever|whatever|no matter which) {box} you (look in|pick|look at|choose), it ~has {things}",
        f"look in any {box} and you('ll| will) (find|see) {things}",
        f"(any|any given|each and every) {box} ~{HAS} {things}",
        f"{things} per {box}",
        f"(all|all of) the {say.boxes}, without exception, ~{HAVE} {things}",
        f"every (one of the {say.boxes}|{box}): {things}",
        f"for every {box}, {found.there}",
    ]
    return Sentence(say.pick(*texts), mean.every(BOXES, found.test, "#"))


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
    """ "Two of the boxes with a circle also have a square"; "the box with the most …" is in between.py."""
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


RULES = (
    (4.0, there_are_boxes),
    (0.7, count_boxes),
    (0.6, whichever),
    (0.6, all_of_it),
    (1.8, boxes_with_have),
    (5.9, distribution),
)
