"""Rules about how many items there are, in a scene or in boxes: counts, comparisons of counts, shares, attributes.

A rule draws the parts of a statement and returns a Sentence, or None where the world does not allow it.
"""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.speaker import Sentence, Speaker


def how_many(say: Speaker) -> Sentence:
    """ "There are at least two blue circles in the left box"; "every box has a circle"."""
    where = say.domain(quantified=0.4)
    kind, quantity = say.kind(), say.quantity()
    things, meaning = quantity.of(kind), where.bind(quantity.holds(kind.among(where.items)))
    be = "are" if quantity.plural else "is"
    has = "(have|contain|hold|show|have got)" if where.plural else "(has|contains|holds|shows|has got|includes)"
    texts = [f"{where.subject} ~{has} {things}"]
    if where.is_quantified:
        # A negative quantity after the place could be read with the other scope.
        texts += [f"{where.where}, there ~{be} {things}", f"{where.where} there ~{be} {things}"]
    else:
        texts += [
            f"there ~{be} {things} {where.where}",
            f"there ~{be} {things} {where.where}",
            f"{where.front}there ~{be} {things}",
            f"(I|you|we) ~(can see|see|count) {things} {where.where}",
            f"{things} ~(can be seen|can be found) {where.where or 'here'}",
            f"{things} ~{'appear' if quantity.plural else 'appears'} {where.where or 'in the picture'}",
        ]
    return Sentence(say.pick(*texts), meaning)


def share(say: Speaker) -> Sentence:
    """ "Most of the circles are blue"; "none of the items in the left box is a square"."""
    where = say.domain(quantified=0.2)
    kind = say.kind()
    found = say.property(avoid=kind.condition)
    kinds, items = kind.plural, where.items
    those, others = kind.among(items, found.condition), kind.among(items, mean.negation(found.condition))
    value = say.small(2, 4)
    said = say.number(value)
    words, meaning, plural = say.weighted(
        (3, (f"(all|all the|all of the) {kinds}", f"not exist({others})", True)),
        (2, (f"(every|each|every single) {kind.singular}", f"not exist({others})", False)),
        (1.5, (f"(none of the|no) {kinds}", f"not exist({those})", True)),
        (1, (f"(not all|not all of the|not all the) {kinds}", f"exist({others})", True)),
        (1, (f"not every {kind.singular}", f"exist({others})", False)),
        (1.5, (f"(most|most of the|the majority of the|more than half of the) {kinds}", f"count({those}) > count({others})", True)),
        (1, (f"(half|half of the|exactly half of the|half the) {kinds}", f"count({those}) == count({others})", True)),
        (1, (f"(all but one of the|all but one|all except one of the) {kinds}", f"count({others}) == 1", True)),
        (1, (f"(at least one of the|one or more of the|some of the) {kinds}", f"exist({those})", True)),
        (1.5, (f"(|exactly |only |just ){said} of the {kinds}", f"count({those}) == {value}", True)),
        (1, (f"at least {said} of the {kinds}", f"count({those}) >= {value}", True)),
    )
    verb = f"~are {found.plural}" if plural else f"~is {found.singular}"
    place = f" {where.where}" if where.where and not where.is_quantified else ""
    if where.is_quantified:
        return Sentence(f"{where.where}, {words} {verb}", where.bind(meaning))
    return Sentence(say.pick(f"{words}{place} {verb}", f"{where.front}{words} {verb}"), meaning)


RULES = ((6.0, how_many), (5.0, share))
