"""Rules about boxes with a quantifier, and about how items are distributed over the boxes.

Statements about particular boxes are in which.py, what can be said of a box in contents.py.
"""

from __future__ import annotations

from collections.abc import Callable

from veriscene.english import meaning as mean
from veriscene.english.contents import (
    HAS,
    HAVE,
    Content,
    box_kind,
    content,
    general,
    several_boxes,
    short_content,
    tell,
    two_kinds,
)
from veriscene.english.speaker import NO, SOME, Domain, Kind, Quantity, Sentence, Speaker

BOXES = mean.ALL_BOXES


def number_of_boxes(say: Speaker) -> tuple[Quantity, Kind]:
    """A quantity of boxes."""
    return say.quantity(high=max(2, say.world.boxes[1] - 1)), Kind(say.box, say.boxes)


def quantified(say: Speaker) -> Domain:
    """Boxes with any quantifier; more than Speaker.quantified has."""
    if say.chance(0.75):
        return say.quantified()
    low, total = say.world.boxes
    boxes = say.boxes

    def but_one(test: str) -> str:
        return f"{mean.count(BOXES, mean.negation(test), '#')} == 1"

    def domain(words: str, plural: bool, bind: Callable[[str], str]) -> Domain:
        return Domain("#", f"(in|in|inside) {words}", words, plural, bind, is_quantified=True, box="#")

    how = say.weighted((3, "quantity"), (1, "but one"), (1.5 * (low == total > 2), "of all"))
    if how == "but one":
        words = (
            f"(all but one of the {boxes}|all {boxes} but one|all the {boxes} except one|all of the {boxes} but one)"
        )
        return domain(words, True, but_one)
    if how == "of all":
        n = say.rng.randint(1, total - 1)
        words = f"(|exactly |only |just ){say.number(n)} (of the|out of the|out of) {say.number(total)} {boxes}"
        if n == 1:
            words = f"(exactly|only|just) {say.number(1)} of the {say.number(total)} {boxes}"
        return domain(words, n > 1, lambda test: f"{mean.count(BOXES, test, '#')} == {n}")
    quantity, box = number_of_boxes(say)
    return domain(quantity.of(box), quantity.plural, lambda test: quantity.holds(mean.those(BOXES, test, "#")))


def those_with(say: Speaker, found: Content, *, plural: bool) -> str:
    """ "With two circles", "that contain two circles", "in which there are two circles"."""
    texts = []
    if found.things:
        texts += [f"with {found.things}"] * 3
        texts += [
            f"(that|which) {'(have|contain|hold)' if plural else '(has|contains|holds)'} {found.things}",
            f"(containing|holding|featuring) {found.things}", f"with {found.things} in {'them' if plural else 'it'}",
        ]  # fmt: skip
    if found.clause or not found.things:
        texts += [f"(where|where|in which) {found.subordinate}"] * 2
    elif say.chance(0.5):
        texts += [f"(where|in which) {found.subordinate}"]
    return say.pick(*texts)


# ---------------------------------------------------------------- boxes that have something


@several_boxes
def boxes_have(say: Speaker) -> Sentence | None:
    """ "Exactly two boxes have a circle but no square"; "in every box, everything is blue"."""
    where, found = quantified(say), content(say)
    if found.is_negative and where.subject.startswith(("no", "not")) and say.chance(0.8):
        return None  # "no box has no circle" is rare
    text = tell(say, where, found)
    return Sentence(text, where.bind(found.test)) if text else None


@several_boxes
def there_are_boxes(say: Speaker) -> Sentence | None:
    """ "There is a box with two circles"; "the number of boxes where everything is blue is two"."""
    found = content(say)
    quantity, box = number_of_boxes(say)
    if say.chance(0.45):
        quantity = Quantity(say.pick("a {}", "a {}", "a {}", "at least one {}", "some {}"), SOME, plural=False)
    boxes, be = (
        f"{quantity.of(box)} {those_with(say, found, plural=quantity.plural)}",
        "are" if quantity.plural else "is",
    )
    texts = [f"there ~{be} {boxes}"] * 5 + [f"(you|we|I) ~(can see|can find|see|have) {boxes}", f"{boxes}"]
    if quantity.test == SOME:
        one = those_with(say, found, plural=False)
        texts += [
            f"(among|of) the {say.boxes}, there ~is [at least] one {one}",
            f"somewhere there ~is a {say.box} {one}", f"at least one of the {say.boxes} ~is a {say.box} {one}",
            f"the (picture|image|scene) ~(has|includes|shows|contains) a {say.box} {one}",
        ]  # fmt: skip
    return Sentence(say.pick(*texts), quantity.holds(mean.those(BOXES, found.test, "#")))


