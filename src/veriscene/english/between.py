"""Rules that compare boxes by how much they contain: more, as many, twice as many, the most."""

from __future__ import annotations

from dataclasses import replace

from veriscene.english import meaning as mean
from veriscene.english.clauses import HAS, free_kind, several_boxes, slots, two_kinds
from veriscene.english.contents import content
from veriscene.english.domains import BOXES, another, at, short, this_box, two_boxes
from veriscene.english.speaker import Sentence, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)


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


RULES = ((3.0, compare), (0.5, compare_kinds), (2.0, most), (0.6, fullest_has))
