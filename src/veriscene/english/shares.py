"""What can be said of the items of a kind: all, most or two of them touch a wall, the only circle is blue, and their
values are the same, different, or so many."""

from __future__ import annotations

from collections.abc import Sequence

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.compare import anything
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, contents_of, draws
from veriscene.english.predicates import Predicate, negative
from veriscene.english.speaker import Domain, Kind, Property, Sentence, Speaker
from veriscene.english.tables import Row, tables
from veriscene.world.world_file import plural_of

_TABLES = tables(__name__)


class _Said(Parts):
    """A predicate of the items of a kind; `Predicate.slots` are its words. {those} are the items of which it is true,
    {others} those of which it is not, {all} both. The row's `sort` is that of the subject's quantity. {n} is an amount,
    and {so_many} says that those are so many; {the_share} is a part of all, with its {sign}."""

    modified, generic, high = 0.1, 0.12, 4  # the last one: the largest amount

    def __init__(
        self, say: Speaker, row: Row, where: Domain, kind: Kind | None = None, found: Predicate | None = None
    ) -> None:
        super().__init__(say, row, where)
        self.add_kinds(kind := kind or self.one_kind())
        self.found = found or self.predicate(kind, row.words["sort"])
        self |= self.found.slots(say)
        if self.found.is_alone:  # words for the place would be ambiguous
            self["at"] = ""
        condition = self.found.condition
        self.conditions = {"those": condition, "others": mean.negation(condition), "all": ""}
        self |= {name: kind.among(where.items, each) for name, each in self.conditions.items()}

    def predicate(self, kind: Kind, sort: str) -> Predicate:
        """Anything that can be said of the kind, sometimes denied."""
        if (found := anything(self.say, self.where, kind, sort)) is None:
            raise Unfit
        is_plain = not found.given and not found.condition.startswith("not ") and not found.one.bare.startswith("not ")
        is_denied = sort in ("some", "number") and is_plain and self.say.chance(0.08)
        return negative(self.say, found) if is_denied else found

    def test(self) -> str:
        return mean.both(self.found.given, super().test())

    def is_negative(self) -> bool:
        return False  # "none of the circles" is clear in any place

    @draws("n so_many")
    def draw_amount(self) -> None:
        amount = clauses.amount(self.say, 2, self.high)
        self |= {"n": amount.words, "so_many": amount.holds(self["those"])}

    @draws("m M")
    def draw_other_number(self) -> None:
        self.add_number("m", self.say.small(2, 3))

    @draws("the_share sign times_part times_parts")
    def draw_share(self) -> None:
        """ "At least a third": its words, its sign, and one part of three parts."""
        size, sign = _TABLES["fractions"].draw(self.say), _TABLES["signs"].draw(self.say)
        part, parts = ("" if each == "1" else f" * {each}" for each in size.columns[0].split("/"))
        self |= {"the_share": sign.say(self.say, share=size.say(self.say)), "sign": sign.columns[0]}
        self |= {"times_part": part, "times_parts": parts}


def share_of(say: Speaker, where: Domain, kind: Kind, found: Predicate, high: int) -> Sentence:
    """Says a predicate of any share of a kind; `high` is the largest number."""
    row = _TABLES["shares"].draw(say)
    parts = _Said(say, row, where, kind, found)
    parts.high, parts["at"] = high, where.where
    return Sentence(parts.worded(row.clauses), parts.test())


class _Excepted(_Said):
    """{those_these} and {others_rest} are those with another property, which {ones} have, and others without it."""

    modified, generic = 0.05, 0.4

    @draws("one ones one_a those_these those_rest others_these others_rest")
    def draw_exception(self) -> None:
        kind = self.kind("x")
        told = f"{kind.condition} {self.found.condition}"
        exception = self.say.property(avoid=told)
        if self.found.given or exception.ones is None or f"{exception.condition.partition('(')[0]}(" in told:
            raise Unfit
        self |= {"one": exception.ones.singular, "ones": exception.ones.plural, "one_a": exception.ones.a}
        for name, condition in (("these", exception.condition), ("rest", mean.negation(exception.condition))):
            for of in ("those", "others"):
                self[f"{of}_{name}"] = kind.among(self.where.items, mean.both(condition, self.conditions[of]))


