"""What can be said of the items of a kind: all, most or two of them touch a wall, the only circle is blue."""

from __future__ import annotations

from collections.abc import Sequence

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, fill
from veriscene.english.compare import anything
from veriscene.english.predicates import Predicate, negative
from veriscene.english.speaker import Domain, Kind, Quantity, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)


def _about(
    say: Speaker, where: Domain, sort: str, *, modified: float = 0.1, generic: float = 0.12
) -> tuple[Kind, Predicate, dict[str, str]] | None:
    """A kind of item, what is said of it, and the sets of those for which it is true and false."""
    kind = clauses.free_kind(say, modified=modified, generic=generic)
    found = anything(say, where, kind, sort)
    if found is None:
        return None
    if sort in ("some", "number") and not found.given and not found.condition.startswith("not ") and say.chance(0.08):
        found = negative(say, found)
    those, others = kind.among(where.items, found.condition), kind.among(where.items, mean.negation(found.condition))
    return kind, found, {"those": those, "others": others}


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
    amount, number = clauses.amount(say, 2, 4), say.small(2, 3)
    test = meaning.format(**sets, value=number, so_many=amount.holds(sets["those"]))
    clause = _clause(say, row.wordings, kind, found, n=amount.words, m=say.number(number))
    return Content(mean.both(found.given, test), clause=clause)


def share_of(say: Speaker, where: Domain, kind: Kind, found: Predicate, high: int) -> tuple[str, str]:
    """The wording and meaning of a predicate of any share of a kind; `high` is the largest number."""
    row, number, other = _TABLES["shares"].draw(say), clauses.amount(say, 2, high), say.small(2, high)
    those, others = (kind.among(where.items, each) for each in (found.condition, mean.negation(found.condition)))
    meaning = row.columns[1].format(those=those, others=others, value=other, so_many=number.holds(those))
    text = fill(say, row.wordings, kind, n=number.words, m=say.number(other), **found.slots(say))
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


CONTENTS = ((13.0, share), (7.0, definite), (4.5, described), (2.2, only), (2.2, everything))
