"""Rules that compare the values of items: bigger, the cheapest, the same colour, a price of at least 5.

They are about ordered and numeric attributes, with the world's words for more, less, most and least.
"""

from __future__ import annotations

from dataclasses import replace

from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, free_attribute, tell, value_of
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, contents_of
from veriscene.english.places import other_kind, place
from veriscene.english.predicates import Predicate, being, doing, having, valued
from veriscene.english.speaker import Domain, Kind, Property, Sentence, Speaker
from veriscene.english.tables import Row, tables
from veriscene.english.words import COMPARED, MEASURED, UNITS
from veriscene.world.schema import Attribute

_TABLES = tables(__name__)

_BEATS = ("(exceeds|surpasses|beats|outdoes)", "(exceed|surpass|beat|outdo)", "(exceeding|surpassing|beating)")

# ---------------------------------------------------------------- predicates


def ordered(say: Speaker, *, numeric: bool = False) -> Attribute | None:
    """Draws an attribute whose values can be compared, if the world has one. `numeric`: one with numbers."""
    found = [*say.world.attributes, *say.lexicon.measures]
    found = [each for each in found if each.more and each.less and each.most and each.least]
    found = [each for each in found if not numeric or (each.kind == "numeric" and each.step)]  # numbers that one says
    found = [each for each in found if not (say.is_tower and each.has_extents)]  # the blocks of towers are equal
    return say.rng.choice(found) if found else None


def said(words: str) -> str:
    """Returns the pattern of a comparing word and its synonyms."""
    return COMPARED.get(words, words)


def _as(attribute: Attribute) -> str:
    """ "Large", for "as large as"; empty where no value says it."""
    words = [word for word in attribute.choices[-1].words[:2] if " " not in word] if attribute.choices else []
    return f"({'|'.join(words)})" if words else ""


def compared(say: Speaker, where: Domain, kind: Kind, sort: str) -> Predicate | None:
    """Says "Is bigger than every circle"; `sort`: of the subject's quantity."""
    attribute = ordered(say)
    if attribute is None:
        return None
    value = say.lexicon.names[attribute.name]
    if f"{value}(" in kind.condition:  # "a big circle is bigger than …"
        return None
    sign, opposite, words, verb = say.pick(
        (">", "<=", said(attribute.more), "more"), ("<", ">=", said(attribute.less), "less")
    )
    other = other_kind(say, kind)
    if f"{value}(" in other.condition and say.chance(0.8):  # "bigger than a big circle"
        return None
    one, kinds = other.singular, other.plural
    items, same, others = where.items, "", "get_img_exclusive(@)"
    if where.box:
        others = "get_box_exclusive(@)"
    elif say.world.boxes[1] > 1 and say.chance(0.2):
        items, same, others = "@.box", f" (in the same {say.box}|in <its> {say.box})", "get_box_exclusive(@)"
    is_simple, is_scene, given = sort in ("some", "every", "no", "the"), where.items == mean.ALL_ITEMS, ""
    how = say.weighted((5, "some"), (3.0 * is_simple, "every"), (0.8 * is_scene, "the"))
    if how == "every" and not other.condition:
        which = f"(everything else|all the other {kinds}|all the rest|every other {one}|all the others){same}"
        condition = f"not exist({mean.related(others, f'{value}($) {opposite} {value}(@)')})"
    elif how == "every":
        any_one = f"|any {one}" * (sort in ("some", "the"))  # "no circle is bigger than any square" says more
        each_one = f"every {one}|all the {kinds}|all {kinds}|all of the {kinds}|each {one}|each of the {kinds}"
        which = f"({each_one}{any_one}){same}"
        condition = f"not exist({mean.related(items, mean.both(other.condition, f'{value}($) {opposite} {value}(@)'))})"
    else:
        which = f"(a {one}|any {one}|any of the {kinds}){same}"
        if sort != "no":
            which = f"(a {one}|a {one}|some {one}|one of the {kinds}){same}"
        if how == "the" and other.condition and not same:
            which, given = f"the [only] {one}", f"count({other.among(where.items)}) == 1"
        condition = f"exist({mean.related(items, mean.both(other.condition, f'{value}($) {sign} {value}(@)'))})"
    verbs, name = MEASURED.get(attribute.name), attribute.words[0]
    # "Is not as big as every circle" can be understood in two ways, and "as a circle" is only clear of one item.
    is_clear = how == "the" or (how == "some" and sort == "some")
    forms = (5, "is"), (2.0 * (verbs is not None), "verb"), (1.5 * (verbs is None), "beats"), (0.7, "has")
    form = say.weighted(*forms, (0.5 * is_clear, "as"))
    if form == "verb" and verbs is not None:
        return doing(verbs, f"{verb} than {which}", condition, given=given)
    if form == "has":
        degree = "(higher|greater)" if sign == ">" else "lower"
        if attribute.kind == "numeric":
            return having(f"a {degree} {name} than {which}", condition, given=given)
        words = f"{words} in {name} than {which}|of (a|) {words} {name} than {which}"
        return being(f"({words})", condition, verbs=False, given=given)
    if form == "beats" and sign == ">":
        return doing(_BEATS, f"{which} in {name}", condition, given=given)
    if form == "beats":
        return being(f"(exceeded|surpassed|outdone|beaten) in {name} by {which}", condition, verbs=False, given=given)
    if form == "as" and sign == "<" and _as(attribute):
        return being(f"not as {_as(attribute)} as {which}", condition, verbs=False, given=given)
    return being(f"{words} than {which}", condition, verbs=False, given=given)


