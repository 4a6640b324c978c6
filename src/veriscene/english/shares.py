"""What can be said of the items of a kind: all, most or two of them touch a wall, the only circle is blue."""

from __future__ import annotations

from collections.abc import Sequence

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, fill
from veriscene.english.compare import anything
from veriscene.english.predicates import Predicate, negative
from veriscene.english.speaker import Domain, Kind, Quantity, Speaker
from veriscene.english.tables import Table, wordings

# The sort of the quantity, and the meaning. Wordings with {v} are only said of values.
_SHARES = Table("""
5 ; every ; not exist({others})
    (all|all the|all of the|all of these) {Xs} {do} / (all|all the|all of the) {Xs} {do}
    (every|each|every single|each and every) {X} {does} / (each|every one) of the {Xs} {does}
    the {Xs} {do}[, all of them|, every one of them] / {Xs}: all {ps}
    (if it's a {X}|whichever {X} you pick), it {does} / there ~is no {X} {not_that}
    you (won't|can't) find a {X} {not_that} / without exception, the {Xs} {do} / look at the {Xs}: they all {do}
    no {X} ~is anything (but|other than) {v} / the {Xs} ~are (all|without exception) {vs}
2.5 ; no ; not exist({those})
    (none of the|no) {Xs} {do} / (no|not a single|not one) {X} {does} / not (one|a single one) of the {Xs} {does}
    {Xs}: none {ps} / if it's a {X}, it {doesnt} / there ~are no {Xs} {thats}
    the {Xs} {dont}, not (one|a single one) of them / (I|we) (don't|can't) see (a|any) {X} {that}
    of the {Xs}, none {do} / every {X} ~is something other than {v}
2 ; not every ; exist({others})
    (not all|not all of the|not all the) {Xs} {do} / not every [single] {X} {does}
    (at least one|some) {X} {doesnt} / (some of the|one or more of the) {Xs} {dont}
    at least one of the {Xs} {doesnt} / there ~is a {X} {not_that} / {Xs}: not all {ps}
    it's not true that all {Xs} {do} / (I|you) ~(see|can see|can find) a {X} {not_that}
3 ; some ; exist({those})
    (some|some of the|one or more of the) {Xs} {do} / (a|a|at least one|some) {X} {does}
    (one|at least one) of the {Xs} {does} / there ~is a {X} {that} / {Xs}: at least one {p}
    among the {Xs}, at least one {does} / (I|you) ~(see|can see|can find) a {X} {that}
    {spot} {at}[,] there ~is a {X}
2.5 ; part ; count({those}) > count({others})
    (most|most of the|the majority of the|more than half of the|over half the) {Xs} {do}
    (most|most of the) {Xs} {do} / {Xs}: mostly {ps} / of the {Xs}, most {do} / more {Xs} {do} than not
    the {Xs} {thats} ~outnumber (the others|the rest) / the {Xs} ~are (mostly|for the most part|predominantly) {vs}
    {nouns} ~make up (most|more than half|the majority) of (the|all) {Xs}
1.5 ; part ; count({those}) == count({others})
    [exactly] (half of the|half the) {Xs} {do} / (50%|50 percent|fifty percent|one half) of the {Xs} {do}
    of the {Xs}, [exactly] half {do} / {Xs}: half {ps}, half not
    half of the {Xs} {do}, the other half {dont} / {nouns} ~make up [exactly] half of (the|all) {Xs}
    as many {Xs} ~are {vs} as are not
0.7 ; part ; count({those}) < count({others})
    (fewer|less) than half of the {Xs} {do} / (only a|a) minority of the {Xs} {do} / most [of the] {Xs} {dont}
    {nouns} ~make up less than half of (the|all) {Xs}
0.5 ; part ; count({those}) >= count({others})
    (at least half|half or more) of the {Xs} {do} / {nouns} ~make up at least half of (the|all) {Xs}
1.5 ; part ; count({others}) == 1
    (all but one|all except one) of the {Xs} {do} / every {X} (but|except|save) one {does}
    (just|only|exactly) one (of the {Xs}|{X}) {doesnt}
    (with one exception|with a single exception|apart from one|except for one), the {Xs} {do}
    {Xs}: all {ps} (except|but) one / all the {Xs} ~are {vs} (except|except for|apart from|but) one
0.6 ; part ; count({others}) == {value}
    (all but|all except) {m} of the {Xs} {do} / [exactly|only|just] {m} [of the] {Xs} {dont}
1.2 ; number ; count({those}) == 1
    (exactly|only|just|precisely) one of the {Xs} {does} / (exactly one|only one|just one|a single) {X} {does}
    of the {Xs}, (only|just|exactly) one {does} / {Xs}: (just|exactly) one {p}
    there ~is (only|just|exactly) one {X} {that}
4.5 ; number ; {so_many}
    {n} of the {Xs} {do} / {n} {Xs} {do} / {n} {Xs} {do} / (of|among|out of) [all] the {Xs}, {n} {do}
    there ~are {n} {Xs} {thats} / the number of {Xs} {thats} ~is {n} / {Xs}: {n} {ps} / {Xs}, {n} of them {ps}
    if you look at the {Xs}, {n} of them {do} / (I|you|we) ~(can see|see|have|can find) {n} {Xs} {thats}
    {spot} {at}[,] there ~are {n} {Xs}
""")


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
    row = _SHARES.draw(say)
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
    row, number, other = _SHARES.draw(say), clauses.amount(say, 2, high), say.small(2, high)
    those, others = (kind.among(where.items, each) for each in (found.condition, mean.negation(found.condition)))
    meaning = row.columns[1].format(those=those, others=others, value=other, so_many=number.holds(those))
    text = fill(say, row.wordings, kind, n=number.words, m=say.number(other), **found.slots(say))
    return text.replace("{at}", where.where), meaning


