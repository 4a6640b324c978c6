"""What can be said about how many items there are: counts, comparisons of counts, several kinds, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.clauses import A, Content, fill, general
from veriscene.english.speaker import NO, SOME, Domain, Kind, Quantity, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)

# Words after the noun for a limit, and its sign.
_TRAILING = (
    (2, (", no more[,| and] no (less|fewer)| exactly|, not one more or less| and that's it| and no more", "==")),
    (2, (" or more| at least| at the very least|, if not more|, maybe more|, possibly more", ">=")),
    (1.5, (" at most| or fewer| or less| max| tops| at the very most", "<=")),
    (0.5, (" and then some|, and at least one more", ">")),
)


def how_many(say: Speaker, where: Domain, high: int = 6) -> Content:
    """ "At least two blue circles"; "three circles at most"."""
    kind, quantity = clauses.free_kind(say, modified=0.18), say.quantity(negative=not where.is_negative, high=high)
    if not kind.condition and say.world.items[0] > 0 and quantity.test in (SOME, NO):
        kind = clauses.free_kind(say, generic=0)  # boxes are never empty
    if high > 3 and len(kind.plural.split()) <= 3 and say.chance(0.1):
        limit = say.small(2, high)
        after, sign = say.weighted(*_TRAILING)
        quantity = Quantity(say.expand(f"{say.number(limit)} {{}}({after})"), f"{{}} {sign} {limit}")
    test = quantity.holds(kind.among(where.items))
    return Content(test, quantity.of(kind), quantity.plural, is_negative=quantity.test == NO)


def absence(say: Speaker, where: Domain) -> Content:
    """ "No circles"; "the left box lacks squares"; "I don't see any square in the middle box"."""
    kind = clauses.free_kind(say, generic=0)
    clause, test = (
        fill(say, _TABLES["absent"].wordings, kind, things=general(say).plural),
        mean.none(where.items, kind.condition),
    )
    return Content(test, f"no {kind.plural}", True, clause, is_negative=True, lacked=kind)


_SIGNS = {">": "(exceeds|is greater than|is higher than|is above)", "<": "(is below|is lower than|is under)"}


def number_of(say: Speaker, where: Domain) -> Content:
    """ "The number of circles in the left box is at least three"; "circles: 2"; "the circles add up to four"."""
    kind = clauses.free_kind(say, modified=0.2)
    amount = clauses.amount(say, 1, 7)
    counted = f"count({kind.among(where.items)})"
    special = (("zero", NO), ("not zero", SOME), ("even", "{} % 2 == 0"), ("odd", "{} % 2 == 1"))
    if say.chance(0.12):
        words, test = say.pick(*special)
        amount = Quantity(words, test)
        return Content(
            amount.holds(kind.among(where.items)), clause=fill(say, _TABLES["numbers"].wordings[1:2], kind, n=words)
        )
    sign, limit = amount.test.split()[-2:]
    if sign in _SIGNS and say.chance(0.4):
        text = fill(say, [f"the (number|count) of {{Xs}} {{at}} ~{_SIGNS[sign]} {{n}}"], kind, n=say.number(int(limit)))
        return Content(amount.test.format(counted), clause=text)
    texts = [*_TABLES["numbers"].wordings, *_TABLES["exact_numbers"].wordings * (sign == "==")]
    return Content(amount.test.format(counted), clause=fill(say, texts, kind, n=amount.words))


def total(say: Speaker, where: Domain) -> Content:
    """ "There are nine items in total"; "all in all, more than five things"; "five circles and squares altogether"."""
    amount, kind = clauses.amount(say, 3, 12), Kind(say.item, say.items)
    if say.chance(0.3) and len(values := clauses.value_kinds(say, 2)) == 2:
        kind = clauses.joined(values, "and")
    return Content(
        amount.holds(kind.among(where.items)), clause=fill(say, _TABLES["totals"].wordings, kind, n=amount.words)
    )


# ---------------------------------------------------------------- comparisons


def compared(say: Speaker, where: Domain) -> Content:
    """ "More circles than squares"; "twice as many blue items as yellow ones"; "the circles outnumber the squares"."""
    first, second, *others = clauses.alternatives(say)
    is_sum = bool(others) and say.chance(0.5)
    if is_sum:
        second = clauses.joined([second, *others], "and", " (combined|together|put together|taken together)")
    elif second.plural.endswith(f" {say.items}") and first.plural.endswith(f" {say.items}") and say.chance(0.25):
        second = replace(second, plural=second.plural.removesuffix(say.items) + "ones")
    row = _TABLES["comparisons"].draw(say)
    things, sentences = row.wordings, row.clauses
    difference = say.small(1, 3)
    words = {"Ys": second.plural, "Y": second.singular, "n": say.number(difference), "at": ""}
    words |= {"X": first.singular, "Xs": first.plural, "Xn": first.singular if difference == 1 else first.plural}
    a, b = f"count({first.among(where.items)})", f"count({second.among(where.items)})"
    chosen = say.rng.choice([each for each in things if each.endswith("{Ys}")] if is_sum else things)
    plural = not chosen.startswith(("a ", "an ", "the same")) and not ("{Xn}" in chosen and difference == 1)
    clause = "" if is_sum or not sentences or say.chance(0.4) else say.rng.choice(sentences).format(**words)
    return Content(row.columns[0].format(a=a, b=b, n=difference), chosen.format(**words), plural, clause)


def more_are(say: Speaker, where: Domain) -> Content | None:
    """ "More circles are blue than yellow"; "as many of the items in the left box are circles as squares"."""
    kind = clauses.free_kind(say)
    values = clauses.value_kinds(say, 2, avoid=kind.condition, bare=True)
    if len(values) < 2:
        return None
    row = _TABLES["more_are"].draw(say)
    a, b = (f"count({kind.among(where.items, each.condition)})" for each in values)
    text = fill(say, row.wordings, kind, ps=values[0].plural, qs=values[1].plural)
    return Content(row.columns[0].format(a=a, b=b), clause=text)


# ---------------------------------------------------------------- several kinds


def two_kinds(say: Speaker, where: Domain) -> Content:
    """ "A circle but no square"; "neither stars nor circles"; "if there is a circle, there is also a square"."""
    first, second, *_ = clauses.alternatives(say)
    row = _TABLES["combinations"].draw(say)
    relation, things, sentences = row.columns[0], row.wordings, row.clauses
    quantity, is_negative = clauses.small_amount(say), relation.startswith("not {a} and")
    chosen = say.rng.choice(things) if things else ""
    a, b = (f"exist({each.among(where.items)})" for each in (first, second))
    clause = say.rng.choice(sentences) if not things or say.chance(0.4) else ""
    if "{n}" in chosen:
        a, clause = quantity.holds(first.among(where.items)), ""
    words = {"x": first.a, "X": first.singular, "Xs": first.plural, "n": quantity.of(first), "at": "{at}"}
    words |= {"y": second.a, "Y": second.singular, "Ys": second.plural}
    plural = chosen.startswith(("no {Xs", "neither {Xs")) or ("{n}" in chosen and quantity.plural)
    test = relation.format(a=a, b=b)
    return Content(test, chosen.format(**words), plural, clause.format(**words), is_negative)


def listed(say: Speaker, where: Domain) -> Content:
    """ "Two circles, a square and at least one triangle"; "one circle, two squares and nothing else"."""
    is_all = say.chance(0.3)
    kinds = clauses.value_kinds(say, say.pick(1, 2, 2, 2, 3)) if is_all else clauses.alternatives(say)
    quantities = [clauses.small_amount(say) for _ in kinds]
    if is_all:
        numbers = [say.small(1, 3) for _ in kinds]
        quantities = [Quantity(f"{say.number(n)} {{}}", f"{{}} == {n}", n > 1) for n in numbers]
    parts = [quantity.of(kind) for quantity, kind in zip(quantities, kinds, strict=True)]
    tests = [quantity.holds(kind.among(where.items)) for quantity, kind in zip(quantities, kinds, strict=True)]
    last = say.pick("and", "and", "and", "plus", "as well as", "and also", "along with")
    things = f"{', '.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else parts[0]
    if is_all:
        things += say.pick(" and nothing else", ", nothing else", " and that's (it|all)", f" and no other {say.items}")
        tests.append(f"count({where.items}) == {sum(numbers)}")
    elif all(each == A for each in quantities) and len(parts) == 2 and say.chance(0.35):
        things = say.pick("both {} and {}", "not (only|just) {} but also {}", "{}, and {} too").format(*parts)
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
    things, plural = say.weighted(
        (3, (f"(only|only|just|exclusively|solely) {kind.plural}", True)),
        (1.5, (f"nothing (but|but|other than|except) {kind.plural}", False)),
        (0.7, (f"{kind.plural} (only|exclusively|and nothing else)", True)),
        (0.7, (f"no {say.items} (other than|except|but) {kind.plural}", True)),
    )
    clause = f"({kind.plural} ~are the only {say.items} {{at}}|the only {say.items} {{at}} ~are {kind.plural})"
    return Content(mean.every(where.items, kind.condition), things, plural, clause if say.chance(0.4) else "")


CONTENTS = (
    (9.0, how_many),
    (2.2, absence),
    (2.5, number_of),
    (1.0, total),
    (4.0, compared),
    (0.7, more_are),
    (3.5, two_kinds),
    (2.5, listed),
    (3.0, nothing_but),
)