@several_boxes
def count_boxes(say: Speaker) -> Sentence | None:
    """ "The number of boxes with a circle is two"; "boxes without squares: at least one"."""
    found, n = content(say, things=True), say.boxes_number(0)
    boxes = f"{say.boxes} {those_with(say, found, plural=True)}"
    said = say.number(n)
    words, test = say.pick(
        (said, "=="), (said, "=="), (f"exactly {said}", "=="), (f"at least {said}", ">="), (f"more than {said}", ">"),
        (f"{said} or more", ">="), (f"at most {said}", "<="), (f"less than {said}", "<"),
    )  # fmt: skip
    if n == 0:
        words, test = say.pick(("zero", "=="), ("none", "=="), ("at least one", ">"), ("one or more", ">"))
    number = "the number of" if words != "none" else ""
    texts = [f"{number} {boxes} ~is {words}", f"{number} {boxes} ~is {words}"] if number else []
    texts += [f"(number of |){boxes}: {words}"]
    test = f"{mean.count(BOXES, found.test, '#')} {test} {n}"
    if n == 0:
        test = (
            mean.some(BOXES, found.test, "#")
            if "or" in words or "least" in words
            else mean.none(BOXES, found.test, "#")
        )
    return Sentence(say.pick(*texts), test)


@several_boxes
def lacking(say: Speaker) -> Sentence | None:
    """ "No box is without a circle"; "one of the boxes lacks squares"."""
    where, kind = quantified(say), box_kind(say, generic=0)
    lack, free = (
        ("(lack|are without|are missing)", "are free of")
        if where.plural
        else ("(lacks|is without|is missing)", "is free of")
    )
    texts = [f"{where.subject} ~{lack} ({kind.plural}|{kind.a})"] * 2 + [f"{where.subject} ~{free} {kind.plural}"]
    if not where.subject.startswith(("every", "each", "all", "both", "no", "zero", "(all")):
        auxiliary = "(~do not|don't)" if where.plural else "(~does not|doesn't)"
        texts += [f"{where.subject} {auxiliary} (have|contain|hold) (any {kind.plural}|{kind.a})"] * 2
    if where.bind("exist(#)") == mean.some(BOXES, "exist(#)", "#"):
        texts += [
            f"{kind.plural} ~are (missing|absent) from {where.subject}",
            f"there ~is a {say.box} without (any {kind.plural}|{kind.a})",
            f"(not every {say.box} ~has|not all {say.boxes} ~have|the {say.boxes} ~do not all have) {kind.a}",
        ]  # fmt: skip
    return Sentence(say.pick(*texts), where.bind(f"not exist({kind.among('#')})"))


