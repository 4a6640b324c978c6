"""Rules about boxes that have something, and about how items are distributed over the boxes.

Statements about particular boxes are in which.py, what can be said of a box in contents.py.
"""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.clauses import HAS, HAVE, SEE, A, amount, free_kind, several_boxes, those_with, two_kinds
from veriscene.english.contents import content, short_content
from veriscene.english.domains import BOXES
from veriscene.english.speaker import NO, SOME, Kind, Quantity, Sentence, Speaker


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


@several_boxes
def outnumber(say: Speaker) -> Sentence:
    """ "More boxes have a circle than don't"; "as many boxes have circles as squares"."""
    first, second = two_kinds(say)
    a, b = (f"exist({kind.among('#')})" for kind in (first, second))
    boxes = say.boxes
    if say.chance(0.5):
        texts = [
            f"more {boxes} (have|contain) {first.a} than (don't|do not)",
            f"there ~are more {boxes} with {first.a} than without [one]",
            f"[the] {boxes} with {first.a} ~outnumber (those|the ones|the {boxes}) without [one]",
            f"(fewer|less) than half of the {boxes} ~(lack|are without) {first.a}",
            f"{first.plural} ~(occur|appear) in most [of the] {boxes}",
        ]
        return Sentence(say.pick(*texts), f"{_count(a)} > {_count(mean.negation(a))}")
    words, sign, than = say.pick(*[("more", ">", "than")] * 2, ("fewer", "<", "than"), ("as many", "==", "as"))
    texts = [
        f"{words} {boxes} ~(have|contain) {first.plural} {than} {second.plural}",
        f"there ~are {words} {boxes} with {first.a} {than} [{boxes}] with {second.a}",
        f"{first.plural} ~(occur|appear|are found) in {words} {boxes} {than} {second.plural}",
    ]
    return Sentence(say.pick(*texts), f"{_count(a)} {sign} {_count(b)}")


# ---------------------------------------------------------------- boxes with something that have something else


@several_boxes
def wherever(say: Speaker) -> Sentence:
    """ "Every box that has a circle also has a square"; "no box has a circle without a square"."""
    box, boxes, (first, second) = say.box, say.boxes, two_kinds(say)
    a, b, xs, ys = first.a, second.a, first.plural, second.plural
    texts = [
        f"(every|each|any) {box} (with|that has|containing|that contains) {a} (also |)~{HAS} {b}[ too| as well]",
        f"(wherever|whenever) there is {a}, there ~is [also] {b} in the same {box}",
        f"(if|when|whenever) (there is {a} in a {box}|a {box} has {a}), (it|that {box}) [also] has {b} [too]",
        f"no {box} ~(has|contains) {a} without [also] (having|containing) {b}",
        f"no {box} with {a} ~is without {b}",
        f"there ~is no {box} with {a} (but|and) (no {ys}|without {b})",
        f"{xs} only ~(occur|appear) in {boxes} (with|that also have) {b}",
        f"{a} always comes with {b} in its {box}",
        f"{xs} are always accompanied by {b} in (the same|their) {box}",
        f"{a} is never in a {box} without {b}",
    ]
    test = f"exist({first.among('#')}) and not exist({second.among('#')})"
    return Sentence(say.pick(*texts), _none(test))


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


@several_boxes
def together(say: Speaker) -> Sentence:
    """ "A circle and a square are in the same box"; "circles and squares never share a box"."""
    first, second = two_kinds(say)
    box, boxes, a, b, xs, ys, one = say.box, say.boxes, first.a, second.a, first.plural, second.plural, first.singular
    share = mean.both(f"exist({first.among('#')})", f"exist({second.among('#')})")
    some = (
        f"{a} and {b} ~(are|can be found|appear) [together] in (the same|one|one and the same) {box}",
        f"{a} ~shares a {box} with {b}",
        f"{a} and {b} ~share a {box}",
        f"there ~is {a} in the same {box} as {b}",
        f"{a} ~is in the same {box} as {b}",
    )
    never = (
        f"{xs} and {ys} never ~(share a|appear in the same|occur in the same) {box}",
        f"{a} and {b} ~are never [together] in the same {box}",
        f"no {one} ~(shares a {box} with|is in the same {box} as) {b}",
        f"[all] {xs} and {ys} ~are [always] in (different|separate) {boxes}",
        f"if a {box} has {a}, it (has no {ys}|doesn't have {b})",
        f"(no {box}|none of the {boxes}) ~has both {a} and {b}",
        f"every {box} with {a} ~(lacks|is free of) {ys}",
        f"{a} and {b} together in (one|the same) {box}: never",
    )
    no_two = (
        f"no two {xs} ~(are in|share|can be found in) the same {box}",
        f"no {box} ~{HAS} (more than one {one}|two or more {xs})",
        f"(every|each) {box} ~{HAS} at most one {one}",
        f"[all] the {xs} ~are all in different {boxes}",
        f"there ~is no more than one {one} (per|in each) {box}",
    )
    texts, meaning = say.weighted(
        (3, (some, _some(share))), (3, (never, _none(share))), (1.5, (no_two, _none(f"count({first.among('#')}) >= 2")))
    )
    return Sentence(say.rng.choice(texts), meaning)


# ---------------------------------------------------------------- how items are distributed