class _Particular(_Said):
    """A kind of which there are {m}, and what is said of all or of {n} of them."""

    @draws("n N m M")
    def draw_numbers(self) -> None:
        size = self.say.small(3 if self.names("N") else 2, 6)
        self.add_number("m", size)
        self.add_number("n", self.say.rng.randint(2, max(2, size - 1)))


class _There(_Said):
    """{so_many} items of a kind, as {there} says, of which something is said with a pronoun."""

    modified, generic = 0.04, 0.35

    @draws("so_many there")
    def draw_amount(self) -> None:
        quantity = self.say.quantity(negative=False, low=2)
        if not quantity.plural or (self.names("M") and quantity.test in ("{} == 2", "{} < 3", "{} <= 2")):
            raise Unfit
        self |= {"so_many": quantity.of(self.kind("x")), "there": quantity.holds(self["all"])}

    def is_plural(self, name: str) -> bool:
        return name == "so_many"

    def chosen(self, wordings: Sequence[str]) -> tuple[str, str]:
        wording, text = super().chosen(wordings)
        return wording, text.replace("~", "")  # "there are" has the verb of the sentence


class _Everything(_Said):
    """What is said of anything there is."""

    def one_kind(self) -> Kind:
        return Kind("thing", "things")


class _Only(_Said):
    """{other_things} are those of which something is true, but not of the kind."""

    def one_kind(self) -> Kind:
        return self.say.kind(plain=True, generic=0)

    def predicate(self, kind: Kind, sort: str) -> Predicate:
        found = super().predicate(kind, sort)
        if found.given or (found.is_value and (self.say.fixed or found.one.bare != found.many.bare)):
            raise Unfit
        others = mean.both(found.condition, mean.negation(kind.condition))
        self["other_things"] = mean.those(self.where.items, others)
        return found


# ---------------------------------------------------------------- values of an attribute


class _Values(Parts):
    """Values without a noun: "yellow", "no blue", "yellow but no black"."""

    @draws("X Y")
    def draw_kinds(self) -> None:
        found = clauses.value_kinds(self.say, 2, bare=True)
        if len(found) < 2 or any(each.singular != each.plural for each in found):
            raise Unfit
        self.add_kinds(*found)


class AttributeParts(Parts):
    """{c} and {cs} name an attribute of a kind. {values x} is the number of its values; {often x} are the items whose
    value {k} of them have, {exactly x} those whose value exactly {j} of them have ({times}: twice), {single x}
    those whose value no other one has, and {mostly x} those whose value more than half of them have. {d} and {ds} are
    another attribute: {others x} is the number of its values, {alike x both} are the items like another one in both,
    and {alike x but} like another one in {c} but not in {d}. Wordings with {any} are about all items, those with
    {box_only} about a box. {T} is the number of values that the world has."""

    modified, generic = 0.05, 0.7

    def __init__(self, say: Speaker, row: Row, where: Domain) -> None:
        super().__init__(say, row, where)
        self.add_kinds(kind := self.one_kind())
        attribute = clauses.free_attribute(say, kind.condition)
        if attribute is None:
            raise Unfit
        self.attribute, self.value = attribute, say.lexicon.names[attribute.name]
        self["cs"] = plural_of(self.setdefault("c", say.rng.choice(attribute.words)))
        self |= {} if kind.condition else {"any": ""}
        self |= {"box_only": ""} if where.box else {}
        if self.names("others", "alike"):
            second = clauses.free_attribute(say, f"{kind.condition} {self.value}(")
            if second is None:
                raise Unfit
            self.other, self["d"] = say.lexicon.names[second.name], say.rng.choice(second.words)
            self["ds"] = plural_of(self["d"])

    @draws("t T all_but_one all_but_two")
    def draw_total(self) -> None:
        total = len(self.attribute.choices)  # numbers have none
        if total < 2 + self.names("all_but_two"):
            raise Unfit
        self.add_number("t", total)
        self |= {"all_but_one": str(total - 1), "all_but_two": str(total - 2)}

    @draws("j times J")
    def draw_times(self) -> None:
        number = self.say.pick(2, 2, 3)
        self.add_number("j", number)
        self["times"] = "(twice|two times)" if number == 2 else f"{self['j']} times"

    @draws("k K")
    def draw_size(self) -> None:
        self.add_number("k", self.say.pick(3, 3, 4))

    def is_plural(self, name: str) -> bool:
        return name in ("k", "t", "cs") or super().is_plural(name)

    def meant(self, what: str, name: str, place: str = "") -> str:
        items = self.kind(name).among(self.where.items)
        if what == "values":
            return f"count({self.value}({items}))"
        if what == "others":
            return f"count({self.other}({items}))"
        alike, unlike = (mean.related(items, f"{self.value}(@) {sign} {self.value}($)") for sign in ("==", "!="))
        tests = {"single": f"count({alike}) == 1", "mostly": f"count({alike}) > count({unlike})"}
        if what == "often":
            tests[what] = f"count({alike}) >= {self['K']}"
        elif what in ("exactly", "not_exactly"):
            tests[what] = f"count({alike}) {'!=' if what == 'not_exactly' else '=='} {self['J']}"
        elif what == "alike":
            second = f"{self.other}(@) {'==' if place == 'both' else '!='} {self.other}($)"
            same = mean.related(
                items, f"{self.value}(@) == {self.value}($) and {second}"
            )  # with the item itself, if both
            tests[what] = f"count({same}) >= 2" if place == "both" else f"exist({same})"
        if what not in tests:
            return super().meant(what, name, place)
        return self.kind(name).among(self.where.items, tests[what])


