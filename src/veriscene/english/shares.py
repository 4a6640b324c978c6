"""What can be said of the items of a kind: all, most or two of them touch a wall, the only circle is blue, and their
values are the same, different, or so many."""

from __future__ import annotations

from collections.abc import Sequence

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, fill
from veriscene.english.compare import anything
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, contents_of, draws
from veriscene.english.predicates import Predicate, negative
from veriscene.english.speaker import Domain, Kind, Quantity, Speaker
from veriscene.english.tables import Row, tables
from veriscene.world.world_file import plural_of

_TABLES = tables(__name__)


def _about(
    say: Speaker, where: Domain, sort: str, *, modified: float = 0.1, generic: float = 0.12
) -> tuple[Kind, Predicate, dict[str, str]] | None:
    """A kind of item, what is said of it, and the sets of those for which it is true and false."""
    kind = clauses.free_kind(say, modified=modified, generic=generic)
    found = anything(say, where, kind, sort)
    if found is None:
        return None
    is_plain = not found.given and not found.condition.startswith("not ") and not found.one.bare.startswith("not ")
    if sort in ("some", "number") and is_plain and say.chance(0.08):
        found = negative(say, found)
    those, others = kind.among(where.items, found.condition), kind.among(where.items, mean.negation(found.condition))
    return kind, found, {"those": those, "others": others, "all": kind.among(where.items)}


def _clause(say: Speaker, texts: Sequence[str], kind: Kind, found: Predicate, **slots: str) -> str:
    """One of the wordings, without words for the place where they would be ambiguous."""
    text = fill(say, texts, kind, **found.slots(say), **slots)
    return text.replace("{at}", "") if found.is_alone else text


def share(say: Speaker, where: Domain) -> Content | None:
    """ "Most of the circles are blue"; "none of the items in the left box is a square"; "two circles touch a wall"."""
    row = _TABLES["shares"].draw(say)
    sort, meaning = row.columns
    drawn = _about(say, where, sort)
    if drawn is None:
        return None
    kind, found, sets = drawn
    amount, number, (words, size) = clauses.amount(say, 2, 4), say.small(2, 3), _fraction(say)
    test = meaning.format(**sets, **size, value=number, so_many=amount.holds(sets["those"]))
    slots = {"n": amount.words, "m": say.number(number), "the_share": words}
    clause = _clause(say, row.wordings, kind, found, **slots)
    return Content(mean.both(found.given, test), clause=clause)


def excepted(say: Speaker, where: Domain) -> Content | None:
    """ "All the circles touch a wall, except the blue ones"; "apart from one square, no item is black"."""
    row = _TABLES["exceptions"].draw(say)
    sort, meaning = row.columns
    drawn = _about(say, where, sort, modified=0.05, generic=0.4)
    if drawn is None:
        return None
    kind, found, sets = drawn
    told = f"{kind.condition} {found.condition}"
    exception = say.property(avoid=told)
    if found.given or exception.ones is None or f"{exception.condition.partition('(')[0]}(" in told:
        return None
    for name, condition in (("these", exception.condition), ("rest", mean.negation(exception.condition))):
        for of, said in (("those", found.condition), ("others", mean.negation(found.condition))):
            sets[f"{of}_{name}"] = kind.among(where.items, mean.both(condition, said))
    words = {"one": exception.ones.singular, "ones": exception.ones.plural, "one_a": exception.ones.a}
    return Content(meaning.format(**sets), clause=_clause(say, row.wordings, kind, found, **words))


def _fraction(say: Speaker) -> tuple[str, dict[str, str]]:
    """ "At least a third": its words, its sign, and one part of three parts."""
    size, sign = _TABLES["fractions"].draw(say), _TABLES["signs"].draw(say)
    part, parts = ("" if each == "1" else f" * {each}" for each in size.columns[0].split("/"))
    return sign.say(say, share=size.say(say)), {"sign": sign.columns[0], "times_part": part, "times_parts": parts}