def alike(say: Speaker, where: Domain, kind: Kind, sort: str) -> Predicate | None:
    """Says "Has the same colour as a circle"; "is as big as a square in the same box"."""
    other = other_kind(say, kind)
    taken = kind.condition + other.condition
    attribute = free_attribute(say, taken)
    if attribute is None:
        return None
    value, name = say.lexicon.names[attribute.name], say.rng.choice(attribute.words)
    others, same = "get_img_exclusive(@)", ""
    if where.box or (say.world.boxes[1] > 1 and say.chance(0.5)):
        others, same = "get_box_exclusive(@)", "" if where.box else f" (in the same {say.box}|in <its> {say.box})"
    one = other.singular
    which = f"(a|any) {one}{same}" if sort == "no" else f"(a|a|some|at least one) {one}{same}"
    if not other.condition:
        which = f"(any other|any other|another) {one}{same}" if sort == "no" else f"(another|some other) {one}{same}"
    condition = f"exist({mean.related(others, mean.both(other.condition, f'{value}(@) == {value}($)'))})"
    if attribute.more and _as(attribute) and say.chance(0.4):
        return being(f"(just as|exactly as|as) {_as(attribute)} as {which}", condition, verbs=False)
    if say.chance(0.5):
        return having(f"the (same|same|very same) {name} as {which}", condition)
    return being(f"(the same {name} as|of the same {name} as) {which}", condition, verbs=False)


def _amount(say: Speaker, attribute: Attribute) -> tuple[str, str, str]:
    """A limit of a numeric attribute: its words, "at least 5 €", its test, "{} >= 5", and the words of its number."""
    low, high, step = attribute.low, attribute.high, attribute.step or (attribute.high - attribute.low) / 20
    number = low + step * say.rng.randint(0, max(1, int((high - low) / step)))
    amount = f"{number:g}"
    if number == int(number) and 0 < number < 13 and not attribute.unit:
        amount = say.number(int(number))
    if attribute.unit:
        unit, plural = attribute.unit, UNITS.get(attribute.unit, attribute.unit)
        spelled = f"{amount} {plural if number != 1 else plural.removesuffix('s')}"
        is_word = unit == plural and len(unit) > 2  # nobody writes "28years"
        options = [amount, spelled] if is_word else [f"{amount} {unit}", f"{amount}{unit}", amount]
        options += [spelled] * (plural != unit) * 2
        amount = say.pick(*options)
    words, test = say.pick(
        (f"(more than|over) {amount}", ">"), (f"(less than|under) {amount}", "<"),
        (f"(at least {amount}|{amount} or more)", ">="),
        (f"(at most {amount}|{amount} or less|up to {amount})", "<="),
        (f"[exactly] {amount}", "=="),
    )  # fmt: skip
    return words, f"{{}} {test} {number:g}", amount


def measured(say: Speaker) -> Predicate | None:
    """Says "Costs more than 5 €"; "has a price of at least 5"; "is cheaper than 5 €"; "is at least medium"."""
    attribute = ordered(say)
    if attribute is None:
        return None
    value, name = f"{say.lexicon.names[attribute.name]}(@)", say.rng.choice(attribute.words)
    if attribute.kind != "numeric":
        return _ranked(say, attribute, value)
    if not attribute.step:
        return None
    words, test, number = _amount(say, attribute)
    verbs = MEASURED.get(attribute.name)
    form = say.weighted((3.0 * (verbs is not None), "verb"), (3, "has"), (2, "is"))
    if form == "verb" and verbs is not None:
        return doing(verbs, words, test.format(value))
    if form == "is":
        more, sign = say.pick((said(attribute.more), ">"), (said(attribute.less), "<"))
        return being(f"{more} than {number}", f"{value} {sign} {test.rpartition(' ')[2]}", verbs=False)
    return having(f"a {name} of {words}", test.format(value))


