"""Rules about how many items there are, in a scene or in boxes: counts, comparisons of counts, shares, attributes.

A rule draws the parts of a statement and returns a Sentence, or None where the world does not allow it. Wordings are
filled in with the plural and the singular of a kind, {Xs} and {X}, of a second one, {Ys} and {Y}, with a property as it
is said after "are" and "is", {ps} and {p}, and with an amount, {n}. A wording that ends with "?" is only a question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from veriscene.english import meaning as mean
from veriscene.english.pattern import statement
from veriscene.english.places import placed_kind
from veriscene.english.speaker import NO, SOME, Domain, Kind, Property, Quantity, Sentence, Speaker
from veriscene.english.words import FOREIGN, plural_of
from veriscene.world.schema import Attribute

# ---------------------------------------------------------------- parts


def _domain(say: Speaker, quantified: float, *, negative: bool = True) -> Domain:
    """A domain that can be said in front of a clause: not "in none of the boxes"; `negative`: "no box" is possible."""
    while True:
        where = say.domain(quantified=quantified)
        is_odd = where.subject.startswith(("not every", "not all", "none of", "only one of", "just one of"))
        if not where.is_quantified or not (is_odd or (_is_negative(where) and not negative)):
            return where


def _setting(say: Speaker, quantified: float = 0.0, **options: float) -> tuple[Domain, Kind]:
    """A domain and a kind of item. Only the domain says in which box the items are."""
    where = _domain(say, quantified)
    kind = say.kind(**options)
    while ".box ==" in kind.condition:
        kind = say.kind(**options)
    return where, kind


def _setting_and_predicate(say: Speaker, quantified: float, **options: float) -> tuple[Domain, Kind, Property]:
    """A domain, a kind of item, and what is said of it: not of an attribute that the kind already tells."""
    while True:
        where, kind = _setting(say, quantified, **options)
        found = _predicate(say, kind, where)
        if found.condition.partition("==")[0] not in kind.condition or not kind.condition:
            return where, kind, found


def _place(where: Domain) -> str:
    """The place as it is said after a noun; "in total" is none."""
    return "" if where.where in ("overall", "in total") or where.is_quantified else where.where


def _at(kind: Kind, where: Domain) -> Kind:
    """The kind with its place: "circle in the left box"."""
    at = _place(where)
    return kind.that(at, at, "") if at else kind


def _framed(where: Domain, clause: str) -> str:
    """A clause with the place in front that its noun could not have: "in every box, …"."""
    return _within(where, clause) if where.is_quantified else clause


def _is_negative(where: Domain) -> bool:
    return where.subject.startswith(("no ", "not ", "none "))


def _within(where: Domain, clause: str) -> str:
    """A clause with its place in front: "in the left box, …", "there is no box where …"."""
    subject, at = where.subject, where.where if where.is_quantified else _place(where)
    starts = ("no ", "not ", "only ", "just ", "a ", "exactly ")
    if where.is_quantified and subject.startswith(starts) and " of the " not in subject:
        return f"there ~{'are' if where.plural else 'is'} {subject} (where|in which) {statement(clause)}"
    return f"{at}, {clause}" if at else clause


def _presence(
    where: Domain, things: str, plural: bool, *, negative: bool = False, several: bool = False
) -> list[str]:
    """Wordings that say that things are there. `negative`: the things are none, as in "no circles"; `several`: they are
    plural as a subject, "a circle and a square appear", whatever follows "there"."""
    be, (are, s) = ("are" if plural else "is"), (("are", "") if plural or several else ("is", "s"))
    has = "(have|contain|hold|show|include)" if where.plural else "(has|contains|holds|shows|includes|features)"
    texts = [f"{where.subject} ~{has} {things}"] * 2
    if not where.plural:
        texts.append(f"{where.subject} ~has {things} in it")
    if where.is_quantified:
        if _is_negative(where):
            return texts
        texts += [_within(where, f"there ~{be} {things}")] * 2
        # A negative quantity before the place could be read with the other scope.
        return texts if negative else [*texts, f"there ~{be} {things} {where.where}"]
    at = where.where
    texts += [
        *[f"there ~{be} {things} {at}"] * 3,
        *[f"{where.front}there ~{be} {things}"] * 2,
        f"(I|you|we) ~(can see|see|count|can find) {things} {at}",
        f"{things} ~(can be seen|can be found|{are} present|{are} shown|{are} to be found) {at or 'here'}",
        f"{things} ~(appear{s}|show{s} up) {at or 'in the picture'}",
        f"(we've|you've|it's) got {things} {at}",
        f"{things} {at}",
    ]
    if where.box:
        texts += [f"{where.subject}: {things}", f"{where.subject} with {things}", f"{at} {be} {things}"]
    return texts


def _amount(say: Speaker, low: int = 2, high: int = 6) -> Quantity:
    """A number, said alone: "at least three", "more than two"; never none."""
    value = say.small(low, high)
    n = say.number(value)
    words, test = say.weighted(
        (4, (f"[exactly|just|precisely|only] {n}", f"{{}} == {value}")),
        (2, (f"(at least {n}|at least {n}|{n} or more|no fewer than {n}|a minimum of {n})", f"{{}} >= {value}")),
        (1.5, (f"(more than|over) {n}", f"{{}} > {value}" if value > 1 else "{} >= 2")),
        (1.2, (f"(at most {n}|no more than {n}|{n} or fewer|up to {n}|a maximum of {n})", f"{{}} <= {value}")),
        (1.2 * (value > low), (f"(fewer|less) than {n}", f"{{}} < {value}")),
    )
    return Quantity(words, SOME if test == "{} >= 1" else test)


def _trailing(say: Speaker) -> Quantity:
    """A quantity whose limit follows the noun: "three circles at most"."""
    value = say.small(2, 6)
    n = say.number(value)
    after, test = say.weighted(
        (2, (", no more[,| and] no (less|fewer)| exactly|, not one more and not one less| and that's it|, that's all", "==")),
        (2, (" or more| at least| at the very least|, if not more|, maybe more|, minimum", ">=")),
        (1.5, (" at most| or fewer| or less| max| tops| at the very most", "<=")),
        (0.7, (" and then some|, and at least one more", ">")),
    )
    return Quantity(f"{n} {{}}({after})", f"{{}} {test} {value}")


def _attributes(say: Speaker, *, nouns: bool = True) -> list[Attribute]:
    """Attributes that can be named: "colour", "price"; not those that are said in several words, as "on offer"."""
    fixed = [name for name, _ in say.world.towers.values] if say.is_tower and say.world.towers else []
    return [
        each
        for each in say.world.attributes
        if (nouns or not each.is_noun)
        and each.name not in fixed
        and not any(" " in word for choice in each.choices for word in choice.words)
    ]


def _value_kinds(say: Speaker, number: int, *, avoid: str = "", bare: bool = False) -> list[Kind]:
    """Kinds that differ in the value of one attribute: circles, squares; blue items, yellow items. Fewer if there are
    not so many. `bare`: without the general noun, "blue", "yellow"."""
    options = [each for each in _attributes(say) if each.choices and f"{say.lexicon.names[each.name]}(@)" not in avoid]
    if not options:
        return []
    attribute = say.rng.choice(options)
    found = []
    for choice in say.rng.sample(attribute.choices, min(number, len(attribute.choices))):
        if attribute.is_noun:
            singular, plural = say.rng.choice(say.lexicon.nouns[attribute.name, choice.name])
        else:
            singular = plural = say.rng.choice(choice.words)
            if not bare:
                singular, plural = f"{singular} {say.item}", f"{plural} {say.items}"
        found.append(Kind(singular, plural, say.has(attribute, choice)))
    return found


def _alternatives(say: Speaker) -> list[Kind]:
    """Two kinds, or sometimes three that differ in one attribute; no general ones."""
    if say.chance(0.5) and len(values := _value_kinds(say, 3)) >= 2:
        return values if say.chance(0.25) else values[:2]
    while True:
        kinds = say.two_kinds()
        if all(each.condition for each in kinds):
            return list(kinds)


def _joined(kinds: Sequence[Kind], conjunction: str, after: str = "") -> Kind:
    """Several kinds as one: "circles and squares"."""

    def words(names: list[str]) -> str:
        return f"{', '.join(names[:-1])} {conjunction} {names[-1]}{after}"

    return Kind(
        words([each.singular for each in kinds]),
        words([each.plural for each in kinds]),
        mean.either(*(each.condition for each in kinds)),
    )


def _predicate(say: Speaker, kind: Kind, where: Domain) -> Property:
    """What is said of items of a kind: "blue", "circles", "blue or yellow", "in the left box"."""
    is_free = not where.box and say.world.boxes[1] > 1
    how = say.weighted((9, "value"), (0.7, "or"), (0.4, "non"), (1.5 * is_free, "box"), (0.7, "place"))
    if how == "box":
        box = say.which()
        return Property(box.where, box.where, f"@.box == {box.box}")
    if how == "place" and (placed := placed_kind(say, Kind("", ""))) is not None:
        words, plural = placed.singular.strip(), placed.plural.strip()
        if words.split()[0] not in ("that", "which", "with", "whose", "who", "not"):
            return Property(words, plural, placed.condition)
    if how == "or" and len(values := _value_kinds(say, 2, avoid=kind.condition, bare=True)) == 2:
        is_noun = values[0].singular != values[0].plural
        article = "a " if is_noun else ""
        singular = " or ".join(f"{article}{each.singular}" for each in values)
        return Property(singular, " or ".join(each.plural for each in values), mean.either(*(v.condition for v in values)))
    found = say.property(noun=not say.is_tower, avoid=kind.condition)
    if how == "non" and found.condition != FOREIGN and found.singular == found.plural and " " not in found.singular:
        return Property(f"non-{found.singular}", f"non-{found.plural}", mean.negation(found.condition))
    return found


def _fill(say: Speaker, patterns: Sequence[str], kind: Kind, found: Property | None = None, **words: str) -> str:
    """One of the patterns with its words; `{noun}` is a property that is said as a noun, where it is one."""
    slots = {"Xs": kind.plural, "X": kind.singular} | words
    if found is not None:
        slots |= {"ps": found.plural, "p": found.singular}
        if found.singular.startswith("a ") and " or " not in found.singular:
            slots["noun"] = found.plural
    return say.rng.choice([each for each in patterns if "{noun}" not in each or "noun" in slots]).format(**slots)


# ---------------------------------------------------------------- how many


def how_many(say: Speaker) -> Sentence:
    """ "There are at least two blue circles in the left box"; "every box has a circle"."""
    where, kind = _setting(say, 0.35)
    is_short = len(kind.plural.split()) <= 3
    quantity = _trailing(say) if is_short and say.chance(0.12) else say.quantity(negative=not _is_negative(where))
    things, meaning = quantity.of(kind), where.bind(quantity.holds(kind.among(where.items)))
    texts = _presence(where, things, quantity.plural, negative=quantity.test == NO)
    at = where.where
    if quantity.test == SOME and not where.is_quantified:
        texts += [
            f"(are there|do you see|can you see|have we got) any {kind.plural} {at}?",
            f"any {kind.plural} {at}?",
            f"does {where.subject} (have|contain|show) any {kind.plural}?",
            f"(somewhere|{at or 'here'}) (is|sits|lies) {kind.a}",
            f"{kind.singular} {at or 'present'}",
        ]
    return Sentence(say.pick(*texts), meaning)


def absence(say: Speaker) -> Sentence:
    """ "Circles are missing from the left box"; "the picture is free of blue items"; "I don't see any square"."""
    where, kind = _setting(say)
    texts = (
        "{Xs} ~are (missing|absent|completely absent) from {subject}",
        "{subject} ~(lacks|lacks any) {Xs}",
        "{subject} ~is (free of|without|devoid of|without any) {Xs}",
        "{subject} (doesn't|does not) (have|contain|show) (a|any|a single) {X}",
        "{subject} (doesn't|does not) (have|contain|show) [any] {Xs}",
        "there (isn't|is not) (a|a single|any|even one) {X} {at}",
        "there (aren't|are not) any {Xs} {at}",
        "{front}there (isn't|is not) (a|a single|any) {X}",
        "(I|we|you) (can't|cannot|don't) see (a|any|a single) {X} {at}",
        "you (won't|will not|can't) find (a|any) {X} {at}",
        "nothing {at} is a {X}",
        "none of the (things|items|objects) {at} ~is a {X}",
        "{Xs} {at}: none",
        "(not a|not a single|not one|no) {X} {at}",
        "without (any|a single) {X} {at}",
    )
    text = _fill(say, texts, kind, subject=where.subject, at=_place(where), front=where.front if _place(where) else "")
    return Sentence(text, mean.negation(f"exist({kind.among(where.items)})"))


def number_of(say: Speaker) -> Sentence:
    """ "The number of circles in the left box is at least three"; "circles: 2"; "the circles add up to four"."""
    where, kind = _setting(say, 0.12)
    amount = _amount(say, 1, 7)
    if say.chance(0.05):
        amount = Quantity("zero", NO)
    is_exact = "==" in amount.test
    texts = [
        "the [total|exact] number of {Xs} {at} ~is {n}",
        "the (number|count|tally) of {Xs} {at} ~is {n}",
        "the {Xs} {at} ~(number|add up to|come to|amount to) {n}",
        "there ~are {Xs} {at}, {n} of them" if amount.test not in ("{} == 1", NO) and "<" not in amount.test else "{Xs}: {n}",
        "the number of {Xs} {at} ~(equals|equals) {n}" if is_exact else "{front}the number of {Xs} ~is {n}",
        "{n} ~is (the number of {Xs}|how many {Xs} there are) {at}" if is_exact else "the count of {Xs} {at} ~is {n}",
    ]
    if not where.is_quantified:
        texts += ["[the] number of {Xs} {at}: {n}", "{Xs} {at}: {n}", "{Xs} {at}: {n}", "count of {Xs} {at}: {n}"]
        texts += ["count the {Xs} {at} and you get {n}", "if you count the {Xs} {at}, you ~get {n}"]
    value = amount.test.rpartition(" ")[2]
    for sign, words in (("> ", "(exceeds|is greater than|is higher than|is above)"), ("< ", "(is below|is lower than|is under)")):
        if sign in amount.test:
            texts += [f"the (number|count) of {{Xs}} {{at}} ~{words} {say.number(int(value))}"] * 2
    text = _fill(say, texts, kind, n=amount.words, at=_place(where), front="")
    return Sentence(_framed(where, text), where.bind(amount.holds(kind.among(where.items))))


def total(say: Speaker) -> Sentence:
    """ "There are nine items in total"; "all in all, more than five things"; "five circles and squares altogether"."""
    where = say.which() if say.world.boxes[1] > 1 and say.chance(0.25) else say.scene()
    at = f"in {where.subject}" if where.box else "[in the whole picture]"
    amount = _amount(say, 3, 12)
    kind = Kind(say.item, say.items)
    if say.chance(0.3) and len(values := _value_kinds(say, 2)) == 2:
        kind = _joined(values, "and")
    texts = (
        "there ~are {n} {Xs} {at} (in total|altogether|in all|all told|overall)",
        "(altogether|in total|all in all|all told|overall), there ~are {n} {Xs} {at}",
        "{n} {Xs} {at} (in total|total|altogether|all together)",
        "the total number of {Xs} {at} ~is {n}",
        "total: {n} {Xs}" if not where.box else "{subject}, total: {n} {Xs}",
        "the {Xs} {at} ~(add up to|come to) {n} (in total|altogether|in all)",
        "{subject} ~(has|contains|holds) {n} {Xs} (in total|altogether|in all)",
        "(if you count|counting) all the {Xs} {at} together, you ~get {n}",
    )
    text = _fill(say, texts, kind, n=amount.words, at=at, subject=where.subject)
    return Sentence(text, amount.holds(kind.among(where.items)))


# ---------------------------------------------------------------- comparisons

# The relation of two counts, things that are there, and whole clauses.
_COMPARISONS: tuple[tuple[float, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (4, "{a} > {b}", ("more {Xs} than {Ys}", "more {Xs} than {Ys}", "a (greater|higher|larger) number of {Xs} than [of] {Ys}"), (
        "[the] {Xs} ~outnumber [the] {Ys}", "[the] {Xs} ~are more numerous than [the] {Ys}",
        "the number of {Xs} ~(exceeds|is greater than|is higher than|is larger than) (the number|that) of {Ys}",
        "{Xs} outnumbering {Ys}", "{Xs} vs {Ys}: more {Xs}",
    )),
    (2.5, "{a} < {b}", ("(fewer|less|fewer) {Xs} than {Ys}", "not as many {Xs} as {Ys}"), (
        "[the] {Xs} ~are outnumbered by [the] {Ys}", "[the] {Xs} ~are (less numerous|fewer) than [the] {Ys}",
        "the number of {Xs} ~is (smaller than|lower than|less than) (the number|that) of {Ys}",
        "there (aren't|are not) as many {Xs} as {Ys}",
    )),
    (3, "{a} == {b}", (
        "(as many|just as many|exactly as many) {Xs} as {Ys}", "the same (number|amount) of {Xs} (and|as) {Ys}",
        "an equal (number|amount) of {Xs} and {Ys}", "equally many {Xs} and {Ys}",
    ), (
        "[the] {Xs} and [the] {Ys} ~are (equal in number|equally many|even in number)",
        "the number of {Xs} ~(equals|is the same as|is equal to) (the number|that) of {Ys}",
        "{Xs} and {Ys}: same (number|count)", "{Xs} and {Ys} ~(occur|appear) in equal numbers",
    )),
    (1.5, "{a} == {b} + {b}", (
        "[exactly] (twice as many|two times as many|double as many) {Xs} as {Ys}", "twice the number of {Xs} as {Ys}",
        "two {Xs} for (every|each) {Y}",
    ), (
        "the number of {Xs} ~is (twice|double) (the number|that) of {Ys}", "{Xs}: (twice|double) the number of {Ys}",
        "[the] {Xs} ~are [exactly] twice as numerous as [the] {Ys}", "for (every|each) {Y}, there ~are two {Xs}",
    )),
    (1, "{b} == {a} + {a}", ("[exactly] half as many {Xs} as {Ys}",), ("the number of {Xs} ~is half (the number|that) of {Ys}",)),
    (0.6, "{a} == {b} + {b} + {b}", ("[exactly] (three|3) times as many {Xs} as {Ys}",), (
        "the number of {Xs} ~is (three|3) times (the number|that) of {Ys}",
    )),
    (0.5, "{a} > {b} + {b}", ("more than twice as many {Xs} as {Ys}",), ()),
    (0.4, "{a} >= {b} + {b}", ("at least twice as many {Xs} as {Ys}",), ()),
    (1.5, "{a} == {b} + {n}", ("[exactly] {n} more {Xn} than {Ys}",), ("[the] {Xs} ~outnumber [the] {Ys} by [exactly] {n}",)),
    (1, "{b} == {a} + {n}", ("[exactly] {n} fewer {Xn} than {Ys}",), ()),
    (0.6, "{a} >= {b} + {n}", ("at least {n} more {Xn} than {Ys}",), ()),
    (0.8, "{a} >= {b}", ("at least as many {Xs} as {Ys}", "no fewer {Xs} than {Ys}"), ()),
    (0.8, "{a} <= {b}", ("at most as many {Xs} as {Ys}", "no more {Xs} than {Ys}"), (
        "[the] {Xs} (don't|do not) outnumber [the] {Ys}", "there (aren't|are not) more {Xs} than {Ys}",
    )),
    (0.6, "{a} != {b}", ("a different number of {Xs} and {Ys}",), (
        "there (isn't|is not) the same number of {Xs} and {Ys}", "the number of {Xs} ~is different from (the number|that) of {Ys}",
        "the numbers of {Xs} and {Ys} ~(differ|are different)",
    )),
)  # fmt: skip


def compared(say: Speaker) -> Sentence:
    """ "There are more circles than squares"; "every box has twice as many blue items as yellow ones"."""
    where, (first, second, *others) = _domain(say, 0.25, negative=False), _alternatives(say)
    if others and say.chance(0.5):
        second = _joined([second, *others], "and", " (combined|together|put together|taken together)")
    if say.chance(0.25) and second.plural.endswith(f" {say.items}") and first.plural.endswith(f" {say.items}"):
        second = replace(second, plural=second.plural.removesuffix(say.items) + "ones")
    _, relation, things, clauses = say.weighted(*((row[0], row) for row in _COMPARISONS))
    value = say.small(1, 3)
    words = {"Ys": second.plural, "Y": second.singular, "n": say.number(value)}
    words["Xn"] = first.singular if value == 1 else first.plural
    counted = {"a": f"count({first.among(where.items)})", "b": f"count({second.among(where.items)})", "n": str(value)}
    meaning = where.bind(relation.format(**counted))
    # "combined" must end the sentence.
    usable = [each for each in (*things, *things, *clauses) if "(combined" not in second.plural or each.endswith("{Ys}")]
    chosen = say.rng.choice(usable)
    text = _fill(say, [chosen], first, **words)
    if chosen not in things:
        return Sentence(_within(where, text), meaning)
    plural = not chosen.startswith(("a ", "an ", "the same")) and not ("{Xn}" in chosen and value == 1)
    return Sentence(say.pick(*_presence(where, text, plural)), meaning)


_MORE_ARE: tuple[tuple[float, str, tuple[str, ...]], ...] = (
    (3, "{a} > {b}", ("more [of the] {Xs} ~are {ps} than {qs}", "the {Xs} ~are more often {ps} than {qs}")),
    (1.5, "{a} < {b}", ("fewer [of the] {Xs} ~are {ps} than {qs}", "not as many [of the] {Xs} ~are {ps} as {qs}")),
    (2, "{a} == {b}", ("(as many|just as many) [of the] {Xs} ~are {ps} as {qs}", "{Xs}: as many {ps} as {qs}")),
    (1, "{a} == {b} + {b}", ("twice as many [of the] {Xs} ~are {ps} as {qs}",)),
)


def more_are(say: Speaker) -> Sentence | None:
    """ "More circles are blue than yellow"; "as many of the items in the left box are circles as squares"."""
    where, kind = _setting(say, 0.1)
    values = _value_kinds(say, 2, avoid=kind.condition, bare=True)
    if len(values) < 2:
        return None
    _, relation, texts = say.weighted(*((row[0], row) for row in _MORE_ARE))
    counts = [f"count({kind.among(where.items, each.condition)})" for each in values]
    text = _fill(say, texts, _at(kind, where), ps=values[0].plural, qs=values[1].plural)
    return Sentence(_framed(where, text), where.bind(relation.format(a=counts[0], b=counts[1])))


# ---------------------------------------------------------------- shares

_SHARES: tuple[tuple[float, str, tuple[str, ...]], ...] = (
    (4, "not exist({others})", (
        "(all|all the|all of the|all of these) {Xs} ~are {ps}", "(all|all the|all of the) {Xs} ~are {ps}",
        "(every|each|every single|each and every) {X} ~is {p}", "the {Xs} ~are (all|without exception) {ps}",
        "the {Xs} ~are {ps}", "the {Xs} are {ps}, (all|every one) of them", "{Xs}: all {ps}", "if it's a {X}, it's {p}",
        "there ~is no {X} that (is not|isn't) {p}", "without exception, the {Xs} ~are {ps}",
        "look at the {Xs}: they are all {ps}", "all {Xs} {ps}", "you won't find a {X} that isn't {p}",
        "no {X} ~is anything (but|other than) {p}",
    )),
    (2, "not exist({those})", (
        "(none of the|no) {Xs} ~are {ps}", "(no|not a single|not one) {X} ~is {p}", "the {Xs} ~are never {ps}",
        "not one of the {Xs} ~is {p}", "{Xs}: none {ps}", "if it's a {X}, it (isn't|is not) {p}",
        "there ~are no {Xs} that are {ps}", "the {Xs} (aren't|are not) {ps}, not (one|a single one) of them",
        "I don't see (a|any) {X} that is {p}", "of the {Xs}, none ~are {ps}", "every {X} ~is something other than {p}",
    )),
    (2, "exist({others})", (
        "(not all|not all of the|not all the) {Xs} ~are {ps}", "not every [single] {X} ~is {p}",
        "the {Xs} (aren't|are not) all {ps}", "(at least one|some) {X} (is not|isn't) {p}", "{Xs}: not all {ps}",
        "(some of the|one or more of the) {Xs} (are not|aren't) {ps}", "there ~is a {X} that (is not|isn't) {p}",
        "at least one of the {Xs} (is not|isn't) {p}", "at least one {X} ~is something other than {p}",
        "(I|you) ~(see|can see|can find) a {X} that (isn't|is not) {p}", "are any [of the] {Xs} not {ps}?",
        "it's not true that all {Xs} are {ps}",
    )),
    (2, "exist({those})", (
        "(some|some of the|one or more of the) {Xs} ~are {ps}", "(at least one|some) {X} ~is {p}",
        "at least one of the {Xs} ~is {p}", "there ~is a {X} (that is|that's|which is) {p}", "{Xs}: at least one {p}",
        "(is any|is any|is at least one) {X} {p}?", "are (any|some|any of the) {Xs} {ps}?", "are any of the {Xs} {ps}?",
        "there ~is a {X} and it's {p}", "among the {Xs}, at least one ~is {p}", "a {X} ~is {p}",
        "(I|you) ~(see|can see|can find) a {X} that is {p}",
    )),
    (2.5, "count({those}) > count({others})", (
        "(most|most of the|the majority of the|more than half of the|more than half the) {Xs} ~are {ps}",
        "(most|most of the|over half of the|over half the) {Xs} ~are {ps}", "{Xs}: mostly {ps}",
        "the {Xs} ~are (mostly|for the most part|predominantly) {ps}", "most {Xs} {ps}", "of the {Xs}, most ~are {ps}",
        "more {Xs} ~are {ps} than not", "the {Xs} that are {ps} ~outnumber those that (aren't|are not)",
        "{noun} ~make up (most|more than half|the majority) of (the|all) {Xs}", "the {Xs} are {ps}, most of them",
        "there ~are more {Xs} that are {ps} than {Xs} that (aren't|are not)",
    )),
    (1.5, "count({those}) == count({others})", (
        "(half of the|exactly half of the|half the|exactly half the) {Xs} ~are {ps}", "{Xs}: half {ps}, half not",
        "(50%|50 percent|fifty percent|one half) of the {Xs} ~are {ps}", "of the {Xs}, [exactly] half ~are {ps}",
        "as many {Xs} ~are {ps} as are not", "half of the {Xs} are {ps} and the other half (aren't|are not)",
        "{noun} ~make up [exactly] half of (the|all) {Xs}",
        "there ~are as many {Xs} that are {ps} as {Xs} that (aren't|are not)",
    )),
    (0.7, "count({those}) < count({others})", (
        "(fewer|less) than half of the {Xs} ~are {ps}", "(only a|a) minority of the {Xs} ~are {ps}",
        "{noun} ~make up less than half of (the|all) {Xs}", "most [of the] {Xs} (aren't|are not) {ps}",
    )),
    (0.7, "count({those}) >= count({others})", (
        "at least half of the {Xs} ~are {ps}", "half or more of the {Xs} ~are {ps}",
        "{noun} ~make up at least half of (the|all) {Xs}",
    )),
    (1.5, "count({others}) == 1", (
        "(all but one|all except one) of the {Xs} ~are {ps}", "all but one [of the] {Xs} ~are {ps}",
        "all [of] the {Xs} ~are {ps} (except|except for|apart from|but) one", "every {X} (but|except|save) one ~is {p}",
        "(just|only|exactly) one of the {Xs} (is not|isn't) {p}", "(just|only|exactly) one {X} (is not|isn't) {p}",
        "with (one|a single) exception, the {Xs} ~are {ps}", "{Xs}: all {ps} (except|but) one", "all {Xs} but one {ps}",
        "(apart from|except for) one, the {Xs} ~are all {ps}", "one {X} isn't {p}, (all the others|the rest) are",
    )),
    (0.8, "count({others}) == {value}", (
        "(all but|all except) {m} of the {Xs} ~are {ps}", "all the {Xs} ~are {ps} (except|except for|apart from) {m}",
        "[exactly|only|just] {m} of the {Xs} (aren't|are not) {ps}", "{m} {Xs} (aren't|are not) {ps}",
    )),
    (1.2, "count({those}) == 1", (
        "(exactly|only|just|precisely) one of the {Xs} ~is {p}", "(exactly|only|just) one {X} ~is {p}",
        "a single {X} ~is {p}", "of the {Xs}, (only|just|exactly) one ~is {p}", "{Xs}: (just|exactly) one {p}",
        "there ~is (only|just|exactly) one {X} that is {p}", "one of the {Xs} is {p}, the rest (are not|aren't)",
    )),
    (4, "", (
        "{n} of the {Xs} ~are {ps}", "{n} of the {Xs} ~are {ps}", "{n} {Xs} ~are {ps}", "(of|among|out of) the {Xs}, {n} ~are {ps}",
        "there ~are {n} {Xs} that are {ps}", "the number of {Xs} that are {ps} ~is {n}", "{Xs}: {n} {ps}",
        "{Xs}, {n} of them {ps}", "of all the {Xs}, {n} ~are {ps}", "if you look at the {Xs}, {n} of them ~are {ps}",
    )),
)  # fmt: skip


def share(say: Speaker) -> Sentence:
    """ "Most of the circles are blue"; "none of the items in the left box is a square"; "three items are in the left box"."""
    where, kind, found = _setting_and_predicate(say, 0.15)
    _, meaning, texts = say.weighted(*((row[0], row) for row in _SHARES))
    those, others = kind.among(where.items, found.condition), kind.among(where.items, mean.negation(found.condition))
    amount, value = _amount(say), say.small(2, 3)
    meaning = meaning.format(those=those, others=others, value=value) or amount.holds(those)
    is_front = where.is_quantified or (bool(_place(where)) and say.chance(0.35))
    text = _fill(say, texts, kind if is_front else _at(kind, where), found, n=amount.words, m=say.number(value))
    return Sentence(_within(where, text) if is_front else text, where.bind(meaning))


def definite(say: Speaker) -> Sentence:
    """ "The two circles on the right are blue"; "four of the five items are circles"; "the only square is yellow"."""
    where, kind, found = _setting_and_predicate(say, 0.04)
    those, others = kind.among(where.items, found.condition), kind.among(where.items, mean.negation(found.condition))
    number = say.small(2, 6)
    part = say.rng.randint(1, number - 1)
    exactly, are = ("(exactly|only|just) ", "~is {p}") if part == 1 else ("[exactly|only|just] ", "~are {ps}")
    all_are, none_is, at_least = f"not exist({others})", f"not exist({those})", Quantity("", f"{{}} >= {part}")
    size, meaning, texts = say.weighted(
        (3, (1, all_are, ("the (only|only|one|single) {X} ~is {p}", "there ~is (only|just) one {X} and it's {p}"))),
        (2, (1, all_are, ("the {X} ~is {p}", "the {X}: {p}"))),
        (2, (number, all_are, ("the {m} {Xs} ~are [all] {ps}", "all {m} [of the] {Xs} ~are {ps}"))),
        (1.2, (2, all_are, ("both [of the] {Xs} ~are {ps}", "the two {Xs} ~are both {ps}"))),
        (0.6, (2, none_is, ("neither of the [two] {Xs} ~is {p}", "neither {X} ~is {p}"))),
        (0.6, (number, none_is, ("none of the {m} {Xs} ~are {ps}", "not one of the {m} {Xs} ~is {p}"))),
        (3, (number, f"count({those}) == {part}", (
            f"{exactly}{{n}} (of|out of) the {{m}} {{Xs}} {are}", f"of the {{m}} {{Xs}}, {exactly}{{n}} {are}",
            f"{exactly}{{n}} of {{m}} {{Xs}} {are}", f"out of {{m}} {{Xs}}, {exactly}{{n}} {are}",
        ))),
        (0.8, (number, at_least.holds(those), (f"at least {{n}} of the {{m}} {{Xs}} {are}",))),
        (0.6, (number, f"count({those}) > count({others})", ("most of the {m} {Xs} ~are {ps}",))),
    )  # fmt: skip
    text = _fill(say, texts, _at(kind, where), found, n=say.number(part), m=say.number(number))
    return Sentence(_framed(where, text), where.bind(mean.both(f"count({kind.among(where.items)}) == {size}", meaning)))


_PRONOUNS: tuple[tuple[float, str, tuple[str, ...]], ...] = (
    (4, "not exist({others})", (
        " and (they're|they are|these are) all {ps}", ", all [of them] {ps}", " and all of them are {ps}", ", (all of which|which) are {ps}",
        " and every one of them is {p}",
    )),
    (1.5, "not exist({those})", (
        " (and|but) none of them (is {p}|are {ps})", ", none of (them|which) {ps}", ", but they aren't {ps}", ", none {ps}",
    )),
    (1, "exist({those})", (" and at least one of them is {p}", ", at least one of (them|which) is {p}", ", some of them {ps}")),
    (1, "exist({others})", (" (and|but) not all of them are {ps}", " but they're not all {ps}", ", not all [of them] {ps}")),
    (1, "count({those}) == 1", (" and (exactly|only|just) one of them is {p}", ", (exactly|only|just) one of (them|which) is {p}")),
    (0.8, "count({those}) == {value}", (" and {m} of them are {ps}", ", {m} of (them|which) [are] {ps}", ", {m} {ps}")),
    (0.8, "count({those}) > count({others})", (" and most of them are {ps}", ", mostly {ps}", ", most of (them|which) are {ps}")),
    (0.5, "count({those}) == count({others})", (" and half of them are {ps}", ", half of them {ps}")),
    (0.5, "count({others}) == 1", (" and all but one of them are {ps}", ", all but one [of them] {ps}")),
)  # fmt: skip


def described(say: Speaker) -> Sentence:
    """ "There are three items and they're all squares"; "the left box has only one circle, and it's blue"."""
    where, kind, found = _setting_and_predicate(say, 0.15, modified=0.04, generic=0.35)
    those, others = kind.among(where.items, found.condition), kind.among(where.items, mean.negation(found.condition))
    quantity = say.quantity(negative=False, low=2) if say.chance(0.8) else Quantity("(only|just|exactly) one {}", "{} == 1", False)
    if quantity.test == SOME and not quantity.plural:  # "there is a circle and it is blue"
        meaning, after = f"exist({those})", say.pick(" and (it is|it's) {p}", " which is {p}", ", a {p} one")
        after = after if found.singular == found.plural and " " not in found.singular else " and (it is|it's) {p}"
    elif quantity.plural:
        _, also, texts = say.weighted(*((row[0], row) for row in _PRONOUNS))
        value = say.small(2, 3)
        meaning = mean.both(quantity.holds(kind.among(where.items)), also.format(those=those, others=others, value=value))
        after = say.rng.choice(texts).replace("{m}", say.number(value))
    elif quantity.test == "{} == 1":
        is_not = say.chance(0.2)
        also = f"not exist({those if is_not else others})"
        meaning = mean.both("count({}) == 1".format(kind.among(where.items)), also)
        after = say.pick(" (and|but) (it isn't|it's not) {p}") if is_not else say.pick(" and (it is|it's) {p}", ", and it's {p}", ", which is {p}")
    else:
        return how_many(say)
    things = quantity.of(kind)
    # The pronoun follows what it stands for, so nothing but the things may end the first clause.
    first = [each for each in _presence(where, things, quantity.plural) if each.endswith((things, f"{things} {where.where}"))]
    return Sentence(say.pick(*first).rstrip() + after.format(p=found.singular, ps=found.plural), where.bind(meaning))


# ---------------------------------------------------------------- only, everything, nothing

_ONLY: tuple[str, ...] = (
    "only {Xs} ~are {ps}", "just {Xs} are {ps}, nothing else is", "nothing (but|except|other than) {Xs} ~is {p}",
    "the only {p} {things} ~are {Xs}", "the only {things} that are {ps} ~are {Xs}", "no {thing} other than a {X} ~is {p}",
    "(everything|anything) that is {p} ~is a {X}", "everything {p} ~is a {X}", "every {thing} that is {p} ~is a {X}",
    "if (something|a {thing}|it) is {p}, it (is|is always) a {X}", "{p}: only {Xs}",
    "(nothing|no {thing}) that isn't a {X} ~is {p}", "{Xs} ~are the only {things} that are {ps}", "nothing {p} except {Xs}",
    "whatever is {p} ~is a {X}", "apart from {Xs}, nothing ~is {p}", "{Xs} ~are the only {p} {things}",
)  # fmt: skip


def only(say: Speaker) -> Sentence | None:
    """ "Only circles are blue"; "in the left box, nothing but squares is yellow"."""
    where, kind = _domain(say, 0.12, negative=False), say.kind(plain=True, generic=0.0)
    values = [each for each in _value_kinds(say, 1, avoid=kind.condition, bare=True) if each.singular == each.plural]
    if not values:
        return None
    meaning = f"not exist({mean.those(where.items, mean.both(values[0].condition, mean.negation(kind.condition)))})"
    word = values[0].singular
    text = _fill(say, _ONLY, kind, Property(word, word, ""), thing=say.item, things=say.items)
    return Sentence(_within(where, text) if _place(where) or where.is_quantified else text, where.bind(meaning))


def nothing_but(say: Speaker) -> Sentence | None:
    """ "The left box contains only circles"; "there are two squares and nothing else"; "no yellow, just black"."""
    where = say.domain(quantified=0.35)
    values = _value_kinds(say, 2, bare=True)
    kind = say.kind(plain=True, generic=0.0)
    at, subject = where.where, where.subject
    has = "have" if where.plural else "(has|contains|holds)"
    if len(values) == 2 and say.chance(0.2) and not where.is_quantified:
        # One value of an attribute excludes the others.
        no, yes = (each.plural for each in values)
        text = say.pick(f"no {no} {at}, (just|only) {yes}", f"{where.front}no {no}, (just|only) {yes}", f"not {no} {at} but only {yes}")
        return Sentence(text, mean.every(where.items, values[1].condition))
    if say.chance(0.2):
        quantity = say.quantity(negative=False)
        things = f"{quantity.of(kind)} (and nothing else|and no other {say.items})"
        meaning = mean.both(quantity.holds(kind.among(where.items)), mean.every(where.items, kind.condition))
        return Sentence(say.pick(*_presence(where, things, quantity.plural)), where.bind(meaning))
    if say.chance(0.25) and len(values := _value_kinds(say, 2)) == 2:
        kind = _joined(values, "and")
    texts = [f"{subject} ~{has} (only|nothing but|just|exclusively|solely) {kind.plural}"] * 3
    if where.is_quantified:
        return Sentence(say.pick(*texts), where.bind(mean.every(where.items, kind.condition)))
    texts += [
        f"there ~are (only|just) {kind.plural} {at}", f"(only|just|nothing but) {kind.plural} {at}", f"{subject}: only {kind.plural}",
        f"there ~is nothing but {kind.plural} {at}", f"{where.front}there ~are only {kind.plural}", f"{kind.plural} only {at}",
        f"{kind.plural} ~are the only {say.items} {_place(where)}", f"the only {say.items} {_place(where)} ~are {kind.plural}",
        f"(I|we|you) ~(see|can see) (only|nothing but) {kind.plural} {at}", f"there ~are no {say.items} (other than|but) {kind.plural} {at}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), mean.every(where.items, kind.condition))


def everything(say: Speaker) -> Sentence:
    """ "Everything in the left box is blue"; "nothing is a circle"; "is anything yellow?"."""
    where = say.domain(quantified=0.15)
    found = _predicate(say, Kind("", ""), where)
    all_are, none_is = mean.every(where.items, found.condition), mean.none(where.items, found.condition)
    meaning, texts = say.weighted(
        (3, (all_are, (
            "(everything|every single thing|each and every thing) {at} ~is {p}", "all [of] the (things|objects) {at} ~are {ps}",
            "there ~is nothing {at} that (isn't|is not) {p}", "everything {at} {p}", "nothing {at} ~is anything but {p}",
            "whatever you look at {at}, it's {p}", "they're all {ps} {at}", "I don't see anything {at} that's not {p}", "all {ps} {at}",
        ))),
        (2, (none_is, (
            "nothing {at} ~is {p}", "not (a single|one) thing {at} ~is {p}", "there ~is nothing {at} that is {p}",
            "(I|we) (don't|can't) see anything {at} that is {p}", "nothing {p} {at}", "none of it is {p} {at}",
            "everything {at} ~is something other than {p}", "you won't find anything {at} that is {p}",
        ))),
        (1.5, (mean.negation(none_is), (
            "something {at} ~is {p}", "is (anything|something) {at} {p}?", "there ~is something {at} that is {p}",
            "at least one thing {at} ~is {p}", "(do you see|is there) anything {at} that is {p}?",
        ))),
        (1, (mean.negation(all_are), (
            "not everything {at} ~is {p}", "something {at} (isn't|is not) {p}", "not all of it is {p} {at}",
            "there ~is something {at} that (isn't|is not) {p}",
        ))),
    )  # fmt: skip
    text = say.rng.choice(texts).format(p=found.singular, ps=found.plural, at=_place(where))
    return Sentence(_framed(where, text), where.bind(meaning))


# ---------------------------------------------------------------- several kinds


def several_kinds(say: Speaker) -> Sentence:
    """ "There is a circle but no square"; "the left box has two circles and a square"; "neither stars nor circles"."""
    where = _domain(say, 0.3, negative=False)
    kinds = _alternatives(say)
    x, y = kinds[:2]
    has = [f"exist({each.among(where.items)})" for each in kinds]
    how = say.weighted((4, "and"), (2, "but"), (2.5, "or"), (2, "neither"), (1.2, "xor"))
    if how == "and":
        return _listed(say, where, kinds)
    plural = False
    if how == "but":
        meaning = mean.both(has[0], mean.negation(has[1]))
        things = say.pick(
            "{x} (but|and|yet) no {Y}", "{x} (but|and) no {Ys}", "{x} (but|and) not (a single|one) {Y}", "{x} but not {y}",
            "{x} without (any|a single) {Y}", "at least one {X} (but|and) no {Ys}",
        )  # fmt: skip
    elif how == "or":
        meaning = mean.either(*has[:2])
        things = say.pick("(either|) {x} or {y}", "{x} or {y}[, or both|, maybe both|, possibly both]", "{x} and/or {y}", "at least one {X} or {Y}")
    elif how == "xor":
        meaning = f"{has[0]} != {has[1]}"
        things = say.pick("[either] {x} or {y}[,] but not both", "{x} or {y}, (never both|not both)", "exactly one of the two: {x} or {y}")
    else:
        meaning = mean.both(*(mean.negation(each) for each in has[:2]))
        things = say.pick("neither {x} nor {y}", "neither {Xs} nor {Ys}", "no {Xs} (or|and no|nor) {Ys}", "no {X} (or|and no) {Y}")
        plural = things.startswith(("no {Xs", "neither {Xs"))
    words = {"x": x.a, "y": y.a, "X": x.singular, "Y": y.singular, "Xs": x.plural, "Ys": y.plural}
    texts = _presence(where, things, plural, negative=how == "neither")
    if not where.is_quantified:
        missing = ["both {Xs} and {Ys} ~are (missing|absent) {at}", "{subject} (doesn't|does not) have {x} or {y}", "no {X}, no {Y} {at}",
                   "there (isn't|is not) {x} or {y} {at}", "(I|we) (don't|can't) see any {Xs} or {Ys} {at}"]  # fmt: skip
        present = {
            "neither": missing,
            "but": ["{X} yes, {Y} no", "there ~is {x} {at} but there (isn't|is not) {y}", "{Ys} are missing {at}, but there is {x}"],
            "or": ["are there any {Xs} or {Ys} {at}?", "if there's no {X} {at}, there ~is {y}"],
            "xor": ["there ~is {x} or there is {y} {at}, but not both", "one of the two is there {at}, but not both: {x} or {y}"],
        }[how]
        texts += [each for each in present for _ in range(2)]
    text = say.pick(*texts)
    for slot, word in (words | {"at": _place(where), "subject": where.subject}).items():
        text = text.replace(f"{{{slot}}}", word)
    return Sentence(text, where.bind(meaning))


def _listed(say: Speaker, where: Domain, kinds: list[Kind]) -> Sentence:
    """ "Two circles, a square and at least one triangle"."""
    quantities = [say.quantity(negative=False, high=4) for _ in kinds]
    if say.chance(0.5):
        quantities = [Quantity("a {}", SOME, False) for _ in kinds]
    parts = [quantity.of(kind) for quantity, kind in zip(quantities, kinds, strict=True)]
    meaning = mean.both(*(q.holds(kind.among(where.items)) for q, kind in zip(quantities, kinds, strict=True)))
    last = say.pick("and", "and", "and", "plus", "as well as", "and also")
    things = f"{', '.join(parts[:-1])} {last} {parts[-1]}"
    if all(each.test == SOME for each in quantities) and len(parts) == 2 and say.chance(0.35):
        x, y = kinds[0].a, kinds[1].a
        things = say.pick(f"both {x} and {y}", f"both {x} and {y}", f"not (only|just) {x} but also {y}")
    texts = _presence(where, things, quantities[0].plural, several=not things.startswith("not"))
    return Sentence(say.pick(*texts), where.bind(meaning))


def conditional(say: Speaker) -> Sentence:
    """ "If there is a circle, there is also a square"; "there is a circle unless there is a square"."""
    where, (first, second, *_) = say.domain(), _alternatives(say)
    x, y = (f"exist({each.among(where.items)})" for each in (first, second))
    meaning, texts = say.weighted(
        (2, (mean.implication(x, y), (
            "if there is {x} {at}, [then] there ~is [also] {y}", "there ~is {y} {at} if there is {x}", "if {x}, then [also] {y}",
            "(when|whenever) there is {x} {at}, there ~is {y} [too|as well]", "there ~is {x} {at} only if there is {y}",
            "there ~is no {X} {at} without {y}", "no {X} without {y} {at}", "either there is no {X} {at}, or there is {y}",
            "if {subject} has {x}, it ~has {y} [too|as well]", "{subject} doesn't have {x} without {y}",
        ))),
        (1, (mean.either(x, y), (
            "there ~is {x} {at} unless there is {y}", "{x} {at}, unless {y}", "{subject} ~has {x} unless it has {y}",
        ))),
        (1, (mean.either(y, x), (
            "unless there is {y} {at}, there ~is {x}", "if there (is no|isn't a) {Y} {at}, there ~is {x}", "no {Y} {at}? then {x}",
            "without {y} {at}, there ~is {x}", "if {subject} has no {Y}, it ~has {x}",
        ))),
    )  # fmt: skip
    text = _fill(say, texts, first, x=first.a, y=second.a, Y=second.singular, at=_place(where), subject=where.subject)
    return Sentence(text, meaning)


# ---------------------------------------------------------------- attributes

_SAME: tuple[str, ...] = (
    "(all|all the|all of the) {Xs} ~(have|share) the same {c}", "the {Xs} ~are all the same {c}", "the {Xs} ~have the same {c}",
    "the {Xs} ~are (identical|uniform|the same) in {c}", "all [the] {Xs} ~are of the same {c}", "every {X} ~has the same {c}",
    "no two {Xs} ~(differ in {c}|have different {cs})", "the {Xs} (don't|do not) differ in {c}", "{Xs}: all same {c}",
    "the {Xs} ~(all share one|all share a single|share the same) {c}", "{Xs} all same {c}", "one {c} for all {Xs}",
    "every {X} ~has the same {c} as the others", "all [the] {Xs} ~match in {c}", "the {c} of [all] the {Xs} ~is the same",
)  # fmt: skip
_DIFFERENT: tuple[str, ...] = (
    "no two {Xs} ~(have|share) the same {c}", "the {Xs} ~all have different {cs}", "(all|all the|all of the) {Xs} ~have different {cs}",
    "every {X} ~(has a different|has its own|is a different) {c}", "each {X} ~has a {c} of its own", "{Xs}: all different {cs}",
    "no {c} ~is shared by two {Xs}", "the {Xs} ~are all different in {c}", "there (aren't|are not) two {Xs} (with|of) the same {c}",
    "no {c} ~(appears|occurs) twice among the {Xs}", "all {Xs} of different {cs}", "any two {Xs} ~differ in {c}",
)  # fmt: skip
_SOME_SAME: tuple[str, ...] = (
    "at least two {Xs} ~(have|share) the same {c}", "there ~are at least two {Xs} (with|of) the same {c}",
    "not all [the] {Xs} ~have different {cs}", "some {c} ~(appears|occurs) more than once among the {Xs}",
)  # fmt: skip
_SOME_DIFFERENT: tuple[str, ...] = (
    "not all [of the] {Xs} ~have the same {c}", "the {Xs} (don't|do not) all have the same {c}", "the {Xs} ~differ in {c}",
    "the {Xs} (aren't|are not) all the same {c}", "there ~are {Xs} of different {cs}", "{Xs} of different {cs}",
)  # fmt: skip
_AMOUNTS: tuple[str, ...] = (
    "the {Xs} ~(come in|have|are of|show) {n} {d} {cn}", "there ~are {n} {d} {cn} (of|among the) {Xs}",
    "{n} {d} {cn} ~(appear|occur|are found|can be seen) among the {Xs}", "{Xs} in {n} {d} {cn}",
    "the number of {d} {cs} (of|among) the {Xs} ~is {n}", "[number of] {d} {cs} of the {Xs}: {n}", "{Xs}: {n} {d} {cn}",
)  # fmt: skip
_AMOUNTS_SHOWN: tuple[str, ...] = (
    "{n} {d} {cn} ~(appear|occur|can be seen|are used|are present)", "there ~are {n} {d} {cn}",
    "you ~can see {n} {d} {cn}", "{n} {d} {cn}", "the number of {d} {cs} ~is {n}", "[number of] {d} {cs}: {n}",
)  # fmt: skip
_EVERY_VALUE: tuple[str, ...] = (
    "(every|each) {c} ~(appears|occurs|is used|is present|is represented)", "all {t} {cs} ~(appear|are there|are present|are used)",
    "there ~is at least one {X} of (each|every) {c}", "all [the] {cs} ~(appear|are present)", "all {t} {cs}",
    "there ~are {Xs} of (all {t} {cs}|every {c})",
)  # fmt: skip


def alike(say: Speaker) -> Sentence | None:
    """ "The two circles on the right have the same colour"; "the squares come in three sizes"; "two colours appear"."""
    where, kind = _setting(say, 0.2, generic=0.3)
    options = [each for each in _attributes(say) if f"{say.lexicon.names[each.name]}(@)" not in kind.condition]
    if not options:
        return None
    attribute = say.rng.choice(options)
    if say.chance(0.08) and len(values := _value_kinds(say, 2, avoid=f"{say.lexicon.names[attribute.name]}(@)")) == 2:
        kind = _joined(values, "and")
    c = say.rng.choice(attribute.words)
    among = kind.among(where.items)
    found, amount = f"count({say.lexicon.names[attribute.name]}({among}))", _amount(say, 1, max(2, min(len(attribute.choices), 4)))
    total, size = len(attribute.choices), 0
    cn = c if amount.test in ("{} == 1", SOME, "{} >= 2", "{} <= 1") and say.number(1) in amount.words else plural_of(c)
    meaning, texts = say.weighted(
        (4, (f"{found} <= 1", _SAME)),
        (2.5, (f"{found} == count({among})", _DIFFERENT)),
        (0.8, (f"{found} < count({among})", _SOME_SAME)),
        (1, (f"{found} > 1", _SOME_DIFFERENT)),
        (2.5, (amount.test.format(found), _AMOUNTS if kind.condition else _AMOUNTS_SHOWN)),
        (0.6 * (total > 1), (f"{found} == {total}", _EVERY_VALUE)),
    )
    if texts in (_SAME, _DIFFERENT) and say.chance(0.25):
        size = say.small(2, 4)
        verb = "have the same {c}" if texts == _SAME else "have different {cs}"
        texts = (f"the {{m}} {{Xs}} ~{verb}", f"all {{m}} {{Xs}} ~{verb}") + (("both {Xs} ~" + verb,) if size == 2 else ())
    elif texts == _SAME and attribute.more and say.chance(0.4):
        texts = (f"no {{X}} ~is {attribute.more} than another [one]", f"no {{X}} ~is {attribute.more} or {attribute.less} than (another|the others)")
    meaning = mean.both(f"count({among}) == {size}", meaning) if size else meaning
    if kind.condition and texts == _EVERY_VALUE:
        texts = tuple(each for each in texts if "{X" in each)
    # "Two shapes" are two items.
    d = "(different|distinct)" if attribute.is_noun else "[different|distinct]"
    words = {"c": c, "cs": plural_of(c), "cn": cn, "d": d, "n": amount.words, "m": say.number(size), "t": say.number(total)}
    is_front = where.is_quantified or "{X" not in "".join(texts[:1]) or say.chance(0.3)
    text = _fill(say, texts, kind if is_front else _at(kind, where), **words)
    return Sentence(_within(where, text) if is_front else text, where.bind(meaning))


def colours(say: Speaker) -> Sentence | None:
    """ "There is yellow in the left box"; "no blue anywhere"; "yellow and black both appear"."""
    options = [each for each in _attributes(say, nouns=False) if each.kind == "categorical" and each.choices]
    if not options:
        return None
    attribute, where = say.rng.choice(options), _domain(say, 0.3, negative=False)
    first, second = say.rng.sample(attribute.choices, 2)
    a, b = say.rng.choice(first.words), say.rng.choice(second.words)
    x, y = (mean.some(where.items, say.has(attribute, each)) for each in (first, second))
    meaning, things, negative = say.weighted(
        (2, (x, f"[something] {a}", False)),
        (1.5, (mean.negation(x), f"(no {a}|nothing {a}|no {a} at all)", True)),
        (1.5, (mean.both(x, y), f"[both] {a} and {b}", False)),
        (1, (mean.both(x, mean.negation(y)), f"{a} but no {b}", False)),
        (1, (mean.either(x, y), f"{a} or {b}", False)),
        (1, (mean.both(mean.negation(x), mean.negation(y)), f"(neither {a} nor {b}|no {a} or {b}|no {a} and no {b})", True)),
    )
    return Sentence(say.pick(*_presence(where, things, False, negative=negative)), where.bind(meaning))


RULES = (
    (6.0, how_many),
    (1.0, absence),
    (1.5, number_of),
    (1.0, total),
    (3.0, compared),
    (0.7, more_are),
    (5.0, share),
    (2.5, definite),
    (2.0, described),
    (1.2, only),
    (1.8, nothing_but),
    (1.5, everything),
    (2.5, several_kinds),
    (0.7, conditional),
    (3.0, alike),
    (0.6, colours),
)
