"""Rules about the highest, lowest, leftmost and rightmost items of a box."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, fill, tell
from veriscene.english.predicates import Predicate, being
from veriscene.english.speaker import Domain, Sentence, Speaker
from veriscene.english.tables import wordings


@dataclass(frozen=True)
class End:
    """Words for the item at an end of its box."""

    highest: str  # before a noun
    furthest: str  # after "is"
    at_end: str  # after a noun
    higher: str  # before "everything else"
    beyond: str  # after "nothing is"


_ENDS = {
    "is_top": End(
        "(highest|topmost|uppermost|top)",
        "(highest|highest up|furthest up)",
        "(highest up|furthest up|at the very top|at the top)",
        "(higher than|higher up than|above)",
        "(higher than|higher up than)",
    ),
    "is_bottom": End(
        "(lowest|bottommost|bottom|lowermost)",
        "(lowest|lowest down|furthest down)",
        "(lowest down|furthest down|at the very bottom|at the bottom)",
        "(lower than|lower down than|below)",
        "(lower than|lower down than)",
    ),
    "is_leftmost": End(
        "(leftmost|leftmost|left-most)",
        "(leftmost|furthest left|furthest to the left)",
        "(furthest left|furthest to the left|on the far left|most to the left)",
        "(further left than|further to the left than|left of|to the left of)",
        "(further left than|further to the left than)",
    ),
    "is_rightmost": End(
        "(rightmost|rightmost|right-most)",
        "(rightmost|furthest right|furthest to the right)",
        "(furthest right|furthest to the right|on the far right|most to the right)",
        "(further right than|further to the right than|right of|to the right of)",
        "(further right than|further to the right than)",
    ),
}


def end(say: Speaker, where: Domain) -> Predicate:
    """ "Is furthest left in its box"; "is at the top of its tower"."""
    test = say.rng.choice([each for each in _ENDS if not (say.is_tower and each.endswith("most"))])
    words = f"at the [very] {'top' if test == 'is_top' else 'bottom'}" if say.is_tower else _ENDS[test].furthest
    place = "" if where.box or say.world.boxes[1] == 1 else f"{'of' if say.is_tower else 'in'} <its> {say.box}"
    return being(f"{words} {place}", f"{test}(@)", verbs=False, that="{}")


# Wordings with {a} are only said of kinds, "a circle", those with {of} not of boxes with a quantifier.
_EXTREMES = wordings("""
    the {highest} {thing} {at} ~is {p} / the {highest} {thing} {at} ~is {p}
    the {thing} [that is] {at_end} {at} ~is {p}
    of all the {things} {at}, the {highest} one ~is {p} / {a} ~is the {highest} {thing} {at}
    {a} ~(is|sits|lies) {higher} (everything else|all the other {things}|all the rest|all the others) {at}
    it is {a} that is {furthest} {at} / nothing {at} ~is {beyond} {a}
    {a} {at} ~occupies the {highest} position / the {highest} {thing} {of} ~is {p} / the {thing} {at_end} {of} ~is {p}
    {highest} {thing} {at}: {p} / what is {furthest} {at} ~is {p} / whatever is {furthest} {at}, it's {p}
    look at the {highest} {thing} {at}: it's {p} / if you take the {highest} {thing} {at}, it's {p}
    the {highest} (place|position) {of} ~is taken by {a} / {a} ~is the {highest} {thing} {of}
""")
_HAVING = wordings("{box} ~{has} a {highest} {thing} that is {p} / {box} ~{has} {a} as {its} {highest} {thing}")


def extreme(say: Speaker) -> Sentence | None:
    """ "The highest thing in the left box is blue"; "in every box a circle is further left than everything else"."""
    if say.is_tower:  # their tops and bases have rules of their own
        return None
    where = Domain(mean.ALL_ITEMS, f"in the {say.box}", f"the {say.box}", box="all_boxes[0]")
    if say.world.boxes[1] > 1:
        where = say.which() if say.chance(0.6) else say.quantified(simple=True)
    test, end = say.rng.choice(list(_ENDS.items()))
    kind, found = say.kind(plain=True, generic=0), say.property()
    is_kind = say.chance(0.55)
    words = {"p": kind.a if is_kind else found.singular, "thing": f"({say.item}|thing|one)", "things": say.items}
    words |= {"a": kind.a} if is_kind else {}
    words |= {} if where.is_quantified else {"of": f"of {where.subject}"}
    clause = fill(say, _EXTREMES, kind, **asdict(end), **words)
    condition = kind.condition if is_kind else found.condition
    meaning = where.bind(f"All({mean.those(where.items, f'{test}(@)')}, {mean.bind(condition)})")
    if where.is_negative or (is_kind and say.chance(0.15)):
        has, its = ("have", "their") if where.plural else ("has", "its")
        text = _HAVING[is_kind].format(box=where.subject, has=has, its=its, **asdict(end), **words)
        return Sentence(text, meaning)
    told = tell(say, where, Content("", clause=clause))
    return Sentence(told, meaning) if told else None


RULES = ((2.0, extreme),)