# How many there are (0: any number), and the columns of _SHARES; {m} is the number of all, {n} of some.
_DEFINITE = Table("""
4 ; 1 ; the ; not exist({others})
    the (only|only|one|single) {X} {does} / there ~is (only|just|exactly) one {X} and it {does}
    the (only|single) {X}: {p} / the {X} {at}, the only one, {does}
2.5 ; 1 ; the ; not exist({others})
    the {X} {does} / the {X} {does} / the {X}: {p}
3 ; 0 ; every ; not exist({others})
    the {m} {Xs} {do} / all {m} [of the] {Xs} {do} / all of the {m} {Xs} {do}
2 ; 2 ; every ; not exist({others})
    both [of the] {Xs} {do} / the two {Xs} both {do}
0.6 ; 2 ; no ; not exist({those})
    neither of the [two] {Xs} {does} / neither {X} {does}
0.6 ; 0 ; no ; not exist({those})
    none of the {m} {Xs} {do} / not one of the {m} {Xs} {does}
2 ; 0 ; number ; count({those}) == {part}
    [exactly|only|just] {n} (of|out of) [the] {m} {Xs} {do} / (of|out of) the {m} {Xs}, [exactly] {n} {do}
1 ; 0 ; number ; count({those}) == 1
    (exactly|only|just) one (of|out of) the {m} {Xs} {does} / of the {m} {Xs}, only one {does}
0.8 ; 0 ; number ; count({those}) >= {part}
    at least {n} of the {m} {Xs} {do}
0.6 ; 0 ; part ; count({those}) > count({others})
    most of the {m} {Xs} {do}
""")


def definite(say: Speaker, where: Domain) -> Content | None:
    """ "The two circles on the right are blue"; "four of the five items touch a wall"; "the only square is yellow"."""
    row = _DEFINITE.draw(say)
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