class _Alike(AttributeParts):
    """Values of all items of a kind: {so_many} of them, {n} {different} {cn}, each of them, {list}, or {one_of_each};
    {both} are all of the {K} items there are."""

    modified, generic = 0.12, 0.35

    def __init__(self, say: Speaker, row: Row, where: Domain) -> None:
        super().__init__(say, row, where)
        if say.chance(0.08) and len(values := clauses.value_kinds(say, 2, avoid=f"{self.value}(@)")) == 2:
            self.add_kinds(clauses.joined(values, "and"))
            self.pop("any", None)
        self |= {"more": self.attribute.more, "less": self.attribute.less} if self.attribute.more else {}

    @draws("n so_many different cn")
    def draw_amount(self) -> None:
        # "One shape" and "two shapes" are items; only "two different shapes" are values.
        is_noun, total = self.attribute.is_noun, len(self.attribute.choices)
        self.amount = clauses.amount(self.say, 2 if is_noun else 1, max(3, min(total, 4)))
        different = "(different|distinct)" if is_noun else "[different|distinct]"
        self |= {"n": self.amount.words, "so_many": self.amount.test.format(self.meant("values", "x"))}
        self |= {"different": different, "cn": self["cs"]} if self.amount.plural else {"different": "", "cn": self["c"]}

    @draws("both K")
    def draw_all(self) -> None:
        self.add_number("k", number := self.say.small(2, 4))
        self["both"] = "both" if number == 2 and self.say.chance(0.5) else f"(the|all) {self['k']}"

    @draws("list one_of_each")
    def draw_each(self) -> None:
        choices, items = self.attribute.choices, self.where.items
        if self.names("one_of_each") and not 1 < len(choices) < 5:
            raise Unfit
        tests = (self.kinds["x"].among(items, self.say.has(self.attribute, each)) for each in choices)
        self["one_of_each"] = mean.both(*(f"count({each}) == 1" for each in tests))
        named = [self.say.rng.choice(each.words) for each in self.say.rng.sample(choices, len(choices))]
        is_listed = 1 < len(named) < 5 and self.say.chance(0.3)
        self["list"] = f"(,|:) {', '.join(named[:-1])} and {named[-1]}" if is_listed else ""

    def is_plural(self, name: str) -> bool:
        return self.amount.plural if name == "n" else super().is_plural(name)


