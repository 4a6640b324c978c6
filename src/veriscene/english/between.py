"""Rules that compare boxes by how much they contain: more, as many, twice as many, the most."""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.contents import HAS, box_kind, content, several_boxes, two_kinds
from veriscene.english.speaker import Domain, Sentence, Speaker
from veriscene.english.which import BOXES, another, at, short, this_box, two_boxes


@several_boxes
def compare(say: Speaker) -> Sentence:
    """ "The left box has more circles than the right one"; "the right tower has twice as many blocks"."""
    (first, second), kind = two_boxes(say), box_kind(say, generic=0.25)
    here, there, in_here, in_there, xs = first.subject, second.subject, first.where, second.where, kind.plural
    a, b = (f"count({kind.among(each.box)})" for each in (first, second))
    n = say.small(1, 4)
    noun, times = (xs if n > 1 else kind.singular), say.number(n)
    how = say.weighted(
        (4, "more"), (2, "fewer"), (3, "same"), (1, "at least"), (1, "no more"), (1, "difference"), (1, "twice"),
        (0.5, "unequal"), (0.7, "sum"),
    )  # fmt: skip
    if how == "same":
        texts = [
            f"{here} ~has (as many|just as many|exactly as many) {xs} as {there}",
            f"{here} ~has the same number of {xs} as {there}",
            f"{here} and {there} ~have (the same number of|equally many|an equal number of|equal numbers of) {xs}",
            f"there ~are as many {xs} {in_here} as {in_there}",
            f"the number of {xs} ~is the same {in_here} and {in_there}",
            f"there ~are (the same number of|equally many) {xs} {in_here} and {in_there}",
            f"{here} ~matches {there} in number of {xs}",
            f"same number of {xs} {in_here} and {in_there}",
            f"neither {here} nor {there} ~has more {xs} than the other",
        ]  # fmt: skip
        return Sentence(say.pick(*texts), f"{a} == {b}")
    if how == "unequal":
        text = f"{here} and {there} ~(have different numbers of|do not have the same number of) {xs}"
        return Sentence(text, f"{a} != {b}")
    if how == "sum":
        test, words = say.pick(
            ("==", times), ("==", f"exactly {times}"), (">=", f"at least {times}"), ("<=", f"at most {times}")
        )
        both, be = f"{here} and {there}", "are" if n > 1 else "is"
        texts = [
            f"there ~{be} {words} {noun} in {both} (together|combined)",
            f"(together|combined), {both} ~have {words} {noun}",
        ]
        return Sentence(say.pick(*texts), f"{a} + {b} {test} {n}")
    if how in ("difference", "twice"):
        words, meaning = say.pick(
            (f"{times} more {noun}", f"{a} == {b} + {n}"), (f"exactly {times} more {noun}", f"{a} == {b} + {n}"),
            (f"at least {times} more {noun}", f"{a} >= {b} + {n}"), (f"{times} fewer {noun}", f"{b} == {a} + {n}"),
        )  # fmt: skip
        than = "than"
        if how == "twice":
            words, meaning, than = f"(twice|exactly twice|two times) as many {xs}", f"{a} == {b} + {b}", "as"
            words, meaning = say.pick((words, meaning), (words, meaning), (f"half as many {xs}", f"{b} == {a} + {a}"))
        be = "are" if noun == xs or how == "twice" else "is"
        texts = [f"{here} ~{HAS} {words} {than} {there}"] * 3 + [f"there ~{be} {words} {in_here} {than} {in_there}"]
        return Sentence(say.pick(*texts), meaning)
    if how in ("at least", "no more"):
        words, sign = ("at least as many", ">=") if how == "at least" else ("no more", "<=")
        than = "as" if how == "at least" else "than"
        return Sentence(f"{here} ~{HAS} {words} {xs} {than} {there}", f"{a} {sign} {b}")
    if how == "fewer":
        here, there, in_here, in_there, a, b = there, here, in_there, in_here, b, a
    # From here on, there are more in `here`; if it was said last, it is the one that "than" follows.
    texts = [
        f"{here} ~{HAS} (more|more|a (greater|larger) number of) {xs} than {there}",
        f"{here} ~has more {xs} than {there} (does|has|)",
        f"there ~are more {xs} {in_here} than {in_there}", f"[the] {xs} ~are more numerous {in_here} than {in_there}",
        f"compared (to|with) {there}, {here} ~{HAS} more {xs}", f"the {xs} {in_here} ~outnumber those {in_there}",
        f"the number of {xs} ~is (higher|greater|larger|bigger) {in_here} than {in_there}",
        f"more {xs} {in_here} than {in_there}",
        f"(I|you|we) ~(can see|see|can find|count) more {xs} {in_here} than {in_there}",
        f"{here} ~(beats|surpasses) {there} in number of {xs}",
    ]  # fmt: skip
    if how == "fewer":
        texts = [
            f"{there} ~{HAS} (fewer|fewer|less|a smaller number of) {xs} than {here}",
            f"{there} does not have as many {xs} as {here}",
            f"there ~are (fewer|less) {xs} {in_there} than {in_here}",
            f"there ~are not as many {xs} {in_there} as {in_here}",
            f"compared (to|with) {here}, {there} ~{HAS} fewer {xs}", f"{there} ~{HAS} not as many {xs} as {here}",
        ]  # fmt: skip
    return Sentence(say.pick(*texts), f"{a} > {b}")


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


