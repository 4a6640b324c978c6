"""Rules about which share of a kind has a property: all, most, two of them, only; everything and nothing."""

from __future__ import annotations

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.speaker import SOME, Kind, Property, Quantity, Sentence, Speaker

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
        "(I|you) ~(see|can see|can find) a {X} that (isn't|is not) {p}",
        "it's not true that all {Xs} are {ps}",
    )),
    (2, "exist({those})", (
        "(some|some of the|one or more of the) {Xs} ~are {ps}", "(at least one|some) {X} ~is {p}",
        "at least one of the {Xs} ~is {p}", "there ~is a {X} (that is|that's|which is) {p}", "{Xs}: at least one {p}",
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
        "(all but one|all except one) of the {Xs} ~are {ps}", "all but one of the {Xs} ~are {ps}",
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
        "{n} of the {Xs} ~are {ps}", "{n} of the {Xs} ~are {ps}", "{n} {Xs} ~are {ps}",
        "(of|among|out of) the {Xs}, {n} ~are {ps}",
        "there ~are {n} {Xs} that are {ps}", "the number of {Xs} that are {ps} ~is {n}", "{Xs}: {n} {ps}",
        "{Xs}, {n} of them {ps}", "of all the {Xs}, {n} ~are {ps}", "if you look at the {Xs}, {n} of them ~are {ps}",
    )),
)  # fmt: skip


def share(say: Speaker) -> Sentence:
    """ "Most of the circles are blue"; "none of the items in the left box is a square"; "two are on the left"."""
    where, kind, found = clauses.setting_and_predicate(say, 0.15)
    _, meaning, texts = say.weighted(*((row[0], row) for row in _SHARES))
    those, others = kind.among(where.items, found.condition), kind.among(where.items, mean.negation(found.condition))
    amount, value = clauses.amount(say), say.small(2, 3)
    meaning = meaning.format(those=those, others=others, value=value) or amount.holds(those)
    is_front = where.is_quantified or (bool(clauses.place(where)) and say.chance(0.35))
    text = clauses.fill(
        say, texts, kind if is_front else clauses.placed(kind, where), found, n=amount.words, m=say.number(value)
    )
    return Sentence(clauses.within(where, text) if is_front else text, where.bind(meaning))


