"""What can be said about how many items there are: counts, comparisons of counts, several kinds, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.clauses import A, Content, fill
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, contents_of, draws
from veriscene.english.speaker import NO, SOME, Domain, Kind, Quantity, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)


def how_many(say: Speaker, where: Domain, high: int = 6) -> Content:
    """ "At least two blue circles"; "three circles at most"."""
    kind, quantity = clauses.free_kind(say, modified=0.18), say.quantity(negative=not where.is_negative, high=high)
    if not kind.condition and say.world.items[0] > 0 and quantity.test in (SOME, NO):
        kind = clauses.free_kind(say, generic=0)  # boxes are never empty
    if high > 3 and len(kind.plural.split()) <= 3 and say.chance(0.1):
        limit, row = say.small(2, high), _TABLES["trailing"].draw(say)
        words = f"{say.number(limit)} {{}} {say.expand(row.say(say))}"
        quantity = Quantity(words, f"{{}} {row.columns[0]} {limit}")
    test = quantity.holds(kind.among(where.items))
    return Content(test, quantity.of(kind), quantity.plural, is_negative=quantity.test == NO)


def absence(say: Speaker, where: Domain) -> Content:
    """ "No circles"; "the left box lacks squares"; "I don't see any square in the middle box"."""
    kind = clauses.free_kind(say, generic=0)
    clause = fill(say, _TABLES["absent"].wordings, kind, things=clauses.general(say).plural)
    test = mean.none(where.items, kind.condition)
    return Content(test, f"no {kind.plural}", True, clause, is_negative=True, lacked=kind)


def number_of(say: Speaker, where: Domain) -> Content:
    """ "The number of circles in the left box is at least three"; "circles: 2"; "the circles add up to four"."""
    kind, amount = clauses.free_kind(say, modified=0.2), clauses.amount(say, 1, 7)
    counted, sign = kind.among(where.items), amount.test.split()[-2]
    if say.chance(0.12):
        row = _TABLES["special_numbers"].draw(say)
        return Content(row.columns[0].format(counted), clause=fill(say, row.wordings, kind))
    if say.chance(0.4):  # words for a sign and a number
        row, limit, gap = _TABLES["limits"].draw(say), say.small(2, 7), say.pick(1, 1, 2, 3)
        numbers = {"n": say.number(limit), "gap": say.number(gap), "goal": say.number(limit + gap)}
        clause = fill(say, row.wordings, kind, **numbers)
        return Content(f"count({counted}) {row.columns[0]} {limit}", clause=clause)
    texts = [*_TABLES["numbers"].wordings, *_TABLES["exact_numbers"].wordings * (sign == "==")]
    return Content(amount.test.format(f"count({counted})"), clause=fill(say, texts, kind, n=amount.words))


def total(say: Speaker, where: Domain) -> Content:
    """ "There are nine items in total"; "all in all, more than five things"; "five circles and squares altogether"."""
    amount, kind = clauses.amount(say, 3, 12), Kind(say.item, say.items)
    if say.chance(0.3) and len(values := clauses.value_kinds(say, 2)) == 2:
        kind = clauses.joined(values, "and")
    clause = fill(say, _TABLES["totals"].wordings, kind, n=amount.words)
    return Content(amount.holds(kind.among(where.items)), clause=clause)


# ---------------------------------------------------------------- two kinds


class _TwoKinds(Parts):
    """Two kinds, of which the second is sometimes the sum of two; it is {Zs} as the last word. {w} and {Ws} are a third
    one. {so_many} is a quantity of the first. {whenever} is only said of a particular box: "whenever there is a circle"
    is about every box."""

    quantity: Quantity | None = None

    @draws("x X Xs y Y Ys Zs w W Ws")
    def draw_kinds(self) -> None:
        if self.kinds:  # a second kind of several words, for which a wording has no place
            return
        if self.names("w"):
            if len(three := clauses.value_kinds(self.say, 3)) < 3:
                raise Unfit
            self.add_kinds(*three)
            return
        say, (first, second, *others) = self.say, clauses.alternatives(self.say)
        if others and self.names("count") and say.chance(0.5):
            second = clauses.joined([second, *others], "and", " (combined|together|put together|taken together)")
        elif second.plural.endswith(f" {say.items}") and first.plural.endswith(f" {say.items}") and say.chance(0.25):
            second = replace(second, plural=f"{second.plural.removesuffix(say.items)}ones")
        self.add_kinds(first, second)
        if " and " in second.plural:  # "circles and squares combined" can only be the last words
            del self["Ys"], self["y"], self["Y"]
        self["Zs"] = second.plural

    @draws("whenever")
    def draw_whenever(self) -> None:
        if self.where.box or self.say.world.boxes[1] == 1:
            self["whenever"] = "(whenever|any time|every time)"

    @draws("so_many")
    def draw_quantity(self) -> None:
        self.quantity = clauses.small_amount(self.say)
        self["so_many"] = self.quantity.of(self.kind("x"))

    def meant(self, what: str, name: str, place: str = "") -> str:
        if self.quantity is not None and (what, name) == ("exist", "x"):
            return self.quantity.holds(self.kind("x").among(self.where.items))
        return super().meant(what, name, place)

    def is_plural(self, name: str) -> bool:
        return self.quantity.plural if name == "so_many" and self.quantity else super().is_plural(name)


class _TwoValues(Parts):
    """A kind x, and two values of an attribute, {ps} and {qs}; {count p} are those of the kind that have the first."""

    @draws("x X Xs ps qs")
    def draw_kinds(self) -> None:
        kind = clauses.free_kind(self.say)
        values = clauses.value_kinds(self.say, 2, avoid=kind.condition, bare=True)
        if len(values) < 2:
            raise Unfit
        self.add_kinds(kind)
        for name, value in zip("pq", values, strict=True):
            self.kinds[name] = replace(value, condition=mean.both(kind.condition, value.condition))
            self[f"{name}s"] = value.plural


# ---------------------------------------------------------------- several kinds


def listed(say: Speaker, where: Domain) -> Content:
    """ "Two circles, a square and at least one triangle"; "one circle, two squares and nothing else"."""
    is_all = say.chance(0.3)
    kinds = clauses.value_kinds(say, say.pick(1, 2, 2, 2, 3)) if is_all else clauses.alternatives(say)
    if not kinds:
        raise Unfit
    quantities = [clauses.small_amount(say) for _ in kinds]
    if is_all:
        numbers = [say.small(1, 3) for _ in kinds]
        quantities = [Quantity(f"{say.number(n)} {{}}", f"{{}} == {n}", n > 1) for n in numbers]
    parts = [quantity.of(kind) for quantity, kind in zip(quantities, kinds, strict=True)]
    tests = [quantity.holds(kind.among(where.items)) for quantity, kind in zip(quantities, kinds, strict=True)]
    things = f"{', '.join(parts[:-1])} {_TABLES['and'].say(say)} {parts[-1]}" if len(parts) > 1 else parts[0]
    if is_all:
        things += f" {_TABLES['nothing_else'].say(say, items=say.items)}"
        tests.append(f"count({where.items}) == {sum(numbers)}")
    elif all(each == A for each in quantities) and len(parts) == 2 and say.chance(0.35):
        things = _TABLES["both"].say(say, x=parts[0], y=parts[1])
    return Content(mean.both(*tests), things, quantities[0].plural)


def nothing_but(say: Speaker, where: Domain) -> Content:
    """ "Only circles"; "two squares and nothing else"; "no yellow, just black"."""
    values, kind = clauses.value_kinds(say, 2, bare=True), clauses.free_kind(say, modified=0.05, generic=0)
    if len(values) == 2 and say.chance(0.2):  # one value of an attribute excludes the others
        no, yes = (each.plural for each in values)
        return Content(mean.every(where.items, values[1].condition), f"no {no}, (just|only) {yes}", True)
    if say.chance(0.2):
        quantity = say.quantity(negative=False)
        test = mean.both(quantity.holds(kind.among(where.items)), mean.every(where.items, kind.condition))
        return Content(test, f"{quantity.of(kind)} (and nothing else|and no other {say.items})", quantity.plural)
    if say.chance(0.25) and len(values) == 2:
        kind = clauses.joined(clauses.value_kinds(say, 2), "and")
    row = _TABLES["only"].draw(say)
    words = {"Xs": kind.plural, "items": say.items, "at": "{at}"}
    clause = _TABLES["only_clauses"].say(say, **words) if say.chance(0.4) else ""
    return Content(mean.every(where.items, kind.condition), row.say(say, **words), row.columns[0] == "many", clause)


CONTENTS = (
    (9.0, how_many),
    (2.2, absence),
    (3.0, number_of),
    (1.0, total),
    *contents_of(_TABLES, _TwoKinds, comparisons=4.5, differences=1.0, combinations=4.5),
    *contents_of(_TABLES, _TwoValues, more_are=0.7),
    (2.5, listed),
    (3.0, nothing_but),
)