@several_boxes
def most(say: Speaker) -> Sentence:
    """ "The left box has the most circles"; "the box with the fewest items is the middle one"."""
    where, kind = this_box(say), box_kind(say, generic=0.25)
    that, one, box, boxes, xs = where.subject, short(say, where), say.box, say.boxes, kind.plural
    is_most = say.chance(0.6)
    most, more, fewer, big = ("most", "more", "fewer", "(largest|greatest|highest|biggest)")
    if not is_most:
        most, more, fewer, big = ("(fewest|fewest|least)", "(fewer|fewer|less)", "more", "(smallest|lowest)")
    rest = f"(any other {box}|any other|the others|all the others|any of the others|the other {boxes})"
    texts = [
        f"{that} ~{HAS} the {most} {xs}", f"{that} ~{HAS} the {most} {xs}", f"{that} ~{HAS} {more} {xs} than {rest}",
        f"there ~are {more} {xs} {where.where} than in {rest}", f"the {box} with the {most} {xs} ~is {one}",
        f"the {most} {xs} ~are {where.where}",
        f"{that} ~is the (one|{box}) with the {most} {xs}",
        f"no other {box} ~has as {'many' if is_most else 'few'} {xs} as {one}",
        f"(every other {box} ~has|all the other {boxes} ~have|all other {boxes} ~have) {fewer} {xs} than {one}",
        f"the number of {xs} ~is {big} {where.where}", f"{that} ~has the {big} number of {xs}", f"{most} {xs}: {one}",
        f"(you|we|I) ~(can find|can see|see|find) the {most} {xs} {where.where}", f"{box} with the {most} {xs}: {one}",
    ]  # fmt: skip
    if not kind.condition:
        texts += [f"{that} ~is the (fullest|most crowded)"] if is_most else [f"{that} ~is the emptiest"]
    counted = f"count({kind.among('#')})"
    sign = ">=" if is_most else "<="
    test = another(where.box, f"{counted} {sign} {at(counted, where.box)}")
    return Sentence(say.pick(*texts), mean.none(BOXES, test, "#"))


@several_boxes
def fullest_has(say: Speaker) -> Sentence:
    """ "The box with the most items has no circle": every box of which none has more."""
    kind, found = box_kind(say, generic=0.5, modified=0), content(say, things=True)
    is_most = say.chance(0.6)
    words = "most" if is_most else "(fewest|fewest|least)"
    counted = f"count({kind.among('#')})"
    best = at(counted, f"{'max' if is_most else 'min'}({BOXES}, key={mean.bind(counted, '#')})")
    meaning = mean.none(BOXES, mean.both(f"{counted} == {best}", mean.negation(found.test)), "#")
    subject = f"the {say.box} (with|that has|containing) the {words} {kind.plural}"
    if not kind.condition and is_most and say.chance(0.3):
        subject = f"the fullest {say.box}"
    where = Domain("#", f"in {subject}", subject, box="#")
    texts = [f"{subject} ~{HAS} {found.things}"] * 3
    texts += [f"{where.front}there ~{found.be} {found.things}", f"there ~{found.be} {found.things} in {subject}"] * (
        "," not in found.things
    )
    return Sentence(say.pick(*texts), meaning)


RULES = ((3.0, compare), (0.5, compare_kinds), (2.0, most), (0.6, fullest_has))
