"""Rules about how many items there are, in a scene or in boxes: counts, comparisons of counts, several kinds.

A rule draws the parts of a statement and returns a Sentence, or None where the world does not allow it.
"""

from __future__ import annotations

from dataclasses import replace

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.speaker import NO, SOME, Domain, Kind, Quantity, Sentence, Speaker


def _trailing(say: Speaker) -> Quantity:
    """A quantity whose limit follows the noun: "three circles at most"."""
    value = say.small(2, 6)
    n = say.number(value)
    after, test = say.weighted(
        (
            2,
            (
                ", no more[,| and] no (less|fewer)| exactly|, not one more or less| and that's it|, that's all",
                "==",
            ),
        ),
        (2, (" or more| at least| at the very least|, if not more|, maybe more|, minimum", ">=")),
        (1.5, (" at most| or fewer| or less| max| tops| at the very most", "<=")),
        (0.7, (" and then some|, and at least one more", ">")),
    )
    return Quantity(f"{n} {{}}({after})", f"{{}} {test} {value}")


def how_many(say: Speaker) -> Sentence:
    """ "There are at least two blue circles in the left box"; "every box has a circle"."""
    where, kind = clauses.setting(say, 0.35)
    is_short = len(kind.plural.split()) <= 3
    quantity = (
        _trailing(say)
        if is_short and not where.is_quantified and say.chance(0.12)
        else say.quantity(negative=not clauses.is_negative(where))
    )
    things, meaning = quantity.of(kind), where.bind(quantity.holds(kind.among(where.items)))
    texts = clauses.presence(where, things, quantity.plural, negative=quantity.test == NO)
    at = where.where
    if quantity.test == SOME and not where.is_quantified:
        texts += [
            f"(somewhere|{at or 'here'}) (is|sits|lies) {kind.a}",
            f"{kind.singular} {at or 'present'}",
        ]
    return Sentence(say.pick(*texts), meaning)


def absence(say: Speaker) -> Sentence:
    """ "Circles are missing from the left box"; "the picture is free of blue items"; "I don't see any square"."""
    where, kind = clauses.setting(say)
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
    text = clauses.fill(
        say,
        texts,
        kind,
        subject=where.subject,
        at=clauses.place(where),
        front=where.front if clauses.place(where) else "",
    )
    return Sentence(text, mean.negation(f"exist({kind.among(where.items)})"))


def number_of(say: Speaker) -> Sentence:
    """ "The number of circles in the left box is at least three"; "circles: 2"; "the circles add up to four"."""
    where, kind = clauses.setting(say, 0.12)
    amount = clauses.amount(say, 1, 7)
    if say.chance(0.05):
        amount = Quantity("zero", NO)
    is_exact = "==" in amount.test
    texts = [
        "the [total|exact] number of {Xs} {at} ~is {n}",
        "the (number|count|tally) of {Xs} {at} ~is {n}",
        "the {Xs} {at} ~(number|add up to|come to|amount to) {n}",
        "there ~are {Xs} {at}, {n} of them"
        if amount.test not in ("{} == 1", NO) and "<" not in amount.test
        else "{Xs}: {n}",
        "the number of {Xs} {at} ~(equals|equals) {n}" if is_exact else "{front}the number of {Xs} ~is {n}",
        "{n} ~is (the number of {Xs}|how many {Xs} there are) {at}" if is_exact else "the count of {Xs} {at} ~is {n}",
    ]
    if not where.is_quantified:
        texts += ["[the] number of {Xs} {at}: {n}", "{Xs} {at}: {n}", "{Xs} {at}: {n}", "count of {Xs} {at}: {n}"]
        texts += ["count the {Xs} {at} and you get {n}", "if you count the {Xs} {at}, you ~get {n}"]
    value = amount.test.rpartition(" ")[2]
    for sign, words in (
        ("> ", "(exceeds|is greater than|is higher than|is above)"),
        ("< ", "(is below|is lower than|is under)"),
    ):
        if sign in amount.test:
            texts += [f"the (number|count) of {{Xs}} {{at}} ~{words} {say.number(int(value))}"] * 2
    text = clauses.fill(say, texts, kind, n=amount.words, at=clauses.place(where), front="")
    return Sentence(clauses.framed(where, text), where.bind(amount.holds(kind.among(where.items))))


