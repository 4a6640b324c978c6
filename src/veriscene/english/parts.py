"""Rules that are rows of a table: a meaning and its wordings, whose parts are drawn where they are first named.

Wordings name words, and meanings what these stand for, as program text:

    {x} {X} {Xs}              a kind of item: "a circle", "circle", "circles"; {y}, {Y} and {Ys} are another kind
    {n} {N}                   a number, in words and in a meaning; {m} and {M} another one
    {exist x} {count x}       whether there are such items, and how many; {set x} is the set of them
    {exist x here}            … in a place; without one, in the domain that the rule is about
    {exist x not}             whether there are items of the domain that are not of the kind
    some(…) every(…) none(…)  some box, every box, no box meets a condition, in which # is the box
    number(…) each(…)         the number of boxes that meet it; a function of a box
    pair(…)                   some box has another one, $, so that both meet it
    steps(…) next(…)          all boxes, or one, meet it with the next one on their right, $
    before(…)                 some box meets it with one anywhere to its right

A rule can add parts of its own. A wording with a part that cannot be drawn is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import TypeVar

from veriscene.english import meaning as mean
from veriscene.english.clauses import EACH_BOX, HAS, HAVE, SEE, Content, free_kind, two_kinds
from veriscene.english.meaning import Unfit
from veriscene.english.speaker import Domain, Kind, Sentence, Speaker
from veriscene.english.tables import Row, Table, worded

_BOXES = mean.ALL_BOXES
_OPERATOR = re.compile(r"\b(some|every|none|number|each|pair|many|steps|next|before)\(")
_SLOT = re.compile(r"\{(\w+)\}")


_Draw = TypeVar("_Draw", bound=Callable[..., None])
_NAMES: dict[Callable[..., None], list[str]] = {}  # of the parts that a method draws


def draws(names: str) -> Callable[[_Draw], _Draw]:
    """Marks a method of Parts that draws the parts of these names."""

    def marked(method: _Draw) -> _Draw:
        _NAMES[method] = names.split()
        return method

    return marked


@cache
def _methods(parts: type) -> dict[str, Callable[..., None]]:
    """The methods of a class that draw parts, by the names of these."""
    methods = [method for each in reversed(parts.__mro__) for method in vars(each).values() if callable(method)]
    return {name: method for method in methods for name in _NAMES.get(method, ())}


class Parts(dict[str, str]):
    """Holds the parts of one row, which are drawn where they are first used."""

    modified, generic = 0.12, 0.2  # how often the noun is a longer one or "item"
    has_two_kinds = False  # whether there are always two; otherwise, where the meaning names y

    def __init__(self, say: Speaker, row: Row, where: Domain = EACH_BOX, at: str = "{at}") -> None:
        super().__init__(box=say.box, boxes=say.boxes, item=say.item, items=say.items, has=HAS, have=HAVE, see=SEE)
        self |= {"at": at, **row.words}
        self.say, self.where, self.meaning = say, where, row.columns[0] if row.columns else ""
        self.kinds: dict[str, Kind] = {}
        self.drawn: set[Callable[..., None]] = set()

    def __missing__(self, name: str) -> str:
        if " " in name:
            return self.meant(*name.split())
        self.draw(name)
        if name not in self:  # it cannot be said of what was drawn
            raise KeyError(name)
        return self[name]

    def draw(self, name: str) -> None:
        """Draws a part, and those that are drawn with it, unless they have been drawn."""
        draw = _methods(type(self)).get(name)
        if draw is not None and draw not in self.drawn:
            draw(self)
            self.drawn.add(draw)

    def names(self, *parts: str) -> bool:
        """Returns whether the meaning names one of the parts."""
        return any(re.search(rf"\{{([^}}]* )?{part}\b", self.meaning) for part in parts)

    # ------------------------------------------------------------ what is drawn

    @draws("x X Xs y Y Ys")
    def draw_kinds(self) -> None:
        self.add_kinds(*(two_kinds(self.say) if self.has_two_kinds or self.names("y") else [self.one_kind()]))

    def kind(self, name: str) -> Kind:
        if name not in self.kinds:
            self.draw("x")
        return self.kinds[name]

    def one_kind(self) -> Kind:
        """Draws a kind where no other one is told; any item only where items are counted."""
        return free_kind(self.say, modified=self.modified, generic=0.0 if self.names("exist") else self.generic)

    def add_kinds(self, *kinds: Kind) -> None:
        for name, kind in zip("xyw", kinds, strict=False):
            self.kinds[name] = kind
            self |= {name: kind.a, name.upper(): kind.singular, f"{name.upper()}s": kind.plural}

    @draws("Xn Yn")
    def draw_agreeing(self) -> None:
        ending = "" if self["N"] == "1" else "s"
        self["Xn"] = self[f"X{ending}"]
        if "Y" in self:
            self["Yn"] = self[f"Y{ending}"]

    @draws("n N are")
    def draw_number(self) -> None:
        self.add_number("n", self.say.small(1, 4))
        self["are"] = "is" if self["N"] == "1" else "are"

    @draws("m M")
    def draw_other_number(self) -> None:
        self.add_number("m", self.say.small(2, 4))

    def add_number(self, name: str, number: int) -> None:
        self |= {name: self.say.number(number), name.upper(): str(number)}

    def is_plural(self, name: str) -> bool:
        """Returns whether "there are" introduces things that begin with a part."""
        return name in ("Xs", "Ys", "items") or (name in ("n", "Xn") and self["N"] != "1")

    def is_negative(self) -> bool:
        """Returns whether what is there could be denied in two ways where "every" follows."""
        return self.meaning.startswith("not ") and not self.names("not")

    # ------------------------------------------------------------ meanings

    def meant(self, what: str, kind: str, place: str = "") -> str:
        """Returns the program text of a part of a meaning, as "count x here"; "exist x not" is about the others."""
        if place == "not":
            among = mean.those(self.where.items, mean.negation(self.kind(kind).condition))
        else:
            among = self.kind(kind).among(self.items_in(place))
        return among if what == "set" else f"{what}({among})"

    def items_in(self, place: str) -> str:
        """Returns the program text of the items in a place that a meaning names; without a name, of the domain."""
        return {"": self.where.items, "scene": mean.ALL_ITEMS}.get(place, place)

    def bound(self, meaning: str) -> str:
        """Returns a meaning in which what is said of boxes is written out."""
        while found := _OPERATOR.search(meaning):
            depth, end = 1, found.end()
            while depth:
                depth += {"(": 1, ")": -1}.get(meaning[end], 0)
                end += 1
            condition = self.bound(meaning[found.end() : end - 1])
            meaning = f"{meaning[: found.start()]}{self.said_of_boxes(found[1], condition)}{meaning[end:]}"
        return meaning

    def said_of_boxes(self, operator: str, condition: str) -> str:
        if operator == "each":
            return mean.bind(condition, "#")
        if operator == "pair":
            another = mean.some(_BOXES, mean.both("# != $", condition), "#")
            return mean.some(_BOXES, another.replace("$", "#"), "#")
        options = {"some": mean.some, "every": mean.every, "none": mean.none, "number": mean.count}
        return options[operator](_BOXES, condition, sign="#")

    # ------------------------------------------------------------ sentences

    def worded(self, wordings: Sequence[str]) -> str:
        """Draws one of the wordings, with the number of `{Xn}`; those with parts that cannot be drawn are left out."""
        return self.chosen(wordings)[1]

    def chosen(self, wordings: Sequence[str]) -> tuple[str, str]:
        """Draws one of the wordings, as it is in the table and with its words."""
        return worded(self.say, wordings, self)

    def test(self) -> str:
        return self.bound(self.meaning.format_map(self)).replace("not not ", "")


def content_of(parts: Parts, row: Row) -> Content:
    """Returns what a row says of a domain: its wordings are things that are there, and those after "+" are clauses."""
    wording = things = clause = ""
    with suppress(Unfit):
        wording, things = parts.chosen(row.wordings)
    is_free = "{so_many}" not in wording  # otherwise the meaning has a quantity that no clause tells
    if is_free and (not things or parts.say.chance(0.4)):
        with suppress(Unfit):
            clause = parts.worded(row.clauses)
    if not things and not clause:
        raise Unfit
    slot, is_one = _SLOT.search(wording), wording.startswith(("a ", "an ", "the same", "nothing"))
    plural = slot is not None and parts.is_plural(slot[1]) and not is_one
    return Content(parts.test(), things, plural, clause, parts.is_negative())


def contents_of(
    tables: Mapping[str, Table], parts: Callable[[Speaker, Row, Domain], Parts], **weights: float
) -> tuple[tuple[float, Callable[[Speaker, Domain], Content | None]], ...]:
    """Returns the rules that say rows of some tables of a domain, with their weights."""

    def rule(table: Table, say: Speaker, where: Domain) -> Content | None:
        row = table.draw(say)
        try:
            found = parts(say, row, where)
            if where.box:
                found.pop("box")  # "in one box in the left box"
            return content_of(found, row)
        except Unfit:
            return None

    return tuple((weight, partial(rule, tables[name])) for name, weight in weights.items())


def rules_of(
    tables: Mapping[str, Table], parts: Callable[[Speaker, Row], Parts], **weights: float
) -> tuple[tuple[float, Callable[[Speaker], Sentence | None]], ...]:
    """Returns the rules that draw rows of some tables, with their weights."""

    def rule(table: Table, say: Speaker) -> Sentence | None:
        row = table.draw(say)
        try:
            found = parts(say, row)
            return Sentence(found.worded(row.wordings), found.where.bind(found.test()))
        except Unfit:
            return None

    return tuple((weight, partial(rule, tables[name])) for name, weight in weights.items())