def definite(say: Speaker) -> Sentence:
    """ "The two circles on the right are blue"; "four of the five items are circles"; "the only square is yellow"."""
    where, kind, found = clauses.setting_and_predicate(say, 0.04)
    those, others = kind.among(where.items, found.condition), kind.among(where.items, mean.negation(found.condition))
    number = say.small(2, 6)
    m = say.number(number)
    part = say.rng.randint(1, number - 1)
    exactly, are = ("(exactly|only|just) ", "~is {p}") if part == 1 else ("[exactly|only|just] ", "~are {ps}")
    all_are, none_is, at_least = f"not exist({others})", f"not exist({those})", Quantity("", f"{{}} >= {part}")
    size, meaning, texts = say.weighted(
        (3, (1, all_are, ("the (only|only|one|single) {X} ~is {p}", "there ~is (only|just) one {X} and it's {p}"))),
        (2, (1, all_are, ("the {X} ~is {p}", "the {X}: {p}"))),
        (2, (number, all_are, ("the {m} {Xs} ~are [all] {ps}", "{all_m} [of the] {Xs} ~are {ps}"))),
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
    text = clauses.fill(
        say,
        texts,
        clauses.placed(kind, where),
        found,
        n=say.number(part),
        m=m,
        all_m=f"all {m}" if number > 2 else "both",
    )
    return Sentence(
        clauses.framed(where, text), where.bind(mean.both(f"count({kind.among(where.items)}) == {size}", meaning))
    )


_PRONOUNS: tuple[tuple[float, str, tuple[str, ...]], ...] = (
    (4, "not exist({others})", (
        " and (they're|they are|these are) all {ps}", ", all [of them] {ps}", " and all of them are {ps}",
        ", (all of which|which) are {ps}",
        " and every one of them is {p}",
    )),
    (1.5, "not exist({those})", (
        " (and|but) none of them (is {p}|are {ps})", ", none of (them|which) {ps}", ", but they aren't {ps}",
        ", none {ps}",
    )),
    (1, "exist({those})", (" and at least one of them is {p}", ", at least one of (them|which) is {p}",
        ", some of them {ps}")),
    (1, "exist({others})", (" (and|but) not all of them are {ps}", " but they're not all {ps}",
        ", not all [of them] {ps}")),
    (1, "count({those}) == 1", (" and (exactly|only|just) one of them is {p}",
        ", (exactly|only|just) one of (them|which) is {p}")),
    (0.8, "count({those}) == {value}", (" and {m} of them are {ps}", ", {m} of (them|which) [are] {ps}", ", {m} {ps}")),
    (0.8, "count({those}) > count({others})", (" and most of them are {ps}", ", mostly {ps}",
        ", most of (them|which) are {ps}")),
    (0.5, "count({those}) == count({others})", (" and half of them are {ps}", ", half of them {ps}")),
    (0.5, "count({others}) == 1", (" and all but one of them are {ps}", ", all but one [of them] {ps}")),
)  # fmt: skip


def described(say: Speaker) -> Sentence | None:
    """ "There are three items and they're all squares"; "the left box has only one circle, and it's blue"."""
    where, kind, found = clauses.setting_and_predicate(say, 0.15, modified=0.04, generic=0.35)
    those, others = kind.among(where.items, found.condition), kind.among(where.items, mean.negation(found.condition))
    quantity = (
        say.quantity(negative=False, low=2)
        if say.chance(0.8)
        else Quantity("(only|just|exactly) one {}", "{} == 1", False)
    )
    if quantity.test == SOME and not quantity.plural:  # "there is a circle and it is blue"
        meaning, after = f"exist({those})", say.pick(" and (it is|it's) {p}", " which is {p}", ", a {p} one")
        after = after if found.singular == found.plural and " " not in found.singular else " and (it is|it's) {p}"
    elif quantity.plural:
        _, also, texts = say.weighted(*((row[0], row) for row in _PRONOUNS))
        if quantity.test in ("{} == 2", "{} < 3", "{} <= 2") and "{value}" in also:
            return None
        value = say.small(2, 3) if quantity.test != "{} == 3" else 2
        meaning = mean.both(
            quantity.holds(kind.among(where.items)), also.format(those=those, others=others, value=value)
        )
        after = say.rng.choice(texts).replace("{m}", say.number(value))
    elif quantity.test == "{} == 1":
        is_not = say.chance(0.2)
        also = f"not exist({those if is_not else others})"
        meaning = mean.both(f"count({kind.among(where.items)}) == 1", also)
        after = (
            say.pick(" (and|but) (it isn't|it's not) {p}")
            if is_not
            else say.pick(" and (it is|it's) {p}", ", and it's {p}", ", which is {p}")
        )
    else:
        return None
    things = quantity.of(kind)
    # The pronoun follows what it stands for, so nothing but the things may end the first clause.
    first = [
        each
        for each in clauses.presence(where, things, quantity.plural)
        if each.endswith((things, f"{things} {where.where}"))
    ]
    return Sentence(say.pick(*first).rstrip() + after.format(p=found.singular, ps=found.plural), where.bind(meaning))


# ---------------------------------------------------------------- only, everything, nothing

_ONLY: tuple[str, ...] = (
    "only {Xs} ~are {ps}", "just {Xs} are {ps}, nothing else is", "nothing (but|except|other than) {Xs} ~is {p}",
    "the only {p} {things} ~are {Xs}", "the only {things} that are {ps} ~are {Xs}",
    "no {thing} other than a {X} ~is {p}",
    "(everything|anything) that is {p} ~is a {X}", "everything {p} ~is a {X}", "every {thing} that is {p} ~is a {X}",
    "if (something|a {thing}|it) is {p}, it (is|is always) a {X}", "{p}: only {Xs}",
    "(nothing|no {thing}) that isn't a {X} ~is {p}", "{Xs} ~are the only {things} that are {ps}",
    "nothing {p} except {Xs}",
    "whatever is {p} ~is a {X}", "apart from {Xs}, nothing ~is {p}", "{Xs} ~are the only {p} {things}",
)  # fmt: skip


def only(say: Speaker) -> Sentence | None:
    """ "Only circles are blue"; "in the left box, nothing but squares is yellow"."""
    where, kind = clauses.domain(say, 0.12, negative=False), say.kind(plain=True, generic=0.0)
    values = [
        each for each in clauses.value_kinds(say, 1, avoid=kind.condition, bare=True) if each.singular == each.plural
    ]
    if not values or say.fixed:  # blocks of towers differ too little
        return None
    meaning = f"not exist({mean.those(where.items, mean.both(values[0].condition, mean.negation(kind.condition)))})"
    word = values[0].singular
    text = clauses.fill(say, _ONLY, kind, Property(word, word, ""), thing=say.item, things=say.items)
    return Sentence(
        clauses.within(where, text) if clauses.place(where) or where.is_quantified else text, where.bind(meaning)
    )


def nothing_but(say: Speaker) -> Sentence | None:
    """ "The left box contains only circles"; "there are two squares and nothing else"; "no yellow, just black"."""
    where = say.domain(quantified=0.35)
    values = clauses.value_kinds(say, 2, bare=True)
    kind = say.kind(plain=True, generic=0.0)
    at, subject = where.where, where.subject
    has = "have" if where.plural else "(has|contains|holds)"
    if len(values) == 2 and say.chance(0.2) and not where.is_quantified:
        # One value of an attribute excludes the others.
        no, yes = (each.plural for each in values)
        text = say.pick(
            f"no {no} {at}, (just|only) {yes}",
            f"{where.front}no {no}, (just|only) {yes}",
            f"not {no} {at} but only {yes}",
        )
        return Sentence(text, mean.every(where.items, values[1].condition))
    if say.chance(0.2):
        quantity = say.quantity(negative=False)
        things = f"{quantity.of(kind)} (and nothing else|and no other {say.items})"
        meaning = mean.both(quantity.holds(kind.among(where.items)), mean.every(where.items, kind.condition))
        return Sentence(say.pick(*clauses.presence(where, things, quantity.plural)), where.bind(meaning))
    if say.chance(0.25) and len(values := clauses.value_kinds(say, 2)) == 2:
        kind = clauses.joined(values, "and")
    texts = [f"{subject} ~{has} (only|nothing but|just|exclusively|solely) {kind.plural}"] * 3
    if where.is_quantified:
        return Sentence(say.pick(*texts), where.bind(mean.every(where.items, kind.condition)))
    texts += [
        f"there ~are (only|just) {kind.plural} {at}", f"(only|just|nothing but) {kind.plural} {at}",
        f"{subject}: only {kind.plural}",
        f"there ~is nothing but {kind.plural} {at}", f"{where.front}there ~are only {kind.plural}",
        f"{where.front}{kind.plural} only",
        f"{kind.plural} ~are the only {say.items} {clauses.place(where)}",
        f"the only {say.items} {clauses.place(where)} ~are {kind.plural}",
        f"(I|we|you) ~(see|can see) (only|nothing but) {kind.plural} {at}",
        f"there ~are no {say.items} (other than|but) {kind.plural} {at}",
    ]  # fmt: skip
    return Sentence(say.pick(*texts), mean.every(where.items, kind.condition))


def everything(say: Speaker) -> Sentence:
    """ "Everything in the left box is blue"; "nothing is a circle"; "something isn't yellow"."""
    where = clauses.domain(say, 0.15)
    found = clauses.predicate(say, Kind("", ""), where)
    all_are, none_is = mean.every(where.items, found.condition), mean.none(where.items, found.condition)
    meaning, texts = say.weighted(
        (3, (all_are, (
            "(everything|every single thing|each and every thing) {at} ~is {p}",
            "all [of] the (things|objects) {at} ~are {ps}",
            "there ~is nothing {at} that (isn't|is not) {p}", "everything {at} {p}",
            "nothing {at} ~is anything but {p}",
            "whatever you look at {at}, it's {p}", "they're all {ps} {at}", "I don't see anything {at} that's not {p}",
            "all {ps} {at}",
        ))),
        (2, (none_is, (
            "nothing {at} ~is {p}", "not (a single|one) thing {at} ~is {p}", "there ~is nothing {at} that is {p}",
            "(I|we) (don't|can't) see anything {at} that is {p}", "none of it is {p} {at}",
            "everything {at} ~is something other than {p}", "you won't find anything {at} that is {p}",
        ))),
        (1.5, (mean.negation(none_is), (
            "something {at} ~is {p}", "there ~is something {at} that is {p}",
            "at least one thing {at} ~is {p}",
        ))),
        (1, (mean.negation(all_are), (
            "not everything {at} ~is {p}", "something {at} (isn't|is not) {p}", "not all of it is {p} {at}",
            "there ~is something {at} that (isn't|is not) {p}",
        ))),
    )  # fmt: skip
    text = say.rng.choice(texts).format(p=found.singular, ps=found.plural, at=clauses.place(where))
    return Sentence(clauses.framed(where, text), where.bind(meaning))


RULES = (
    (5.0, share),
    (2.5, definite),
    (2.0, described),
    (1.2, only),
    (1.8, nothing_but),
    (1.5, everything),
)