def share_of(say: Speaker, where: Domain, kind: Kind, found: Predicate, high: int) -> tuple[str, str]:
    """The wording and meaning of a predicate of any share of a kind; `high` is the largest number."""
    row, number, other = _TABLES["shares"].draw(say), clauses.amount(say, 2, high), say.small(2, high)
    those, others = (kind.among(where.items, each) for each in (found.condition, mean.negation(found.condition)))
    words, size = _fraction(say)
    sets = {"those": those, "others": others, "all": kind.among(where.items)}
    meaning = row.columns[1].format(**sets, **size, value=other, so_many=number.holds(those))
    text = fill(say, row.wordings, kind, n=number.words, m=say.number(other), the_share=words, **found.slots(say))
    return text.replace("{at}", where.where), meaning


def definite(say: Speaker, where: Domain) -> Content | None:
    """ "The two circles on the right are blue"; "four of the five items touch a wall"; "the only square is yellow"."""
    row = _TABLES["definite"].draw(say)
    fixed, sort, meaning = row.columns
    drawn = _about(say, where, sort)
    if drawn is None:
        return None
    kind, found, sets = drawn
    size = int(fixed) or (say.small(3, 6) if "{part}" in meaning else say.small(2, 6))
    part = say.rng.randint(2, max(2, size - 1))
    clause = _clause(say, row.wordings, kind, found, n=say.number(part), m=say.number(size))
    test = mean.both(f"count({kind.among(where.items)}) == {size}", meaning.format(**sets, part=part))
    return Content(mean.both(found.given, test), clause=clause)


def described(say: Speaker, where: Domain) -> Content | None:
    """ "There are three items and they're all squares"; "the left box has only one circle, and it's blue"."""
    row, texts = _TABLES["pronouns"].draw(say), [", and it {does}", " and it {does}"]
    sort, meaning = row.columns
    number = say.pick(2, 3)
    if say.chance(0.6):
        quantity = say.quantity(negative=False, low=2)
        texts = [f"{'' if each.startswith(',') else ' '}{each}" for each in row.wordings]
        if not quantity.plural or ("{value}" in meaning and quantity.test in ("{} == 2", "{} < 3", "{} <= 2")):
            return None
    elif say.chance(0.5):
        quantity, sort, meaning = Quantity("(only|just|exactly) one {}", "{} == 1", False), "the", "not exist({others})"
    else:
        quantity, sort, meaning = clauses.A, "the", "exist({those})"
    drawn = _about(say, where, sort, modified=0.04, generic=0.35)
    if drawn is None:
        return None
    kind, found, sets = drawn
    after = fill(say, texts, kind, **found.slots(say), m=say.number(number)).replace("~", "")
    there = quantity.holds(kind.among(where.items)) if quantity != clauses.A else ""
    test = mean.both(found.given, there, meaning.format(**sets, value=number))
    return Content(test, quantity.of(kind) + after, quantity.plural)


# ---------------------------------------------------------------- only, everything, nothing


def only(say: Speaker, where: Domain) -> Content | None:
    """ "Only circles are blue"; "in the left box, nothing but squares touches a wall"."""
    kind = say.kind(plain=True, generic=0)
    found = anything(say, where, kind, "part")
    if found is None or found.given or (found.is_value and (say.fixed or found.one.bare != found.many.bare)):
        return None
    text = _clause(say, _TABLES["only"].wordings, kind, found, thing=say.item, things=say.items)
    others = mean.those(where.items, mean.both(found.condition, mean.negation(kind.condition)))
    return Content(f"not exist({others})", clause=text)


def everything(say: Speaker, where: Domain) -> Content | None:
    """ "Everything in the left box is blue"; "nothing touches a wall"; "something isn't yellow"."""
    row = _TABLES["everything"].draw(say)
    sort, meaning = row.columns
    kind = Kind("thing", "things")
    found = anything(say, where, kind, sort)
    if found is None:
        return None
    those, others = mean.those(where.items, found.condition), mean.those(where.items, mean.negation(found.condition))
    clause = _clause(say, row.wordings, kind, found)
    return Content(mean.both(found.given, meaning.format(those=those, others=others)), clause=clause)


# ---------------------------------------------------------------- values of an attribute