@several_boxes
def numbers(say: Speaker) -> Sentence:
    """ "All boxes have the same number of circles"; "no two boxes have equally many circles"."""
    kind = free_kind(say, generic=0.3)
    box, boxes, kinds = say.box, say.boxes, kind.plural
    counted = f"count({kind.among('#')})"
    outer = f"b{2 * counted.count('lambda') + 1}"
    alike = _some(f"# != {outer} and {counted} == {counted.replace('#', outer)}")
    pair = f"exist(filter_obj({BOXES}, lambda {outer}: {alike}))"
    same = (
        f"(all|all the|all of the) {boxes} ~{HAVE} (the same number of|equally many|an equal number of) {kinds}",
        f"(all|all the) {boxes} ~have the same amount of {kinds}",
        f"(every|each) {box} ~{HAS} (the same number of|equally many) {kinds}",
        f"no {box} ~{HAS} more {kinds} than (another|any other)",
        f"the number of {kinds} ~is (the same|equal) in (all|every one of the|all of the) {boxes}",
        f"the {boxes} ~have equal numbers of {kinds}",
        f"the {kinds} ~are (evenly|equally) (distributed|divided|spread) (among|over|across) the {boxes}",
        f"there ~are equally many {kinds} in (each|every) {box}",
        f"no two {boxes} ~(differ in the number of {kinds}|have different numbers of {kinds})",
        f"(each|every) {box} ~has (as many|just as many|exactly as many) {kinds} as (the others|any other)",
        f"same number of {kinds} in (all {boxes}|every {box}|each {box})",
        f"the {boxes} ~do not differ in [their] number of {kinds}",
    )
    two_same = (
        f"(at least two|two or more|at least two of the) {boxes} ~have the same number of {kinds}",
        f"there ~are at least two {boxes} with (the same number of|equally many) {kinds}",
    )
    different = (
        f"no two {boxes} ~{HAVE} (the same number of|equally many|an equal number of) {kinds}",
        f"(every|each) {box} ~{HAS} a different number of {kinds}",
        f"the number of {kinds} ~is different in (every|each) {box}",
        f"(the {boxes} all|all {boxes}) {HAVE} different numbers of {kinds}",
        f"no {box} ~has as many {kinds} as another",
        f"(all|all the) {boxes} ~differ in (the|their) number of {kinds}",
        f"there ~are no two {boxes} with the same number of {kinds}",
        f"different number of {kinds} in (every|each) {box}",
    )
    texts, meaning = say.weighted(
        (6, (same, f"all_same_attribute({BOXES}, {mean.bind(counted, '#')})")),
        (1, (two_same, pair)),
        (3, (different, f"not {pair}")),
    )
    return Sentence(say.rng.choice(texts), meaning)


@several_boxes
def spread(say: Speaker) -> Sentence:
    """ "All circles are in the same box"; "circles occur in at least two boxes"."""
    kind, quantity = free_kind(say, generic=0.03), number_of_boxes(say)
    if quantity.test in (SOME, NO):
        quantity = Quantity("(only|just|exactly) one {}", "{} == 1", plural=False)
    box, boxes, kinds, where = say.box, say.boxes, kind.plural, quantity.of(Kind(say.box, say.boxes))
    places = _count(f"exist({kind.among('#')})")
    occur = "(occur|appear|are found|can be found|show up|exist|are)"
    one = (
        f"(all|all the|all of the) {kinds} ~are [together] in (the same|one|a single|one and the same) {box}",
        f"(every|each) {kind.singular} ~is in the same {box}",
        f"the {kinds} ~are all [together] in (one|the same|a single) {box}",
        f"(one|a single) {box} ~(has|contains|holds) (all [of] the {kinds}|every {kind.singular})",
        f"no two {kinds} ~are in different {boxes}",
        f"the {kinds} ~are (confined|limited) to (a single|one) {box}",
        f"(all|all the) {kinds} ~share (a|one|a single) {box}",
        f"{kinds}: all in (one|the same) {box}",
    )
    several = (
        f"{kinds} ~{occur} in (several|multiple|at least two|two or more) {boxes}",
        f"there ~are {kinds} in (more than one {box}|several {boxes}|at least two {boxes}|two or more {boxes})",
        f"more than one {box} ~{HAS} {kinds}",
        f"the {kinds} ~are (spread|distributed) over (several {boxes}|more than one {box})",
        f"(the {kinds} ~are not all|not all {kinds} ~are) in (the same|one|a single) {box}",
    )
    so_many = (
        f"{kinds} ~{occur} in {where}",
        f"there ~is {kind.a} in {where}",
        f"{SEE} {kinds} in {where}",
        f"{kinds} in {where}",
        f"in {where}, there ~is {kind.a}",
    )
    texts, meaning = say.weighted(
        (4, (one, f"{places} <= 1")), (2.4, (several, f"{places} >= 2")), (3.6, (so_many, quantity.test.format(places)))
    )
    return Sentence(say.rng.choice(texts), meaning)


RULES = (
    (4.0, there_are_boxes),
    (0.7, count_boxes),
    (0.6, whichever),
    (0.6, all_of_it),
    (0.7, outnumber),
    (1.0, wherever),
    (1.8, boxes_with_have),
    (1.5, together),
    (1.2, numbers),
    (1.5, spread),
)
