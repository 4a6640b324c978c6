"""What can be said about how many items there are: counts, comparisons of counts, several kinds, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.clauses import A, Content
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, contents_of, draws
from veriscene.english.speaker import NO, SOME, Domain, Kind, Quantity, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)


def how_many(say: Speaker, where: Domain, high: int = 6) -> Content:
    """Says "At least two blue circles"; "three circles at most"."""
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
    """Says "No circles"; "the left box lacks squares"; "I don't see any square in the middle box"."""
    kind = clauses.free_kind(say, generic=0)
    words = {"X": kind.singular, "Xs": kind.plural, "things": clauses.general(say).plural, "at": "{at}"}
    test, clause = mean.none(where.items, kind.condition), _TABLES["absent"].say(say, **words)
    return Content(test, f"no {kind.plural}", True, clause, is_negative=True, lacked=kind)


class _Numbers(Parts):
    """How many items of a kind there are: {amount}, as {so_many} says, which is {exact}; or a limit {n} and the larger
    number {goal}, with the {gap} between them."""

    modified, generic, low, high = 0.2, 0.12, 1, 7  # the last two: the least and the greatest amount

    @draws("amount exact so_many")
    def draw_amount(self) -> None:
        amount = clauses.amount(self.say, self.low, self.high)
        self |= {"amount": amount.words, "so_many": amount.holds(self.meant("set", "x"))}
        if amount.test.split()[-2] == "==":
            self["exact"] = amount.words

    @draws("n N gap goal")
    def draw_limit(self) -> None:
        limit, gap = self.say.small(2, 7), self.say.pick(1, 1, 2, 3)
        self.add_number("n", limit)
        self |= {"gap": self.say.number(gap), "goal": self.say.number(limit + gap)}


class _Totals(_Numbers):
    """Large numbers of any items, or of two kinds together."""

    low, high = 3, 12

    def one_kind(self) -> Kind:
        if self.say.chance(0.3) and len(values := clauses.value_kinds(self.say, 2)) == 2:
            return clauses.joined(values, "and")
        return Kind(self.say.item, self.say.items)


class _NothingElse(Parts):
    """All there is: {Xs}, one kind or two, or {so_many} of them; or {Ys}, another value than {Xs}."""

    @draws("x X Xs y Y Ys")
    def draw_kinds(self) -> None:
        has_two = self.names("y")
        values = clauses.value_kinds(self.say, 2, bare=has_two)
        if has_two and len(values) < 2:
            raise Unfit
        is_joined = len(values) == 2 and self.say.chance(0.25)
        one = clauses.joined(values, "and") if is_joined else clauses.free_kind(self.say, modified=0.05, generic=0)
        self.add_kinds(*(values if has_two else [one]))

    @draws("so_many there")
    def draw_quantity(self) -> None:
        self.quantity = self.say.quantity(negative=False)
        self |= {"so_many": self.quantity.of(self.kind("x")), "there": self.quantity.holds(self.meant("set", "x"))}

    def is_plural(self, name: str) -> bool:
        return self.quantity.plural if name == "so_many" else super().is_plural(name)


# ---------------------------------------------------------------- two kinds


class _TwoKinds(Parts):
    """Two kinds, of which the second is sometimes the sum of two; it is {Zs} as the last word. {w} and {Ws} are a third
    one. {so_many} is a quantity of the first. {whenever} is only said of a particular box: "whenever there is a circle"
    is about every box."""

    quantity: Quantity | None = None

    @draws("x X Xs y Y Ys Zs w W Ws")
    def draw_kinds(self) -> None:
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
    """Says "Two circles, a square and at least one triangle"; "one circle, two squares and nothing else"."""
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


CONTENTS = (
    (9.0, how_many),
    (2.2, absence),
    *contents_of(_TABLES, _Numbers, numbers=1.6, limits=1.05, special_numbers=0.35),
    *contents_of(_TABLES, _Totals, totals=1.0),
    *contents_of(_TABLES, _TwoKinds, comparisons=4.5, differences=1.0, combinations=4.5),
    *contents_of(_TABLES, _TwoValues, more_are=0.7),
    (2.5, listed),
    *contents_of(_TABLES, _NothingElse, only=3.0),
)