def alike(say: Speaker, where: Domain) -> Content | None:
    """ "The circles have the same colour"; "the squares come in three sizes"; "two different colours"."""
    kind = clauses.free_kind(say, generic=0.35)
    attribute = clauses.free_attribute(say, kind.condition)
    if attribute is None:
        return None
    name, c, total = say.lexicon.names[attribute.name], say.rng.choice(attribute.words), len(attribute.choices)
    if say.chance(0.08) and len(values := clauses.value_kinds(say, 2, avoid=f"{name}(@)")) == 2:
        kind = clauses.joined(values, "and")
    among = kind.among(where.items)
    found = f"count({name}({among}))"
    # "One shape" and "two shapes" are items; only "two different shapes" are values.
    amount = clauses.amount(say, 2 if attribute.is_noun else 1, max(3, min(total, 4)))
    is_one = not amount.plural
    different = "" if is_one else "(different|distinct)" if attribute.is_noun else "[different|distinct]"
    words = {"c": c, "cs": plural_of(c), "cn": c if is_one else plural_of(c), "d": different, "n": amount.words}
    if attribute.more:
        words |= {"more": attribute.more, "less": attribute.less}
    if total:
        named = [say.rng.choice(each.words) for each in say.rng.sample(attribute.choices, total)]
        listed = f"(,|:) {', '.join(named[:-1])} and {named[-1]}" if say.chance(0.3) and 1 < total < 5 else ""
        words |= {"t": say.number(total), "list": listed}
    once = [f"count({kind.among(where.items, say.has(attribute, each))}) == 1" for each in attribute.choices]
    test, table = say.weighted(
        (4, (f"{found} <= 1", "same")),
        (2.5, (f"{found} == count({among})", "different")),
        (0.8, (f"{found} < count({among})", "some_same")),
        (1, (f"{found} > 1", "some_different")),
        (2.5, (amount.test.format(found), "amounts" if kind.condition else "amounts_shown")),
        (0.6 * (total > 1), (f"{found} == {total}", "every_value")),
        (0.3 * (1 < total < 5), (mean.both(*once), "one_of_each")),
    )
    if table in ("same", "different") and say.chance(0.2):
        size, table = say.small(2, 4), f"both_{table}"
        words["both"] = "both" if size == 2 and say.chance(0.5) else f"(the|all) {say.number(size)}"
        test = mean.both(f"count({among}) == {size}", test)
    things, plural, texts = "", amount.plural, _TABLES[table].wordings
    if table == "amounts_shown":
        things = f"{amount.words} {different} {words['cn']}"
    elif table in ("every_value", "one_of_each"):
        texts = [each for each in texts if "{X" in each or not kind.condition]
        plural = table == "every_value"
        if not plural:
            things = f"[exactly|just] one {kind.singular} of (each|every) {c}{words['list']}"
        elif not kind.condition:
            things = f"(all {words['t']} {words['cs']}|(each|every) {c}){words['list']}"
    return Content(test, things, plural, fill(say, texts, kind, **words))


class _Values(Parts):
    """Values without a noun: "yellow", "no blue", "yellow but no black"."""

    @draws("X Y")
    def draw_kinds(self) -> None:
        found = clauses.value_kinds(self.say, 2, bare=True)
        if len(found) < 2 or any(each.singular != each.plural for each in found):
            raise Unfit
        self.add_kinds(*found)

    def meant(self, what: str, name: str, place: str = "") -> str:
        if what == "others":
            return mean.some(self.where.items, mean.negation(self.kind(name).condition))
        return super().meant(what, name, place)