class _Twins(Parts):
    """{twins x} are the items of a kind that look like another item, {lone x} the others, {triplets x} those that look
    like two others, and {but_one x} those that look like another one but for the attribute {c}; {all_same} says that
    all look the same."""

    def __init__(self, say: Speaker, row: Row, where: Domain) -> None:
        super().__init__(say, row, where)
        self.add_kinds(kind := say.kind(plain=True, generic=0.45))
        others = "get_box_exclusive(@)" if where.box else "get_img_exclusive(@)"
        self["twin"] = mean.related(others, looks(say, "@", "$"))
        options = [each for each in clauses.named_attributes(say, kind.condition) if each.choices]
        if options:
            attribute = say.rng.choice(options)
            self.value, self["c"] = say.lexicon.names[attribute.name], say.rng.choice(attribute.words)
        free, items = [each for each in looked_at(say) if f"{each}(" not in kind.condition], kind.among(where.items)
        if not free and self.names("all_same"):  # all large black circles look the same
            raise Unfit
        self["all_same"] = mean.both(*(f"count({each}({items})) <= 1" for each in free))

    def meant(self, what: str, name: str, place: str = "") -> str:
        items = self.kind(name).among(self.where.items)
        if what == "triplets":
            alike = mean.related(items, looks(self.say, "@", "$"))
            return self.kind(name).among(self.where.items, f"count({alike}) >= 3")
        if what == "but_one":
            unlike = looks(self.say, "@", "$").replace(f"{self.value}(@) ==", f"{self.value}(@) !=")
            return self.kind(name).among(self.where.items, f"exist({mean.related(items, unlike)})")
        if what not in ("twins", "lone"):
            return super().meant(what, name, place)
        has_twin = f"exist({self['twin']})"
        return self.kind(name).among(self.where.items, has_twin if what == "twins" else mean.negation(has_twin))


def looked_at(say: Speaker) -> list[str]:
    """Returns the functions of what can be seen of items: their values, except numbers, and their size."""
    attributes = [*say.world.attributes, *say.lexicon.measures]
    found = [say.lexicon.names[each.name] for each in attributes if each.choices or each.name == "area"]
    if not found:
        raise Unfit
    return found


def looks(say: Speaker, one: str, other: str) -> str:
    """Returns the condition that two items look the same."""
    return mean.both(*(f"{each}({one}) == {each}({other})" for each in looked_at(say)))


class Properties(Parts):
    """{p}, {q} and {r} are properties of kinds; {P} is one word, for "non-{P}". {exist x p} is about items of a kind
    with a property, {exist x p0} about those without it, and {exist x p0 q} about two properties."""

    def __init__(self, say: Speaker, row: Row, where: Domain, at: str = "{at}") -> None:
        super().__init__(say, row, where, at)
        self.draw("x")
        self.kinds["any"] = Kind("", "")
        self.properties = dict[str, str]()
        self.draw_properties()
        self |= {"one": say.number(1), "two": say.number(2)}
        if self["p"] == self["ps"] and self["p"].isalpha():
            self["P"] = self["p"]

    def one_kind(self) -> Kind:
        return clauses.free_kind(self.say, modified=0.05, generic=0.6)

    def draw_properties(self) -> None:
        taken = [each.condition for each in self.kinds.values()]
        for name in "pqr"[: 3 if "r0" in self.meaning else 2]:
            found = self.say.property(avoid=" ".join(taken))
            if any(f"{found.condition.partition('(')[0]}(" in each for each in taken):
                raise Unfit
            if found.condition in self.properties.values():
                raise Unfit
            taken += [found.condition] * (name == "p")  # those of {q} and {r} may be two values, "a square", "a circle"
            self.add_property(name, found)

    def add_property(self, name: str, found: Property) -> None:
        self |= {name: found.singular, f"{name}s": found.plural}
        self |= {f"{name}_ones": found.ones.plural} if found.ones else {}
        self.properties |= {name: found.condition, f"{name}0": mean.negation(found.condition)}

    def __missing__(self, name: str) -> str:
        what, _, of = name.partition(" ")
        if what not in ("exist", "count"):
            return super().__missing__(name)
        kind, *properties = of.split()
        condition = mean.both(*(self.properties[each] for each in properties))
        return f"{what}({self.kind(kind).among(self.where.items, condition)})"


CONTENTS = (
    *contents_of(_TABLES, _Said, shares=13.0),
    *contents_of(_TABLES, _Excepted, exceptions=1.8),
    *contents_of(_TABLES, _Particular, definite=7.0),
    *contents_of(_TABLES, _There, pronouns=4.5),
    *contents_of(_TABLES, _Only, only=2.2),
    *contents_of(_TABLES, _Everything, everything=2.2),
    *contents_of(_TABLES, _Alike, alike=4.0),
    *contents_of(_TABLES, _Values, values=1.5),
    *contents_of(_TABLES, AttributeParts, within=3.0),
    *contents_of(_TABLES, _Twins, twins=1.8),
    *contents_of(_TABLES, Properties, denied=1.3, non=1.2),
)