def _ranked(say: Speaker, attribute: Attribute, value: str) -> Predicate | None:
    """ "Is at least medium"; "is bigger than small"."""
    if len(attribute.choices) < 3:
        return None
    choice = say.rng.choice(attribute.choices[1:-1])
    word, constant = say.rng.choice(choice.words), say.lexicon.constants[attribute.name, choice.name]
    more, less = said(attribute.more), said(attribute.less)
    words, sign = say.pick(
        (f"(at least {word}|{word} or {more})", ">="), (f"(at most {word}|{word} or {less})", "<="),
        (f"{more} than {word}", ">"), (f"{less} than {word}", "<"),
    )  # fmt: skip
    return being(words, f"{value} {sign} {constant}", verbs=False)


def measured_kind(say: Speaker, kind: Kind) -> Kind | None:
    """Returns the kind with a limit of a numeric attribute: "products with a price of at least 5"."""
    predicate = measured(say) if ordered(say, numeric=True) is not None else None
    if predicate is None:
        return None
    return predicate.restrict(say, kind)


def measured_property(say: Speaker) -> Property | None:
    """Returns a limit of a numeric attribute as it is said after "is": "cheaper than 5 €"."""
    attribute = ordered(say, numeric=True)
    if attribute is None:
        return None
    _, test, number = _amount(say, attribute)
    more, sign = say.pick((said(attribute.more), ">"), (said(attribute.less), "<"))
    words = say.expand(f"{more} than {number}")
    return Property(words, words, f"{say.lexicon.names[attribute.name]}(@) {sign} {test.rpartition(' ')[2]}")


def most(say: Speaker, where: Domain) -> Predicate | None:
    """Says "Is one of the biggest things in its box": nothing there is bigger."""
    attribute = ordered(say)
    if attribute is None:
        return None
    value = say.lexicon.names[attribute.name]
    words, choose = say.pick((said(attribute.most), "max"), (said(attribute.least), "min"))
    items, scope = (where.items, "") if where.box else (mean.ALL_ITEMS, "(of all|in the picture|)")
    if not where.box and say.world.boxes[1] > 1 and say.chance(0.5):
        items, scope = "@.box", f"in <its> {say.box}"
    condition = f"{value}(@) == {choose}({value}({items}))"
    return being(f"(among|one of) the {words} {say.items} {scope}", condition, verbs=False, that="{}")


def anything(say: Speaker, where: Domain, kind: Kind, sort: str) -> Predicate | None:
    """Draws anything that can be said of items: a value, a box, a place, a comparison, a limit."""
    in_box = not where.box and say.world.boxes[1] > 1
    how = say.weighted(
        (5, "value"), (2.0 * in_box, "box"), (5, "place"), (1.7, "compared"), (0.9, "alike"), (0.9, "measured")
    )
    if how == "box":
        there = say.which()
        return being(there.where, f"@.box == {there.box}") if there.where.startswith(("in", "with")) else None
    if how == "place":
        # "They touch two squares" could mean two squares together.
        return place(say, where, kind, "part" if sort == "every" else sort)
    if how == "value":
        found: Predicate | None = valued(value_of(say, kind))
    elif how == "measured":
        found = measured(say) if say.chance(0.8) else most(say, where)
    else:
        found = (compared if how == "compared" else alike)(say, where, kind, sort)
        return replace(found, is_alone=bool(where.box)) if found is not None else None
    # Not "the big circle is at least medium".
    is_told = found is not None and f"{found.condition.partition('(')[0]}(" in kind.condition
    return None if is_told else found


# ---------------------------------------------------------------- rules


def superlative(say: Speaker) -> Sentence | None:
    """Says "The biggest circle is blue"; "in every box the cheapest product is a jar"; if several tie, all of them."""
    attribute = ordered(say)
    where = say.quantified(simple=True) if say.world.boxes[1] > 1 and say.chance(0.25) else say.domain()
    if attribute is None:
        return None
    value, kind = say.lexicon.names[attribute.name], say.kind(plain=True, generic=0.6)
    most, choose, more, extreme = say.pick(
        (said(attribute.most), "max", said(attribute.more), "(greatest|highest)"),
        (said(attribute.least), "min", said(attribute.less), "(lowest|smallest)"),
    )
    other, found = say.kind(plain=True, generic=0), anything(say, where, kind, "some") if say.chance(0.3) else None
    if found is None:
        is_value = bool(kind.condition) or say.chance(0.6)
        found = valued(value_of(say, kind) if is_value else Property(other.a, other.plural, other.condition))
    if found.given or f"{value}(" in kind.condition + found.condition:  # "the biggest small circle"
        return None
    words = {"most": most, "more": more, "extreme": extreme, "name": attribute.words[0], "does": found.one.does}
    words |= {"X": kind.singular, "Xs": kind.plural, "at": "{at}"}
    words["one"] = kind.singular if kind.condition else f"({say.item}|thing|one)"
    words |= {"p": found.one.bare} if found.is_value else {}
    words |= {"a": found.one.bare} if found.is_value and found.one.bare.startswith("a ") else {}
    greatest = kind.among(where.items, f"{value}(@) == {choose}({value}({kind.among(where.items)}))")
    text = tell(say, where, Content("", clause=_TABLES["superlatives"].say(say, **words)))
    return Sentence(text, where.bind(f"All({greatest}, {mean.bind(found.condition)})")) if text else None