class AttributeParts(Parts):
    """An attribute {c}, {cs} of the items of a kind. {values x} is the number of their values; {often x} are the items
    whose value {k} of them have, {exactly x} those whose value exactly {j} of them have ({times}: twice), {single x}
    those whose value no other one has, and {mostly x} those whose value more than half of them have. {d} and {ds} are
    another attribute: {others x} is the number of its values, {alike x both} are the items like another one in both,
    and {alike x but} like another one in {c} but not in {d}. Wordings with {any} are about all items, those with
    {box_only} about a box. {T} is the number of values that the world has."""

    least_values = 0  # of the attribute; numbers have none

    def __init__(self, say: Speaker, row: Row, where: Domain) -> None:
        super().__init__(say, row, where)
        self.add_kinds(kind := clauses.free_kind(say, modified=0.05, generic=0.7))
        attribute = clauses.free_attribute(say, kind.condition)
        if attribute is None:
            raise Unfit
        self.value, total = say.lexicon.names[attribute.name], len(attribute.choices)
        if total < self.least_values + self.names("all_but_two"):
            raise Unfit
        self["cs"] = plural_of(self.setdefault("c", say.rng.choice(attribute.words)))
        self |= {"T": str(total), "all_but_one": str(total - 1), "all_but_two": str(total - 2), "t": say.number(total)}
        self |= {} if kind.condition else {"any": ""}
        self |= {"box_only": ""} if where.box else {}
        if self.names("others", "alike"):
            second = clauses.free_attribute(say, f"{kind.condition} {self.value}(")
            if second is None:
                raise Unfit
            self.other, self["d"] = say.lexicon.names[second.name], say.rng.choice(second.words)
            self["ds"] = plural_of(self["d"])

    @draws("j times J")
    def draw_times(self) -> None:
        number = self.say.pick(2, 2, 3)
        self.add_number("j", number)
        self["times"] = "(twice|two times)" if number == 2 else f"{self['j']} times"

    @draws("k K")
    def draw_size(self) -> None:
        self.add_number("k", self.say.pick(3, 3, 4))

    def is_plural(self, name: str) -> bool:
        return name in ("k", "cs") or super().is_plural(name)

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
    """The functions of what can be seen of items: their values, except numbers, and their size."""
    attributes = [*say.world.attributes, *say.lexicon.measures]
    found = [say.lexicon.names[each.name] for each in attributes if each.choices or each.name == "area"]
    if not found:
        raise Unfit
    return found


def looks(say: Speaker, one: str, other: str) -> str:
    """The condition that two items look the same."""
    return mean.both(*(f"{each}({one}) == {each}({other})" for each in looked_at(say)))


class _Denied(Parts):
    """Properties {p}, {q} and {r} of kinds; {P} is one word, for "non-{P}". {exist x p} is about the items of a kind
    with a property, {exist x p0} about those without it, and {exist x p0 q} about two properties."""

    def __init__(self, say: Speaker, row: Row, where: Domain) -> None:
        super().__init__(say, row, where)
        kinds = clauses.two_kinds(say) if self.names("y") else (clauses.free_kind(say, modified=0.05, generic=0.6),)
        self.add_kinds(*kinds)
        self.kinds["any"] = Kind("", "")
        self.properties, taken = dict[str, str](), [each.condition for each in kinds]
        for name in "pqr"[: 3 if "r0" in row.columns[0] else 2]:
            found = say.property(avoid=" ".join(taken))
            if any(f"{found.condition.partition('(')[0]}(" in each for each in taken):
                raise Unfit
            if found.condition in self.properties.values():
                raise Unfit
            taken += [found.condition] * (name == "p")  # those of {q} and {r} may be two values, "a square", "a circle"
            self |= {name: found.singular, f"{name}s": found.plural}
            self.properties |= {name: found.condition, f"{name}0": mean.negation(found.condition)}
            self |= {f"{name}_ones": found.ones.plural} if found.ones else {}
        if self["p"] == self["ps"] and self["p"].isalpha():
            self["P"] = self["p"]

    def __missing__(self, name: str) -> str:
        what, _, of = name.partition(" ")
        if what not in ("exist", "count"):
            return super().__missing__(name)
        kind, *properties = of.split()
        condition = mean.both(*(self.properties[each] for each in properties))
        return f"{what}({self.kind(kind).among(self.where.items, condition)})"


CONTENTS = (
    (13.0, share),
    (1.8, excepted),
    (7.0, definite),
    (4.5, described),
    (2.2, only),
    (2.2, everything),
    (4.0, alike),
    *contents_of(_TABLES, _Values, values=1.5),
    *contents_of(_TABLES, AttributeParts, within=3.0),
    *contents_of(_TABLES, _Twins, twins=1.8),
    *contents_of(_TABLES, _Denied, denied=1.3, non=1.2),
)