# What is added about things that are there, with a pronoun.
_PRONOUNS = Table("""
4 ; every ; not exist({others})
    and (they|they all|all of them|these all) {do} / , (all|all of them) {ps} / and (they're|they are) all {vs}
    , all of which {do} / and every one of them {does}
1.5 ; no ; not exist({those})
    (and|but) none of them {does} / , none of them {ps} / , but they {dont}
1 ; some ; exist({those})
    and at least one of them {does} / , at least one of which {does}
1 ; not every ; exist({others})
    (and|but) not all of them {do} / , not all [of them] {ps}
1 ; number ; count({those}) == 1
    and (exactly|only|just) one of them {does} / , (exactly|only|just) one of which {does}
0.8 ; number ; count({those}) == {value}
    and {m} of them {do} / , {m} of which {do} / , {m} [of them] {ps}
0.8 ; part ; count({those}) > count({others})
    and most of them {do} / , mostly {ps}
0.5 ; part ; count({those}) == count({others})
    and half of them {do} / , half of them {ps}
0.5 ; part ; count({others}) == 1
    and all but one of them {do} / , all but one [of them] {ps}
""")


def described(say: Speaker, where: Domain) -> Content | None:
    """ "There are three items and they're all squares"; "the left box has only one circle, and it's blue"."""
    row, texts = _PRONOUNS.draw(say), [", and it {does}", " and it {does}"]
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

_ONLY = wordings("""
    only [the] {Xs} {do} / nothing (but|except|other than) {Xs} {does}
    (everything|anything|every {thing}) {at} {that} ~is a {X} / (all|all the) {things} {at} {thats} ~are {Xs}
    no {thing} {at} other than a {X} {does} / if (something|a {thing}) {at} {does}, it is [always] a {X}
    whatever {does} {at}, it is a {X} / {p} {at}: only {Xs} / {Xs} ~are the only {things} {at} {thats}
    the only {things} {at} {thats} ~are {Xs} / apart from {Xs}, nothing {at} {does}
    just {Xs} {do}, nothing else does / the only {vs} {things} {at} ~are {Xs}
""")


def only(say: Speaker, where: Domain) -> Content | None:
    """ "Only circles are blue"; "in the left box, nothing but squares touches a wall"."""
    kind = say.kind(plain=True, generic=0)
    found = anything(say, where, kind, "part")
    if found is None or found.given or (found.is_value and (say.fixed or found.one.bare != found.many.bare)):
        return None
    text = _clause(say, _ONLY, kind, found, thing=say.item, things=say.items)
    others = mean.those(where.items, mean.both(found.condition, mean.negation(kind.condition)))
    return Content(f"not exist({others})", clause=text)


_EVERYTHING = Table("""
3 ; every ; not exist({others})
    (everything|every single thing|each and every thing) {at} {does} / all [of] the (things|objects) {at} {do}
    there ~is nothing {at} {not_that} / whatever you look at {at}, it {does} / they all {do} {at}
    I don't see anything {at} {not_that} / nothing {at} ~is anything but {v} / all {vs} {at}
2 ; no ; not exist({those})
    nothing {at} {does} / not (a single|one) thing {at} {does} / there ~is nothing {at} {that}
    (I|we) (don't|can't) see anything {at} {that} / you won't find anything {at} {that}
1.5 ; some ; exist({those})
    (something|at least one thing) {at} {does} / there ~is something {at} {that}
1 ; not every ; exist({others})
    not everything {at} {does} / something {at} {doesnt} / there ~is something {at} {not_that}
""")


def everything(say: Speaker, where: Domain) -> Content | None:
    """ "Everything in the left box is blue"; "nothing touches a wall"; "something isn't yellow"."""
    row = _EVERYTHING.draw(say)
    sort, meaning = row.columns
    kind = Kind("thing", "things")
    found = anything(say, where, kind, sort)
    if found is None:
        return None
    those, others = mean.those(where.items, found.condition), mean.those(where.items, mean.negation(found.condition))
    clause = _clause(say, row.wordings, kind, found)
    return Content(mean.both(found.given, meaning.format(those=those, others=others)), clause=clause)


CONTENTS = ((13.0, share), (7.0, definite), (4.5, described), (2.2, only), (2.2, everything))