def total(say: Speaker) -> Sentence:
    """ "There are nine items in total"; "all in all, more than five things"; "five circles and squares altogether"."""
    where = say.which() if say.world.boxes[1] > 1 and say.chance(0.25) else say.scene()
    at = f"in {where.subject}" if where.box else "[in the whole picture]"
    amount = clauses.amount(say, 3, 12)
    kind = Kind(say.item, say.items)
    if say.chance(0.3) and len(values := clauses.value_kinds(say, 2)) == 2:
        kind = clauses.joined(values, "and")
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
    text = clauses.fill(say, texts, kind, n=amount.words, at=at, subject=where.subject)
    return Sentence(text, amount.holds(kind.among(where.items)))


# ---------------------------------------------------------------- comparisons

# The relation of two counts, things that are there, and whole clauses.
_COMPARISONS: tuple[tuple[float, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (4, "{a} > {b}", ("more {Xs} than {Ys}", "more {Xs} than {Ys}",
        "a (greater|higher|larger) number of {Xs} than [of] {Ys}"), (
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
    (1, "{b} == {a} + {a}",
        ("[exactly] half as many {Xs} as {Ys}",), ("the number of {Xs} ~is half (the number|that) of {Ys}",)),
    (0.6, "{a} == {b} + {b} + {b}", ("[exactly] (three|3) times as many {Xs} as {Ys}",), (
        "the number of {Xs} ~is (three|3) times (the number|that) of {Ys}",
    )),
    (0.5, "{a} > {b} + {b}", ("more than twice as many {Xs} as {Ys}",), ()),
    (0.4, "{a} >= {b} + {b}", ("at least twice as many {Xs} as {Ys}",), ()),
    (1.5, "{a} == {b} + {n}",
        ("[exactly] {n} more {Xn} than {Ys}",), ("[the] {Xs} ~outnumber [the] {Ys} by [exactly] {n}",)),
    (1, "{b} == {a} + {n}", ("[exactly] {n} fewer {Xn} than {Ys}",), ()),
    (0.6, "{a} >= {b} + {n}", ("at least {n} more {Xn} than {Ys}",), ()),
    (0.8, "{a} >= {b}", ("at least as many {Xs} as {Ys}", "no fewer {Xs} than {Ys}"), ()),
    (0.8, "{a} <= {b}", ("at most as many {Xs} as {Ys}", "no more {Xs} than {Ys}"), (
        "[the] {Xs} (don't|do not) outnumber [the] {Ys}", "there (aren't|are not) more {Xs} than {Ys}",
    )),
    (0.6, "{a} != {b}", ("a different number of {Xs} and {Ys}",), (
        "there (isn't|is not) the same number of {Xs} and {Ys}",
        "the number of {Xs} ~is different from (the number|that) of {Ys}",
        "the numbers of {Xs} and {Ys} ~(differ|are different)",
    )),
)  # fmt: skip


def compared(say: Speaker) -> Sentence | None:
    """ "There are more circles than squares"; "every box has twice as many blue items as yellow ones"."""
    where, (first, second, *others) = clauses.domain(say, 0.25, negative=False), clauses.alternatives(say)
    if others and say.chance(0.5):
        second = clauses.joined([second, *others], "and", " (combined|together|put together|taken together)")
    if say.chance(0.25) and second.plural.endswith(f" {say.items}") and first.plural.endswith(f" {say.items}"):
        second = replace(second, plural=second.plural.removesuffix(say.items) + "ones")
    _, relation, things, sentences = say.weighted(*((row[0], row) for row in _COMPARISONS))
    value = say.small(1, 3)
    words = {"Ys": second.plural, "Y": second.singular, "n": say.number(value)}
    words["Xn"] = first.singular if value == 1 else first.plural
    counted = {"a": f"count({first.among(where.items)})", "b": f"count({second.among(where.items)})", "n": str(value)}
    meaning = where.bind(relation.format(**counted))
    # "combined" must end the sentence.
    usable = [
        each
        for each in (*things, *things, *sentences)
        if "(combined" not in second.plural or each.endswith(("than {Ys}", "as {Ys}"))
    ]
    if not usable:
        return None
    chosen = say.rng.choice(usable)
    text = clauses.fill(say, [chosen], first, **words)
    if chosen not in things:
        return Sentence(clauses.within(where, text), meaning)
    plural = not chosen.startswith(("a ", "an ", "the same")) and not ("{Xn}" in chosen and value == 1)
    return Sentence(say.pick(*clauses.presence(where, text, plural)), meaning)


_MORE_ARE: tuple[tuple[float, str, tuple[str, ...]], ...] = (
    (3, "{a} > {b}", ("more [of the] {Xs} ~are {ps} than {qs}", "the {Xs} ~are more often {ps} than {qs}")),
    (1.5, "{a} < {b}", ("fewer [of the] {Xs} ~are {ps} than {qs}", "not as many [of the] {Xs} ~are {ps} as {qs}")),
    (2, "{a} == {b}", ("(as many|just as many) [of the] {Xs} ~are {ps} as {qs}", "{Xs}: as many {ps} as {qs}")),
    (1, "{a} == {b} + {b}", ("twice as many [of the] {Xs} ~are {ps} as {qs}",)),
)


def more_are(say: Speaker) -> Sentence | None:
    """ "More circles are blue than yellow"; "as many of the items in the left box are circles as squares"."""
    where, kind = clauses.setting(say, 0.1)
    values = clauses.value_kinds(say, 2, avoid=kind.condition, bare=True)
    if len(values) < 2:
        return None
    _, relation, texts = say.weighted(*((row[0], row) for row in _MORE_ARE))
    counts = [f"count({kind.among(where.items, each.condition)})" for each in values]
    text = clauses.fill(say, texts, clauses.placed(kind, where), ps=values[0].plural, qs=values[1].plural)
    return Sentence(clauses.framed(where, text), where.bind(relation.format(a=counts[0], b=counts[1])))


# ---------------------------------------------------------------- several kinds


def several_kinds(say: Speaker) -> Sentence:
    """ "There is a circle but no square"; "the left box has two circles and a square"; "neither stars nor circles"."""
    where = clauses.domain(say, 0.3, negative=False)
    kinds = clauses.alternatives(say)
    x, y = kinds[:2]
    has = [f"exist({each.among(where.items)})" for each in kinds]
    how = say.weighted((4, "and"), (2, "but"), (2.5, "or"), (2, "neither"), (1.2, "xor"))
    if how == "and":
        return _listed(say, where, kinds)
    plural = False
    if how == "but":
        meaning = mean.both(has[0], mean.negation(has[1]))
        things = say.pick(
            "{x} (but|and|yet) no {Y}", "{x} (but|and) no {Ys}", "{x} (but|and) not (a single|one) {Y}",
            "{x} but not {y}",
            "{x} without (any|a single) {Y}", "at least one {X} (but|and) no {Ys}",
        )  # fmt: skip
    elif how == "or":
        meaning = mean.either(*has[:2])
        things = say.pick(
            "(either|) {x} or {y}",
            "{x} or {y}[, or both|, maybe both|, possibly both]",
            "{x} and/or {y}",
            "at least one {X} or {Y}",
        )
    elif how == "xor":
        meaning = f"{has[0]} != {has[1]}"
        things = say.pick(
            "[either] {x} or {y}[,] but not both",
            "{x} or {y}, (never both|not both)",
            "exactly one of the two: {x} or {y}",
        )
    else:
        meaning = mean.both(*(mean.negation(each) for each in has[:2]))
        things = say.pick(
            "neither {x} nor {y}", "neither {Xs} nor {Ys}", "no {Xs} (or|and no|nor) {Ys}", "no {X} (or|and no) {Y}"
        )
        plural = things.startswith(("no {Xs", "neither {Xs"))
    words = {"x": x.a, "y": y.a, "X": x.singular, "Y": y.singular, "Xs": x.plural, "Ys": y.plural}
    texts = clauses.presence(where, things, plural, negative=how == "neither")
    if not where.is_quantified:
        missing = [
            "both {Xs} and {Ys} ~are (missing|absent) {at}",
            "{subject} (doesn't|does not) have {x} or {y}",
            "no {X}, no {Y} {at}",
            "there (isn't|is not) {x} or {y} {at}",
            "(I|we) (don't|can't) see any {Xs} or {Ys} {at}",
        ]
        present = {
            "neither": missing,
            "but": [
                "{at}: {X} yes, {Y} no" if where.box else "{X} yes, {Y} no",
                "there ~is {x} {at} but there (isn't|is not) {y}",
                "{Ys} are missing {at}, but there is {x}",
            ],
            "or": ["if there's no {X} {at}, there ~is {y}"],
            "xor": [
                "there ~is {x} or there is {y} {at}, but not both",
                "one of the two is there {at}, but not both: {x} or {y}",
            ],
        }[how]
        texts += [each for each in present for _ in range(2)]
    text = say.pick(*texts)
    for slot, word in (words | {"at": clauses.place(where), "subject": where.subject}).items():
        text = text.replace(f"{{{slot}}}", word)
    return Sentence(text, where.bind(meaning))


def _listed(say: Speaker, where: Domain, kinds: list[Kind]) -> Sentence:
    """ "Two circles, a square and at least one triangle"."""
    quantities = [say.quantity(negative=False, high=4) for _ in kinds]
    if say.chance(0.5):
        quantities = [Quantity("a {}", SOME, False) for _ in kinds]
    wheres = [where for _ in kinds]
    if len(kinds) == 2 and not where.box and say.world.boxes[0] > 1 and say.chance(0.15):
        where, wheres = replace(where, where=""), list(say.two_places())
    parts = [
        quantity.of(kind if each is where else kind.that(each.where, each.where, ""))
        for quantity, kind, each in zip(quantities, kinds, wheres, strict=True)
    ]
    drawn = zip(quantities, kinds, wheres, strict=True)
    meaning = mean.both(*(quantity.holds(kind.among(each.items)) for quantity, kind, each in drawn))
    last = say.pick("and", "and", "and", "plus", "as well as", "and also")
    things = f"{', '.join(parts[:-1])} {last} {parts[-1]}"
    if all(each.test == SOME for each in quantities) and len(parts) == 2 and wheres[0] is where and say.chance(0.35):
        x, y = kinds[0].a, kinds[1].a
        things = say.pick(f"both {x} and {y}", f"both {x} and {y}", f"not (only|just) {x} but also {y}")
    texts = clauses.presence(where, things, quantities[0].plural, several=not things.startswith("not"))
    return Sentence(say.pick(*texts), where.bind(meaning))


def conditional(say: Speaker) -> Sentence:
    """ "If there is a circle, there is also a square"; "there is a circle unless there is a square"."""
    where, (first, second, *_) = say.domain(), clauses.alternatives(say)
    x, y = (f"exist({each.among(where.items)})" for each in (first, second))
    meaning, texts = say.weighted(
        (2, (mean.implication(x, y), (
            "if there is {x} {at}, [then] there ~is [also] {y}", "there ~is {y} {at} if there is {x}",
            "if {x} {at}, then [also] {y}",
            "(when|whenever) there is {x} {at}, there ~is {y} [too|as well]", "there ~is {x} {at} only if there is {y}",
            "there ~is no {X} {at} without {y}", "no {X} without {y} {at}",
            "either there is no {X} {at}, or there is {y}",
            "if {subject} has {x}, it ~has {y} [too|as well]", "{subject} doesn't have {x} without {y}",
        ))),
        (1, (mean.either(x, y), (
            "there ~is {x} {at} unless there is {y}", "{x} {at}, unless {y}", "{subject} ~has {x} unless it has {y}",
        ))),
        (1, (mean.either(y, x), (
            "unless there is {y} {at}, there ~is {x}", "if there (is no|isn't a) {Y} {at}, there ~is {x}",
            "no {Y} {at}? then {x}",
            "without {y} {at}, there ~is {x}", "if {subject} has no {Y}, it ~has {x}",
        ))),
    )  # fmt: skip
    text = clauses.fill(
        say, texts, first, x=first.a, y=second.a, Y=second.singular, at=clauses.place(where), subject=where.subject
    )
    return Sentence(text, meaning)


RULES = (
    (6.0, how_many),
    (1.0, absence),
    (1.5, number_of),
    (1.0, total),
    (3.0, compared),
    (0.7, more_are),
    (1.8, several_kinds),
    (0.5, conditional),
)