class _Compared(Parts):
    """Two kinds whose values are compared: {more}, {most} and so on are the world's words for it, {name} is the
    attribute, {large} is for "as large as", and {bigger} for "of bigger size"."""

    has_two_kinds = True

    def __init__(self, say: Speaker, row: Row, where: Domain) -> None:
        super().__init__(say, row, where)
        self.draw("x")
        taken = " ".join(kind.condition for kind in self.kinds.values())
        attribute = free_attribute(say, taken) if self.names("same") else ordered(say)
        if attribute is None or f"{say.lexicon.names[attribute.name]}(" in taken:
            raise Unfit
        self.value, self["name"], self.sign = say.lexicon.names[attribute.name], attribute.words[0], ">"
        words = {each: said(getattr(attribute, each)) for each in ("more", "less", "most", "least")}
        if self.names("every", "some") and say.chance(0.4):
            opposites = ("less", "more", "least", "most")
            self.sign, words = "<", dict(zip(words, map(words.__getitem__, opposites), strict=True))
        elif attribute.more and _as(attribute):
            self["large"] = _as(attribute)
        if self.sign == ">" and attribute.name not in MEASURED:
            self |= {"beats": "(exceeds|surpasses|beats|outdoes)", "beat": "(exceed|surpass|beat|outdo)"}
            self |= {"beaten": "(exceeded|surpassed|outdone|beaten)", "beating": "(exceeding|surpassing|beating)"}
        self |= words
        if attribute.kind != "numeric" or attribute.has_extents:
            self["bigger"] = words["more"]

    def meant(self, what: str, name: str, place: str = "") -> str:
        """Every or some x, or any item, is compared with all y or some y; or x has the same value as some y, in its box
        or anywhere. {only y}: there is exactly one."""
        (x, y), value = self.kinds.values(), self.value
        if what == "same":
            others = "get_box_exclusive(@)" if name == "box" or self.where.box else "get_img_exclusive(@)"
            alike = mean.related(others, mean.both(y.condition, f"{value}(@) == {value}($)"))
            return mean.some(self.where.items, mean.both(x.condition, f"exist({alike})"))
        if what == "only":
            return f"count({y.among(self.where.items)}) == 1"
        sign = {"all": {">": "<=", "<": ">="}[self.sign]}.get(name, self.sign)
        # Seen from another item, $ is the item of kind x.
        found = f"exist({mean.related(self.where.items, mean.both(y.condition, f'{value}($) {sign} {value}(@)'))})"
        compared = mean.negation(found) if name == "all" else found
        if what == "every":
            return mean.none(self.where.items, mean.both(x.condition, mean.negation(compared)))
        return mean.some(self.where.items, mean.both("" if what == "any" else x.condition, compared))


def total(say: Speaker) -> Sentence | None:
    """Says "Together, the jars on the first shelf cost more than 20 €"."""
    attribute = ordered(say, numeric=True)
    if attribute is None:
        return None
    where, kind = say.domain(), say.kind(plain=True, generic=0.4)
    value, most_items, row = say.lexicon.names[attribute.name], say.rng.randint(2, 6), _TABLES["signs"].draw(say)
    number = round(most_items * (attribute.low + attribute.high) / 2)
    unit = attribute.unit if attribute.unit and say.chance(0.6) else ""
    unit = f" {UNITS[attribute.unit]}" if attribute.unit in UNITS and say.chance(0.4) else unit
    words = {
        "name": attribute.words[0],
        "Xs": kind.plural,
        "at": where.where,
        "amount": f"{row.say(say)} {number}{unit}",
    }
    words |= {"cost": MEASURED[attribute.name][1]} if attribute.name in MEASURED else {}
    text = _TABLES["totals"].say(say, **words)
    return Sentence(text, f"sum({kind.among(where.items)}, lambda x0: {value}(x0)) {row.columns[0]} {number}")


CONTENTS = contents_of(_TABLES, _Compared, compared=1.0, same=0.9, bounds=1.5)
RULES = ((2.5, superlative), (0.5, total))