@several_boxes
def whichever(say: Speaker) -> Sentence:
    """ "Whichever box you look in, it has a circle"; "two circles per box"."""
    found, box = content(say, things=True), say.box
    things, there = found.things, found.subordinate if not found.clause else f"(you see|you find) {found.things}"
    texts = [
        f"(whichever|whatever|no matter which) {box} you (look in|pick|look at|choose), (it has {things}|{there})",
        f"look in any {box} and you('ll| will) (find|see) {things}", f"(any|any given) {box} ~{HAS} {things}",
        f"{things} per {box}",
        f"(all|all of) the {say.boxes}, without exception, ~{HAVE} {things}", f"each and every {box} ~{HAS} {things}",
        f"every (one of the {say.boxes}|{box}): {things}", f"for every {box}, {there}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), mean.every(BOXES, found.test, "#"))


@several_boxes
def all_of_it(say: Speaker) -> Sentence | None:
    """ "The left box is all blue"; "no box is entirely yellow"."""
    options = [each for each in say.world.attributes if each.kind == "categorical" and not each.is_noun]
    if not options:
        return None
    attribute = say.rng.choice(options)
    choice = say.rng.choice(attribute.choices)
    where = say.which() if say.chance(0.4) else quantified(say)
    test = where.bind(mean.every(where.items, say.has(attribute, choice)))
    be = "are" if where.plural else "is"
    return Sentence(f"{where.subject} ~{be} (all|entirely|completely) {say.rng.choice(choice.words)}", test)


@several_boxes
def outnumber(say: Speaker) -> Sentence | None:
    """ "More boxes have a circle than don't"; "as many boxes have circles as squares"."""
    first, second = two_kinds(say)
    a, b = (f"exist({kind.among('#')})" for kind in (first, second))
    with_a, with_b = mean.count(BOXES, a, "#"), mean.count(BOXES, b, "#")
    boxes = say.boxes
    if say.chance(0.5):
        texts = [
            f"more {boxes} (have|contain) {first.a} than (don't|do not)",
            f"there ~are more {boxes} with {first.a} than without [one]",
            f"[the] {boxes} with {first.a} ~outnumber (those|the ones|the {boxes}) without [one]",
            f"more than half of the {boxes} ~{HAVE} {first.a}",
            f"(most|most of the|the majority of the) {boxes} ~{HAVE} {first.a}",
            f"(fewer|less) than half of the {boxes} ~(lack|are without) {first.a}",
            f"{first.plural} ~(occur|appear) in most (|of the ){boxes}",
        ]  # fmt: skip
        return Sentence(say.pick(*texts), f"{with_a} > {mean.count(BOXES, mean.negation(a), '#')}")
    words, sign = say.pick(("more", ">"), ("more", ">"), ("fewer", "<"), ("as many", "=="))
    than = "as" if sign == "==" else "than"
    texts = [
        f"{words} {boxes} ~(have|contain) {first.plural} {than} {second.plural}",
        f"there ~are {words} {boxes} with {first.a} {than} [{boxes}] with {second.a}",
        f"{first.plural} ~(occur|appear|are found) in {words} {boxes} {than} {second.plural}",
    ]
    return Sentence(say.pick(*texts), f"{with_a} {sign} {with_b}")


# ---------------------------------------------------------------- boxes with something that have something else


@several_boxes
def wherever(say: Speaker) -> Sentence | None:
    """ "Every box that has a circle also has a square"; "no box has a circle without a square"."""
    box, boxes, (first, second) = say.box, say.boxes, two_kinds(say)
    if say.chance(0.4):  # any contents
        premise, conclusion = short_content(say), short_content(say)
        if premise.test == conclusion.test:
            return None
        also = "" if conclusion.is_negative else "(also |)"
        p, q = premise.things, conclusion.things
        texts = [
            f"(every|each|any) {box} {those_with(say, premise, plural=False)} {also}~{HAS} {q}",
            f"all (the |){boxes} {those_with(say, premise, plural=True)} {also}~{HAVE} {q}",
            f"(if|when|whenever) a {box} (has|contains) {p}, (then |)it {also}(has|contains) {q}",
        ]
        return Sentence(
            say.pick(*texts), mean.none(BOXES, mean.both(premise.test, mean.negation(conclusion.test)), "#")
        )
    tests = [f"exist({kind.among('#')})" for kind in (first, second)]
    a, b, xs, ys = first.a, second.a, first.plural, second.plural
    texts = [
        f"(every|each|any) {box} (with|that has|containing|that contains) {a} (also |)~{HAS} {b}[ too| as well]",
        f"all [the] {boxes} (with|that have|that contain) {a} (also |)~{HAVE} {b}[ as well]",
        f"(wherever|whenever) there is {a}, there ~is [also] {b} in the same {box}",
        f"(if|when|whenever) (there is {a} in a {box}|a {box} has {a}), (it|that {box}) [also] has {b} [too]",
        f"no {box} ~(has|contains) {a} without [also] (having|containing) {b}", f"no {box} ~has {a} without {b}",
        f"there ~is no {box} with {a} (but|and) (no {ys}|without {b})", f"no {box} with {a} ~is without {b}",
        f"{xs} only ~(occur|appear) in {boxes} (with|that also have) {b}", f"{a} always comes with {b} in its {box}",
        f"{xs} are always accompanied by {b} in (the same|their) {box}", f"{a} is never in a {box} without {b}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), mean.none(BOXES, f"{tests[0]} and not {tests[1]}", "#"))


@several_boxes
def boxes_with_have(say: Speaker) -> Sentence | None:
    """ "Two of the boxes with a circle also have a square"; "the box with the most …" is in which.py."""
    premise, conclusion = short_content(say), short_content(say)
    if premise.test == conclusion.test:
        return None
    box, boxes = say.box, say.boxes
    one, many = those_with(say, premise, plural=False), those_with(say, premise, plural=True)
    q, also = conclusion.things, "" if conclusion.is_negative else "(also |)"
    yes, no = mean.both(premise.test, conclusion.test), mean.both(premise.test, mean.negation(conclusion.test))
    n = say.boxes_number(2)
    text, meaning = say.weighted(
        (2, (f"no {box} {one} ~{HAS} {q}", mean.none(BOXES, yes, "#"))),
        (2, (f"(at least one|some) {box} {one} {also}~{HAS} {q}", mean.some(BOXES, yes, "#"))),
        (1, (f"one of the {boxes} {many} {also}~{HAS} {q}", mean.some(BOXES, yes, "#"))),
        (1, (f"not every {box} {one} {also}~{HAS} {q}", mean.some(BOXES, no, "#"))),
        (1, (f"none of the {boxes} {many} ~{HAVE} {q}", mean.none(BOXES, yes, "#"))),
        (1, (f"[exactly] {say.number(n)} of the {boxes} {many} {also}~{HAVE} {q}",
             f"{mean.count(BOXES, yes, '#')} == {n}")),
        (1, (f"only {boxes} {many} ~{HAVE} {q}",
             mean.none(BOXES, mean.both(mean.negation(premise.test), conclusion.test), "#"))),
        (1.5, (f"(the|the only) {box} {one} {also}~{HAS} {q}",
               mean.both(f"{mean.count(BOXES, premise.test, '#')} == 1", mean.some(BOXES, yes, "#")))),
    )  # fmt: skip
    return Sentence(text, meaning)


@several_boxes
def together(say: Speaker) -> Sentence | None:
    """ "A circle and a square are in the same box"; "circles and squares never share a box"."""
    first, second = two_kinds(say)
    box, boxes, a, b, xs, ys = say.box, say.boxes, first.a, second.a, first.plural, second.plural
    share = mean.both(f"exist({first.among('#')})", f"exist({second.among('#')})")
    how = say.weighted((3, "some"), (3, "never"), (1.5, "no two"))
    if how == "some":
        texts = [
            f"{a} and {b} ~(are|can be found|appear) [together] in (the same|one|one and the same) {box}",
            f"{a} ~shares a {box} with {b}",
            f"{a} and {b} ~share a {box}", f"there ~is {a} in the same {box} as {b}",
            f"{a} ~is in the same {box} as {b}",
            f"(at least one|some|one) {box} ~{HAS} both {a} and {b}",
            f"(at least one|some) {box} with {a} also ~has {b}",
        ]  # fmt: skip
        return Sentence(say.pick(*texts), mean.some(BOXES, share, "#"))
    if how == "never":
        texts = [
            f"no {box} ~{HAS} both {a} and {b}",
            f"{xs} and {ys} never ~(share a|appear in the same|occur in the same) {box}",
            f"{a} and {b} ~are never [together] in the same {box}",
            f"no {first.singular} ~(shares a {box} with|is in the same {box} as) {b}",
            f"[all] {xs} and {ys} ~are [always] in (different|separate) {boxes}",
            f"if a {box} has {a}, it (has no {ys}|doesn't have {b})",
            f"there ~is no {box} with [both] {a} and {b}", f"none of the {boxes} ~(has|have) both {a} and {b}",
            f"every {box} with {a} ~(lacks|is free of) {ys}", f"{a} and {b} together in (one|the same) {box}: never",
        ]  # fmt: skip
        return Sentence(say.pick(*texts), mean.none(BOXES, share, "#"))
    texts = [
        f"no two {xs} ~(are in|share|can be found in) the same {box}",
        f"no {box} ~{HAS} (more than one {first.singular}|two or more {xs})",
        f"(every|each) {box} ~{HAS} at most one {first.singular}", f"[all] the {xs} ~are all in different {boxes}",
        f"there ~is no more than one {first.singular} (per|in each) {box}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), mean.none(BOXES, f"count({first.among('#')}) >= 2", "#"))


# ---------------------------------------------------------------- how items are distributed


@several_boxes
def numbers(say: Speaker) -> Sentence | None:
    """ "All boxes have the same number of circles"; "no two boxes have equally many circles"."""
    kind = box_kind(say, generic=0.3)
    box, boxes, kinds = say.box, say.boxes, kind.plural
    counted = f"count({kind.among('#')})"
    if say.chance(0.6):
        texts = [
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
        ]  # fmt: skip
        return Sentence(say.pick(*texts), f"all_same_attribute({BOXES}, {mean.bind(counted, '#')})")
    outer = f"b{2 * counted.count('lambda') + 1}"
    same = mean.some(BOXES, f"# != {outer} and {counted} == {counted.replace('#', outer)}", "#")
    pair = f"exist(filter_obj({BOXES}, lambda {outer}: {same}))"
    if say.chance(0.25):
        texts = [
            f"(at least two {boxes}|two or more {boxes}|at least two of the {boxes}) ~have the same number of {kinds}",
            f"there ~are at least two {boxes} with (the same number of|equally many) {kinds}",
        ]
        return Sentence(say.pick(*texts), pair)
    texts = [
        f"no two {boxes} ~{HAVE} (the same number of|equally many|an equal number of) {kinds}",
        f"(every|each) {box} ~{HAS} a different number of {kinds}",
        f"the number of {kinds} ~is different in (every|each) {box}",
        f"(the {boxes} all|all {boxes}) {HAVE} different numbers of {kinds}",
        f"no {box} ~has as many {kinds} as another", f"(all|all the) {boxes} ~differ in (the|their) number of {kinds}",
        f"there ~are no two {boxes} with the same number of {kinds}",
        f"different number of {kinds} in (every|each) {box}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), f"not {pair}")


@several_boxes
def spread(say: Speaker) -> Sentence | None:
    """ "All circles are in the same box"; "circles occur in at least two boxes"."""
    kind = box_kind(say, generic=0.03)
    box, boxes, kinds, one = say.box, say.boxes, kind.plural, kind.singular
    places = mean.count(BOXES, f"exist({kind.among('#')})", "#")
    if say.chance(0.4):
        texts = [
            f"(all|all the|all of the) {kinds} ~are [together] in (the same|one|a single|one and the same) {box}",
            f"(every|each) {one} ~is in the same {box}",
            f"the {kinds} ~are all [together] in (one|the same|a single) {box}",
            f"(one|a single) {box} ~(has|contains|holds) (all [of] the {kinds}|every {one})",
            f"no two {kinds} ~are in different {boxes}",
            f"the {kinds} ~are (confined|limited) to (a single|one) {box}",
            f"(all|all the) {kinds} ~share (a|one|a single) {box}",
            f"{kinds}: all in (one|the same) {box}",
        ]  # fmt: skip
        return Sentence(say.pick(*texts), f"{places} <= 1")
    occur = "(occur|appear|are found|can be found|show up|exist|are)"
    if say.chance(0.4):
        texts = [
            f"{kinds} ~{occur} in (more than one|more than a single) {box}",
            f"{kinds} ~{occur} in (several|multiple|at least two|two or more) {boxes}",
            f"there ~are {kinds} in (more than one {box}|several {boxes}|at least two {boxes}|two or more {boxes})",
            f"more than one {box} ~{HAS} {kinds}",
            f"the {kinds} ~are (spread|distributed) over (several {boxes}|more than one {box})",
            f"(the {kinds} ~are not all|not all {kinds} ~are) in (the same|one|a single) {box}",
        ]  # fmt: skip
        return Sentence(say.pick(*texts), f"{places} >= 2")
    quantity, number = number_of_boxes(say)
    if quantity.test in (SOME, NO):
        where, n = f"(only|just|exactly) one {box}", "== 1"
        meaning = f"{places} {n}"
    else:
        where, meaning = quantity.of(number), quantity.test.format(places)
    texts = [
        f"{kinds} ~{occur} in {where}", f"there ~is {kind.a} in {where}",
        f"(you|we|I) ~(can find|can see|see) {kinds} in {where}",
        f"{kinds} in {where}", f"in {where}, there ~is {kind.a}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), meaning)


@several_boxes
def filled(say: Speaker) -> Sentence | None:
    """ "One of the boxes is empty"; "every box contains something"; only in worlds where boxes can be empty."""
    if say.world.items[0] > 0:
        return None
    where, item = quantified(say), general(say)
    if say.chance(0.6):
        verb = "are" if where.plural else "is"
        return Sentence(f"{where.subject} ~{verb} empty", where.bind("not exist(#)"))
    has = HAVE if where.plural else HAS
    return Sentence(f"{where.subject} ~{has} (something|at least one {item.singular})", where.bind("exist(#)"))


RULES = (
    *(
        (4.0, boxes_have),
        (4.0, there_are_boxes),
        (0.7, count_boxes),
        (1.2, lacking),
        (0.6, whichever),
        (0.5, all_of_it),
        (0.7, outnumber),
        (1.5, wherever),
    ),
    *((1.0, boxes_with_have), (1.5, together), (1.2, numbers), (1.5, spread), (0.5, filled)),
)
