"""Statements of several clauses about the same boxes, in which the second one says "it", "there", "so does", or leaves
out what the first one has named."""

from __future__ import annotations

import re
from dataclasses import replace

from veriscene.english import meaning as mean
from veriscene.english.clauses import EACH_BOX, Content, tell, those_with
from veriscene.english.contents import BOXES, at, content, short, this_box, two_boxes
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, draws, rules_of
from veriscene.english.pattern import is_negative
from veriscene.english.speaker import Domain, Sentence, Speaker
from veriscene.english.tables import Row, tables

_TABLES = tables(__name__)


_UNCLEAR = re.compile(r"\b(or|if|unless|should|whether|either|otherwise|that's)\b|[:;?]")  # next to another clause
MAX_WORDS = 24


def _two_contents(say: Speaker, where: Domain) -> tuple[Content, Content] | None:
    """Two contents of a domain that can be said one after the other."""
    first, second = (
        replace(each, things=say.expand(each.things), clause=say.expand(each.clause))
        for each in (content(say, where), content(say, where))
    )
    text = f"{first.things} {first.clause} {second.things} {second.clause}"
    is_long = len(f"{first.told()} {second.told()}".split()) > MAX_WORDS
    return None if is_long or first.test == second.test or _UNCLEAR.search(text) else (first, second)


def continued(say: Speaker) -> Sentence | None:
    """Says "The left box has a circle, and there are no squares in it"; "in the left box, most circles are blue, and
    two squares are black"; "the left box has a circle and as many squares as triangles"."""
    if say.world.boxes[1] == 1:
        return None
    where = this_box(say)
    if (found := _two_contents(say, where)) is None:
        return None
    first, second = found
    meaning, joint = mean.both(where.bind(first.test), where.bind(second.test)), _TABLES["and"].say(say)
    how = say.weighted((3, "it"), (2, "front"), (2 * bool(first.things and second.things), "has"))
    if how == "has":
        return Sentence(f"{where.subject} ~(has|contains|holds) {_joined(first, joint, second)}", meaning)
    if how == "front":
        return Sentence(f"{where.front}{first.told()}{joint} {second.told()}", meaning)
    told = tell(say, where, first), tell(say, _the_same(say, where, "it"), second)
    return Sentence(f"{told[0]}{joint} {told[1]}", meaning) if all(told) else None


def _joined(first: Content, joint: str, second: Content) -> str:
    """What is there, without another verb: "a circle, but no square"."""
    return f"{first.things} {joint.replace('^', '')} {second.things}".replace(" ,", ",")


def _the_same(say: Speaker, where: Domain, *names: str) -> Domain:
    """The box that the first clause is about."""
    name = say.pick(*names)
    place = "there" if name == "it" and say.chance(0.4) else f"in {name}"
    return replace(where, where=place, subject=name, box="", plural=False, is_quantified=False)


def one_such_box(say: Speaker) -> Sentence | None:
    """Says "There is a box with two circles, and it has no square"; "exactly one box has a circle, and in that box
    there is a square"."""
    if say.world.boxes[1] == 1:
        return None
    if (found := _two_contents(say, EACH_BOX)) is None or found[0].is_negative:
        return None
    first, second = found
    row = _TABLES["such"].draw(say)
    second_clause = tell(say, _the_same(say, EACH_BOX, "it", "it", f"that {say.box}", f"the same {say.box}"), second)
    if second_clause is None:
        return None
    joint = _TABLES["and"].say(say)
    words = {"with_it": those_with(say, first, plural=False), "box": say.box, "second": second_clause, "and": joint}
    if second.things:
        words["also_has"] = f"~(has|contains) {second.things}" if second.is_negative else f"also ~has {second.things}"
        if first.things:
            words["both"] = _joined(first, joint, second)
    text = row.say(say, **words)
    both = mean.both(mean.closed(first.test), mean.closed(second.test))
    meaning = mean.some(BOXES, both, "#")
    if row.columns[0] == "only":
        meaning = mean.both(f"{mean.count(BOXES, first.test, '#')} == 1", meaning)
    return Sentence(text, meaning)


class _Shared(Parts):
    """{A} says a content of a particular box; {there} is another one, {one} the same in short. {test here}, {test
    there}: that a box has the content."""

    def __init__(self, say: Speaker, row: Row) -> None:
        super().__init__(say, row)
        if say.world.boxes[1] == 1:
            raise Unfit
        self.here, self.there = two_boxes(say)
        self.found = content(say)

    def meant(self, what: str, name: str, place: str = "") -> str:
        if what == "test":
            return mean.closed(at(self.found.test, {"here": self.here, "there": self.there}[name].box))
        return super().meant(what, name, place)

    @draws("A a has here there in_here in_there one things")
    def draw_content(self) -> None:
        told = self.say.expand(tell(self.say, self.here, self.found) or ":")
        if set(":,") & set(told) or "~" not in told or is_negative(told) or len(told.split()) > 14:
            raise Unfit
        self |= {"A": told, "there": self.there.subject, "in_there": self.there.where, "here": self.here.subject}
        self |= {"in_here": self.here.where, "one": short(self.say, self.there)}
        if self.found.things and self.found.is_simple:
            self["things"] = self.found.things


RULES = (
    (4.0, continued),
    (2.0, one_such_box),
    *rules_of(_TABLES, _Shared, shared=2.5),
)
