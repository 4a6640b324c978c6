"""Rules about the highest, lowest, leftmost and rightmost items of a box."""

from __future__ import annotations

from dataclasses import dataclass

from veriscene.english import meaning as mean
from veriscene.english.predicates import Predicate, being
from veriscene.english.speaker import Domain, Sentence, Speaker


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


def extreme(say: Speaker) -> Sentence | None:
    """ "The highest thing in the left box is blue"; "in every box a circle is further left than everything else"."""
    if say.is_tower:  # their tops and bases have rules of their own
        return None
    if say.world.boxes[1] == 1:
        where = Domain(mean.ALL_ITEMS, f"in the {say.box}", f"the {say.box}", box="all_boxes[0]")
    else:
        where = say.which() if say.chance(0.6) else say.quantified(simple=True)
    test = say.rng.choice(list(_ENDS))
    kind, found = say.kind(plain=True, generic=0), say.property()
    is_kind = say.chance(0.55)
    what, condition = (kind.a, kind.condition) if is_kind else (found.singular, found.condition)
    texts = _general_ends(say, where, _ENDS[test], what, is_kind)
    if not where.is_quantified:
        texts += _ends_of_box(say, where, _ENDS[test], what, is_kind)
    elif is_kind and where.subject.startswith(("a ", "some ", "at least one ", "one of")):
        texts += _ends_of_some_box(say, where.subject, _ENDS[test], what)
    meaning = f"All({mean.those(where.items, f'{test}(@)')}, {mean.bind(condition)})"
    return Sentence(say.pick(*texts), where.bind(meaning))


def _general_ends(say: Speaker, where: Domain, end: End, what: str, is_kind: bool) -> list[str]:
    """ "In every box the highest thing is blue"."""
    box, at, thing = where.subject, where.where, f"({say.item}|thing|one)"
    others = f"(everything else|all the other {say.items}|all the rest|all the others)"
    has, its = ("have", "their") if where.plural else ("has", "its")
    having = [f"{box} ~{has} {what} as {its} {end.highest} {thing}"] * is_kind
    if where.is_negative:  # "in no box, the highest thing is …" would be hard to understand
        return [f"{at} is the {end.highest} {thing} {what}", *having]
    highest = f"(the {end.highest} {thing}|the {thing} [that is] {end.at_end})"
    texts = [f"{at}, {highest} ~is {what}"] * 2 + [f"{at}, of all the {say.items}, the {end.highest} one ~is {what}"]
    if is_kind:
        texts += [
            *having,
            f"{at}, {what} ~is the {end.highest} {thing}",
            f"{at}, {what} ~(is|sits|lies) {end.higher} {others}",
            f"{at}, {what} ~occupies the {end.highest} position",
            f"{at}, it is {what} that is {end.furthest}",
        ]
    return texts


def _ends_of_box(say: Speaker, where: Domain, end: End, what: str, is_kind: bool) -> list[str]:
    """ "The highest thing of the left box is blue"; "highest in the left box: a circle"."""
    box, at, thing = where.subject, where.where, f"({say.item}|thing|one)"
    texts = [
        f"the {end.highest} {thing} (in|of) {box} ~is {what}",
        f"the {thing} {end.at_end} (in|of) {box} ~is {what}",
    ] * 3
    texts += [
        f"{end.highest} in {box}: {what}",
        f"{box}: {end.highest} {thing} {what}",
        f"{end.highest} {thing} {at}: {what}",
        f"what is {end.furthest} in {box} ~is {what}",
        f"whatever is {end.furthest} in {box}, it's {what}",
        f"look at the {end.highest} {thing} {at}: it's {what}",
        f"{box} has a {end.highest} {thing} that is {what}",
        f"if you take the {end.highest} {thing} in {box}, it's {what}",
    ]
    if is_kind:
        texts += [
            f"{what} ~is the {end.highest} {thing} (in|of) {box}",
            f"{what} ~(is|sits|lies) {end.higher} everything else in {box}",
            f"nothing {at} ~is {end.beyond} {what}",
            f"the {end.highest} (place|position) in {box} ~is taken by {what}",
        ]
    return texts


def _ends_of_some_box(say: Speaker, box: str, end: End, what: str) -> list[str]:
    """ "The highest thing in a box is a circle"; "there is a box whose highest thing is a circle"."""
    thing = f"({say.item}|thing|one)"
    return [
        f"the {end.highest} {thing} (in|of) {box} ~is {what}",
        f"{what} ~is the {end.highest} {thing} (in|of) {box}",
        f"{what} ~(is|sits|lies) {end.higher} everything else in (its {say.box}|{box})",
        f"there ~is a {say.box} (where|in which) {what} is the {end.highest} {thing}",
        f"there ~is a {say.box} (whose {end.highest} {thing}|where the {end.highest} {thing}) is {what}",
        f"some {say.box} with {what} as its {end.highest} {thing}",
        f"{end.highest} in some {say.box}: {what}",
    ]


RULES = ((2.0, extreme),)
